// The record of calls: the tail with its filters left, one call's story right, the state of the chain and the export
// above.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";
import { Calls, PAGE, type Tail } from "./audit/calls.ts";
import { commandOf, parseFilter, queryOf, SHOWN, type Parsed } from "./audit/filters.ts";
import { RecordTools } from "./audit/record_tools.tsx";
import { Story } from "./audit/story.tsx";
import { TailTable } from "./audit/tail.tsx";
import { useKeys } from "../keys.ts";
import { listen, pausedAt } from "../live.ts";
import { commandLine } from "../part/command_line.ts";
import { Key } from "../part/marks.tsx";
import { useMoves } from "../part/moves.ts";
import { Note } from "../part/notes.tsx";
import { TitleBlock } from "../part/title_block.tsx";
import { useWaitingCalls, type WaitingCalls } from "../part/waiting.ts";
import { addressOf, go, route, setQuery } from "../router.ts";

export function Audit() {
  const { query, rest: selected } = route.value;
  const words = query.get("filter") ?? "";
  const show = query.get("show") ?? "all";
  const kept = { ...(words === "" ? {} : { filter: words }), ...(show === "all" ? {} : { show }) };
  const parsed = useMemo(() => parseFilter(words, show, Date.now()), [words, show]);
  const close = () => go(addressOf("audit", "", kept));
  const inApi = queryOf(parsed.search);
  return (
    <section class="view">
      <div class={selected === "" ? "panes audit" : "panes audit has-story"}>
        <div class="audit-tools">
          <FilterBox words={words} show={show} parsed={parsed} />
          <RecordTools search={parsed.search} />
        </div>
        {parsed.wrong !== undefined ? (
          <div class="pane pad">
            <Note tone="wait">
              <b>The filter was not used:</b> {parsed.wrong}.
            </Note>
          </div>
        ) : (
          <TailPane key={inApi} parsed={parsed} selected={selected} kept={kept} close={close} />
        )}
        <aside class="pane story" aria-label="One call" tabIndex={0}>
          {selected === "" ? (
            <p class="pad third">
              A call's story shows up here: <Key name="j" /> <Key name="k" /> move, <Key name="Enter" /> opens.
            </p>
          ) : (
            <Story key={selected} id={selected} close={close} />
          )}
        </aside>
      </div>
      <TitleBlock
        command={selected === "" ? commandOf(parsed.search, PAGE) : commandLine("audit show", [selected])}
        request={selected === "" ? `GET /api/audit?${queryOf(parsed.search, { limit: String(PAGE) })}` : `GET /api/audit/${encodeURIComponent(selected)}`}
      />
    </section>
  );
}

const TYPING_MS = 250;
/** How long rows keep their place after the pointer moved over them. */
const POINTER_MS = 3000;

function FilterBox({ words, show, parsed }: { words: string; show: string; parsed: Parsed }) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const input = useRef<HTMLInputElement>(null);
  // Another view or the way back changes the filter, too.
  useEffect(() => {
    if (input.current !== null && input.current !== document.activeElement) input.current.value = words;
  }, [words]);
  const set = (value: string, wait: number) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQuery({ filter: value.trim() }), wait);
  };
  return (
    <>
      <div class="search">
        <input
          ref={input}
          type="search"
          class="mono"
          data-filter
          aria-label="Filter calls"
          aria-invalid={parsed.wrong !== undefined}
          title="words in arguments, reply, rule or error; or tool: actor: session: door: outcome: decision: since: until: call:"
          placeholder="words, tool:grep, actor:ci, since:2h"
          defaultValue={words}
          onInput={(event) => set(event.currentTarget.value, TYPING_MS)}
          onKeyDown={(event) => event.key === "Enter" && set(event.currentTarget.value, 0)}
        />
        <Key name="/" />
      </div>
      <div class="chips" role="group" aria-label="Calls">
        {Object.entries(SHOWN).map(([id, it]) => (
          <button key={id} type="button" class="chip" aria-pressed={show === id} onClick={() => setQuery({ show: id === "all" ? "" : id })}>
            {it.name}
          </button>
        ))}
      </div>
    </>
  );
}

/** A call that waits for a person is not refused, although it has ended for its client. */
function withoutWaiting(tail: Tail, waiting: WaitingCalls): Tail {
  return { ...tail, rows: tail.rows.filter((call) => !waiting.has(call)) };
}

function TailPane({ parsed, selected, kept, close }: { parsed: Parsed; selected: string; kept: Record<string, string>; close: () => void }) {
  const calls = useMemo(() => new Calls(parsed.search), [parsed]);
  const pane = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const waiting = useWaitingCalls();

  const movedAt = useRef(0);
  // A pointer that rests somewhere is nobody who reads.
  const isRead = () => pane.current !== null && (pane.current.scrollTop > 0 || body.current?.matches(":focus-within") === true || Date.now() - movedAt.current < POINTER_MS);
  // What was held back is shown when nobody reads the rows any more.
  const release = (wait = 0) => setTimeout(() => calls.tail.value.held > 0 && pausedAt.value === null && calls.hear([], isRead()), wait);
  const onMove = () => {
    if (Date.now() - movedAt.current > POINTER_MS / 2) release(POINTER_MS * 2);
    movedAt.current = Date.now();
  };
  const onLeave = () => {
    movedAt.current = 0;
    release();
  };

  useEffect(() => {
    // Listened first: what begins while the page is loaded is not lost.
    const ignore = listen((events) => calls.hear(events, isRead()));
    void calls.load();
    return () => {
      ignore();
      calls.stop();
    };
  }, [calls]);

  // What was missed during a pause is read from the record.
  const wasPaused = useRef(false);
  useSignalEffect(() => {
    const isPaused = pausedAt.value !== null;
    if (wasPaused.current && !isPaused) void calls.load();
    wasPaused.current = isPaused;
  });

  useMoves(body, "td.tool a", { fromCurrent: true });
  useKeys(selected === "" ? {} : { Escape: close });

  const showNew = () => {
    pane.current?.scrollTo({ top: 0 });
    void calls.load();
  };
  return (
    <div class="pane tail" ref={pane} role="region" aria-label="Calls" tabIndex={0} onFocusOut={() => release()} onScroll={() => release()} onPointerMove={onMove} onPointerLeave={onLeave}>
      <TailTable
        tail={parsed.search.outcome === "refused" ? withoutWaiting(calls.tail.value, waiting) : calls.tail.value}
        selected={selected}
        query={kept}
        waiting={waiting}
        body={body}
        showNew={showNew}
        loadOlder={() => void calls.loadOlder()}
        loadGap={() => void calls.loadGap()}
        hasText={parsed.search.text !== undefined}
        hasFilter={Object.keys(parsed.search).length > 0}
      />
    </div>
  );
}
