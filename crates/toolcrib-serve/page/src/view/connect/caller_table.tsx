// Who made calls in the last day, through which door and with which client.
import { useData } from "../../data.ts";
import { count, oneLine, plain } from "../../format.ts";
import { Empty, Shown } from "../../part/notes.tsx";
import { Ago } from "../../part/texts.tsx";
import { doorWords, principalWords } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";
import { addressOf } from "../../router.ts";

export function CallerTable() {
  const loaded = useData<Reply<"/api/callers">>("/api/callers", { live: true });
  return (
    <Shown loaded={loaded} what="Who is connected">
      {({ callers }) => (
        <>
          <div class="head">
            <h2>Connected, last 24 hours</h2>
            <span class="third">{callers.length}</span>
          </div>
          {callers.length === 0 ? (
            <div class="pad">
              <Empty title="Nobody has made a call">Connect a client, and ask it to list the files of the project.</Empty>
            </div>
          ) : (
            <table class="callers">
              <thead>
                <tr>
                  <th>Who</th>
                  <th>Client</th>
                  <th>Door</th>
                  <th class="r">Calls</th>
                  <th class="r">Last</th>
                </tr>
              </thead>
              <tbody>
                {callers.map((it) => (
                  <tr key={JSON.stringify([it.principal, it.role, it.door, it.client])}>
                    <td class="cut" title={plain(`${it.principal ?? "local user"}, ${it.role ?? "user"}`)}>
                      {principalWords(it.principal)}
                    </td>
                    <td class="second cut" title={plain(it.client ?? "")}>
                      {oneLine(it.client ?? "–")}
                    </td>
                    <td class="second">{doorWords(it.door)}</td>
                    <td class="r">{count(it.calls)}</td>
                    <td class="r second nowrap">
                      <a class="plain" href={addressOf("audit", it.last_call)}>
                        <Ago time={it.last_at} suffix="" />
                      </a>
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
