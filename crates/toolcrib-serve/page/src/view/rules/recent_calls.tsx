// A recent call from the record, to explain it.
import { useState } from "preact/hooks";
import { useData } from "../../data.ts";
import { clock, oneLine } from "../../format.ts";
import { resultOf } from "../../part/call.ts";
import { useWaitingCalls } from "../../part/waiting.ts";
import { askerWords } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";

const MOST_OFFERED = 30;

export function RecentCalls({ onTake }: { onTake: (call: string) => void }) {
  const [isOpen, setOpen] = useState(false);
  const loaded = useData<Reply<"/api/audit">>(isOpen ? `/api/audit?limit=${MOST_OFFERED}` : null);
  const waiting = useWaitingCalls({ isWanted: isOpen });
  const calls = loaded.data?.calls ?? [];
  return (
    <div class="field">
      <label for="explain-recent">From the record</label>
      <select id="explain-recent" value="" onFocus={() => setOpen(true)} onPointerDown={() => setOpen(true)} onChange={(event) => event.currentTarget.value !== "" && onTake(event.currentTarget.value)}>
        <option value="">{loaded.data !== undefined && calls.length === 0 ? "no calls yet" : "a recent call …"}</option>
        {calls.map((call) => (
          <option key={call.call} value={call.call}>
            {clock(call.at)} {oneLine(call.tool)} {resultOf(call, waiting.has(call)).words} {askerWords(call)}
          </option>
        ))}
      </select>
    </div>
  );
}
