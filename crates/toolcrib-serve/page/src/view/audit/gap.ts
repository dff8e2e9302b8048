// Lines of the record between two rows of the tail that nobody told the page of: too many came at once, or the record
// could not be read after a pause. They are never left out silently.
import type { Call } from "../../part/call.ts";

export interface Gap {
  /** The number of the last line before it. */
  from: number;
  /** The number of the first line after it. */
  to: number;
}

/** How many lines are in it. */
export function linesIn(gap: Gap): number {
  return gap.to - gap.from - 1;
}

/** Puts two gaps together. What is known between them is loaded with them again. */
export function joined(gap: Gap | undefined, other: Gap | undefined): Gap | undefined {
  if (gap === undefined || other === undefined) return gap ?? other;
  return { from: Math.min(gap.from, other.from), to: Math.max(gap.to, other.to) };
}

/** Returns what is left of a gap once these calls, newest first, were loaded before its end. */
export function restOf(gap: Gap, found: Call[], isLastPage: boolean): Gap | undefined {
  const oldest = found.at(-1)?.seq ?? 0;
  return isLastPage || oldest <= gap.from + 1 ? undefined : { from: gap.from, to: oldest };
}

/** Returns before which row a gap is. It has no place if all rows are newer: then it is among the older calls. */
export function placeOf(gap: Gap | undefined, rows: Call[]): number | undefined {
  if (gap === undefined || linesIn(gap) <= 0) return undefined;
  const at = rows.findIndex((call) => call.seq < gap.to);
  return at >= 0 ? at : undefined;
}
