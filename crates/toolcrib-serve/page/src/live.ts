// What happens on the server, as it happens: one stream of events for the whole page. It connects again by itself and
// goes on where it was.
import { batch, signal } from "@preact/signals";
import { ApiFailure, loggedIn, send } from "./api.ts";

/** One line of the record, as `GET /api/events` tells it. */
export interface RecordEvent {
  seq: number;
  event: string;
  at: string;
  call: string | null;
  tool: string | null;
  session: string | null;
  principal: string | null;
  role: string | null;
  decision: string | null;
  rule: string | null;
  door: string | null;
  client: string | null;
  effect: string | null;
  /** The beginning of the arguments. */
  args: string | null;
  /** The person who answered. */
  by: string | null;
  /** Whether it names files that are about to change, or that have changed. */
  names_files: boolean;
  status: string | null;
  /** The outcome of a call that ended. */
  outcome: string | null;
  error: string | null;
  message: string | null;
  /** How its command ended. */
  end: unknown;
  elapsed_ms: number | null;
  detail: unknown;
}

/** How the server does, as `GET /api/events` tells it now and then. */
interface Health {
  last_seq: number;
}

/** Whether the server can be heard. */
export const connection = signal<{ state: "connecting" | "open" } | { state: "lost"; since: number; retryAt: number }>({
  state: "connecting",
});

/** Whether what is shown changes by itself. One state for the whole page. */
export const pausedAt = signal<number | null>(null);
/** Calls that were asked while the page was paused. */
export const missedCalls = signal(0);
/** The number of the newest line of the record, once it is known. */
export const lastSeq = signal<number>();
/** Counts up about twice a second while events come, for views that read their figures again. */
export const pulse = signal(0);

type Listener = (events: RecordEvent[]) => void;
const listeners = new Set<Listener>();

/** Calls `listener` with the events of each moment, unless the page is paused. Returns what ends that. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function pause(): void {
  pausedAt.value = Date.now();
  missed = 0;
  missedCalls.value = 0;
}

export function resume(): void {
  pausedAt.value = null;
  missed = 0;
  missedCalls.value = 0;
  pulse.value += 1;
}

// Events are handed on together, so that 500 a second cost no more than two updates.
const GATHER_MS = 400;
const MOST_GATHERED = 2000;
let gathered: RecordEvent[] = [];
/** Calls that were asked during a pause and are not counted yet. */
let missed = 0;
/** The number of the newest line that was heard of. */
let heardSeq: number | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

function gather(event: RecordEvent): void {
  heardSeq = Math.max(heardSeq ?? 0, event.seq);
  if (pausedAt.value === null) {
    gathered.push(event);
    if (gathered.length > MOST_GATHERED) gathered = gathered.slice(-MOST_GATHERED);
  } else if (event.event === "call.asked") missed += 1;
  timer ??= setTimeout(handOn, GATHER_MS);
}

function handOn(): void {
  const events = gathered;
  gathered = [];
  timer = undefined;
  batch(() => {
    lastSeq.value = heardSeq;
    missedCalls.value += missed;
    missed = 0;
    if (events.length === 0) return;
    for (const listener of listeners) listener(events);
    pulse.value += 1;
  });
}

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15_000;
let wake: (() => void) | undefined;

/** Tries to connect at once. */
export function retryNow(): void {
  wake?.();
}

/** Follows the server for as long as somebody is logged in. */
export async function follow(): Promise<void> {
  let wait = FIRST_WAIT_MS;
  while (loggedIn.value) {
    const opened = await readStream();
    if (!loggedIn.value) return;
    wait = opened ? FIRST_WAIT_MS : Math.min(wait * 2, LONGEST_WAIT_MS);
    const since = connection.value.state === "lost" ? connection.value.since : Date.now();
    connection.value = { state: "lost", since, retryAt: Date.now() + wait };
    await new Promise<void>((resolve) => {
      wake = resolve;
      setTimeout(resolve, wait);
    });
  }
}

/** The server speaks every 15 seconds. After a longer silence the connection is lost, though nobody has closed it. */
const LONGEST_SILENCE_MS = 45_000;

/** Reads one connection to its end. Returns whether it was open at all. */
async function readStream(): Promise<boolean> {
  const after = heardSeq === undefined ? "" : `?after=${heardSeq}`;
  let reader: ReadableStreamDefaultReader<string>;
  const silence = new AbortController();
  try {
    const response = await send("GET", `/api/events${after}`, undefined, { accept: "text/event-stream" }, silence.signal);
    reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  } catch (error) {
    // A role that may not hear everything still has a page.
    return error instanceof ApiFailure && error.status === 403;
  }
  connection.value = { state: "open" };
  let rest = "";
  const giveUp = () => silence.abort();
  let timer = setTimeout(giveUp, LONGEST_SILENCE_MS);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      clearTimeout(timer);
      timer = setTimeout(giveUp, LONGEST_SILENCE_MS);
      if (done) return true;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) readBlock(block);
    }
  } catch {
    return true;
  } finally {
    clearTimeout(timer);
  }
}

function readBlock(block: string): void {
  const lines = block.split("\n").filter((line) => line.startsWith("data:"));
  if (lines.length === 0) return;
  const event = JSON.parse(lines.map((line) => line.slice(5).trimStart()).join("\n")) as RecordEvent | Health;
  // It comes first, and when nothing else does, so that rates fall while nothing happens.
  if (!("seq" in event)) {
    heardSeq = Math.max(heardSeq ?? 0, event.last_seq);
    lastSeq.value = heardSeq;
    if (pausedAt.value === null) pulse.value += 1;
    return;
  }
  gather(event);
}
