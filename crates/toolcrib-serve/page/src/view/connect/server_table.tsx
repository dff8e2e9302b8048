// The MCP servers that are mounted: their tools, what waits until somebody accepts it, and why one cannot be reached.
import { useData } from "../../data.ts";
import { count, oneLine, plain } from "../../format.ts";
import { Mark } from "../../part/marks.tsx";
import { Shown } from "../../part/notes.tsx";
import { counted } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";

type Server = Reply<"/api/servers">["servers"][number];

export function ServerTable() {
  const loaded = useData<Reply<"/api/servers">>("/api/servers", { live: true, everyMs: 5000 });
  return (
    <Shown loaded={loaded} what="The mounted servers">
      {({ servers }) => (
        <>
          <div class="head">
            <h2>Mounted servers</h2>
            <span class="third">{servers.length}</span>
          </div>
          {servers.length === 0 ? (
            <p class="pad third">None. The setting mcp.servers mounts one.</p>
          ) : (
            <table class="servers">
              <thead>
                <tr>
                  <th>Server</th>
                  <th class="r">Tools</th>
                  <th>State</th>
                </tr>
              </thead>
              <tbody>
                {servers.map((server) => (
                  <tr key={server.name}>
                    <td class="mono cut" title={plain(server.command)}>
                      {oneLine(server.name)}
                    </td>
                    <td class="r">{count(server.tools.length)}</td>
                    <td>
                      <State server={server} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </>
      )}
    </Shown>
  );
}

function State({ server }: { server: Server }) {
  const waits = server.waiting.length;
  return (
    <>
      {waits > 0 && (
        <a href="/proposals">
          <Mark name="waits" /> {counted(waits, "tool waits", "tools wait")}
        </a>
      )}
      {server.import != null && (
        <a href="/proposals">
          <Mark name="waits" /> waits to be accepted
        </a>
      )}
      {server.problem != null && (
        <span class="red">
          <Mark name="failed" /> {oneLine(server.problem)}
        </span>
      )}
      {waits === 0 && server.import == null && server.problem == null && (server.mounted ? <span class="second">as accepted</span> : <span class="third">not reached yet</span>)}
    </>
  );
}
