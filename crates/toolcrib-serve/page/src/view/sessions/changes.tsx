// What a session changed, newest first, and how to take it back: one call, or all. What it would do is shown before, and
// what cannot be taken back is said and left.
import { useState } from "preact/hooks";
import { ApiFailure, post } from "../../api.ts";
import { useData } from "../../data.ts";
import { absolute, clock, count, oneLine, plain } from "../../format.ts";
import { useKeys } from "../../keys.ts";
import { Badge, Key, Mark, Tag } from "../../part/marks.tsx";
import { FailureNote, Note, Shown } from "../../part/notes.tsx";
import { Sentence } from "../../part/texts.tsx";
import { Confirm, mayUndo, PreviewWords } from "../../part/undo.tsx";
import { changeKind, counted } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";
import { addressOf } from "../../router.ts";

type ChangesReply = Reply<"/api/sessions/{session}/changes">;
type Change = ChangesReply["changes"][number];

export function Changes({ path, search }: { path: string; search: string }) {
  const loaded = useData<ChangesReply>(`${path}/changes${search}`, { live: true, everyMs: 3000 });
  return (
    <section class="section session-changes" aria-label="Changes of this session">
      <Shown loaded={loaded} what="The changes">
        {(data) => <Table data={data} reload={loaded.reload} />}
      </Shown>
    </section>
  );
}

/** What is open below the table: the dry run of one call, of all, or what came of them. */
type Open = { one: string } | "all" | null;
type Undone = Reply<"/api/undo", "post">;

function Table({ data, reload }: { data: ChangesReply; reload: () => void }) {
  const [open, setOpen] = useState<Open>(null);
  const [came, setCame] = useState<Came>();
  const { changes, truncated } = data;
  const left = changes.filter((change) => !change.undone);
  const possible = left.filter((change) => change.in_order.possible);
  const canAct = mayUndo() && possible.length > 0;
  useKeys({ ...(canAct ? { u: () => setOpen("all") } : {}), ...(open === null ? {} : { Escape: () => setOpen(null) }) });
  const run = async (wanted: Change[]) => {
    setOpen(null);
    setCame({ of: wanted.length });
    try {
      // Newest first: an older change of the same file fits only after the newer ones are gone.
      setCame({ of: wanted.length, undone: await post<Undone>("/api/undo", { calls: wanted.map((it) => it.call) }) });
    } catch (failure) {
      if (!(failure instanceof ApiFailure)) throw failure;
      setCame({ of: wanted.length, failure });
    }
    reload();
  };
  const files = changes.reduce((sum, change) => sum + filesOf(change).length, 0);
  return (
    <>
      <div class="section-head">
        <h2>Changes</h2>
        <span class="third">
          {changes.length === 0 ? "" : `${counted(files, "file")} in ${counted(changes.length, "call")}, newest first`}
          {truncated && ", older ones are not listed"}
        </span>
        {canAct && (
          <button type="button" class="end" onClick={() => setOpen("all")} aria-expanded={open === "all"}>
            Undo all {count(possible.length)}… <Key name="u" />
          </button>
        )}
      </div>
      {changes.length === 0 && <p class="third">It changed no file that undo knows of.</p>}
      {came !== undefined && <Results came={came} close={() => setCame(undefined)} />}
      {open === "all" && <DryAll changes={left} run={() => void run(possible)} close={() => setOpen(null)} />}
      {changes.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>Time</th>
              <th>File</th>
              <th>Change</th>
              <th>By</th>
              <th>Since then</th>
              <th class="r">
                <span class="unseen">Undo</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {changes.map((change) => (
              <Rows key={change.call} change={change} isOpen={open !== null && open !== "all" && open.one === change.call} open={() => setOpen({ one: change.call })} close={() => setOpen(null)} run={() => void run([change])} />
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function filesOf(change: Change): { path: string; kind: string }[] {
  const seen = new Map<string, { path: string; kind: string }>();
  for (const { path, kind } of change.changes) if (!seen.has(path)) seen.set(path, { path, kind });
  return [...seen.values()];
}

function Rows({ change, isOpen, open, close, run }: { change: Change; isOpen: boolean; open: () => void; close: () => void; run: () => void }) {
  const files = filesOf(change);
  return (
    <>
      {files.map(({ path, kind }, at) => {
        const preview = change.alone.files.find((file) => file.path === path);
        return (
          <tr key={path}>
            <td class="nowrap">
              {at === 0 && (
                <time dateTime={change.at} title={absolute(change.at)}>
                  {clock(change.at)}
                </time>
              )}
            </td>
            <td class="mono file">{plain(path)}</td>
            <td>{changeKind(kind)}</td>
            <td>
              {at === 0 && (
                <a class="plain mono" href={addressOf("audit", change.call)}>
                  {oneLine(change.tool)}
                </a>
              )}
            </td>
            <td>{change.undone ? <span class="third">undone</span> : preview?.reason != null ? <span class="brass">{sinceWords(preview.reason)}</span> : change.alone.possible ? "unchanged" : <span class="brass">see below</span>}</td>
            <td class="r">
              {at === 0 && !change.undone && mayUndo() && (
                <button type="button" class="bare" disabled={!change.alone.possible} title={change.alone.possible ? undefined : plain(change.alone.reason ?? "")} onClick={open} aria-label={`Undo ${oneLine(files.map((file) => file.path).join(", "))}`}>
                  Undo…
                </button>
              )}
            </td>
          </tr>
        );
      })}
      {!change.undone && !change.alone.possible && change.alone.files.every((file) => file.reason == null) && (
        <tr>
          <td />
          <td colSpan={5} class="brass">
            {plain(change.alone.reason ?? "")}
          </td>
        </tr>
      )}
      {isOpen && (
        <tr class="dry">
          <td colSpan={6}>
            <PreviewWords preview={change.alone} />
            <Confirm words="Undo this call" run={run} close={close} />
          </td>
        </tr>
      )}
    </>
  );
}

const sinceWords = (reason: string) => (reason.startsWith("it was changed") ? "changed since" : plain(reason));

/** What it would do to undo all, one after the other. */
function DryAll({ changes, run, close }: { changes: Change[]; run: () => void; close: () => void }) {
  const possible = changes.filter((change) => change.in_order.possible);
  const stay = changes.length - possible.length;
  return (
    <div class="dry-all" role="region" aria-label="What undo of all would do">
      <h3>This would be done, newest first. Nothing was done yet.</h3>
      <ol>
        {changes.map((change) => (
          <li key={change.call}>
            <Mark name={change.in_order.possible ? "fine" : "off"} /> <Tag kind="audit" id={change.call} isSettled /> <code>{oneLine(change.tool)}</code>
            <PreviewWords preview={change.in_order} />
          </li>
        ))}
      </ol>
      {stay > 0 && (
        <p>
          <b>
            {counted(stay, "call stays as it is", "calls stay as they are")}.
          </b>
        </p>
      )}
      <Confirm words={`Undo ${counted(possible.length, "call")}`} run={run} close={close} />
    </div>
  );
}

/** What came of an undo of several calls, as far as it is known. */
interface Came {
  of: number;
  undone?: Undone;
  failure?: ApiFailure;
}

/** The statuses of a request that was refused before anything was done. */
const REFUSED = [401, 403, 422, 429];

function Results({ came: { of, undone, failure }, close }: { came: Came; close: () => void }) {
  if (failure !== undefined) {
    const wasRefused = REFUSED.includes(failure.status);
    return (
      <div class="dry-all">
        <FailureNote what={wasRefused ? "Nothing was undone." : `It is not known what of ${counted(of, "call")} was undone.`} failure={failure}>
          {wasRefused ? "The request was refused before it began." : "The list below says what is undone."}
        </FailureNote>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    );
  }
  if (undone === undefined) {
    return (
      <div class="dry-all" role="status">
        <h3>Undoing {counted(of, "call")} …</h3>
      </div>
    );
  }
  const { undone: done, failed } = undone;
  return (
    <div class="dry-all" role="status">
      <h3>
        {counted(done.length, "call was", "calls were")} undone{failed.length > 0 ? `, ${counted(failed.length, "stayed as it is", "stayed as they are")}` : ""}.
      </h3>
      <ul>
        {done.map((it) => (
          <li key={it.undone}>
            <Tag kind="audit" id={it.undone} isSettled /> by <Tag kind="audit" id={it.by} isSettled />
          </li>
        ))}
      </ul>
      {failed.map((it) => (
        <Note key={it.call} tone="bad">
          <b>
            <Tag kind="audit" id={it.call} isSettled /> was not undone.
          </b>{" "}
          <Sentence text={it.message} /> {it.hint != null && <Sentence text={it.hint} />}
        </Note>
      ))}
      {failed.length === 0 && <Badge tone="off">To undo one of these calls is to redo what it took back</Badge>}
      <button type="button" onClick={close}>
        Close
      </button>
    </div>
  );
}
