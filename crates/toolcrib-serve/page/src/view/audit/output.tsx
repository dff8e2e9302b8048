// What a call printed or replied, by lines. A long output comes a page at a time.
import { useState } from "preact/hooks";
import { ApiFailure, get } from "../../api.ts";
import { useData } from "../../data.ts";
import { count } from "../../format.ts";
import { FailureNote } from "../../part/notes.tsx";
import { Foreign } from "../../part/texts.tsx";
import { counted } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";

type Lines = Reply<"/api/outputs/{call}">;

const FIRST_LINES = 12;
const MORE_LINES = 500;
/** How many lines are in the page at most. */
const MOST_LINES = 5000;

const pathOf = (call: string, stream: string, from: number, lines: number) => `/api/outputs/${encodeURIComponent(call)}?${new URLSearchParams({ stream, from: String(from), lines: String(lines) })}`;

export function Output({ call, isSaved, reply, isCommand }: { call: string; isSaved: boolean; reply: string | null; isCommand: boolean }) {
  if (!isSaved) return reply === null || reply === "" ? null : <Foreign class="small" text={reply} />;
  return (
    <>
      <Stream call={call} stream="stdout" />
      {isCommand && <Stream call={call} stream="stderr" />}
    </>
  );
}

function Stream({ call, stream }: { call: string; stream: "stdout" | "stderr" }) {
  const first = useData<Lines>(pathOf(call, stream, 1, FIRST_LINES));
  const [more, setMore] = useState<Lines[]>([]);
  const [failure, setFailure] = useState<ApiFailure>();
  if (first.error !== undefined && first.data === undefined) {
    // A command that printed nothing there has no such output.
    return first.error.status === 404 ? null : <FailureNote what="The output could not be read." failure={first.error} />;
  }
  if (first.data === undefined || first.data.total === 0) return null;
  const parts = [first.data, ...more];
  const shown = parts.reduce((sum, part) => sum + part.count, 0);
  const { total } = first.data;
  const load = async () => {
    try {
      const next = await get<Lines>(pathOf(call, stream, shown + 1, MORE_LINES));
      setMore([...more, next]);
      setFailure(undefined);
    } catch (error) {
      if (error instanceof ApiFailure) setFailure(error);
    }
  };
  const rest = total - shown;
  return (
    <div class="output">
      {stream === "stderr" && <span class="third">standard error</span>}
      <Foreign class="small" text={parts.map((part) => part.text).join("")} />
      {failure !== undefined && <FailureNote what="No more lines came." failure={failure} />}
      {rest > 0 &&
        (shown < MOST_LINES ? (
          <button type="button" class="link" onClick={load}>
            {rest <= MORE_LINES ? `all ${count(total)} lines` : `${MORE_LINES} more of ${count(total)} lines`}
          </button>
        ) : (
          <span class="third">
            {counted(rest, "more line")}: <code>toolcrib output {call}</code>
          </span>
        ))}
    </div>
  );
}
