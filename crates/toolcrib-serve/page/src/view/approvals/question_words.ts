// What is said about a question: its fields in words. Everything that came from an agent goes through `plain`.
import { shellWord } from "../../part/command_line.ts";
import { oneLine, plain, span } from "../../format.ts";
import { askerWords, doorWords } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";

export type OneApproval = Reply<"/api/approvals/{id}">;
export type Approval = OneApproval["approval"];
export type ListedApproval = Reply<"/api/approvals">["approvals"][number];
export type GrantOffer = Approval["grants"][number];
export type ExpectedChange = Approval["changes"][number];

export function asker({ caller }: Approval): string {
  const { principal, door, client } = caller;
  return askerWords({ principal: principal.name, role: principal.role, door, client });
}

export function doorOf(approval: Approval): string {
  return `${doorWords(approval.caller.door)}, ${approval.host != null ? "the command waits" : approval.is_parked ? "the call is parked" : "the client waits"}`;
}

/** The command of a call, if it has one. Only of calls that wait, the server says which argument it is. */
export function askedCommand(approval: Approval, told?: string | null): string | null {
  if (told != null) return told;
  if (approval.runs == null && approval.host == null) return null;
  const args = askedArguments(approval);
  for (const name of ["command", "cmd", "script"]) if (typeof args[name] === "string") return args[name];
  return null;
}

export function askedArguments(approval: Approval): Record<string, unknown> {
  const { args } = approval;
  return typeof args === "object" && args !== null && !Array.isArray(args) ? (args as Record<string, unknown>) : {};
}

/** One line about a call, for lists. */
export function gist(approval: Approval): string {
  const command = approval.host != null ? null : askedCommand(approval);
  return oneLine(command ?? whatOf(approval));
}

/** What a call wants to do. The server counts lines that go away with a hyphen. */
export function whatOf(approval: Approval): string {
  return plain(approval.what).replace(/(\(\+\d+ )-(\d+\))$/, "$1−$2");
}

/** How long before another one a call was made. */
export function beforeWords(ms: number): string {
  return ms < 1000 ? "at the same time" : `${span(ms)} before`;
}

const VERBS = { create: "creates", change: "changes", delete: "deletes" };

export function changeWords(change: ExpectedChange): string {
  const { kind, files, lines } = change;
  const counted = lines !== null ? ` (+${lines[0]} −${lines[1]})` : kind === "delete" && files === null ? " (many files)" : files !== null && files > 1 ? ` (${files} files)` : "";
  const spelt = change.spelt == null ? "" : `, spelled ${plain(change.spelt)}`;
  return `${VERBS[kind]} ${plain(change.path)}${spelt}${counted}`;
}

/** What undo puts back, and what nothing takes back. */
export function undoWords(approval: Approval): { back: string; not: string } {
  const { changes, network, runs, files } = approval;
  if (approval.host != null) return { back: "", not: "Nothing takes back what the command sends." };
  const paths = (all: ExpectedChange[]) => listed(all.map((it) => plain(it.path)));
  if (runs != null) {
    // Of a command, only those paths are certain whose files were counted.
    const counted = changes.filter((it) => it.kind === "delete" && (it.files ?? 0) > 0);
    const back = counted.length > 0 ? `puts back ${paths(counted)}, and` : "puts back";
    const sent = network != null && network.length > 0 ? `, nor what it sends to ${listed(network.map(plain))}` : "";
    return { back: `${back} those files of the command line that are copied before it runs.`, not: `Nothing takes back what its programs change besides${sent}.` };
  }
  if (changes.length === 0 && files.length === 0) return { back: "", not: "Nothing takes back what this tool does." };
  const [made, changed] = [changes.filter((it) => it.kind === "create"), changes.filter((it) => it.kind !== "create")];
  const back = [changed.length > 0 && `puts back ${paths(changed)}`, made.length > 0 && `removes ${paths(made)}`].filter(Boolean).join(", ");
  if (back === "") return { back: "", not: "Nothing takes back what this tool does." };
  return { back: `${back}, as long as nobody changes ${changes.length > 1 ? "them" : "it"} afterwards`, not: "" };
}

const MOST_LISTED = 6;

export function listed(names: string[]): string {
  const shown = names.slice(0, MOST_LISTED).join(", ");
  return names.length > MOST_LISTED ? `${shown} and ${names.length - MOST_LISTED} more` : shown;
}

/** What a grant covers, in words, without where and how long. */
export function coversWords(covers: GrantOffer["wish"]["covers"], workspace: string): string {
  const below = (path: string) => plain(path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path);
  if ("call" in covers) return "this exact call";
  if ("argv" in covers) return `commands that begin with ${plain(covers.argv.map(shellWord).join(" "))}`;
  if ("path" in covers) return `changes to ${below(covers.path)}`;
  if ("edits" in covers) return covers.edits === workspace ? "all edits" : `edits below ${below(covers.edits)}/`;
  return `connections to ${plain(covers.host.host)}:${covers.host.port}`;
}

type Scope = GrantOffer["wish"]["scope"];
export type Where = "session" | "project" | "user";

export function whereOf(scope: Scope): Where {
  if (scope === "user") return "user";
  return "session" in scope ? "session" : "project";
}

export const WHERES: Record<Where, string> = { session: "this session", project: "this workspace", user: "everywhere" };

export function minutesWords(minutes: number | null, where: Where): string {
  if (minutes === null) return where === "session" ? "until the session ends" : "until revoked";
  return minutes % 60 === 0 ? `${minutes / 60} hours` : `${minutes} minutes`;
}

/** The grant that an answer of "always" leaves, line by line, as the list of grants will have it. */
export function grantLines(approval: Approval, offer: GrantOffer, now: number): [string, string][] {
  const { scope, minutes } = offer.wish;
  const where = scope === "user" ? "everywhere" : "session" in scope ? `session ${plain(scope.session)}` : `workspace ${plain(scope.project)}`;
  const { principal } = approval.caller;
  const until = minutes !== null ? `${new Date(now + minutes * 60_000).toISOString().slice(0, 16)}Z` : whereOf(scope) === "session" ? "the session ends, or revoked" : "revoked";
  return [
    ["allow", plain(offer.rule)],
    ["where", where],
    ["for", principal.role === "user" ? "local user" : `${principal.role} ${plain(principal.name)}`],
    ["until", until],
  ];
}
