// What stands around the rows of a difference: the name of the file, and how many lines came and went.
import type { ComponentChildren } from "preact";
import { count, plain } from "../format.ts";

interface Props {
  file: string;
  about?: string | undefined;
  /** How many lines came and went. Nothing if there are no lines to show. */
  counts: { added: number; removed: number } | null;
  children: ComponentChildren;
}

export function DifferenceFrame({ file, about, counts, children }: Props) {
  return (
    <div class="diff" role="region" aria-label={`difference of ${plain(file)}`} tabIndex={0}>
      <div class="diff-head">
        <b class="mono">{plain(file)}</b>
        {counts !== null && (
          <span class="nowrap">
            <span class="green">+{count(counts.added)}</span> <span class="red">−{count(counts.removed)}</span>
          </span>
        )}
        {about !== undefined && <span class="second">{plain(about)}</span>}
      </div>
      {children}
    </div>
  );
}
