// The processes of the server that run tools from other authors.
import { useData } from "../../data.ts";
import { count } from "../../format.ts";
import { Shown } from "../../part/notes.tsx";
import type { Reply } from "../../reply.ts";

type Group = Reply<"/api/workers">["workers"][number];

const KINDS: Record<Group["kind"], string> = { module: "ES modules", program: "programs" };

export function WorkerTable() {
  const loaded = useData<Reply<"/api/workers">>("/api/workers", { live: true, everyMs: 2000 });
  return (
    <Shown loaded={loaded} what="The workers">
      {({ workers }) => (
        <>
          <div class="head">
            <h2>Workers</h2>
            <span class="third">processes of this server for tools from others</span>
          </div>
          <table>
            <thead>
              <tr>
                <th>For</th>
                <th class="r">Busy</th>
                <th class="r">Ready</th>
                <th class="r">At most</th>
              </tr>
            </thead>
            <tbody>
              {workers.map(({ kind, busy, idle, most }) => (
                <tr key={kind}>
                  <td>{KINDS[kind]}</td>
                  <td class="r">{count(busy)}</td>
                  <td class="r">{count(idle)}</td>
                  <td class="r">{count(most)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </Shown>
  );
}
