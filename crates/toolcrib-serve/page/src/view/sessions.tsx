// The work of each agent: the sessions left, one of them in the middle, its plan and its limits right.
import { useEffect, useRef } from "preact/hooks";
import { Changes } from "./sessions/changes.tsx";
import { Lanes } from "./sessions/lanes.tsx";
import { SessionCalls } from "./sessions/session_calls.tsx";
import { Side } from "./sessions/side.tsx";
import { type Loaded, useData } from "../data.ts";
import { absolute, clock, count, oneLine, plain, span } from "../format.ts";
import { useKeys } from "../keys.ts";
import { becameOf } from "../part/call.ts";
import { searchCommand } from "../part/command_line.ts";
import { Badge, Tag } from "../part/marks.tsx";
import { useMoves } from "../part/moves.ts";
import { Empty, Shown } from "../part/notes.tsx";
import { Ago } from "../part/texts.tsx";
import { TitleBlock } from "../part/title_block.tsx";
import { useWaitingCalls, type WaitingCalls } from "../part/waiting.ts";
import { askerWords, counted, doorWords, isMadeUp } from "../part/words.ts";
import type { Reply } from "../reply.ts";
import { addressOf, go, replaceWith, route } from "../router.ts";

type SessionList = Reply<"/api/sessions">;
type Listed = SessionList["sessions"][number];
export type OneSession = Reply<"/api/sessions/{session}">;

/** A session that called within this time is at work. */
const RECENT_MS = 15 * 60_000;

/** Where the list and one session are side by side. Elsewhere, the address without a session is the list alone. */
const SIDE_BY_SIDE = "(min-width: 1200px)";

interface Chosen {
  name: string;
  whose: string | null;
  since: string | null;
}

/** Returns the session that the address names, or the newest. It stays when the list is loaded again in another order. */
function useChosen(list: Loaded<SessionList>): Chosen | undefined {
  const { rest, query } = route.value;
  const [principal, since] = [query.get("principal"), query.get("since")];
  const kept = useRef<{ address: string; chosen: Chosen }>(undefined);
  const address = JSON.stringify([rest, principal, since]);
  const isKnown = list.data !== undefined || list.error !== undefined;
  if (kept.current?.address !== address && isKnown) {
    const sessions = list.data?.sessions ?? [];
    const found = rest === "" ? sessions[0] : sessions.find((it) => it.session === rest && (principal === null || it.principal === principal));
    const name = found?.session ?? rest;
    // Calls before the list begins belong to the session too, as far as the link to it says when they were.
    if (name !== "") kept.current = { address, chosen: { name, whose: principal ?? found?.principal ?? null, since: since ?? found?.first ?? null } };
  }
  const chosen = kept.current?.address === address ? kept.current.chosen : undefined;
  useEffect(() => {
    if (rest === "" && chosen !== undefined && matchMedia(SIDE_BY_SIDE).matches) replaceWith(toSession(chosen.name, chosen.whose));
  }, [rest, chosen]);
  return chosen;
}

function toSession(name: string, principal: string | null): string {
  return addressOf("sessions", name, principal === null ? {} : { principal });
}

export function Sessions() {
  const session = route.value.rest;
  const list = useData<SessionList>("/api/sessions", { live: true, everyMs: 2000 });
  const chosen = useChosen(list);
  const waiting = useWaitingCalls();
  const { name, whose, since } = chosen ?? { name: "", whose: null, since: null };
  const search = new URLSearchParams({ ...(whose === null ? {} : { principal: whose }), ...(since === null ? {} : { since }) }).toString();
  const path = `/api/sessions/${encodeURIComponent(name)}`;
  const items = useRef<HTMLElement>(null);
  useMoves(items, "a.item", { fromCurrent: true });
  // Where the list is beside the session, there is nothing to go back to.
  useKeys(session === "" || matchMedia(SIDE_BY_SIDE).matches ? {} : { Escape: () => go("/sessions") });
  return (
    <section class="view">
      <div class={session === "" ? "panes sessions" : "panes sessions has-one"}>
        <nav ref={items} class="pane list session-list" aria-label="Sessions">
          <Shown loaded={list} what="The sessions">{(data) => <List data={data} current={chosen} waiting={waiting} />}</Shown>
        </nav>
        {name === "" ? (
          <div class="pane pad">
            {list.data !== undefined && list.data.sessions.length === 0 && (
              <Empty title="No agent made a call in the last 24 hours">
                A session shows up here with its first call. <a href="/connect">Connect an agent</a>.
              </Empty>
            )}
          </div>
        ) : (
          <One key={`${name} ${whose}`} path={path} search={search} waiting={waiting} />
        )}
      </div>
      <TitleBlock command={name === "" ? searchCommand({ since: "24h" }) : searchCommand({ session: name, ...(whose === null ? {} : { actor: whose }), ...(since === null ? {} : { since }) })} request={name === "" ? "GET /api/sessions" : `GET ${path}${search === "" ? "" : `?${search}`}`} />
    </section>
  );
}

function List({ data, current, waiting }: { data: SessionList; current: Chosen | undefined; waiting: WaitingCalls }) {
  const now = Date.now();
  const isRecent = (it: Listed) => it.open > 0 || now - Date.parse(it.last) < RECENT_MS;
  const groups = [
    { name: "At work", about: "called within 15 min", sessions: data.sessions.filter(isRecent) },
    { name: "Before", about: "within 24 h", sessions: data.sessions.filter((it) => !isRecent(it)) },
  ];
  return (
    <>
      {groups.map(
        (group) =>
          group.sessions.length > 0 && (
            <section key={group.name}>
              <div class="head">
                <h2>{group.name}</h2>
                <span class="third">{count(group.sessions.length)}</span>
                <span class="end third">{group.about}</span>
              </div>
              <ul>
                {group.sessions.map((it) => (
                  <li key={`${it.session} ${it.principal}`}>
                    <Item session={it} isCurrent={it.session === current?.name && it.principal === current.whose} parked={waiting.parkedIn(it.session, it.principal)} />
                  </li>
                ))}
              </ul>
            </section>
          ),
      )}
      {data.truncated && <p class="pad third">There were more calls than are looked at, so sessions can be missing.</p>}
    </>
  );
}

/** The name of a session. One that was made up says nothing, so the session is called after who works in it. */
function nameOf(session: Listed): string {
  return isMadeUp(session.session) ? askerWords(session) : oneLine(session.session);
}

/** `parked` is how many of its calls wait for a person. The server counts them among those that did not run. */
function Item({ session, isCurrent, parked }: { session: Listed; isCurrent: boolean; parked: number }) {
  const notRun = Math.max(0, session.refused - parked);
  const bad = [session.failed > 0 ? `${count(session.failed)} failed` : "", notRun > 0 ? `${count(notRun)} did not run` : ""].filter((it) => it !== "");
  return (
    <a class="item" href={toSession(session.session, session.principal)} aria-current={isCurrent ? "true" : undefined}>
      <span class="row">
        <b class="clip" title={plain(session.session)}>
          {nameOf(session)}
        </b>
        <span class="end">{parked > 0 ? <Badge tone="wait">{counted(parked, "waits", "wait")}</Badge> : session.open > 0 ? <Badge tone="info">{session.open} open</Badge> : <Ago time={session.last} suffix="" />}</span>
      </span>
      <span class="row second">
        <span class="clip">{isMadeUp(session.session) ? `${doorWords(session.door)}, from ${clock(session.first).slice(0, 5)}` : `${askerWords(session)}, ${doorWords(session.door)}`}</span>
        <span class={`end ${bad.length > 0 ? "red" : ""}`}>{bad.length > 0 ? bad.join(", ") : counted(session.calls, "call")}</span>
      </span>
    </a>
  );
}

function One({ path, search, waiting }: { path: string; search: string; waiting: WaitingCalls }) {
  const query = search === "" ? "" : `?${search}`;
  const loaded = useData<OneSession>(path + query, { live: true, everyMs: 2000 });
  return (
    <>
      <div class="pane" tabIndex={0} role="region" aria-label="One session">
        <Shown loaded={loaded} what="The session">
          {(data) => (
            <>
              <Head data={data} waiting={waiting} />
              <Lanes data={data} waiting={waiting} />
              <Changes path={path} search={query} />
              <SessionCalls data={data} waiting={waiting} path={path} search={search} />
            </>
          )}
        </Shown>
      </div>
      <aside class="pane" aria-label="Plan and limits" tabIndex={0}>
        {loaded.data !== undefined && <Side data={loaded.data} />}
      </aside>
    </>
  );
}

function Head({ data, waiting }: { data: OneSession; waiting: WaitingCalls }) {
  const { session, truncated, calls } = data;
  const asked = calls.filter((call) => call.asked_person).length;
  const waits = calls.filter((call) => waiting.has(call));
  const parked = waits.filter((call) => call.outcome === "refused").length;
  const declined = calls.filter((call) => becameOf(call, waiting.has(call)).words === "declined").length;
  const counts = [`${count(session.failed)} failed`, `${count(session.refused - parked - declined)} refused`, `${count(declined)} declined`, `${count(asked)} asked`].join(", ");
  const lasts = Date.parse(session.last) - Date.parse(session.first);
  return (
    <header class="session-head">
      <a class="back" href="/sessions">
        All sessions
      </a>
      <h2 title={plain(session.session)}>
        {nameOf(session)} {session.open > 0 && <Badge tone="info">{count(session.open)} open</Badge>}
        {waits.length > 0 && (
          <Badge tone="wait" mark="waits">
            waits for a person
          </Badge>
        )}{" "}
        {waits.slice(0, 5).map((call) => (
          <Tag key={call.call} kind="approvals" id={call.call} />
        ))}
      </h2>
      <dl class="meta">
        <div>
          <dt>Agent</dt>
          <dd>
            {askerWords(session)} over {doorWords(session.door)}
          </dd>
        </div>
        {session.connections && session.connections.length > 0 && (
          <div>
            <dt>Reads</dt>
            <dd class="mono">{session.connections.map(oneLine).join(", ")}</dd>
          </div>
        )}
        {isMadeUp(session.session) && (
          <div>
            <dt>Id</dt>
            <dd class="mono">{oneLine(session.session)}</dd>
          </div>
        )}
        <div>
          <dt>{truncated ? "Shown from" : "Began"}</dt>
          <dd>
            <time dateTime={session.first} title={absolute(session.first)}>
              {clock(session.first)}
            </time>
            {lasts >= 1000 && `, for ${span(lasts)}`}
          </dd>
        </div>
        <div>
          <dt>Calls</dt>
          <dd>
            {truncated ? `the newest ${count(calls.length)}` : count(session.calls)}: {counts}
          </dd>
        </div>
      </dl>
    </header>
  );
}
