// How a program connects over HTTP: a token, a request, and the first call.
import { NewTokenForm } from "./tokens.tsx";
import { FirstCall } from "./first_call.tsx";
import { useState } from "preact/hooks";
import { loggedIn } from "../../api.ts";
import { NEW_TOKEN } from "../../part/command_line.ts";
import { CodeBox } from "../../part/texts.tsx";

function TokenStep({ onToken = () => undefined }: { onToken?: (token: string) => void }) {
  return (
    <li>
      <h3>Make a token for it</h3>
      <CodeBox text={NEW_TOKEN} />
      <p class="third">Shown once. An agent's token cannot approve.</p>
      {loggedIn.value?.role === "admin" && <NewTokenForm isForAgent onMade={(made) => onToken(made.token)} />}
    </li>
  );
}

export function HttpSteps() {
  // A token in a command would stay in the history of the shell.
  const curl = `read -rs TOOLCRIB_TOKEN   # paste the token, then Enter
curl -H "Authorization: Bearer $TOOLCRIB_TOKEN" -H 'Content-Type: application/json' \\
  ${location.origin}/api/tools/execute/read_dir \\
  -d '{"args": {"path": "."}}'`;
  return (
    <div class="section steps">
      <h2>Connect any program</h2>
      <p class="second">
        Every tool is a request, which is checked, decided, run in the sandbox and recorded. <a href="/docs">The OpenAPI specification</a> has all of them.
      </p>
      <ol>
        <TokenStep />
        <li>
          <h3>Call a tool</h3>
          <CodeBox text={curl} />
        </li>
        <li>
          <h3>See its first call</h3>
          <FirstCall door="http" who="the program" />
        </li>
      </ol>
    </div>
  );
}

export function McpOverHttpSteps() {
  const [token, setToken] = useState<string>();
  const shown = token ?? "${TOOLCRIB_TOKEN}";
  const entry = { mcpServers: { toolcrib: { type: "http", url: `${location.origin}/mcp`, headers: { Authorization: `Bearer ${shown}` } } } };
  return (
    <div class="section steps">
      <h2>Connect over MCP and HTTP</h2>
      <p class="second">For a client on another machine, or one that takes the address of a server instead of a command.</p>
      <ol>
        <TokenStep onToken={setToken} />
        <li>
          <h3>Give the client the address and the token</h3>
          <CodeBox file="most clients' form" text={`${JSON.stringify(entry, null, 2)}\n`} />
          <p class="third">Clients differ in how they name these fields. The address and the header are what counts.</p>
        </li>
        <li>
          <h3>See its first call</h3>
          <FirstCall door="mcp" who="the client" />
        </li>
      </ol>
    </div>
  );
}
