// The answer to a proposal: bound to the hash of what is shown. A rejection needs a reason.
import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import { loggedIn } from "../../api.ts";
import { absolute } from "../../format.ts";
import { useKeys } from "../../keys.ts";
import { type Closed, useAnswer } from "../../part/answer.ts";
import { useAnswerLock } from "../../part/answer_lock.ts";
import { Countdown } from "../../part/countdown.tsx";
import { Key, Mark } from "../../part/marks.tsx";
import { FailureNote, Note } from "../../part/notes.tsx";
import { Ago, Copy, Foreign } from "../../part/texts.tsx";
import { addressOf } from "../../router.ts";
import { principalWords } from "../../part/words.ts";
import { grouped, type Review } from "./proposal_words.ts";

const LONGEST_REASON = 4096;

interface Props {
  review: Review;
  /** What stands after all that an answer is about. */
  end: RefObject<HTMLElement | null>;
  showAll: () => void;
  onClosed: (how: Closed) => void;
}

export function Verdict({ review, end, showAll, onClosed }: Props) {
  const { proposal } = review;
  const { words: reason, write, send, failure, isBusy } = useAnswer(proposal.id, "proposal_closed", onClosed);
  const lock = useAnswerLock({ end, isComplete: true, forbidden: whyForbidden(review), expiresAt: proposal.expiresAt });
  const { isSeen, why } = lock;
  const field = useRef<HTMLTextAreaElement>(null);
  const locked = isBusy || lock.isLocked;
  const hasReason = reason.trim() !== "";
  const [yesOff, noOff] = [locked || !isSeen, locked || !hasReason];

  const approve = () => {
    if (!yesOff) void send(`/api/tools/approve/${encodeURIComponent(proposal.id)}`, { hash: proposal.hash });
  };
  const reject = () => {
    if (!noOff) void send(`/api/tools/reject/${encodeURIComponent(proposal.id)}`, { reason: reason.trim() });
  };
  useKeys({
    y: approve,
    // Without a reason, the key leads to where it is written.
    n: locked || hasReason ? reject : () => field.current?.focus(),
    c: () => field.current?.focus(),
  });
  const said = why ?? (isSeen ? null : "Not all of it was shown, so it cannot be approved yet.");
  return (
    <>
      <div class="section stack answer-bar">
        <Countdown from={proposal.createdAt} until={proposal.expiresAt} what="until it expires" />
        <div class="pair">
          <button type="button" class="yes large" aria-disabled={yesOff} aria-describedby="answer-off" onClick={approve}>
            Approve <Key name="y" />
          </button>
          <button type="button" class="no large" aria-disabled={noOff} aria-describedby="answer-off" onClick={reject}>
            Reject <Key name="n" />
          </button>
        </div>
        <p id="answer-off" class={said === null ? "unseen" : "why-off"} role="status">
          {said ?? (hasReason ? "" : "A rejection needs a reason.")}{" "}
          {said !== null && why === null && (
            <button type="button" class="link" onClick={showAll}>
              Show the rest
            </button>
          )}
        </p>
        {failure && (
          <FailureNote what="Your answer did not count." failure={failure}>
            The proposal still waits.
          </FailureNote>
        )}
      </div>
      <div class="section">
        <label class="label" for="reason">
          Reason, required to reject <Key name="c" />
        </label>
        <textarea
          id="reason"
          ref={field}
          rows={2}
          maxLength={LONGEST_REASON}
          value={reason}
          onInput={(event) => write(event.currentTarget.value)}
        />
      </div>
      <WhatIsApproved hash={proposal.hash} />
      <div class="section">
        <h2>Checked when it was proposed</h2>
        <ul class="checks">
          <li>
            <Mark name="passed" /> its name is its own and like no other
          </li>
          <li>
            <Mark name="passed" /> its schemas are valid
          </li>
          <li>
            <Mark name="passed" /> its permissions and size are within the maximum
          </li>
          <li>
            <Mark name={review.own ? "failed" : "passed"} /> {review.own ? "you proposed it" : "you did not propose it"}
          </li>
        </ul>
      </div>
      <div class="section">
        <h2>After you approve</h2>
        <p class="second">
          {review.active == null
            ? "The tool is loaded without a restart, and the next call can use it."
            : `Calls that run finish on ${review.active.slice(0, 7)}. The next call uses this version, and its figures are compared with those before.`}
        </p>
      </div>
    </>
  );
}

export function WhatIsApproved({ hash }: { hash: string }) {
  return (
    <div class="section">
      <h2>What is approved</h2>
      <p class="hash-box" aria-label={`hash ${hash}`}>
        {grouped(hash)}
      </p>
      <p class="second">
        Covers code, declaration, permissions and examples. If any of it changes, it waits again. <Copy text={hash} />
      </p>
    </div>
  );
}

function whyForbidden(review: Review): string | null {
  if (review.own) return "You proposed it, so somebody else has to answer.";
  if (loggedIn.value?.role === "agent") return "An agent cannot answer. Log in with the token of an approver.";
  return null;
}

/** An answer that was given, by whom and why. */
export function GivenVerdict({ review, isRaced }: { review: Review; isRaced: boolean }) {
  const { proposal, answer } = review;
  const isApproved = proposal.status === "approved";
  return (
    <div class="section stack answer-bar">
      {isRaced && (
        <Note tone="info">
          <b>Somebody else was first.</b> Your answer was not used.
        </Note>
      )}
      <p>
        <b class="title">{isApproved ? "Approved" : proposal.status === "rejected" ? "Rejected" : "Nobody answered in time"}</b>
        {answer != null && (
          <>
            <br />
            {answer.by != null && <>by {principalWords(answer.by)}, </>}
            <Ago time={answer.at} /> <span class="third">{absolute(answer.at)}</span>
          </>
        )}
      </p>
      {answer != null && answer.reason !== "" && <Foreign text={`“${answer.reason}”`} />}
      {isApproved && review.active === proposal.hash && (
        <p>
          <Mark name="passed" /> <b>It is loaded.</b> <a href={addressOf("tools", `plugins/${proposal.toolName}`)}>Try the tool</a>
        </p>
      )}
    </div>
  );
}
