// Connect an agent: the client, three steps, and who is connected. The last step shows the first call as it comes.
import { useRef, useState } from "preact/hooks";
import { CallerTable } from "./connect/caller_table.tsx";
import { FirstCall } from "./connect/first_call.tsx";
import { HttpSteps, McpOverHttpSteps } from "./connect/http_steps.tsx";
import { ServerTable } from "./connect/server_table.tsx";
import { WorkerTable } from "./connect/worker_table.tsx";
import { Tokens } from "./connect/tokens.tsx";
import { loggedIn } from "../api.ts";
import { useData } from "../data.ts";
import { oneLine, plain } from "../format.ts";
import { commandLine, NEW_TOKEN, postRequest, type SameElsewhere } from "../part/command_line.ts";
import { useMoves } from "../part/moves.ts";
import { Note, Shown } from "../part/notes.tsx";
import { CodeBox, Sentence } from "../part/texts.tsx";
import { TitleBlock } from "../part/title_block.tsx";
import type { Reply } from "../reply.ts";
import { addressOf, route, setQuery } from "../router.ts";

type Snippet = Reply<"/api/connect">["clients"][number];

/** What is in the list beside the clients. */
const OTHERS = {
  "mcp-http": { title: "MCP over HTTP", about: "any client that takes an address" },
  http: { title: "Any program", about: "HTTP and OpenAPI, with curl" },
  tokens: { title: "Tokens", about: "who may connect over HTTP" },
};

export function Connect() {
  const isAgent = loggedIn.value?.role === "agent";
  const loaded = useData<Reply<"/api/connect">>(isAgent ? null : "/api/connect");
  const clients = loaded.data?.clients ?? [];
  const chosen = route.value.rest || clients[0]?.client || "";
  const snippet = snippetOf(clients, chosen);
  const { command, request } = sameOf(chosen, snippet, loaded.data?.workspace ?? ".");
  return (
    <section class="view">
      {isAgent ? (
        <div class="pad">
          <Note tone="info">An agent is connected already. Log in with the token of an approver or an admin to connect others.</Note>
        </div>
      ) : (
        <Shown loaded={loaded} what="The clients">
          {(data) => (
            <div class="panes connect">
              <ClientList clients={data.clients} chosen={chosen} />
              <div class="pane steps-pane">
                <Chosen key={chosen} chosen={chosen} data={data} />
              </div>
              <aside class="pane" aria-label="Who is connected">
                <CallerTable />
                <ServerTable />
                <WorkerTable />
                <Places workspace={data.workspace} />
              </aside>
            </div>
          )}
        </Shown>
      )}
      <TitleBlock command={command} request={request} />
    </section>
  );
}

/** What gives the same elsewhere: the text of a client, the tokens, or the token with which a program begins. */
function sameOf(chosen: string, snippet: Snippet | undefined, workspace: string): SameElsewhere {
  if (snippet !== undefined) return { command: commandLine(`mcp install ${snippet.client} --print`, [], { scope: snippet.scope, workspace }), request: "GET /api/connect" };
  if (chosen === "tokens") return { command: commandLine("tokens list"), request: "GET /api/tokens" };
  if (Object.hasOwn(OTHERS, chosen)) return { command: NEW_TOKEN, request: postRequest("/api/tokens", { name: "code-agent", role: "agent" }) };
  return { command: commandLine("mcp install"), request: "GET /api/connect" };
}

/** What is shown of a client: of the file that the address names, or of the first. */
function snippetOf(clients: Snippet[], chosen: string): Snippet | undefined {
  const own = clients.filter((it) => it.client === chosen);
  return own.find((it) => it.scope === route.value.query.get("scope")) ?? own[0];
}

function ClientList({ clients, chosen }: { clients: Snippet[]; chosen: string }) {
  const files = new Map<string, Snippet>();
  for (const snippet of clients) if (!files.has(snippet.client)) files.set(snippet.client, snippet);
  const items = [
    ...[...files.values()].map((it) => ({ id: it.client, title: it.title, about: `MCP, file ${it.file.split("/").at(-1)}` })),
    ...Object.entries(OTHERS).map(([id, it]) => ({ id, ...it })),
  ];
  const list = useRef<HTMLElement>(null);
  useMoves(list, "a.item", { fromCurrent: true });
  return (
    <nav ref={list} class="pane list" aria-label="Clients">
      <div class="head">
        <h2>Client</h2>
      </div>
      <ul>
        {items.map((it) => (
          <li key={it.id}>
            <a class="item" href={addressOf("connect", it.id)} aria-current={it.id === chosen ? "true" : undefined}>
              <b>{oneLine(it.title)}</b>
              <br />
              <span class="third">{oneLine(it.about)}</span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Chosen({ chosen, data }: { chosen: string; data: Reply<"/api/connect"> }) {
  if (chosen === "tokens") return <Tokens />;
  if (chosen === "http") return <HttpSteps />;
  if (chosen === "mcp-http") return <McpOverHttpSteps />;
  const snippets = data.clients.filter((it) => it.client === chosen);
  if (snippets.length > 0) return <ClientSteps snippets={snippets} />;
  return (
    <div class="pad">
      <Note tone="info">Toolcrib does not know the client {plain(chosen)}. “MCP over HTTP” works with any client.</Note>
    </div>
  );
}

const SCOPES: Record<string, string> = { project: "the project's file, which can be shared", user: "your own file, for this workspace" };

function ClientSteps({ snippets }: { snippets: Snippet[] }) {
  const [isByHand, setByHand] = useState(false);
  const snippet = snippetOf(snippets, snippets[0]!.client)!;
  return (
    <div class="section steps">
      <h2>Connect {oneLine(snippet.title)}</h2>
      <p class="second">Every call it makes is then checked, decided, run in the sandbox and recorded. It starts Toolcrib itself, so it needs no token.</p>
      <ol>
        <li>
          <h3>Choose the file</h3>
          <div class="options" role="radiogroup" aria-label="Whose file">
            {snippets.map((it) => (
              <label class="option" key={it.scope}>
                <input type="radio" name="scope" checked={it === snippet} onChange={() => setQuery({ scope: it.scope })} />
                {SCOPES[it.scope] ?? it.scope}
              </label>
            ))}
          </div>
        </li>
        <li>
          <h3>Add Toolcrib to the client</h3>
          <div class="options" role="radiogroup" aria-label="How">
            <label class="option">
              <input type="radio" name="how" checked={!isByHand} onChange={() => setByHand(false)} />
              let Toolcrib write it
            </label>
            <label class="option">
              <input type="radio" name="how" checked={isByHand} onChange={() => setByHand(true)} />
              by hand
            </label>
          </div>
          {!isByHand && (
            <>
              <CodeBox text={snippet.command} />
              <p class="third">It shows this before it writes, and keeps what else is in the file:</p>
            </>
          )}
          <CodeBox file={snippet.file} text={snippet.text} />
          <p class="third">
            <Sentence text={snippet.afterwards} />
            {snippet.warning != null && <span class="brass"> <Sentence text={snippet.warning} />.</span>}
          </p>
        </li>
        <li>
          <h3>See its first call</h3>
          <FirstCall door="mcp" who={snippet.title} />
        </li>
      </ol>
    </div>
  );
}

/** Where the server listens, as this page reached it. */
function Places({ workspace }: { workspace: string }) {
  const { origin, hostname, protocol } = location;
  const isHere = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  return (
    <section class="section">
      <h2>Where it listens</h2>
      <dl class="facts">
        <dt>MCP</dt>
        <dd class="mono">{origin}/mcp</dd>
        <dt>HTTP</dt>
        <dd>
          <code>{origin}/api</code>, <a href="/docs">OpenAPI</a>
        </dd>
        <dt>Metrics</dt>
        <dd class="mono">{origin}/metrics</dd>
        <dt>Reach</dt>
        <dd>{isHere ? "this machine only, as you see it" : protocol === "https:" ? "others, over TLS" : "others, without TLS"}</dd>
        <dt>Workspace</dt>
        <dd class="mono">{plain(workspace)}</dd>
      </dl>
    </section>
  );
}
