// The questions and proposals that wait for a person, least time first.
import type { ApiFailure } from "../../api.ts";
import { oneLine, plain } from "../../format.ts";
import { Tag } from "../../part/marks.tsx";
import { Empty, FailureNote } from "../../part/notes.tsx";
import { Left } from "../../part/texts.tsx";
import type { WaitingItem } from "../../part/waiting.ts";

const MOST_WAITING = 5;

export function WaitingList({ items, failure }: { items: WaitingItem[]; failure: ApiFailure | undefined }) {
  return (
    <section>
      <div class="head">
        <h2>Waiting for a person</h2>
        <span class="end third">least time first</span>
      </div>
      {failure !== undefined && !failure.isUnreachable && (
        <div class="pad">
          <FailureNote what="What waits could not be loaded." failure={failure} />
        </div>
      )}
      {items.length === 0 && failure === undefined && (
        <div class="pad">
          <Empty title="Nothing waits for an answer">Calls that ask show up here, and tools that agents propose.</Empty>
        </div>
      )}
      <ul class="waiting">
        {items.slice(0, MOST_WAITING).map((item) => (
          <li key={item.kind + item.id}>
            <Tag kind={item.kind} id={item.id} {...(item.kind === "proposals" ? { label: item.name } : {})} />
            {item.kind === "approvals" && (
              <code class="clip" title={plain(item.tool)}>
                {oneLine(item.tool)}
              </code>
            )}
            <span class="end brass">
              {item.until !== null && <Left until={item.until} suffix=" left" short />}
            </span>
            <span class="who second clip" title={plain(item.what)}>
              {oneLine(item.what).slice(0, 200)}
            </span>
          </li>
        ))}
        {items.length > MOST_WAITING && (
          <li>
            <a href="/approvals">and {items.length - MOST_WAITING} more</a>
          </li>
        )}
      </ul>
    </section>
  );
}
