// The difference that the server found between two contents of a file: the lines that changed and some around them.
import { useState } from "preact/hooks";
import { count, plain } from "../format.ts";
import type { Reply } from "../reply.ts";
import { DiffRow, markWords, type Row, SIGN, Words } from "./difference.tsx";
import { DifferenceFrame } from "./difference_frame.tsx";
import { Key } from "./marks.tsx";

type FileDifference = NonNullable<Reply<"/api/approvals/{id}">["edits"][number]["difference"]>;
type Lines = Extract<FileDifference, { lines: unknown }>["lines"];

/** A row, or a stretch of lines that did not change and is not shown. */
export type ShownRow = Row | "gap";

/** Gives each line both its numbers: the server tells that of the newer text, or of the older one if it is gone there. */
function rowsOfLines({ lines }: Lines): ShownRow[] {
  let shift = 0;
  const shown = lines.map((line): ShownRow => {
    const { kind, number, text } = line;
    switch (kind) {
      case "added":
        shift += 1;
        return { kind, text, before: null, after: number };
      case "removed":
        shift -= 1;
        return { kind, text, before: number, after: null };
      case "same":
        return { kind, text, before: number - shift, after: number };
      case "gap":
        return "gap";
    }
  });
  markWords(shown.filter((it): it is Row => it !== "gap"));
  return shown;
}

/** Whether lines, or parts of lines, are not among those that the server sent. */
export function isCut(difference: FileDifference | null): boolean {
  if (difference === null || !("lines" in difference)) return false;
  return difference.lines.left_out > 0 || difference.lines.lines.some((line) => / \[… [\d,]+ bytes? left out\]/.test(line.text));
}

interface Props {
  file: string;
  about?: string;
  difference: FileDifference | null;
  isBeside?: boolean;
  /** Shows the lines that are left out. */
  showAll?: () => void;
}

export function FileDifferenceTable({ file, about, difference, isBeside = false, showAll }: Props) {
  const lines = difference !== null && "lines" in difference ? difference.lines : null;
  const note = difference !== null && "note" in difference ? difference.note : "no text that differs";
  return (
    <DifferenceFrame file={file} about={about} counts={lines}>
      {lines === null ? (
        <p class="pad second">{plain(note)}</p>
      ) : (
        <table>
          <DifferenceRows rows={rowsOfLines(lines)} isBeside={isBeside} />
        </table>
      )}
      {lines !== null && lines.left_out > 0 && (
        <p class="left-out">
          <b>{lines.left_out === 1 ? "1 more line is not shown." : `${count(lines.left_out)} more lines are not shown.`}</b>{" "}
          {showAll && (
            <button type="button" onClick={showAll}>
              View all of it <Key name="v" />
            </button>
          )}
        </p>
      )}
    </DifferenceFrame>
  );
}

/** The rows of a difference, in one column of text or in two. */
export function DifferenceRows({ rows, isBeside }: { rows: ShownRow[]; isBeside: boolean }) {
  return <tbody>{isBeside ? <Beside rows={rows} /> : <Stacked rows={rows} />}</tbody>;
}

function Stacked({ rows }: { rows: ShownRow[] }) {
  return (
    <>
      {rows.map((row, at) =>
        row === "gap" ? (
          <tr class="folded" key={at}>
            <td colSpan={4}>⋮ lines that did not change</td>
          </tr>
        ) : (
          <DiffRow row={row} key={at} />
        ),
      )}
    </>
  );
}

/** Pairs the removed lines of a change with the added ones. */
function pairsOf(rows: ShownRow[]): ([Row | null, Row | null] | "gap")[] {
  const pairs: ([Row | null, Row | null] | "gap")[] = [];
  let removed: Row[] = [];
  let added: Row[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) pairs.push([removed[at] ?? null, added[at] ?? null]);
    [removed, added] = [[], []];
  };
  for (const row of rows) {
    if (row !== "gap" && row.kind === "removed") {
      // A line that is gone after one that is new begins another change.
      if (added.length > 0) flush();
      removed.push(row);
    } else if (row !== "gap" && row.kind === "added") added.push(row);
    else {
      flush();
      pairs.push(row === "gap" ? row : [row, row]);
    }
  }
  flush();
  return pairs;
}

function Beside({ rows }: { rows: ShownRow[] }) {
  return (
    <>
      {pairsOf(rows).map((pair, at) =>
        pair === "gap" ? (
          <tr class="folded" key={at}>
            <td colSpan={6}>⋮ lines that did not change</td>
          </tr>
        ) : (
          <tr key={at} class="beside">
            <Half row={pair[0]} number={pair[0]?.before ?? null} />
            <Half row={pair[1]} number={pair[1]?.after ?? null} />
          </tr>
        ),
      )}
    </>
  );
}

function Half({ row, number }: { row: Row | null; number: number | null }) {
  const kind = row?.kind ?? "none";
  return (
    <>
      <td class={`number ${kind}`}>{number}</td>
      <td class={`sign ${kind}`}>{row === null ? "" : SIGN[row.kind]}</td>
      <td class={`line ${kind}`}>{row !== null && <Words row={row} />}</td>
    </>
  );
}

/** Whether the window is wide enough for two columns of code. */
const WIDE = "(min-width: 1441px)";

export function useBeside(): [boolean, () => void] {
  const [isBeside, setBeside] = useState(false);
  return [isBeside && matchMedia(WIDE).matches, () => setBeside(!isBeside)];
}
