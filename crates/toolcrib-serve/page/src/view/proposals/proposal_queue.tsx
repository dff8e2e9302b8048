// What waits at the left: proposed tools and tools of MCP servers, then what was answered, then the tools there are.
import { SERVER } from "../../part/waiting.ts";
import { count, oneLine, plain, shortHash } from "../../format.ts";
import { Key, Mark } from "../../part/marks.tsx";
import { Empty } from "../../part/notes.tsx";
import { Ago, Left } from "../../part/texts.tsx";
import { counted, principalWords } from "../../part/words.ts";
import { addressOf } from "../../router.ts";
import { type Kept, type Pending, pendingGist, type Plugin, type Server } from "./proposal_words.ts";

export const TOOL = "tool:";

interface Props {
  pending: Pending[];
  servers: Server[];
  settled: Kept[];
  plugins: Plugin[];
  current: string | undefined;
}

export function ProposalQueue({ pending, servers, settled, plugins, current }: Props) {
  const shared = (id: string) => ({ class: "item", href: addressOf("proposals", id), "aria-current": id === current ? ("true" as const) : undefined });
  return (
    <nav class="pane list queue-list" aria-label="Proposals">
      <div class="head">
        <h2>
          Waiting <span class="third">{count(pending.length + servers.length)}</span>
        </h2>
        <span class="end">
          <Key name="j" />
          <Key name="k" />
        </span>
      </div>
      {pending.length + servers.length === 0 && (
        <div class="pad">
          <Empty title="No proposal waits">Tools that agents or people propose show up here.</Empty>
        </div>
      )}
      {pending.map((it) => (
        <a key={it.id} {...shared(it.id)}>
          <span class="row">
            <span class="tag clip">{plain(it.toolName)}</span>
            <b class="end brass">
              <Left until={it.expiresAt} suffix=" left" />
            </b>
          </span>
          <span class="clip second who">{principalWords(it.by)}</span>
          <span class="clip second">{pendingGist(it)}</span>
        </a>
      ))}
      {servers.map((it) => (
        <a key={it.name} {...shared(SERVER + it.name)}>
          <span class="row">
            <span class="tag clip">{plain(it.name)}</span>
            <span class="end second">MCP server</span>
          </span>
          <span class="clip second">{it.import ? "the server itself is new or changed" : `${counted(it.waiting.length, "tool")} new or changed`}</span>
        </a>
      ))}
      <div class="settled-list">
        {settled.length > 0 && <Heading name="Settled" number={settled.length} />}
        {settled.slice(0, MOST_SETTLED).map((it) => (
          <a key={it.id} {...shared(it.id)}>
            <span class="row">
              <span class="tag settled clip">{plain(it.toolName)}</span>
              <span class="end third">
                <Ago time={it.answer?.at ?? it.createdAt} />
              </span>
            </span>
            <span class="clip">
              <span class={it.status === "approved" ? "" : "red"}>{it.status}</span>
              {it.answer?.by != null && ` by ${principalWords(it.answer.by)}`}
              {it.answer != null && it.answer.reason !== "" && `: “${oneLine(it.answer.reason)}”`}
            </span>
          </a>
        ))}
        {plugins.length > 0 && <Heading name="Tools" number={plugins.length} />}
        {plugins.map((it) => (
          <a key={it.name} {...shared(TOOL + it.name)}>
            <span class="row">
              <code class="clip">{plain(it.name)}</code>
              <span class="end third">
                {it.problem != null ? <Mark name="failed" /> : !it.enabled && <Mark name="off" />} {it.problem != null ? "does not run" : it.enabled ? (it.version === null ? "" : shortHash(it.version)) : "switched off"}
              </span>
            </span>
          </a>
        ))}
      </div>
    </nav>
  );
}

const MOST_SETTLED = 30;

function Heading({ name, number }: { name: string; number: number }) {
  return (
    <div class="head">
      <h2>
        {name} <span class="third">{count(number)}</span>
      </h2>
    </div>
  );
}
