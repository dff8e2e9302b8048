// The questions and proposals that wait for a person, least time first.
import { useMemo } from "preact/hooks";
import { type ApiFailure, loggedIn } from "../../api.ts";
import { useData } from "../../data.ts";
import { oneLine, plain } from "../../format.ts";
import { Tag } from "../../part/marks.tsx";
import { Empty, FailureNote } from "../../part/notes.tsx";
import { Left } from "../../part/texts.tsx";
import type { Reply } from "../../reply.ts";

const MOST_WAITING = 5;

export interface WaitingItem {
  kind: "approvals" | "proposals";
  id: string;
  /** The tool that would be called, or that is proposed. */
  tool: string;
  what: string;
  until: string;
}

/** What waits, and which tools have calls that wait. */
export function useWaiting(): { items: WaitingItem[]; tools: ReadonlySet<string>; failure: ApiFailure | undefined } {
  const mayRead = loggedIn.value?.role !== "agent";
  const approvals = useData<Reply<"/api/approvals">>(mayRead ? "/api/approvals" : null, { live: true });
  const proposals = useData<Reply<"/api/tools/pending">>("/api/tools/pending", { live: true, everyMs: 5000 });
  const failure = approvals.error ?? proposals.error;
  return useMemo(() => {
    const questions = (approvals.data?.approvals ?? []).map((it): WaitingItem => {
      const who = it.caller.principal.name;
      return { kind: "approvals", id: it.id, tool: it.tool, what: `${who}: ${summary(it.args)}`, until: it.expires_at };
    });
    const proposed = (proposals.data?.pending ?? []).map((it): WaitingItem => ({ kind: "proposals", id: it.toolName, tool: `plugins/${it.toolName}`, what: `${it.by}: proposes a tool`, until: it.expiresAt }));
    const items = [...questions, ...proposed].sort((a, b) => a.until.localeCompare(b.until));
    return { items, tools: new Set(questions.map((it) => it.tool)), failure };
  }, [approvals.data, proposals.data, failure]);
}

/** The first text among the arguments says most: a command, a path. */
function summary(args: unknown): string {
  if (typeof args !== "object" || args === null) return "";
  const first = Object.values(args).find((it) => typeof it === "string");
  return typeof first === "string" ? first : JSON.stringify(args);
}

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
            <Tag kind={item.kind} id={item.id} />
            {item.kind === "approvals" && (
              <code class="clip" title={plain(item.tool)}>
                {oneLine(item.tool)}
              </code>
            )}
            <span class="end brass">
              <Left until={item.until} suffix=" left" short />
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
