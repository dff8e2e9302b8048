// What waits for a person.
import { useMemo } from "preact/hooks";
import { type ApiFailure, loggedIn } from "../api.ts";
import { type Loaded, useData } from "../data.ts";
import { lastSeq } from "../live.ts";
import type { Reply } from "../reply.ts";
import { gistOf } from "./call.ts";
import { askerWords, principalWords } from "./words.ts";

/** Loads the open questions. An agent may not read them. */
function useQuestions({ isWanted = true, everyMs = 1000 }): Loaded<Reply<"/api/approvals">> {
  const mayRead = loggedIn.value?.role !== "agent";
  return useData(isWanted && mayRead ? "/api/approvals" : null, { live: true, everyMs });
}

interface Asked {
  call: string;
  seq: number;
  error: string | null;
  by: string | null;
}

export interface WaitingCalls {
  /** Whether a call waits for an answer now. */
  has: (call: Asked) => boolean;
  /** How many calls of a session wait that have ended for their client. */
  parkedIn: (session: string, principal: string | null) => number;
}

/** Returns which calls wait for an answer now. */
export function useWaitingCalls({ isWanted = true } = {}): WaitingCalls {
  const { data } = useQuestions({ isWanted });
  return useMemo(() => {
    const approvals = data?.approvals ?? [];
    const ids = new Set(approvals.map((it) => it.id));
    // The list does not know a question that came after it, so such a call waits until the list says otherwise.
    const known = data === undefined ? -1 : (lastSeq.peek() ?? Infinity);
    const isOpen = ({ error, by, seq }: Asked) => error === "approval_required" && by === null && seq > known;
    // The record does not name who calls at a terminal.
    const nameOf = ({ principal, door }: (typeof approvals)[number]["caller"]) => (door === "terminal" ? null : principal.name);
    return {
      has: (call) => ids.has(call.call) || isOpen(call),
      parkedIn: (session, principal) => approvals.filter((it) => it.is_parked && (it.conversation ?? it.requester) === session && nameOf(it.caller) === principal).length,
    };
  }, [data]);
}

export interface WaitingItem {
  kind: "approvals" | "proposals";
  id: string;
  /** The tool that would be called, or that is proposed. */
  tool: string;
  what: string;
  until: string;
}

/** Returns what waits, least time first, and which tools have calls that wait. */
export function useWaiting(): { items: WaitingItem[]; tools: ReadonlySet<string>; failure: ApiFailure | undefined } {
  const approvals = useQuestions({ everyMs: 2000 });
  const proposals = useData<Reply<"/api/tools/pending">>("/api/tools/pending", { live: true, everyMs: 5000 });
  const failure = approvals.error ?? proposals.error;
  return useMemo(() => {
    const questions = (approvals.data?.approvals ?? []).map((it): WaitingItem => {
      const { principal, door, client } = it.caller;
      const who = askerWords({ principal: principal.name, role: principal.role, door, client });
      return { kind: "approvals", id: it.id, tool: it.tool, what: `${who}: ${gistOf(it.args)}`, until: it.expires_at };
    });
    const proposed = (proposals.data?.pending ?? []).map((it): WaitingItem => ({ kind: "proposals", id: it.toolName, tool: `plugins/${it.toolName}`, what: `${principalWords(it.by)}: proposes a tool`, until: it.expiresAt }));
    const items = [...questions, ...proposed].sort((a, b) => a.until.localeCompare(b.until));
    return { items, tools: new Set(questions.map((it) => it.tool)), failure };
  }, [approvals.data, proposals.data, failure]);
}
