// The stations of one call, put together from the moments that the record has of it.
import { duration, span } from "../../format.ts";
import type { Reply } from "../../reply.ts";

export type StoryReply = Reply<"/api/audit/{id}">;
export type CallStory = StoryReply["call"];
type Moment = CallStory["moments"][number];

export interface Wait {
  from: string;
  /** Nothing while it waits, or if nobody answered. */
  to: string | null;
  by: string | null;
  words: string;
  said: "approved" | "declined" | null;
}

export interface Timeline {
  asked: Moment | undefined;
  decided: Moment | undefined;
  started: Moment | undefined;
  ended: Moment | undefined;
  taskEnded: Moment | undefined;
  lost: Moment | undefined;
  wait: Wait | null;
  /** When the call was looked at for the decision, in milliseconds after it was asked. */
  decidedMs: number | null;
  startedMs: number | null;
  endedMs: number | null;
  lines: [number, number];
}

export function timelineOf(story: CallStory): Timeline {
  const { moments } = story;
  const last = (event: string) => moments.findLast((it) => it.event === event);
  const start = Date.parse(story.at);
  const after = (moment: Moment | undefined) => (moment === undefined ? null : Date.parse(moment.at) - start);
  const waits = moments.find((it) => it.event === "waits");
  const seqs = moments.map((it) => it.seq);
  const wait = waits === undefined ? null : waitOf(waits, moments);
  return {
    asked: moments[0],
    decided: last("decided"),
    started: last("started"),
    ended: last("ended"),
    taskEnded: last("task_ended"),
    lost: last("lost"),
    wait,
    decidedMs: after(waits ?? last("decided")),
    startedMs: after(last("started")),
    endedMs: after(last("task_ended") ?? last("ended")),
    lines: [Math.min(...seqs), Math.max(...seqs)],
  };
}

function waitOf(waits: Moment, moments: Moment[]): Wait {
  const answer = moments.find((it) => it.seq > waits.seq && (it.event === "approved" || it.event === "denied" || (it.event === "decided" && it.by !== null)));
  const detail = (answer?.detail ?? {}) as { words?: unknown };
  const isYes = answer?.event === "approved" || (answer?.event === "decided" && answer.decision === "allow");
  return {
    from: waits.at,
    to: answer?.at ?? null,
    by: answer?.by ?? null,
    words: typeof detail.words === "string" ? detail.words : "",
    said: answer === undefined ? null : isYes ? "approved" : "declined",
  };
}

export function waitedWords(wait: Wait): string {
  if (wait.to === null) return "waits";
  const ms = Date.parse(wait.to) - Date.parse(wait.from);
  return `waited ${ms < 60_000 ? duration(ms) : span(ms)}`;
}
