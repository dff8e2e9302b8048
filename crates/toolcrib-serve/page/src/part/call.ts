// A call as lists show it: what a search of the record returns, and what events add to it while it runs.
import { duration, oneLine } from "../format.ts";
import type { RecordEvent } from "../live.ts";
import type { Reply } from "../reply.ts";
import type { Station } from "./marks.tsx";
import { principalWords } from "./words.ts";

type Found = Reply<"/api/audit">["calls"][number];

export type Call = Found & {
  /** Whether events named files that it changes. A search does not say. */
  changed?: boolean;
  /** Whether an event said that a person approved it. A search does not say. */
  approved?: boolean;
};

/** The call that a question belongs to. Questions about the hosts of its command have a number behind it. */
export function callOf({ id }: { id: string }): string {
  return id.replace(/-host\d+$/, "");
}

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
      // A parked call had ended for its client, and begins again.
      return { ...next, asked_person: true, by: event.by, approved: true, outcome: "open", error: null };
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

/** What of a call says what became of it. A row of a list and a whole story have it. */
export type Outcome = Pick<Call, "outcome" | "error" | "message" | "started" | "asked_person" | "decision" | "by" | "end" | "approved">;

export interface Became {
  words: string;
  tone: "" | "red" | "brass";
}

/** Says what became of a call. A person declines it, policy refuses it, and until somebody answers it waits. */
export function becameOf(call: Outcome, isWaiting: boolean): Became {
  if (isWaiting || isAsked(call)) return { words: "waits", tone: "brass" };
  switch (call.outcome) {
    case "ok":
      return { words: "ok", tone: "" };
    case "open":
      return { words: call.started ? "runs" : "begins", tone: "" };
    case "command_failed":
      return { words: endWords(call.end) || "failed", tone: "red" };
    case "unknown":
      return { words: "lost", tone: "red" };
    default:
      if (!call.started && wasApproved(call)) return { words: "approved, but it did not run", tone: "red" };
      return { words: errorWords(call), tone: "red" };
  }
}

const ERRORS: Record<string, string> = { bad_args: "bad arguments", no_tool: "no such tool", not_offered: "not on offer", confirmation_required: "unconfirmed", input_required: "asks for input" };

function errorWords({ error, by, outcome }: Outcome): string {
  if (error === "approval_required") return by === null ? "not answered" : "declined";
  const fallback = outcome === "refused" ? "refused" : "failed";
  return ERRORS[error ?? ""] ?? oneLine(error ?? fallback).replaceAll("_", " ");
}

/** Whether a call is open because a person is asked about it. */
const isAsked = (call: Outcome) => call.outcome === "open" && !call.started && call.asked_person && call.by === null;

/** With these words an answer of yes counts as no, because it was bound to something that is not so any more. */
const NOT_WHAT_WAS_APPROVED = /something changed after the question|it is not the call that was approved/;

/** Whether a person said that a call may run. */
export function wasApproved(call: Outcome): boolean {
  if (call.approved === true) return true;
  // A message can repeat what an agent wrote. That of a person's answer does not.
  if (call.by !== null && call.error === "declined" && NOT_WHAT_WAS_APPROVED.test(call.message ?? "")) return true;
  return call.decision === "allow" && call.by !== null && call.by !== MODEL;
}

/** Stands for the person in the record if the confirmation of the agent was enough. */
const MODEL = "the model";

/** What a row says at its end, and how it is marked. Of what went well, it is the time that it took. */
export function resultOf(call: Call, isWaiting: boolean): Became {
  const became = becameOf(call, isWaiting);
  return call.outcome === "ok" && !isWaiting && call.elapsed_ms != null ? { ...became, words: duration(call.elapsed_ms) } : became;
}

/** The path of a call: find, check, decide, run, record. */
export function stationsOf(call: Call, isWaiting: boolean): Station[] {
  const { outcome, error, started } = call;
  if (isWaiting || isAsked(call)) return ["done", "done", "waits", "never", "never"];
  const decided: Station = call.asked_person && call.by !== null && call.by !== MODEL ? "person" : "done";
  if (outcome === "open") return started || call.by !== null ? ["done", "done", decided, "runs", "never"] : ["done", "runs", "never", "never", "never"];
  const end: Station = outcome === "unknown" ? "stopped" : "done";
  if (error === "no_tool" || error === "not_offered") return ["stopped", "never", "never", "never", end];
  if (started) return ["done", "done", decided, outcome === "ok" ? "done" : "stopped", end];
  if (wasApproved(call)) return ["done", "done", "person", "stopped", end];
  if (call.decision === null && !call.asked_person) return ["done", "stopped", "never", "never", end];
  return ["done", "done", "stopped", "never", end];
}

type Args = Record<string, unknown>;

/** What a call is about, on one line: its command, or its arguments. */
export function aboutOf(args: string | null | undefined): string {
  const whole = wholeArgs(args);
  return whole === undefined ? oneLine(args ?? "") : gistOf(whole);
}

const COMMANDS = ["command", "cmd", "script"];
const PATHS = ["file_path", "path", "base_path"];

/** What arguments say on one line: the command or the path, and then the others. */
export function gistOf(args: unknown): string {
  if (!isArgs(args)) return oneLine(JSON.stringify(args) ?? "");
  const key = commandKey(args) ?? PATHS.find((it) => typeof args[it] === "string");
  if (key === undefined) return oneLine(JSON.stringify(args));
  const { [key]: first, ...others } = args;
  return oneLine(Object.keys(others).length === 0 ? String(first) : `${first} ${JSON.stringify(others)}`);
}

/** The command among the arguments, if they are whole. */
export function commandIn(args: string | null | undefined): string | null {
  const whole = wholeArgs(args);
  return whole === undefined ? null : commandOf(whole);
}

/** The arguments beside the command, if there are any. */
export function besideCommand(args: string | null | undefined): Args | null {
  const whole = wholeArgs(args);
  const key = whole === undefined ? undefined : commandKey(whole);
  if (whole === undefined || key === undefined) return null;
  const { [key]: _, ...others } = whole;
  return Object.keys(others).length === 0 ? null : others;
}

const commandKey = (args: Args) => COMMANDS.find((it) => typeof args[it] === "string");

function commandOf(args: Args): string | null {
  const key = commandKey(args);
  return key === undefined ? null : String(args[key]);
}

function isArgs(all: unknown): all is Args {
  return typeof all === "object" && all !== null && !Array.isArray(all);
}

/** The arguments of a recorded call. The record has only the beginning of long ones. */
function wholeArgs(text: string | null | undefined): Args | undefined {
  try {
    const parsed = JSON.parse(text ?? "") as unknown;
    return isArgs(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Who or what decided. */
export function decidedBy(call: Call): string {
  return call.by !== null ? principalWords(call.by) : oneLine(call.rule ?? "");
}
