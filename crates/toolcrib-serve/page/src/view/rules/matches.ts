// What a rule is about, in a few words.
import { oneLine } from "../../format.ts";
import type { Reply } from "../../reply.ts";

export type Rule = Reply<"/api/rules">["rules"][number];

export const TONES: Record<string, "bad" | "wait" | "off" | "info"> = { deny: "bad", ask: "wait", allow: "off", audit: "info" };

/** The conditions of a rule, each with its name. */
export function conditionsOf(rule: Rule): [string, string][] {
  const { matches } = rule;
  const list = (values: readonly string[] | undefined) => (values ?? []).join(", ");
  const argv = (matches.argv ?? []).map((words) => (words.length === 1 ? words[0]! : `(${words.join(" | ")})`)).join(" ");
  const all: [string, string][] = [
    ["Tools", list(rule.tools)],
    ["Command", argv === "" ? "" : argv + (matches.exact ? "" : " …")],
    ["Words", matches.words ?? ""],
    ["Danger", list(matches.danger)],
    ["Paths", list(matches.paths)],
    ["Writes", list(matches.writes)],
    ["Hosts", list(matches.hosts)],
    ["Arguments", matches.args ?? ""],
    ["Call", matches.call ?? ""],
    ["Writes for", matches.runs_later ?? ""],
    ["Principals", list(matches.principals)],
    ["Callers", list(matches.callers)],
  ];
  return all.filter(([, value]) => value !== "");
}

/** The id in what a decision says of its rule. */
export function idIn(decided: string): string | undefined {
  return /^rule `(.*?)`(?:: |$)/s.exec(decided)?.[1];
}

/** One line for the list. */
export function aboutOf(rule: Rule): string {
  const parts = conditionsOf(rule).filter(([name]) => name !== "Tools" || rule.tools.length > 0);
  if (parts.length === 0) return "every call";
  return oneLine(parts.map(([name, value]) => (["Command", "Paths", "Tools", "Hosts"].includes(name) ? value : `${name.toLowerCase()} ${value}`)).join("; "));
}

/** "rules.toml:9", or "shipped". */
export function placeOf(rule: { layer: string; file: string; line: number }): string {
  if (rule.layer === "shipped") return "shipped";
  return `${oneLine(rule.file.split("/").at(-1) ?? "")}:${rule.line}`;
}
