// Which calls the tail shows. All of it is in the address: `filter` is what a person typed, `show` is a choice of theirs.
// The server searches by it, and the page tests new calls by the same rules.
import type { Call } from "../../part/call.ts";
import { type CommandLine, commandLine, searchCommand } from "../../part/command_line.ts";
import { FILTER_KEYS, type FilterKey } from "../../part/filter_word.ts";

/** What the server can search by, as its parameters are called. */
export type Search = Partial<Record<"tool" | "actor" | "session" | "door" | "outcome" | "decision" | "changed" | "since" | "until" | "call" | "text", string>>;

const CHOICES: Partial<Record<FilterKey, string[]>> = {
  door: ["terminal", "http", "mcp", "plugin", "agent"],
  outcome: ["ok", "command_failed", "error", "refused", "unknown", "open"],
  decision: ["allow", "ask", "deny"],
};

/** Choices of one click. */
export const SHOWN: Record<string, { name: string; search: Search }> = {
  all: { name: "All", search: {} },
  failed: { name: "Failed", search: { outcome: "error" } },
  command: { name: "Command failed", search: { outcome: "command_failed" } },
  refused: { name: "Refused", search: { outcome: "refused" } },
  asked: { name: "Asked", search: { decision: "ask" } },
  changed: { name: "Changed files", search: { changed: "true" } },
};

export interface Parsed {
  search: Search;
  /** What is wrong with the words, if something is. */
  wrong?: string;
}

/** Reads `tool:grep actor:ci since:2h some words`. A value with spaces stands in quotation marks. */
export function parseFilter(words: string, show: string, now: number): Parsed {
  const search: Search = { ...(Object.hasOwn(SHOWN, show) ? SHOWN[show]?.search : {}) };
  const text: string[] = [];
  for (const [, key, quoted, bare] of words.matchAll(/(?:([a-z]+):)?(?:"([^"]*)"|(\S+))/g)) {
    const value = quoted ?? bare ?? "";
    const known = FILTER_KEYS.find((it) => it === key);
    if (known === undefined) {
      text.push(key === undefined ? value : `${key}:${value}`);
      continue;
    }
    const choices = CHOICES[known];
    if (choices !== undefined && !choices.includes(value)) return { search, wrong: `${known} is one of ${choices.join(", ")}` };
    if (known === "since" || known === "until") {
      const time = timeOf(value, now);
      if (time === null) return { search, wrong: `${known} is a time such as 15m, 2h, 3d, 1w or 2026-11-04T12:00` };
      search[known] = time;
    } else {
      search[known] = value;
    }
  }
  if (text.length > 0) search.text = text.join(" ");
  return { search };
}

const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

function timeOf(value: string, now: number): string | null {
  const span = /^(\d{1,6})([mhdw])$/.exec(value);
  const time = span === null ? Date.parse(value) : now - Number(span[1]) * UNITS[span[2]!]!;
  return Number.isFinite(time) && Math.abs(time) < 8e15 ? new Date(time).toISOString() : null;
}

export function queryOf(search: Search, more: Record<string, string> = {}): string {
  return new URLSearchParams({ ...search, ...more } as Record<string, string>).toString();
}

/** The same on the command line, which shows a call by its id and finds others by the other filters. */
export function commandOf({ call, ...search }: Search, limit: number): CommandLine {
  return call === undefined ? searchCommand(search, limit) : commandLine("audit show", [call]);
}

/** Whether the server would find a call. What the reply says is not known here. */
export function isWanted(call: Call, search: Search): boolean {
  const { tool, actor, session, door, outcome, decision, changed, since, until, text } = search;
  const lower = text?.toLowerCase();
  return (
    (tool === undefined || call.tool === tool || call.tool.split("/").at(-1) === tool) &&
    (actor === undefined || [call.session, call.by, call.principal, call.client].includes(actor)) &&
    (session === undefined || call.session === session) &&
    (door === undefined || (call.door ?? "terminal") === door) &&
    (outcome === undefined || call.outcome === outcome) &&
    (decision === undefined || (decision === "ask" ? call.asked_person : call.decision === decision)) &&
    (changed === undefined || (call.changed === true && call.error === null)) &&
    (since === undefined || Date.parse(call.at) >= Date.parse(since)) &&
    (until === undefined || Date.parse(call.at) <= Date.parse(until)) &&
    (search.call === undefined || call.call.startsWith(search.call.toUpperCase())) &&
    (lower === undefined || [call.args, call.message, call.rule, call.error].some((it) => it?.toLowerCase().includes(lower)))
  );
}
