// The questions at the left: those that wait, new ones last, and those that were answered or expired.
import { useRef } from "preact/hooks";
import { count, oneLine, plain, shortId } from "../../format.ts";
import { Boundary } from "../../part/boundary.tsx";
import { Key } from "../../part/marks.tsx";
import { Empty } from "../../part/notes.tsx";
import { Ago, Left } from "../../part/texts.tsx";
import { principalWords } from "../../part/words.ts";
import { addressOf } from "../../router.ts";
import { type ListedApproval, asker, gist } from "./question_words.ts";

/** Orders what waits. A question that is new goes to the end, so that no row moves that somebody reads. */
export function useOrder(waiting: ListedApproval[]): ListedApproval[] {
  const known = useRef<string[]>([]);
  const byId = new Map(waiting.map((it) => [it.id, it]));
  const fresh = waiting.filter((it) => !known.current.includes(it.id)).sort((a, b) => a.expires_at.localeCompare(b.expires_at));
  known.current = [...known.current.filter((id) => byId.has(id)), ...fresh.map((it) => it.id)];
  return known.current.map((id) => byId.get(id)!);
}

interface Props {
  waiting: ListedApproval[];
  settled: ListedApproval[];
  current: string | undefined;
}

export function Queue({ waiting, settled, current }: Props) {
  return (
    <nav class="pane list queue-list" aria-label="Questions">
      <div class="head">
        <h2>
          Waiting <span class="third">{count(waiting.length)}</span>
        </h2>
        <span class="end">
          <Key name="j" />
          <Key name="k" />
        </span>
      </div>
      {waiting.length === 0 && (
        <div class="pad">
          <Empty title="No call waits for a person">Calls that ask show up here.</Empty>
        </div>
      )}
      {waiting.map((it) => (
        <Boundary key={it.id} what={shortId(it.id)}>
        <a class="item" href={addressOf("approvals", it.id)} aria-current={it.id === current ? "true" : undefined}>
          <span class="row">
            <span class="tag">{plain(shortId(it.id))}</span>
            <b class="end brass">
              <Left until={it.expires_at} suffix=" left" />
            </b>
          </span>
          <span class="row">
            <code class="clip">{oneLine(it.tool)}</code>
            <span class="end clip who">{asker(it)}</span>
          </span>
          <code class="clip second gist">{gist(it)}</code>
        </a>
        </Boundary>
      ))}
      {settled.length > 0 && (
        <div class="settled-list">
          <div class="head">
            <h2>
              Answered, last hour <span class="third">{count(settled.length)}</span>
            </h2>
          </div>
          {settled.slice(0, MOST_SETTLED).map((it) => (
            <a key={it.id} class="item" href={addressOf("approvals", it.id)} aria-current={it.id === current ? "true" : undefined}>
              <span class="row">
                <span class="tag settled">{plain(shortId(it.id))}</span>
                <span class="end third">
                  <Ago time={it.answer?.at ?? it.expires_at} />
                </span>
              </span>
              <SettledWords approval={it} />
            </a>
          ))}
          {settled.length > MOST_SETTLED && (
            <p class="pad third">
              The newest {MOST_SETTLED}. <a href="/audit">The record</a> has all.
            </p>
          )}
        </div>
      )}
    </nav>
  );
}

const MOST_SETTLED = 100;

function SettledWords({ approval }: { approval: ListedApproval }) {
  const { status, answer, tool } = approval;
  const by = answer === null ? null : <span class="end clip who second">{principalWords(answer.by)}</span>;
  switch (status) {
    case "approved":
    case "taken up":
      return (
        <span class="row">
          <span class="clip">
            {answer?.wish ? "approved, with a grant: " : "approved once: "}
            <code>{oneLine(tool)}</code>
          </span>
          {by}
        </span>
      );
    case "denied":
      return (
        <span class="row">
          <span class="clip">
            <span class="red">declined</span>
            {answer !== null && answer.words !== "" ? `: “${oneLine(answer.words)}”` : ""}
          </span>
          {by}
        </span>
      );
    default:
      return (
        <span class="clip">
          <span class="red">{plain(status)}</span>: {status === "expired" ? "nobody answered" : "the token that asked is gone"}
        </span>
      );
  }
}
