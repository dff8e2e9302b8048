// The first call through a door since this step was opened, as it comes.
import { useRef } from "preact/hooks";
import { useData } from "../../data.ts";
import { oneLine } from "../../format.ts";
import { Mark, Tag } from "../../part/marks.tsx";
import { Empty, FailureNote } from "../../part/notes.tsx";
import { Ago } from "../../part/texts.tsx";
import { askerWords } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";

type Caller = Reply<"/api/callers">["callers"][number];

export function FirstCall({ door, who }: { door: string; who: string }) {
  const loaded = useData<Reply<"/api/callers">>("/api/callers", { live: true, everyMs: 500 });
  // The calls that were there before. No clock is compared: that of the browser can differ from that of the server.
  const before = useRef<Set<string> | undefined>(undefined);
  const first = useRef<Caller | undefined>(undefined);
  const callers = (loaded.data?.callers ?? []).filter((it) => it.door === door);
  if (loaded.data !== undefined) {
    before.current ??= new Set(callers.map((it) => it.last_call));
    first.current ??= callers.find((it) => !before.current!.has(it.last_call));
  }
  const call = first.current;
  return (
    <div aria-live="polite">
      {loaded.error !== undefined && !loaded.error.isUnreachable && <FailureNote what="Calls cannot be seen now." failure={loaded.error} />}
      {call === undefined ? (
        <Empty title={`No call from ${oneLine(who)} yet`}>Ask it to list the files of the project. The call shows up here within a second.</Empty>
      ) : (
        <div class="first-call">
          <Mark name="passed" /> <b>{askerWords(call)}</b> called <code>{oneLine(call.last_tool)}</code> <Ago time={call.last_at} /> <Tag kind="audit" id={call.last_call} isSettled />
        </div>
      )}
    </div>
  );
}
