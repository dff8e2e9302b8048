// The tail of the record: one row for each call, newest first. Rows keep their place while a person reads.
import { Fragment, type RefObject } from "preact";
import { clock, day, preciseClock } from "../../format.ts";
import { missedCalls, pausedAt, resume } from "../../live.ts";
import { CallHead, CallRow } from "../../part/call_row.tsx";
import { Key, PathCells } from "../../part/marks.tsx";
import { Empty, FailureNote } from "../../part/notes.tsx";
import type { WaitingCalls } from "../../part/waiting.ts";
import { addressOf, go } from "../../router.ts";
import { counted } from "../../part/words.ts";
import { PAGE, type Tail } from "./calls.ts";
import { type Gap, linesIn, placeOf } from "./gap.ts";

interface TailProps {
  tail: Tail;
  selected: string;
  query: Record<string, string>;
  /** Calls that wait for an answer now. */
  waiting: WaitingCalls;
  body: RefObject<HTMLTableSectionElement | null>;
  showNew: () => void;
  loadOlder: () => void;
  loadGap: () => void;
  hasFilter: boolean;
  /** Whether words are searched for, which events have only a part of. */
  hasText: boolean;
}

export function TailTable({ tail, selected, query, waiting, body, showNew, loadOlder, loadGap, hasFilter, hasText }: TailProps) {
  const gapAt = placeOf(tail.gap, tail.rows);
  return (
    <>
      <TailState tail={tail} showNew={showNew} hasText={hasText} />
      {tail.error !== undefined && !tail.error.isUnreachable && (
        <div class="pad">
          <FailureNote what="The record could not be read." failure={tail.error} />
        </div>
      )}
      {tail.rows.length === 0 ? (
        <div class="pad">{tail.state === "loading" ? <p class="loading">Loading calls …</p> : tail.error === undefined && <Nothing hasFilter={hasFilter} />}</div>
      ) : (
        <table class="calls-table">
          <CallHead />
          <tbody ref={body}>
            {tail.rows.map((call, at) => (
              <Fragment key={call.call}>
                {at === gapAt && <GapRow gap={tail.gap!} load={loadGap} isBusy={tail.state === "loading"} />}
                <CallRow call={call} isWaiting={waiting.has(call)} to={addressOf("audit", call.call, query)} time={<TailTime at={call.at} />} isSelected={call.call === selected} />
              </Fragment>
            ))}
          </tbody>
        </table>
      )}
      {tail.rows.length > 0 && (
        <div class="tail-foot">
          {tail.hasOlder ? (
            <button type="button" onClick={loadOlder} disabled={tail.state === "loading"}>
              Show {PAGE} older calls
            </button>
          ) : (
            <span class="third">These are all that match.</span>
          )}
          <Legend />
        </div>
      )}
    </>
  );
}

function GapRow({ gap, load, isBusy }: { gap: Gap; load: () => void; isBusy: boolean }) {
  return (
    <tr class="gap">
      <td colSpan={6}>
        <b>{counted(linesIn(gap), "line")} of the record {linesIn(gap) === 1 ? "is" : "are"} not shown here.</b>{" "}
        <button type="button" class="link" onClick={load} disabled={isBusy}>
          Load the calls between
        </button>
      </td>
    </tr>
  );
}

/** One line that is always there, so that nothing moves when calls wait to be shown. */
function TailState({ tail, showNew, hasText }: { tail: Tail; showNew: () => void; hasText: boolean }) {
  const paused = pausedAt.value;
  const missed = missedCalls.value;
  if (paused !== null) {
    return (
      <div class="tail-state paused" role="status">
        <b>Paused at {clock(paused)}.</b> {missed === 0 ? "No call came since." : `${counted(missed, "call")} came since.`}
        <button type="button" class="end" onClick={resume}>
          Resume <Key name="p" />
        </button>
      </div>
    );
  }
  return (
    <div class="tail-state" role="status">
      {tail.isCut ? "Older calls." : "Newest first."}
      {hasText && " New calls are matched without their replies."}
      {tail.held > 0 && (
        <>
          {" "}
          <b>
            {counted(tail.held, "call")} came since.
          </b>
        </>
      )}
      {(tail.isCut || tail.held > 0) && (
        <button type="button" class="end" onClick={showNew}>
          Show the newest
        </button>
      )}
    </div>
  );
}

function Nothing({ hasFilter }: { hasFilter: boolean }) {
  return hasFilter ? (
    <Empty title="No call matches">
      <button type="button" class="link" onClick={() => go("/audit")}>
        Show all calls
      </button>
    </Empty>
  ) : (
    <Empty title="No call is on the record">
      The first call of an agent shows up here. <a href="/connect">Connect one</a>, or try a tool by hand under <a href="/tools">Tools</a>.
    </Empty>
  );
}

const DAY = 86_400_000;

/** The record is of all days, so older calls have theirs. */
function TailTime({ at }: { at: string }) {
  const isOld = Date.now() - Date.parse(at) > DAY;
  return (
    <>
      {isOld && <span class="third">{day(at)} </span>}
      {preciseClock(at)}
    </>
  );
}

const LEGEND = [
  { stations: ["done", "done", "done", "done", "done"], words: "done" },
  { stations: ["done", "done", "person", "done", "done"], words: "a person answered" },
  { stations: ["done", "done", "waits", "never", "never"], words: "waits" },
  { stations: ["done", "done", "done", "runs", "never"], words: "runs" },
  { stations: ["done", "done", "stopped", "never", "done"], words: "stopped there" },
] as const;

function Legend() {
  return (
    <div class="legend not-phone">
      <span>Path: find, check, decide, run, record.</span>
      {LEGEND.map(({ stations, words }) => (
        <span key={words}>
          <PathCells stations={[...stations]} /> {words}
        </span>
      ))}
    </div>
  );
}
