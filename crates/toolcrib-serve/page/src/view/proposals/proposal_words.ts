// What is said about a proposed tool: its permissions against those of the version that is active.
import { plain } from "../../format.ts";
import type { Reply } from "../../reply.ts";

export type Review = Reply<"/api/tools/pending/{tool}">;
export type Proposal = Review["proposal"];
export type Pending = Reply<"/api/tools/pending">["pending"][number];
export type Kept = Reply<"/api/proposals">["proposals"][number];
export type Plugin = Reply<"/api/plugins">["plugins"][number];
export type Server = Reply<"/api/servers">["servers"][number];

/** The version that a proposal is compared with. One that is active itself is compared with nothing. */
export function comparedWith({ active, proposal }: Review): string | null {
  return active == null || active === proposal.hash ? null : active;
}

/** Whether there was no version of the tool before: now, or when it was answered. */
export function isNewTool({ active, proposal }: Review): boolean {
  return (proposal.status === "pending" ? active : proposal.replaces) == null;
}

interface Entry {
  list: string;
  entry: string;
}

const LISTS: Record<string, string> = { read: "Reads", write: "Writes", hosts: "Network", tools: "Tools", secrets: "Secrets", volumes: "Folders of its own" };

export interface PermissionRow {
  name: string;
  before: string[];
  asked: string[];
  /** What only the new version asks for. */
  added: string[];
}

/** One row for each kind of permission that either version has. */
export function permissionRows(asked: unknown, changes: unknown): PermissionRow[] {
  const lists = (asked ?? {}) as Record<string, string[]>;
  const { added, removed } = (changes ?? { added: [], removed: [] }) as { added: Entry[]; removed: Entry[] };
  const of = (entries: Entry[], list: string) => entries.filter((it) => it.list === list).map((it) => it.entry);
  return Object.keys(LISTS).flatMap((list) => {
    const now = lists[list] ?? [];
    const [more, less] = [of(added, list), of(removed, list)];
    if (now.length === 0 && less.length === 0) return [];
    const before = [...now.filter((it) => !more.includes(it)), ...less];
    return [{ name: LISTS[list]!, before: before.map(plain), asked: now.map(plain), added: more.map(plain) }];
  });
}

export interface ExampleRow {
  about: string;
  isOk: boolean;
  /** What became of it. */
  words: string;
  ms: number | null;
  /** How long the same example took in the active version; nothing if it has no such example. */
  beforeMs: number | null | undefined;
}

export function exampleRows(review: Review): ExampleRow[] {
  const before = new Map(review.examplesBefore.map((it) => [it.about, it.elapsedMs ?? null]));
  return review.proposal.examples.map((it) => ({
    about: plain(it.about),
    isOk: it.ok,
    words: it.ok ? (it.compared ? "passed" : "ran, nothing to compare with") : it.message == null ? "failed" : plain(it.message),
    ms: it.elapsedMs ?? null,
    beforeMs: before.get(it.about),
  }));
}

/** A hash in groups of four, which a person can compare. */
export function grouped(hash: string): string {
  return hash.replace(/(.{4})(?=.)/g, "$1 ");
}

/** What a proposal is about, for lists: what it wants beyond the version that is active. */
export function pendingGist(pending: Pending): string {
  const { added } = pending.permissionChanges as { added: Entry[] };
  if (added.length === 0) return "asks for nothing more";
  return `asks for ${added.slice(0, 2).map((it) => `${it.list} ${plain(it.entry)}`).join(", ")}${added.length > 2 ? ` and ${added.length - 2} more` : ""}`;
}
