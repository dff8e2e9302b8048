// The calls of a session, newest first. Older ones come on demand.
import { useState } from "preact/hooks";
import { ApiFailure, get } from "../../api.ts";
import { clock, count } from "../../format.ts";
import { CallHead, CallRow } from "../../part/call_row.tsx";
import { filterWord } from "../../part/filter_word.ts";
import { FailureNote } from "../../part/notes.tsx";
import type { WaitingCalls } from "../../part/waiting.ts";
import { addressOf } from "../../router.ts";
import type { OneSession } from "../sessions.tsx";

type SessionCall = OneSession["calls"][number];

const FIRST_ROWS = 50;
const MORE_ROWS = 200;
const MOST_ROWS = 1000;

export function SessionCalls({ data, waiting, path, search }: { data: OneSession; waiting: WaitingCalls; path: string; search: string }) {
  const [wanted, setWanted] = useState(FIRST_ROWS);
  const [older, setOlder] = useState<SessionCall[]>([]);
  const [hasEnded, setEnded] = useState(false);
  const [failure, setFailure] = useState<ApiFailure>();
  const oldest = data.calls.at(-1)?.seq ?? 0;
  const all = [...data.calls, ...older.filter((call) => call.seq < oldest)];
  const shown = all.slice(0, wanted);
  const more = async () => {
    if (wanted >= all.length) {
      try {
        const query = new URLSearchParams(search);
        query.set("before", String(all.at(-1)!.seq));
        query.set("limit", String(MORE_ROWS));
        const page = await get<OneSession>(`${path}?${query}`);
        setOlder([...older, ...page.calls]);
        setFailure(undefined);
      } catch (error) {
        if (error instanceof ApiFailure && error.status === 404) setEnded(true);
        else if (error instanceof ApiFailure) setFailure(error);
        return;
      }
    }
    setWanted(wanted + MORE_ROWS);
  };
  const hasMore = shown.length < all.length || (data.truncated && !hasEnded);
  return (
    <section class="section" aria-label="Calls of this session">
      <div class="section-head">
        <h2>Calls</h2>
        <a href={addressOf("audit", "", { filter: filterWord("session", data.session.session) })}>in the record</a>
      </div>
      <table class="session-calls">
        <CallHead />
        <tbody>
          {shown.map((call) => (
            <CallRow key={call.call} call={call} isWaiting={waiting.has(call)} to={addressOf("audit", call.call)} time={clock(call.at)} />
          ))}
        </tbody>
      </table>
      {failure !== undefined && <FailureNote what="No older calls came." failure={failure} />}
      {hasMore &&
        (wanted < MOST_ROWS ? (
          <button type="button" onClick={more}>
            Show older calls
          </button>
        ) : (
          <p class="third">{count(MOST_ROWS)} calls are shown; the record has the others.</p>
        ))}
    </section>
  );
}
