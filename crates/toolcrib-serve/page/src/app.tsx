// The frame of every view: the bar with the numbered views, and the view that the address names.
import type { ComponentType } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { isAnswered, loggedIn, logOut } from "./api.ts";
import { second, useData } from "./data.ts";
import { clock, count } from "./format.ts";
import { useBaseKeys } from "./keys.ts";
import { connection, follow, missedCalls, pause, pausedAt, resume, retryNow } from "./live.ts";
import { Login } from "./login.tsx";
import { Help } from "./help.tsx";
import { Boundary } from "./part/boundary.tsx";
import { Key } from "./part/marks.tsx";
import { Note } from "./part/notes.tsx";
import type { Reply } from "./reply.ts";
import { addressOf, go, route, setQuery } from "./router.ts";
import { switchTheme } from "./theme.ts";
import { currentWindow, USUAL_WINDOW, WINDOWS } from "./window.ts";
import { Approvals } from "./view/approvals.tsx";
import { Audit } from "./view/audit.tsx";
import { Connect } from "./view/connect.tsx";
import { Overview } from "./view/overview.tsx";
import { Proposals } from "./view/proposals.tsx";
import { Rules } from "./view/rules.tsx";
import { Sessions } from "./view/sessions.tsx";
import { Tools } from "./view/tools.tsx";

interface View {
  path: string;
  name: string;
  view: ComponentType;
}

/** The number of each is its key. */
const VIEWS: View[] = [
  { path: "", name: "Overview", view: Overview },
  { path: "approvals", name: "Approvals", view: Approvals },
  { path: "tools", name: "Tools", view: Tools },
  { path: "proposals", name: "Proposals", view: Proposals },
  { path: "audit", name: "Audit", view: Audit },
  { path: "sessions", name: "Sessions", view: Sessions },
  { path: "rules", name: "Rules", view: Rules },
  { path: "connect", name: "Connect", view: Connect },
];
/** The views that the bar of a phone has; the others are behind "More". */
const ON_PHONE = ["", "approvals", "tools", "audit"];

/** The views with figures of a window of time. */
const WITH_WINDOW = ["", "tools"];

/** How many questions and proposals wait, for the bar. */
const waiting = signal({ approvals: 0, proposals: 0 });

export function App() {
  if (loggedIn.value === undefined) return <Beginning />;
  return loggedIn.value === null ? <Login /> : <Frame />;
}

/** Until the server has said who is logged in. */
function Beginning() {
  return <p class="pad loading">{isAnswered.value ? "Loading …" : "The server does not answer. The page tries again every two seconds."}</p>;
}

function Frame() {
  const [isHelpOpen, setHelpOpen] = useState(false);
  useEffect(() => void follow(), []);
  const counts = useData<Reply<"/api/waiting">>(loggedIn.value?.role === "agent" ? null : "/api/waiting", { live: true, everyMs: 1000 });
  useEffect(() => {
    if (counts.data) waiting.value = { approvals: counts.data.approvals.waiting, proposals: counts.data.proposals.waiting };
  }, [counts.data]);
  const current = VIEWS.find((view) => view.path === route.value.view);
  useEffect(() => {
    const count = waiting.value.approvals + waiting.value.proposals;
    document.title = `${count > 0 ? `(${count}) ` : ""}${current?.name ?? "Not found"} · Toolcrib`;
  });
  const open = (at: number) => () => go(addressOf(VIEWS[at]!.path));
  useBaseKeys({
    ...Object.fromEntries(VIEWS.map((_, at) => [String(at + 1), open(at)])),
    "?": () => setHelpOpen(true),
    p: () => (pausedAt.value === null ? pause() : resume()),
    "/": () => document.querySelector<HTMLElement>("[data-filter]")?.focus(),
    Escape: () => (document.activeElement as HTMLElement | null)?.blur(),
  });
  const Shown = current?.view ?? NotFound;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the view
      </a>
      <Bar current={current} openHelp={() => setHelpOpen(true)} />
      <LostNote />
      <main id="main" tabIndex={-1}>
        <h1 class="unseen">{current?.name ?? "Not found"}</h1>
        <Boundary key={current?.path ?? "none"} what="This view">
          <Shown />
        </Boundary>
      </main>
      {isHelpOpen && <Help close={() => setHelpOpen(false)} />}
    </>
  );
}

function Bar({ current, openHelp }: { current: View | undefined; openHelp: () => void }) {
  const badge = (path: string) => (path === "approvals" ? waiting.value.approvals : path === "proposals" ? waiting.value.proposals : 0);
  const [isMoreOpen, setMoreOpen] = useState(false);
  useEffect(() => setMoreOpen(false), [route.value.view]);
  return (
    <header class="bar">
      <a class="brand" href="/">
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M2 1h12v14H2zM8 3.2a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2zM4 8.5v4h8v-4z" fill-rule="evenodd" />
        </svg>
        Toolcrib
      </a>
      <span class="where" title={location.host}>
        {location.host}
      </span>
      <nav aria-label="Views" class={isMoreOpen ? "open" : ""}>
        {VIEWS.map((view, at) => (
          <a key={view.path} href={addressOf(view.path)} aria-current={view === current ? "page" : undefined} class={ON_PHONE.includes(view.path) ? "" : "rarely"}>
            <span class="number" aria-hidden="true">
              {at + 1}
            </span>
            {view.name}
            {badge(view.path) > 0 && (
              <span class="waiting">
                {badge(view.path)}
                <span class="unseen"> waiting</span>
              </span>
            )}
          </a>
        ))}
        <button type="button" class="more" aria-expanded={isMoreOpen} onClick={() => setMoreOpen(!isMoreOpen)}>
          More
        </button>
      </nav>
      <div class="controls">
        {current !== undefined && WITH_WINDOW.includes(current.path) && <WindowChoice />}
        <LiveButton />
        <button type="button" class="square" onClick={switchTheme} aria-label="Switch between light and dark">
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zm0 1.5v10A5 5 0 0 1 8 3z" fill-rule="evenodd" />
          </svg>
        </button>
        <button type="button" class="square not-phone" onClick={openHelp} aria-label="Keys and help">
          ?
        </button>
        <button type="button" class="not-phone" onClick={logOut} title={`logged in as ${loggedIn.value?.name}, ${loggedIn.value?.role}`}>
          Log out
        </button>
      </div>
    </header>
  );
}

function WindowChoice() {
  return (
    <label>
      <span class="unseen">Window of time</span>
      <select class="not-phone" value={currentWindow()} onChange={(event) => setQuery({ window: event.currentTarget.value === USUAL_WINDOW ? "" : event.currentTarget.value })}>
        {Object.entries(WINDOWS).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function LiveButton() {
  const isPaused = pausedAt.value !== null;
  const lost = connection.value.state === "lost";
  const word = isPaused ? "Paused" : lost ? "No connection" : connection.value.state === "open" ? "Live" : "Connecting";
  return (
    <button type="button" class={`live ${isPaused ? "paused" : lost ? "lost" : "on"}`} aria-pressed={isPaused} onClick={() => (isPaused ? resume() : pause())} title={isPaused ? "resume" : "pause"}>
      <span class="lamp" aria-hidden="true" />
      {word}
      {isPaused && missedCalls.value > 0 && <span>+{count(missedCalls.value)}</span>}
      <Key name="p" />
    </button>
  );
}

function LostNote() {
  const state = connection.value;
  if (state.state !== "lost" || second.value * 1000 - state.since < 1000) return null;
  const wait = Math.max(0, Math.ceil((state.retryAt - second.value * 1000) / 1000));
  return (
    <div class="lost">
      <Note tone="bad">
        <b>No connection since {clock(state.since)}.</b> Figures are as they were then. Trying again in {wait} s.{" "}
        <button type="button" class="link" onClick={retryNow}>
          Try now
        </button>{" "}
        Answers cannot be given until it is back.
      </Note>
    </div>
  );
}

function NotFound() {
  return (
    <div class="pad">
      <h2>There is no such view</h2>
      <p>
        <a href="/">Overview</a> has the ways to all views.
      </p>
    </div>
  );
}
