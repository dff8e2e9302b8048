// A line of a difference of texts: sign, both line numbers, ground, and the changed words.
import { plain } from "../format.ts";

const LONGEST_WORDS = 400;

export interface Row {
  kind: "same" | "added" | "removed";
  text: string;
  before: number | null;
  after: number | null;
  /** The part that changed, if the line has a partner. */
  changed?: [number, number];
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
