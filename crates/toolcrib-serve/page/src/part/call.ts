// A call as lists show it: what a search of the record returns, and what events add to it while it runs.
import { duration, oneLine } from "../format.ts";
import type { RecordEvent } from "../live.ts";
import type { Reply } from "../reply.ts";
import type { Station } from "./marks.tsx";

type Found = Reply<"/api/audit">["calls"][number];

export type Call = Found & {
  /** Whether events named files that it changes. A search does not say. */
  changed?: boolean;
};

/** What became of a call after one more event. Nothing if the call is not known and this is not its beginning. */
export function afterEvent(known: Call | undefined, event: RecordEvent): Call | undefined {
  if (event.call === null || !/^(call|approval)\./.test(event.event)) return undefined;
  const call = known ?? (event.event === "call.asked" ? asked(event) : undefined);
  if (call === undefined) return undefined;
  const next = { ...call, changed: call.changed === true || event.names_files };
  switch (event.event) {
    case "call.waiting":
      return { ...next, asked_person: true };
    case "approval.approved":
    case "approval.denied":
      return { ...next, asked_person: true, by: event.by };
    case "call.decided":
      return { ...next, decision: event.decision, rule: event.rule, by: event.by ?? next.by, asked_person: next.asked_person || event.by !== null };
    case "call.started":
      return { ...next, started: true, outcome: "open", error: null };
    case "call.lost":
      return { ...next, outcome: "unknown" };
    case "call.task_ended":
      return { ...next, end: event.end as Call["end"], outcome: next.outcome === "ok" ? (event.outcome ?? "ok") : next.outcome };
    case "call.ended":
      return { ...next, error: event.error, message: event.message, end: event.end as Call["end"], elapsed_ms: event.elapsed_ms, outcome: event.outcome ?? next.outcome };
    default:
      return next;
  }
}

function asked(event: RecordEvent): Call {
  return {
    call: event.call!,
    seq: event.seq,
    at: event.at,
    session: event.session,
    principal: event.principal,
    role: event.role,
    door: event.door,
    client: event.client,
    tool: event.tool ?? "",
    effect: event.effect,
    args: event.args,
    decision: null,
    rule: null,
    by: null,
    asked_person: false,
    started: false,
    outcome: "open",
    error: null,
    end: null,
    message: null,
    elapsed_ms: null,
    version: null,
    used: null,
    user: null,
  };
}

type End = string | Record<string, number>;

const ENDS: Record<string, string> = { timed_out: "ran out of time", limited: "hit a limit", killed: "ended by Toolcrib" };

/** How a command ended: "exit code 101". */
export function endWords(end: unknown): string {
  if (end === null || end === undefined) return "";
  const how = end as End;
  if (typeof how === "string") return ENDS[how] ?? oneLine(how);
  const [kind, value] = Object.entries(how)[0] ?? ["", 0];
  return kind === "exited" ? `exit code ${value}` : kind === "signalled" ? `signal ${value}` : oneLine(kind);
}

/** What a row says at its end, and how it is marked. */
export function resultOf(call: Call, isWaiting: boolean): { words: string; tone: "" | "red" | "brass" } {
  const took = call.elapsed_ms === null || call.elapsed_ms === undefined ? "" : duration(call.elapsed_ms);
  if (isWaiting) return { words: "waits", tone: "brass" };
  switch (call.outcome) {
    case "ok":
      return { words: took === "" ? "ok" : took, tone: "" };
    case "open":
      return call.started ? { words: "runs", tone: "" } : { words: call.asked_person ? "waits" : "begins", tone: call.asked_person ? "brass" : "" };
    case "command_failed":
      return { words: endWords(call.end) || "failed", tone: "red" };
    case "unknown":
      return { words: "lost", tone: "red" };
    case "refused":
      return { words: call.error === "approval_required" ? (call.by === null ? "not answered" : "declined") : (REFUSED[call.error ?? ""] ?? "refused"), tone: "red" };
    default:
      return { words: oneLine(call.error ?? "failed").replaceAll("_", " "), tone: "red" };
  }
}
const REFUSED: Record<string, string> = { declined: "declined", bad_args: "bad arguments", no_tool: "no such tool", not_offered: "not on offer", confirmation_required: "to be confirmed", input_required: "asks for input" };

/** The path of a call: find, check, decide, run, record. */
export function stationsOf(call: Call, isWaiting: boolean): Station[] {
  const { outcome, error, started } = call;
  if (isWaiting || (outcome === "open" && !started && call.asked_person)) return ["done", "done", "waits", "never", "never"];
  const decided: Station = call.asked_person && call.by !== null ? "person" : "done";
  if (outcome === "open") return started ? ["done", "done", decided, "runs", "never"] : ["done", "runs", "never", "never", "never"];
  const end: Station = outcome === "unknown" ? "stopped" : "done";
  if (error === "no_tool" || error === "not_offered") return ["stopped", "never", "never", "never", end];
  if (started) return ["done", "done", decided, outcome === "ok" ? "done" : "stopped", end];
  if (call.decision === null && !call.asked_person) return ["done", "stopped", "never", "never", end];
  return ["done", "done", "stopped", "never", end];
}

/** What a call is about, on one line: its command, or its arguments as they are. */
export function aboutOf(args: string | null | undefined): string {
  return oneLine(commandIn(args) ?? args ?? "");
}

/** The command among the arguments, if they are whole. */
export function commandIn(args: string | null | undefined): string | null {
  try {
    const parsed = JSON.parse(args ?? "") as Record<string, unknown>;
    const command = parsed.command ?? parsed.cmd ?? parsed.script;
    return typeof command === "string" ? command : null;
  } catch {
    return null;
  }
}

/** Who or what decided. */
export function decidedBy(call: Call): string {
  return oneLine(call.by ?? call.rule ?? "");
}
