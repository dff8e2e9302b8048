// The calls of a session, newest first. Older ones come on demand.
import { useState } from "preact/hooks";
import { ApiFailure, get } from "../../api.ts";
import { absolute, clock, count, oneLine, plain } from "../../format.ts";
import { PathCells } from "../../part/marks.tsx";
import { FailureNote } from "../../part/notes.tsx";
import { addressOf } from "../../router.ts";
import { aboutOf, decidedBy, resultOf, stationsOf } from "../audit/call.ts";
import { word } from "../audit/filters.ts";
import type { OneSession } from "../sessions.tsx";
import { Sentence } from "../../part/texts.tsx";

type SessionCall = OneSession["calls"][number];

const FIRST_ROWS = 50;
const MORE_ROWS = 200;
const MOST_ROWS = 1000;

export function SessionCalls({ data, waiting, path, search }: { data: OneSession; waiting: Set<string>; path: string; search: string }) {
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
        <a href={addressOf("audit", "", { filter: word("session", data.session.session) })}>in the record</a>
      </div>
      <table class="session-calls">
        <thead>
          <tr>
            <th>Time</th>
            <th>Path</th>
            <th>Tool</th>
            <th>Arguments</th>
            <th>Decided by</th>
            <th class="r">Took</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((call) => (
            <Row key={call.call} call={call} isWaiting={waiting.has(call.call)} />
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

function Row({ call, isWaiting }: { call: SessionCall; isWaiting: boolean }) {
  const result = resultOf(call, isWaiting);
  const about = aboutOf(call.args);
  return (
    <tr>
      <td class="nowrap">
        <time dateTime={call.at} title={absolute(call.at)}>
          {clock(call.at)}
        </time>
      </td>
      <td>
        <PathCells stations={stationsOf(call, isWaiting)} />
      </td>
      <td>
        <a class="plain mono clip" href={addressOf("audit", call.call)} title={plain(call.tool)}>
          {oneLine(call.tool) || "no tool"}
        </a>
      </td>
      <td class="mono clip" title={about.slice(0, 600)}>
        <bdi dir="ltr">{about}</bdi>
      </td>
      <td class="clip" title={decidedBy(call)}>
        <Sentence text={decidedBy(call) || "–"} />
      </td>
      <td class={`r nowrap ${result.tone}`}>{result.words}</td>
    </tr>
  );
}
