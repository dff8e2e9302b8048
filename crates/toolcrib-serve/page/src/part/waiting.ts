// What waits for a person.
import { useMemo } from "preact/hooks";
import { type ApiFailure, loggedIn } from "../api.ts";
import { type Loaded, useData } from "../data.ts";
import { oneLine } from "../format.ts";
import { lastSeq } from "../live.ts";
import type { Reply } from "../reply.ts";
import { callOf, gistOf } from "./call.ts";
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
    const ids = new Set(approvals.map(callOf));
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

/** Before the name of a mounted server, where it stands among proposals. */
export const SERVER = "server:";

export interface WaitingItem {
  kind: "approvals" | "proposals";
  id: string;
  /** What a proposal is called: the tool, or the mounted server. */
  name: string;
  /** The tool that would be called, or that is proposed. */
  tool: string;
  what: string;
  /** When it expires. What waits of a mounted server does not. */
  until: string | null;
}

/** Returns what waits, least time first, and which tools have calls that wait. */
export function useWaiting(): { items: WaitingItem[]; tools: ReadonlySet<string>; failure: ApiFailure | undefined } {
  const approvals = useQuestions({ everyMs: 2000 });
  const proposals = useData<Reply<"/api/tools/pending">>("/api/tools/pending", { live: true, everyMs: 5000 });
  const servers = useData<Reply<"/api/servers">>(loggedIn.value?.role === "agent" ? null : "/api/servers", { live: true, everyMs: 5000 });
  const failure = approvals.error ?? proposals.error ?? servers.error;
  return useMemo(() => {
    const questions = (approvals.data?.approvals ?? []).map((it): WaitingItem => {
      const { principal, door, client } = it.caller;
      const who = askerWords({ principal: principal.name, role: principal.role, door, client });
      return { kind: "approvals", id: it.id, name: it.tool, tool: it.tool, what: `${who}: ${it.host != null ? oneLine(it.what) : gistOf(it.args)}`, until: it.expires_at };
    });
    const proposed = (proposals.data?.pending ?? []).map((it): WaitingItem => ({ kind: "proposals", id: it.id, name: it.toolName, tool: `plugins/${it.toolName}`, what: `${principalWords(it.by)}: proposes a tool`, until: it.expiresAt }));
    const mounted = (servers.data?.servers ?? []).filter((it) => it.waiting_hash != null);
    const changed = mounted.map((it): WaitingItem => ({ kind: "proposals", id: SERVER + it.name, name: it.name, tool: it.name, what: "the MCP server has something new", until: null }));
    const items = [...[...questions, ...proposed].sort((a, b) => a.until!.localeCompare(b.until!)), ...changed];
    return { items, tools: new Set(questions.map((it) => it.tool)), failure };
  }, [approvals.data, proposals.data, servers.data, failure]);
}
