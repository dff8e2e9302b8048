// Words for what the server tells by a short name or a number.
import { count, oneLine } from "../format.ts";

/** "1 call", "2 calls". A plural that is not made with an s is said. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

const DOORS: Record<string, string> = { terminal: "terminal", http: "HTTP", mcp: "MCP", plugin: "plugin", agent: "agent", page: "page" };

/** The door that a call came through. The record does not name that of the terminal. */
export function doorWords(door: string | null | undefined): string {
  return DOORS[door ?? "terminal"] ?? oneLine(door ?? "");
}

/** Who answered or called, as people read it. The user of the machine has only a number. */
export function principalWords(name: string | null | undefined): string {
  if (name == null || /^user \d+$/.test(name)) return "local user";
  return /^page:user-\d+$/.test(name) ? "local user (page)" : oneLine(name);
}

/** Who asked for a call, in the fields that calls, sessions and callers have. */
export interface Asker {
  principal: string | null;
  role?: string | null;
  door: string | null;
  /** What the client calls itself. */
  client?: string | null;
}

/** Who asks: "alice (claude-code)". The programs of the user of this machine are told apart by their client. */
export function askerWords({ principal, role, door, client }: Asker): string {
  const who = role === "user" ? "local user" : principalWords(principal);
  if (client == null || client === "") return who;
  return `${who} (${who === "local user" && door === "mcp" ? "mcp client " : ""}${oneLine(client)})`;
}

/** Whether Toolcrib made up the name of a session, so that it says nothing to people. */
export function isMadeUp(session: string): boolean {
  return /^(mcp|cli)-[0-9A-Z]{26}$/.test(session);
}

const CHANGES: Record<string, string> = { created: "new file", replaced: "changed", removed: "removed", made_directory: "new folder", removed_directory: "folder removed" };

/** What a call did to a file. */
export function changeKind(kind: string): string {
  return CHANGES[kind] ?? oneLine(kind);
}

export const TOOL_KINDS = { built_in: "built-in", module: "module", program: "program", mcp: "MCP", bus: "NATS" };
export const MEASURES = { mean: "mean", p95: "p95", error_rate: "errors" };

/** What rules do with a call, the strictest first. */
export const EFFECTS = ["deny", "ask", "allow", "audit"];

/** What a tool of a tier does, from 0 to 4. */
export const TIERS = ["reads nothing", "reads", "writes in the workspace", "changes or runs things", "blocked unless opened"];

/** "2, writes in the workspace". */
export function tierWords(tier: number): string {
  return `${tier}, ${TIERS[tier]}`;
}
