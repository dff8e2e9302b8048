// The answer to a question that waits. Yes and no weigh the same, neither is the default, and both are locked until the
// question can have been read.
import { useRef, useState } from "preact/hooks";
import { ApiFailure, post } from "../../api.ts";
import { second } from "../../data.ts";
import { useKeys } from "../../keys.ts";
import { connection } from "../../live.ts";
import { useSettling } from "../../part/answer_lock.ts";
import { Key } from "../../part/marks.tsx";
import { FailureNote, Note } from "../../part/notes.tsx";
import type { Sent } from "../../reply.ts";
import { AlwaysChoice, AlwaysHead } from "./always.tsx";
import { Countdown } from "./countdown.tsx";
import type { OneApproval } from "./question_words.ts";

type Decision = Sent<"/api/approvals/{id}">["decision"];

/** Words that were begun, by question: whoever looks at another one finds them again. */
const drafts = new Map<string, string>();

const LONGEST_WORDS = 4096;

interface Props {
  one: OneApproval;
  /** Whether everything that an answer is about was on the screen. */
  isSeen: boolean;
  showAll: () => void;
  /** Called when the question is closed, by this answer or by another that was first. */
  onClosed: (how: "used" | "raced") => void;
}

export function Answer({ one, isSeen, showAll, onClosed }: Props) {
  const { approval } = one;
  const [words, setWords] = useState(drafts.get(approval.id) ?? "");
  const [chosen, setChosen] = useState(0);
  const [failure, setFailure] = useState<ApiFailure>();
  const [isBusy, setBusy] = useState(false);
  const isSettling = useSettling();
  const field = useRef<HTMLTextAreaElement>(null);
  const firstChoice = useRef<HTMLInputElement>(null);

  const why = whyOff(one, second.value * 1000);
  const noOff = isBusy || isSettling || why.both !== null;
  const yesOff = noOff || why.yes !== null || !isSeen;

  const send = (decision: Decision) => async () => {
    if (decision === "deny" ? noOff : yesOff) return;
    setBusy(true);
    setFailure(undefined);
    try {
      const body = { decision, ...(decision === "deny" && words !== "" ? { words } : {}), ...(decision === "always" ? { grant: chosen } : {}) };
      await post(`/api/approvals/${approval.id}`, body);
      drafts.delete(approval.id);
      onClosed("used");
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      if (error.code === "already_answered") onClosed("raced");
      else setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  const [yes, no, always] = [send("approve"), send("deny"), send("always")];
  const hasGrants = approval.grants.length > 0;
  useKeys({
    y: yes,
    n: no,
    a: hasGrants ? always : undefined,
    c: () => field.current?.focus(),
    e: () => firstChoice.current?.focus(),
  });
  const reason = why.both ?? why.yes ?? (isSeen ? null : "Not all of it was shown, so it cannot be run yet.");
  return (
    <aside class="pane answer" aria-label="Answer">
      <div class="section stack answer-bar">
        <Countdown from={approval.created_at} until={approval.expires_at} what={approval.is_parked ? "until it expires" : "until it is declined"} />
        <div class="pair">
          <button type="button" class="yes large" aria-disabled={yesOff} aria-describedby="answer-off" onClick={yes}>
            Run once <Key name="y" />
          </button>
          <button type="button" class="no large" aria-disabled={noOff} aria-describedby="answer-off" onClick={no}>
            Decline <Key name="n" />
          </button>
        </div>
        <p id="answer-off" class={reason === null ? "unseen" : "why-off"} role="status">
          {reason ?? ""}{" "}
          {reason !== null && why.both === null && why.yes === null && (
            <button type="button" class="link" onClick={showAll}>
              View all of it
            </button>
          )}
        </p>
        {failure && (
          <FailureNote what="Your answer did not count." failure={failure}>
            The call still waits.
          </FailureNote>
        )}
      </div>
      <div class="section">
        <label class="label" for="words">
          Words for the agent, sent with a decline <Key name="c" />
        </label>
        <textarea
          id="words"
          ref={field}
          rows={1}
          maxLength={LONGEST_WORDS}
          value={words}
          placeholder="What it should do instead"
          onInput={(event) => {
            setWords(event.currentTarget.value);
            drafts.set(approval.id, event.currentTarget.value);
          }}
        />
      </div>
      {hasGrants ? (
        <div class="section stack">
          <AlwaysHead />
          <AlwaysChoice approval={approval} chosen={chosen} choose={setChosen} first={firstChoice} />
          <button type="button" class="large" aria-disabled={yesOff} aria-describedby="answer-off" onClick={always}>
            Run and store the rule <Key name="a" />
          </button>
        </div>
      ) : (
        <div class="section">
          <p class="second">No rule can be stored for this call, so it is asked each time.</p>
        </div>
      )}
    </aside>
  );
}

/** Why no answer, or no yes, can be given here. */
function whyOff(one: OneApproval, now: number): { both: string | null; yes: string | null } {
  if (connection.value.state === "lost") return { both: "No connection: answers cannot be given until it is back.", yes: null };
  if (one.own) return { both: "You asked for this call, so somebody else has to answer.", yes: null };
  if (new Date(one.approval.expires_at).getTime() <= now) return { both: "Its time is over.", yes: null };
  if (one.elsewhere) return { both: null, yes: "The call is of another workspace, so it can only be approved there." };
  return { both: null, yes: null };
}

export function RacedNote({ one }: { one: OneApproval }) {
  const { answer, status } = one.approval;
  return (
    <Note tone="info">
      <b>{answer === null ? `The question is closed: ${status}.` : "Somebody else was first."}</b> Your answer was not used.
    </Note>
  );
}
