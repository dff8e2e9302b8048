// Words for what the server tells by a short name or a number.
import { oneLine } from "../format.ts";

const DOORS: Record<string, string> = { terminal: "terminal", http: "HTTP", mcp: "MCP", plugin: "plugin", page: "page" };

/** The door that a call came through. The record does not name that of the terminal. */
export function doorWords(door: string | null | undefined): string {
  return DOORS[door ?? "terminal"] ?? oneLine(door ?? "");
}

const CHANGES: Record<string, string> = { created: "new file", replaced: "changed", removed: "removed", made_directory: "new folder", removed_directory: "folder removed" };

/** What a call did to a file. */
export function changeKind(kind: string): string {
  return CHANGES[kind] ?? oneLine(kind);
}

export const TOOL_KINDS = { built_in: "built-in", module: "module", program: "program", mcp: "MCP" };
export const MEASURES = { mean: "mean", p95: "p95", error_rate: "errors" };

/** What a tool of a tier does, from 0 to 4. */
export const TIERS = ["reads nothing", "reads", "writes in the workspace", "changes or runs things", "blocked unless opened"];

/** "2, writes in the workspace". */
export function tierWords(tier: number): string {
  return `${tier}, ${TIERS[tier]}`;
}
