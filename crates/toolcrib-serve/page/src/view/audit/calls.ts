// The calls of the tail: a page of them from the server, older pages on demand, and new ones as they come. However many
// come, no more than `MOST_ROWS` are kept.
import { signal, type Signal } from "@preact/signals";
import { ApiFailure, get } from "../../api.ts";
import { updatedAt } from "../../data.ts";
import { lastSeq, type RecordEvent } from "../../live.ts";
import { afterEvent, type Call } from "../../part/call.ts";
import type { Reply } from "../../reply.ts";
import { isWanted, queryOf, type Search } from "./filters.ts";
import { type Gap, joined, placeOf, restOf } from "./gap.ts";

export const PAGE = 100;
export const MOST_ROWS = 300;
/** How many calls are remembered that may still come to fit the filter. */
const MOST_OPEN = 2000;

export interface Tail {
  rows: Call[];
  /** Whether the server may have older ones. */
  hasOlder: boolean;
  /** Whether newer ones were dropped for older ones, so that new ones have no place. */
  isCut: boolean;
  /** New calls that are not shown, because a person reads. */
  held: number;
  /** What is not known between the rows. */
  gap?: Gap | undefined;
  state: "loading" | "ready";
  error?: ApiFailure;
}

const EMPTY: Tail = { rows: [], hasOlder: false, isCut: false, held: 0, state: "loading" };

export class Calls {
  readonly tail: Signal<Tail> = signal(EMPTY);
  /** Calls that events told of and that are in no row. */
  private unlisted = new Map<string, Call>();
  private abort = new AbortController();
  /** The number of the last line of the record up to which nothing is missing. */
  private coveredTo: number | undefined;
  /** What is missing of what is not shown yet. */
  private skipped: Gap | undefined;

  constructor(readonly search: Search) {}

  /** Loads the newest calls. */
  async load(): Promise<void> {
    // A search finds at least what was on the record when it began.
    const known = lastSeq.peek();
    await this.fetchPage({}, (found) => {
      this.coveredTo = Math.max(this.coveredTo ?? 0, known ?? 0) || undefined;
      this.skipped = undefined;
      const newest = found[0]?.seq ?? 0;
      // What began meanwhile is known from its events.
      const since = [...this.unlisted.values()].filter((call) => call.seq > newest && isWanted(call, this.search));
      since.sort((a, b) => b.seq - a.seq);
      return { rows: this.cut([...since, ...found]), hasOlder: found.length >= PAGE, isCut: false, held: 0, state: "ready" };
    });
  }

  /** Loads the page after the oldest call. The newest ones make room for it. */
  async loadOlder(): Promise<void> {
    const last = this.tail.value.rows.at(-1);
    if (last === undefined) return;
    await this.fetchPage({ before: String(last.seq) }, (found) => {
      const rows = [...this.tail.value.rows, ...found];
      const isCut = this.tail.value.isCut || rows.length > MOST_ROWS;
      return { ...this.tail.value, rows: rows.slice(-MOST_ROWS), hasOlder: found.length >= PAGE, isCut, state: "ready", error: undefined };
    });
  }

  /** Loads the newest page of what is missing between the rows. */
  async loadGap(): Promise<void> {
    const { gap } = this.tail.value;
    if (gap === undefined) return;
    await this.fetchPage({ before: String(gap.to) }, (found) => {
      const { rows } = this.tail.value;
      const ids = new Set(rows.map((call) => call.call));
      const all = [...rows, ...found.filter((call) => call.seq > gap.from && !ids.has(call.call))].sort((a, b) => b.seq - a.seq);
      const rest = restOf(gap, found, found.length < PAGE);
      return { ...this.tail.value, ...this.withGap(all, rest), state: "ready", error: undefined };
    });
  }

  private async fetchPage(more: Record<string, string>, use: (found: Call[]) => Tail): Promise<void> {
    this.abort.abort();
    this.abort = new AbortController();
    const { signal: wanted } = this.abort;
    this.tail.value = { ...this.tail.value, state: "loading" };
    try {
      const found = await get<Reply<"/api/audit">>(`/api/audit?${queryOf(this.search, { ...more, limit: String(PAGE) })}`, wanted);
      if (wanted.aborted) return;
      updatedAt.value = Date.now();
      this.tail.value = use(found.calls);
      // What is in a row now is in one place only.
      for (const call of this.tail.value.rows) this.unlisted.delete(call.call);
    } catch (error) {
      if (!(error instanceof ApiFailure) || wanted.aborted) return;
      this.tail.value = { ...this.tail.value, state: "ready", error };
    }
  }

  stop(): void {
    this.abort.abort();
  }

  /** Takes in what happened. `isHeld` says that no row may move. */
  hear(events: RecordEvent[], isHeld: boolean): void {
    const { tail } = this;
    this.notice(events);
    const rows = new Map(tail.value.rows.map((call) => [call.call, call]));
    const fresh: Call[] = [];
    let held = tail.value.held;
    for (const event of events) {
      const id = event.call ?? "";
      const listed = rows.get(id);
      const next = afterEvent(listed ?? this.unlisted.get(id), event);
      if (next === undefined) continue;
      if (listed !== undefined) {
        rows.set(id, next);
      } else {
        const wasWanted = this.unlisted.has(id) && isWanted(this.unlisted.get(id)!, this.search);
        this.remember(next);
        if (isWanted(next, this.search) && !wasWanted) held += 1;
      }
    }
    const canShow = !isHeld && !tail.value.isCut && tail.value.state === "ready";
    if (canShow) {
      for (const call of this.unlisted.values()) {
        if (isWanted(call, this.search)) fresh.push(call);
      }
      for (const call of fresh) this.unlisted.delete(call.call);
      held = 0;
    }
    const all = [...fresh, ...rows.values()].sort((a, b) => b.seq - a.seq);
    const gap = canShow ? joined(tail.value.gap, this.skipped) : tail.value.gap;
    if (canShow) this.skipped = undefined;
    tail.value = { ...tail.value, ...this.withGap(all, gap), held };
  }

  /** Notices if events do not go on where the last ones ended. */
  private notice(events: RecordEvent[]): void {
    const [first, last] = [events[0]?.seq, events.at(-1)?.seq];
    if (first === undefined || last === undefined) return;
    if (this.coveredTo !== undefined && first > this.coveredTo + 1) this.skipped = joined(this.skipped, { from: this.coveredTo, to: first });
    this.coveredTo = Math.max(this.coveredTo ?? 0, last);
  }

  /** Cuts the rows. Where a gap was cut off, too, the older calls are asked for as any others. */
  private withGap(all: Call[], gap: Gap | undefined): Pick<Tail, "rows" | "gap" | "hasOlder"> {
    const rows = this.cut(all);
    const isOlder = gap !== undefined && placeOf(gap, rows) === undefined;
    const hasOlder = this.tail.value.hasOlder || all.length > MOST_ROWS || isOlder;
    return { rows, hasOlder, gap: isOlder ? undefined : gap };
  }

  private remember(call: Call): void {
    this.unlisted.delete(call.call);
    this.unlisted.set(call.call, call);
    for (const id of this.unlisted.keys()) {
      if (this.unlisted.size <= MOST_OPEN) break;
      const dropped = this.unlisted.get(id)!;
      if (isWanted(dropped, this.search)) this.skipped = joined(this.skipped, { from: dropped.seq - 1, to: dropped.seq + 1 });
      this.unlisted.delete(id);
    }
  }

  private cut(calls: Call[]): Call[] {
    return calls.slice(0, MOST_ROWS);
  }
}
