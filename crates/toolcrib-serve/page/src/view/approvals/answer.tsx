// The answer to a question that waits. Yes and no weigh the same, neither is the default, and both are locked until the
// question can have been read.
import type { RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import { useKeys } from "../../keys.ts";
import { type Closed, useAnswer } from "../../part/answer.ts";
import { useAnswerLock, useSeen } from "../../part/answer_lock.ts";
import { Countdown } from "../../part/countdown.tsx";
import { Key } from "../../part/marks.tsx";
import { FailureNote, Note } from "../../part/notes.tsx";
import type { Sent } from "../../reply.ts";
import { AlwaysChoice, AlwaysHead } from "./always.tsx";
import type { OneApproval } from "./question_words.ts";

type Decision = Sent<"/api/approvals/{id}">["decision"];

const LONGEST_WORDS = 4096;

interface Props {
  one: OneApproval;
  /** What stands after all that an answer is about, and whether all before it is there. */
  end: RefObject<HTMLElement | null>;
  isComplete: boolean;
  showAll: () => void;
  onClosed: (how: Closed) => void;
}

export function Answer({ one, end, isComplete, showAll, onClosed }: Props) {
  const { approval, own, elsewhere, changed } = one;
  const [chosen, setChosen] = useState(0);
  const { words, write, send, failure, isBusy } = useAnswer(approval.id, "already_answered", onClosed);
  const forbidden = own ? "You asked for this call, so somebody else has to answer." : null;
  const { isSeen, isLocked, why } = useAnswerLock({ end, isComplete, forbidden, expiresAt: approval.expires_at });
  const field = useRef<HTMLTextAreaElement>(null);
  const firstChoice = useRef<HTMLInputElement>(null);
  const grantEnd = useRef<HTMLDivElement>(null);
  const isGrantSeen = useSeen(grantEnd, true);

  const whyNoYes = elsewhere
    ? "The call is of another workspace, so it can only be approved there."
    : changed.length > 0
      ? "Something changed after this was asked, so it would not run. If you decline it, the agent can ask again."
      : null;
  const noOff = isBusy || isLocked;
  const yesOff = noOff || whyNoYes !== null || !isSeen;

  const decide = (decision: Decision) => () => {
    if (decision === "deny" ? noOff : yesOff) return;
    if (decision === "always" && !isGrantSeen) {
      grantEnd.current?.scrollIntoView({ block: "nearest" });
      return;
    }
    void send(`/api/approvals/${approval.id}`, { decision, ...(decision === "deny" && words !== "" ? { words } : {}), ...(decision === "always" ? { grant: chosen } : {}) });
  };
  const [yes, no, always] = [decide("approve"), decide("deny"), decide("always")];
  const isHost = approval.host != null;
  const hasGrants = approval.grants.length > 0;
  useKeys({
    y: yes,
    n: no,
    a: hasGrants ? always : undefined,
    c: () => field.current?.focus(),
    e: () => firstChoice.current?.focus(),
  });
  const reason = why ?? whyNoYes ?? (isSeen ? null : "Not all of it was shown, so it cannot be approved yet.");
  return (
    <aside class="pane answer" aria-label="Answer">
      <div class="section stack answer-bar">
        <Countdown from={approval.created_at} until={approval.expires_at} what={approval.is_parked ? "until it expires" : "until it is declined"} />
        <div class="pair">
          <button type="button" class="yes large" aria-disabled={yesOff} aria-describedby="answer-off" onClick={yes}>
            {isHost ? "Let through once" : "Run once"} <Key name="y" />
          </button>
          <button type="button" class="no large" aria-disabled={noOff} aria-describedby="answer-off" onClick={no}>
            Decline <Key name="n" />
          </button>
        </div>
        <p id="answer-off" class={reason === null ? "unseen" : "why-off"} role="status">
          {reason ?? ""}{" "}
          {why === null && whyNoYes === null && !isSeen && (
            <button type="button" class="link" onClick={showAll}>
              View all of it
            </button>
          )}
        </p>
        {failure && (
          <FailureNote what="Your answer did not count." failure={failure}>
            {isHost ? "The command still waits." : "The call still waits."}
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
          onInput={(event) => write(event.currentTarget.value)}
        />
      </div>
      {hasGrants ? (
        <div class="section stack">
          <AlwaysHead isHost={isHost} />
          <AlwaysChoice approval={approval} chosen={chosen} choose={setChosen} first={firstChoice} />
          <div ref={grantEnd} class="question-end" />
          <button type="button" class="large" aria-disabled={yesOff || !isGrantSeen} aria-describedby="answer-off" onClick={always}>
            {isHost ? "Let through and store the grant" : "Run and store the grant"} <Key name="a" />
          </button>
        </div>
      ) : (
        <div class="section">
          <p class="second">No grant can be stored for {isHost ? "this host" : "this call"}, so it is asked each time.</p>
        </div>
      )}
    </aside>
  );
}

export function RacedNote({ one }: { one: OneApproval }) {
  const { answer, status } = one.approval;
  return (
    <Note tone="info">
      <b>{answer === null ? `The question is closed: ${status}.` : "Somebody else was first."}</b> Your answer was not used.
    </Note>
  );
}
