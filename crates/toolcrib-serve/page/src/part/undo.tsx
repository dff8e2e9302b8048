// What it would do to undo a call, what it would leave, and the undo itself. Nothing is undone before that was shown.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiFailure, loggedIn, post } from "../api.ts";
import { useData } from "../data.ts";
import { plain } from "../format.ts";
import { useKeys } from "../keys.ts";
import type { Reply } from "../reply.ts";
import { Tag } from "./marks.tsx";
import { FailureNote, Note, Shown } from "./notes.tsx";
import { Sentence } from "./texts.tsx";

export type Preview = Omit<Reply<"/api/undo/{call}">, "ok">;
type Undone = Reply<"/api/undo/{call}", "post">;

const ACTIONS: Record<string, string> = { restored: "puts back", removed: "removes", unchanged: "finds as it was", kept: "keeps" };
const DONE: Record<string, string> = { restored: "put back", removed: "removed", unchanged: "was as before", kept: "kept" };

export const mayUndo = () => loggedIn.value?.role !== "agent";

export async function undo(call: string): Promise<Undone> {
  return post<Undone>(`/api/undo/${encodeURIComponent(call)}`);
}

interface UndoProps {
  call: string;
  /** Whether the journal has changes of the call. */
  hasChanges: boolean;
  undoneBy: string | null;
  /** Whether its command was seen to change files. */
  others: boolean;
  isOpen: boolean;
  setOpen: (isOpen: boolean) => void;
  onDone: () => void;
}

export function UndoCall({ call, hasChanges, undoneBy, others, isOpen, setOpen, onDone }: UndoProps) {
  const [said, setSaid] = useState<{ done: Undone } | { failure: ApiFailure }>();
  const canAsk = hasChanges && undoneBy === null && mayUndo();
  useKeys(canAsk ? { u: () => setOpen(true), ...(isOpen ? { Escape: () => setOpen(false) } : {}) } : {});
  const run = async () => {
    try {
      setSaid({ done: await undo(call) });
      setOpen(false);
      onDone();
    } catch (failure) {
      if (failure instanceof ApiFailure) setSaid({ failure });
    }
  };
  if (!hasChanges && !others) return null;
  return (
    <section class="undo" aria-label="Undo">
      {said !== undefined && ("done" in said ? <DoneNote done={said.done} /> : <FailureNote what="Nothing was undone." failure={said.failure} />)}
      {undoneBy !== null && said === undefined && (
        <Note tone="info" mark="fine">
          Undone by <Tag kind="audit" id={undoneBy} isSettled />. To undo that call is to redo this one.
        </Note>
      )}
      {undoneBy === null && <Dry call={call} isOpen={isOpen && canAsk} close={() => setOpen(false)} run={run} />}
    </section>
  );
}

function DoneNote({ done }: { done: Undone }) {
  return (
    <Note tone="info" mark="fine">
      <b>Undone by the call</b> <Tag kind="audit" id={done.by} isSettled />:{" "}
      {done.files.map((file, at) => (
        <span key={file.path}>
          {at > 0 && ", "}
          <code>{plain(file.path)}</code> {DONE[file.action]}
        </span>
      ))}
      .{done.has_other_changes === true && " The command changed other files, too; they are as they were."}
    </Note>
  );
}

function Dry({ call, isOpen, close, run }: { call: string; isOpen: boolean; close: () => void; run: () => void }) {
  const loaded = useData<Preview>(`/api/undo/${encodeURIComponent(call)}`, { live: true, everyMs: 3000 });
  return (
    <Shown loaded={loaded} what="What undo would do">
      {(preview) => (
        <>
          <div class="undo-words">
            <PreviewWords preview={preview} />
          </div>
          {isOpen && <Confirm words="Undo this call" isPossible={preview.possible} run={run} close={close} />}
        </>
      )}
    </Shown>
  );
}

/** The second step, which has the focus: the undo itself, or nothing. */
export function Confirm({ words, isPossible = true, run, close }: { words: string; isPossible?: boolean; run: () => void; close: () => void }) {
  const first = useRef<HTMLButtonElement>(null);
  // Before anybody can see it: a key that is pressed at once means what is shown.
  useLayoutEffect(() => first.current?.focus(), []);
  return (
    <div class="undo-act">
      {isPossible && (
        <button type="button" class="no" ref={first} onClick={run}>
          {words}
        </button>
      )}
      <button type="button" ref={isPossible ? null : first} onClick={close}>
        Leave it
      </button>
    </div>
  );
}

/** What undo would do, what it would leave, or why it would do nothing. */
export function PreviewWords({ preview }: { preview: Preview }) {
  const { possible, reason, hint, files, left } = preview;
  const done = files.filter((file) => file.action != null && file.action !== "unchanged");
  const inTheWay = files.filter((file) => file.reason != null);
  return (
    <>
      {possible ? (
        <p>
          <b>Undo</b>{" "}
          {done.length === 0
            ? "would find every file as it was before the call."
            : done.map((file, at) => (
                <span key={file.path}>
                  {at > 0 && ", "}
                  {ACTIONS[file.action!]} <code>{plain(file.path)}</code>
                  {file.kind === "made_directory" && ", if it is empty"}
                </span>
              ))}
          {done.length > 0 && "."}
        </p>
      ) : (
        <div>
          <p>
            <b class="brass">Cannot be undone now.</b>{" "}
            {inTheWay.length === 0
              ? <Sentence text={reason ?? ""} />
              : inTheWay.map((file) => (
                  <span key={file.path}>
                    <code>{plain(file.path)}</code>: {plain(file.reason ?? "")}.{" "}
                  </span>
                ))}
          </p>
          {hint != null && inTheWay.length === 0 && <p class="second"><Sentence text={hint} /></p>}
        </div>
      )}
      {left.length > 0 && (
        <p class="second">
          It leaves, because no copy was kept:{" "}
          {left.slice(0, 8).map((what, at) => (
            <span key={what}>
              {at > 0 && ", "}
              <code>{plain(what)}</code>
            </span>
          ))}
          {left.length > 8 && ` and ${left.length - 8} more`}.
        </p>
      )}
    </>
  );
}
