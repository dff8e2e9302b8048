// The questions that wait for a person: queue, question and answer.
import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useData } from "../data.ts";
import { useKeys } from "../keys.ts";
import type { Closed } from "../part/answer.ts";
import { Boundary } from "../part/boundary.tsx";
import { callOf } from "../part/call.ts";
import { commandLine } from "../part/command_line.ts";
import { isCut, useBeside } from "../part/file_difference.tsx";
import { useCurrent } from "../part/moves.ts";
import { Empty, FailureNote, Shown } from "../part/notes.tsx";
import { pageDown } from "../part/page_down.ts";
import { TitleBlock } from "../part/title_block.tsx";
import type { Reply } from "../reply.ts";
import { Answer } from "./approvals/answer.tsx";
import { QuestionBody, QuestionHead } from "./approvals/question.tsx";
import type { ListedApproval, OneApproval } from "./approvals/question_words.ts";
import { Queue, useOrder } from "./approvals/queue.tsx";
import { Settled } from "./approvals/settled.tsx";

const HOUR_MS = 3_600_000;
type List = Reply<"/api/approvals">;

export function Approvals() {
  const [since] = useState(() => new Date(Date.now() - HOUR_MS).toISOString());
  const pending = useData<List>("/api/approvals", { live: true, everyMs: 1000 });
  const recent = useData<List>(`/api/approvals?status=all&since=${since}`, { live: true, everyMs: 3000 });
  const waiting = useOrder(pending.data?.approvals ?? []);
  const settledAt = (it: ListedApproval) => it.answer?.at ?? it.expires_at;
  const settled = (recent.data?.approvals ?? []).filter((it) => it.status !== "pending").sort((a, b) => settledAt(b).localeCompare(settledAt(a)));

  const ids = (all: ListedApproval[]) => all.map((it) => it.id);
  const current = useCurrent("approvals", ids(waiting), ids(settled));
  return (
    <section class="view">
      <Shown loaded={pending} what="The questions">
        {() => (
          <div class="panes triptych">
            <Queue waiting={waiting} settled={settled} current={current} />
            {current === undefined ? (
              <NothingWaits />
            ) : (
              <Boundary key={current} what="This question">
                <OneQuestion
                  id={current}
                  isListed={waiting.some((it) => it.id === current)}
                  onClosed={() => {
                    pending.reload();
                    recent.reload();
                  }}
                />
              </Boundary>
            )}
          </div>
        )}
      </Shown>
      <TitleBlock command={current === undefined ? commandLine("approvals list") : commandLine("approvals show", [current])} request={current === undefined ? "GET /api/approvals" : `GET /api/approvals/${encodeURIComponent(current)}`} />
    </section>
  );
}

function NothingWaits() {
  return (
    <div class="pane pad nothing">
      <Empty title="No question is open">
        A call that policy asks about waits here until somebody answers. To see one:{" "}
        <code>toolcrib call forgekeeper/write_file path=note.txt content=hello --park</code>
      </Empty>
    </div>
  );
}

/** Remembers the question as it was while it waited: the server tells no plan of a call that was answered. */
function useAsked(loaded: OneApproval | undefined): OneApproval | undefined {
  const asked = useRef<OneApproval | undefined>(undefined);
  if (loaded?.approval.status === "pending") asked.current = loaded;
  if (loaded === undefined || loaded.approval.status === "pending" || asked.current === undefined) return loaded ?? asked.current;
  const { edits, command, directory, tier } = asked.current;
  return { ...loaded, edits, command, directory, tier };
}

/** Shows what a call has changed where it is not known any more what was planned. */
function withChanges(one: OneApproval | undefined, story: Reply<"/api/audit/{id}"> | undefined): OneApproval | undefined {
  if (one === undefined || story === undefined || one.edits.length > 0) return one;
  const { differences } = story;
  const edits = story.call.changes.flatMap((change, at) => (differences[at] == null ? [] : [{ place: change.path, difference: differences[at] }]));
  return { ...one, edits };
}

/** How often the open question is looked at: a file can change without any event. */
const LOOK_MS = 3000;

function OneQuestion({ id, isListed, onClosed }: { id: string; isListed: boolean; onClosed: () => void }) {
  const [isWhole, setWhole] = useState(false);
  const [raced, setRaced] = useState(false);
  const loaded = useData<OneApproval>(`/api/approvals/${encodeURIComponent(id)}${isWhole ? "?whole=true" : ""}`, { live: true, everyMs: 5000, pollMs: LOOK_MS });
  const asked = useAsked(loaded.data);
  const isPending = asked?.approval.status === "pending";
  const story = useData<Reply<"/api/audit/{id}">>(asked === undefined || isPending ? null : `/api/audit/${encodeURIComponent(callOf({ id }))}`, { live: true, everyMs: 1000 });
  const one = asked?.approval.host != null ? asked : withChanges(asked, story.data);
  const pane = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const isComplete = one !== undefined && ((isWhole && loaded.data !== undefined) || !one.edits.some((edit) => isCut(edit.difference)));
  const [isBeside, turnBeside] = useBeside();

  // Somebody else has answered: the list says so first.
  const wasListed = useRef(isListed);
  useEffect(() => {
    if (wasListed.current && !isListed) loaded.reload();
    wasListed.current = isListed;
  }, [isListed]);

  const showAll = () => {
    if (!isComplete) setWhole(true);
    else pageDown(pane.current);
  };
  useKeys({ v: showAll, d: turnBeside });
  if (one === undefined) {
    return (
      <div class="pane pad">
        {loaded.error === undefined ? <p class="loading">Loading the question …</p> : <FailureNote what="The question could not be loaded." failure={loaded.error} />}
      </div>
    );
  }
  const close = (how: Closed) => {
    setRaced(how === "raced");
    loaded.reload();
    onClosed();
  };
  return (
    // What changes under a reader is a new question: it begins at its top, and nothing of it was seen.
    <Fragment key={one.changed.join("\n")}>
      <div class="pane question" ref={pane} tabIndex={0} role="region" aria-label="Question">
        <QuestionHead one={one} />
        <QuestionBody one={one} isBeside={isBeside} turnBeside={turnBeside} showAll={isComplete ? undefined : showAll} end={end} />
      </div>
      {isPending ? <Answer one={one} end={end} isComplete={isComplete} showAll={showAll} onClosed={close} /> : <Settled one={one} isRaced={raced} story={story} />}
    </Fragment>
  );
}
