// A difference of texts: sign, both line numbers, ground, and the changed words. Long stretches that did not change
// are folded.
import { useState } from "preact/hooks";
import { plain } from "../format.ts";

export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
}

const KEPT = 3;
const LONGEST_WORDS = 400;

export interface Row extends DiffLine {
  before: number | null;
  after: number | null;
  /** The part that changed, if the line has a partner. */
  changed?: [number, number];
}

function rowsOf(lines: DiffLine[]): Row[] {
  let before = 0;
  let after = 0;
  const rows: Row[] = lines.map((line) => ({
    ...line,
    before: line.kind === "added" ? null : (before += 1),
    after: line.kind === "removed" ? null : (after += 1),
  }));
  markWords(rows);
  return rows;
}

/** Finds what differs between removed lines and the added ones that follow them. */
export function markWords(rows: Row[]): void {
  for (let at = 0; at < rows.length; ) {
    let removed = at;
    while (rows[removed]?.kind === "removed") removed += 1;
    let added = removed;
    while (rows[added]?.kind === "added") added += 1;
    if (removed - at === added - removed) {
      for (let pair = 0; pair < removed - at; pair += 1) markPair(rows[at + pair]!, rows[removed + pair]!);
    }
    at = Math.max(added, at + 1);
  }
}

function markPair(left: Row, right: Row): void {
  const [a, b] = [left.text, right.text];
  if (a.length > LONGEST_WORDS || b.length > LONGEST_WORDS) return;
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  // Two lines that have little in common are not one line that changed.
  if (start + end < Math.min(a.length, b.length) / 3) return;
  left.changed = [start, a.length - end];
  right.changed = [start, b.length - end];
}

type Shown = { row: Row } | { folded: number; at: number };

function fold(rows: Row[]): Shown[] {
  const isNear = rows.map((_, at) => rows.slice(Math.max(0, at - KEPT), at + KEPT + 1).some((row) => row.kind !== "same"));
  const shown: Shown[] = [];
  rows.forEach((row, at) => {
    const last = shown.at(-1);
    if (isNear[at]) shown.push({ row });
    else if (last !== undefined && "folded" in last) last.folded += 1;
    else shown.push({ folded: 1, at });
  });
  return shown.length === 1 && "folded" in shown[0]! ? rows.map((row) => ({ row })) : shown;
}

export function Difference({ file, about, lines }: { file: string; about?: string; lines: DiffLine[] }) {
  const [isWhole, setWhole] = useState(false);
  const rows = rowsOf(lines);
  const shown = isWhole ? rows.map((row) => ({ row })) : fold(rows);
  const [added, removed] = ["added", "removed"].map((kind) => lines.filter((line) => line.kind === kind).length);
  return (
    <div class="diff" role="region" aria-label={`difference of ${plain(file)}`} tabIndex={0}>
      <div class="diff-head">
        <b class="mono">{plain(file)}</b>
        <span>
          <span class="green">+{added}</span> <span class="red">−{removed}</span>
        </span>
        {about !== undefined && <span class="second">{plain(about)}</span>}
      </div>
      <table>
        <tbody>
          {shown.map((it) =>
            "folded" in it ? (
              <tr class="folded" key={`f${it.at}`}>
                <td colSpan={4}>
                  <button type="button" class="bare" onClick={() => setWhole(true)}>
                    {it.folded} {it.folded === 1 ? "line" : "lines"} that did not change: show
                  </button>
                </td>
              </tr>
            ) : (
              <DiffRow row={it.row} key={`${it.row.before}/${it.row.after}`} />
            ),
          )}
        </tbody>
      </table>
    </div>
  );
}

export const SIGN = { same: "", added: "+", removed: "−" };

export function DiffRow({ row }: { row: Row }) {
  return (
    <tr class={row.kind}>
      <td class="number">{row.before}</td>
      <td class="number">{row.after}</td>
      <td class="sign">{SIGN[row.kind]}</td>
      <td class="line">
        <Words row={row} />
      </td>
    </tr>
  );
}

/** The text of a line, with the part marked that changed. */
export function Words({ row }: { row: Row }) {
  const { changed, text } = row;
  if (changed === undefined) return <>{plain(text)}</>;
  return (
    <>
      {plain(text.slice(0, changed[0]))}
      {row.kind === "added" ? <ins>{plain(text.slice(...changed))}</ins> : <del>{plain(text.slice(...changed))}</del>}
      {plain(text.slice(changed[1]))}
    </>
  );
}
