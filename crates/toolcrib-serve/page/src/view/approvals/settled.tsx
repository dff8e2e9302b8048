// A question that has its answer: whose, what became of the call, and how it is taken back.
import { useEffect, useState } from "preact/hooks";
import { ApiFailure, remove } from "../../api.ts";
import { type Loaded, useData } from "../../data.ts";
import { absolute, duration, oneLine, plain } from "../../format.ts";
import { callOf } from "../../part/call.ts";
import { Key, Mark } from "../../part/marks.tsx";
import { FailureNote } from "../../part/notes.tsx";
import { SureButton } from "../../part/sure_button.tsx";
import { Ago, Foreign, Sentence } from "../../part/texts.tsx";
import { mayUndo, UndoCall } from "../../part/undo.tsx";
import { counted } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";
import { addressOf } from "../../router.ts";
import { RacedNote } from "./answer.tsx";
import type { OneApproval } from "./question_words.ts";

type Story = Reply<"/api/audit/{id}">["call"];

/** How often a call that runs is looked at. */
const LOOK_MS = 700;

export function Settled({ one, isRaced, story }: { one: OneApproval; isRaced: boolean; story: Loaded<Reply<"/api/audit/{id}">> }) {
  const { approval } = one;
  const mayRun = approval.status === "approved" || approval.status === "taken up";
  const isHost = approval.host != null;
  useUntilEnded(story, mayRun);
  return (
    <aside class="pane answer" aria-label="What became of it">
      <div class="section stack answer-bar">
        {isRaced && <RacedNote one={one} />}
        <AnswerWords one={one} />
        {isHost ? <BecameOfHost isLetThrough={mayRun} /> : <Became mayRun={mayRun} story={story.data?.call} />}
      </div>
      {mayRun && <StoredGrant id={approval.id} wish={approval.answer?.wish ?? null} />}
      {story.data !== undefined && !isHost && <Undo story={story.data.call} reload={story.reload} />}
      <div class="section">
        <a href={addressOf("audit", callOf(approval))}>The whole story of the call</a>
      </div>
    </aside>
  );
}

/** Looks again until the call has ended, also while the page is paused: somebody has just answered it here. */
function useUntilEnded(story: Loaded<Reply<"/api/audit/{id}">>, mayRun: boolean): void {
  const isOpen = mayRun && (story.data === undefined || !hasEnded(story.data.call));
  useEffect(() => {
    if (!isOpen) return;
    const timer = setTimeout(story.reload, LOOK_MS);
    return () => clearTimeout(timer);
  }, [isOpen, story.at]);
}

/** Whether a call that was approved has come to its end. Until it begins, the record still says that it needs an approval. */
function hasEnded({ outcome, error }: Story): boolean {
  return outcome !== "open" && error !== "approval_required";
}

function AnswerWords({ one }: { one: OneApproval }) {
  const { status, answer, expires_at: until, host } = one.approval;
  const isHost = host != null;
  if (answer === null) {
    return (
      <p>
        <b class="title">{status === "expired" ? "Nobody answered in time" : plain(status)}</b>
        <br />
        <span class="second">
          <Ago time={until} />
        </span>
      </p>
    );
  }
  // The grant for a host is stored by the command's process, when it takes the answer up.
  const isStored = answer.wish && (!isHost || status === "taken up");
  const what = !answer.is_approved ? "Declined" : isStored ? "Approved, and a grant stored" : isHost ? "Let through" : "Approved once";
  return (
    <div>
      <p>
        <b class="title">{what}</b>
        <br />
        by {plain(answer.by)}, <Ago time={answer.at} /> <span class="third">{absolute(answer.at)}</span>
      </p>
      {answer.words !== "" && <Foreign text={`“${answer.words}”`} />}
    </div>
  );
}

function BecameOfHost({ isLetThrough }: { isLetThrough: boolean }) {
  return (
    <p class="became">
      <Mark name={isLetThrough ? "passed" : "failed"} /> <b>{isLetThrough ? "It was let through." : "It was not let through."}</b> What became of the connection is in the story of the call.
    </p>
  );
}

function Became({ mayRun, story }: { mayRun: boolean; story: Story | undefined }) {
  if (!mayRun) {
    return (
      <p class="became">
        <Mark name="failed" /> <b>The call did not run.</b>
      </p>
    );
  }
  if (story === undefined || !hasEnded(story)) {
    return (
      <p class="became" role="status">
        <Mark name="waits" /> <b>It runs.</b> The end shows here.
      </p>
    );
  }
  const took = story.elapsed_ms === null ? "" : ` in ${duration(story.elapsed_ms)}`;
  const isGood = story.outcome === "ok";
  return (
    <div class="stack" role="status">
      <p class="became">
        <Mark name={isGood ? "passed" : "failed"} />{" "}
        <b>{isGood ? `It ran${took}.` : story.outcome === "refused" ? "The call did not run: it was refused." : story.outcome === "command_failed" ? `It ran${took}, and its command failed.` : story.outcome === "unknown" ? "Nobody knows whether it ran to its end." : `It failed${took}.`}</b>{" "}
        {story.message !== null && <Sentence text={story.message} />}
      </p>
      {story.changes.length > 0 && (
        <p>
          {counted(story.changes.length, "change")}:{" "}
          <code>
            {story.changes
              .slice(0, 8)
              .map((it) => oneLine(it.path))
              .join(", ")}
          </code>
        </p>
      )}
      {story.result !== null && (
        <details>
          <summary>The reply, from its beginning</summary>
          <Foreign class="small" text={story.result} />
        </details>
      )}
    </div>
  );
}

type Grants = Reply<"/api/grants">;

/** The grant that the answer has left, which has the id of the call. */
function StoredGrant({ id, wish }: { id: string; wish: unknown }) {
  const grants = useData<Grants>(wish === null ? null : "/api/grants", { live: true, everyMs: 3000 });
  const [isRevoked, setRevoked] = useState(false);
  const [failure, setFailure] = useState<ApiFailure>();
  if (wish === null) return null;
  const grant = grants.data?.grants.find((it) => it.id === id);
  const revoke = async () => {
    try {
      await remove(`/api/grants/${id}`);
      setRevoked(true);
      grants.reload();
    } catch (error) {
      if (error instanceof ApiFailure) setFailure(error);
    }
  };
  return (
    <div class="section stack">
      <h2>The grant</h2>
      {isRevoked ? (
        <p role="status">
          <b>Revoked.</b> Such calls are asked about again.
        </p>
      ) : grant === undefined ? (
        <p class="second">{grants.data === undefined ? "Looking for it …" : "It is not in force: it has ended, or was revoked."}</p>
      ) : (
        <>
          <p>
            <code class="all">{plain(grant.param_pattern)}</code>
          </p>
          <p class="second">
            Used {counted(grant.use_count, "time")}{grant.expires_at === null ? ", until revoked" : <>, until <time>{absolute(grant.expires_at)}</time></>}
          </p>
          <p>
            <SureButton actions={[{ button: "Revoke the grant…", note: "It stops holding at once, for everybody.", sure: "Revoke the grant", act: revoke }]} />
          </p>
        </>
      )}
      {failure && <FailureNote what="The grant was not revoked." failure={failure} />}
    </div>
  );
}

function Undo({ story, reload }: { story: Story; reload: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const hasChanges = story.changes.length > 0;
  if (!hasChanges) return null;
  return (
    <div class="section stack">
      <h2>Undo</h2>
      <UndoCall call={story.call} hasChanges={hasChanges} undoneBy={story.taken_back_by ?? null} others={story.touched.length > 0} isOpen={isOpen} setOpen={setOpen} onDone={reload} />
      {story.taken_back_by === null && !isOpen && mayUndo() && (
        <button type="button" onClick={() => setOpen(true)}>
          Undo… <Key name="u" />
        </button>
      )}
    </div>
  );
}
