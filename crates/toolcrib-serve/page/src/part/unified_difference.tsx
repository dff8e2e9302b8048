// A unified difference, as the server tells it about code, as rows with both line numbers.
import { markWords, type Row } from "./difference.tsx";
import { DifferenceFrame } from "./difference_frame.tsx";
import { DifferenceRows, type ShownRow } from "./file_difference.tsx";

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

function rowsOfUnified(text: string): ShownRow[] {
  const rows: ShownRow[] = [];
  let [before, after] = [0, 0];
  for (const line of text.split("\n")) {
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      if (Number(hunk[2]) > 1 || rows.length > 0) rows.push("gap");
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      continue;
    }
    // What stands before the first part names the two versions.
    if (before === 0 && after === 0) continue;
    const content = line.slice(1);
    if (line.startsWith("+")) rows.push({ kind: "added", text: content, before: null, after: after++ });
    else if (line.startsWith("-")) rows.push({ kind: "removed", text: content, before: before++, after: null });
    else if (line.startsWith(" ")) rows.push({ kind: "same", text: content, before: before++, after: after++ });
  }
  markWords(rows.filter((it): it is Row => it !== "gap"));
  return rows;
}

export function UnifiedDifference({ file, about, text, isBeside = false }: { file: string; about?: string; text: string; isBeside?: boolean }) {
  const rows = rowsOfUnified(text);
  const number = (kind: Row["kind"]) => rows.filter((it) => it !== "gap" && it.kind === kind).length;
  return (
    <DifferenceFrame file={file} about={about} counts={{ added: number("added"), removed: number("removed") }}>
      <table>
        <DifferenceRows rows={rows} isBeside={isBeside} />
      </table>
    </DifferenceFrame>
  );
}
