// A session over time: reads, edits, commands and what waited for a person, each on its lane. The reading under the
// cursor stands in the head; arrow keys move it, Enter opens the call.
import { useEffect, useRef, useState } from "preact/hooks";
import { clock, oneLine } from "../../format.ts";
import { aboutOf, resultOf } from "../../part/call.ts";
import { Mark } from "../../part/marks.tsx";
import { timeLabel } from "../../part/time_chart.tsx";
import type { WaitingCalls } from "../../part/waiting.ts";
import { principalWords } from "../../part/words.ts";
import { addressOf, go } from "../../router.ts";
import type { OneSession } from "../sessions.tsx";

type SessionCall = OneSession["calls"][number];

const LANES = [
  { id: "read", name: "Reads" },
  { id: "edit", name: "Edits" },
  { id: "command", name: "Commands" },
  { id: "other", name: "Other" },
] as const;
const LEFT = 72;
const RIGHT = 10;
const ROW = 28;
const AXIS = 24;

export function Lanes({ data, waiting }: { data: OneSession; waiting: WaitingCalls }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(700);
  const [cursor, setCursor] = useState<string | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(280, Math.round(entry!.contentRect.width))));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  // A call that was parked has ended for its client, and goes on once somebody answers.
  const calls = data.calls.map((call) => (waiting.has(call) ? { ...call, outcome: "open" } : call)).reverse();
  const lanes = LANES.filter((lane) => lane.id !== "other" || calls.some((call) => call.lane === "other"));
  const now = Date.parse(data.at);
  const start = Date.parse(calls[0]!.at);
  const isOpen = calls.some(isRunning);
  const last = Math.max(...calls.map((call) => endOf(call, now)), start + 1000);
  const end = isOpen ? Math.max(now, last) : last;
  const x = (time: number) => LEFT + ((width - LEFT - RIGHT) * (time - start)) / (end - start);
  const waitsY = lanes.length * ROW;
  const height = (lanes.length + 1) * ROW;
  const at = calls.findIndex((call) => call.call === cursor);
  const chosen = calls[at];
  const move = (by: number) => setCursor(calls[Math.max(0, Math.min(calls.length - 1, (at < 0 ? calls.length : at) + by))]!.call);
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -calls.length, End: calls.length }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      move(by);
    } else if (event.key === "Enter" && chosen !== undefined) {
      go(addressOf("audit", chosen.call));
    }
  };
  const onMove = (event: PointerEvent) => {
    const left = (event.currentTarget as Element).getBoundingClientRect().left;
    const time = start + ((event.clientX - left - LEFT) / (width - LEFT - RIGHT)) * (end - start);
    const nearest = calls.reduce((best, call) => (distance(call, time, now) < distance(best, time, now) ? call : best));
    setCursor(nearest.call);
  };
  return (
    <figure class="lanes">
      <figcaption>
        <h3>What it did</h3>
        <span class="lanes-legend not-phone">
          <Mark name="failed" /> failed or did not run <span class="wait-sample" /> waited for a person
        </span>
        <span class="reading clip" aria-live="polite">
          {chosen === undefined ? `${clock(start)} to ${clock(end)}` : readingOf(chosen)}
        </span>
      </figcaption>
      <div ref={box} class="plot" tabIndex={0} role="group" aria-label="Calls over time; arrow keys move the reading, Enter opens the call" onKeyDown={onKey} onPointerMove={onMove} onPointerLeave={() => setCursor(null)} onClick={() => chosen !== undefined && go(addressOf("audit", chosen.call))}>
        <svg viewBox={`0 0 ${width} ${height + AXIS}`} width={width} height={height + AXIS} aria-hidden="true">
          {lanes.map((lane, row) => (
            <g key={lane.id}>
              <text class="tick" x={LEFT - 10} y={row * ROW + ROW / 2 + 4} text-anchor="end">
                {lane.name}
              </text>
              <path class="grid" d={`M${LEFT} ${(row + 1) * ROW}H${width - RIGHT}`} />
            </g>
          ))}
          <text class="tick" x={LEFT - 10} y={waitsY + ROW / 2 + 4} text-anchor="end">
            Waits
          </text>
          {calls.map((call) => (
            <Bar key={call.call} call={call} row={lanes.findIndex((lane) => lane.id === call.lane)} x={x} now={now} />
          ))}
          {calls.flatMap((call) =>
            call.waits.map((wait) => {
              const from = x(Date.parse(wait.from));
              const to = x(waitEnd(call, wait, now));
              return (
                <g key={call.call + wait.from} class="wait">
                  <rect x={from} y={waitsY + 6} width={Math.max(3, to - from)} height={ROW - 12} />
                  {to - from > 110 && (
                    <text x={from + 6} y={waitsY + 18}>
                      {wait.by === null ? "nobody yet" : principalWords(wait.by)}
                    </text>
                  )}
                </g>
              );
            }),
          )}
          <path class="axis" d={`M${LEFT} ${height}H${width - RIGHT}`} />
          {ticks(start, end, width).map(({ time, isMajor }) => (
            <g key={time}>
              <path class="axis" d={`M${x(time)} ${height}v${isMajor ? 6 : 3}`} />
              {isMajor && (
                <text class="tick" x={x(time)} y={height + 18} text-anchor="middle">
                  {end - start < 5 * 60_000 ? clock(time) : timeLabel(time, end - start)}
                </text>
              )}
            </g>
          ))}
          {isOpen && <path class="now" d={`M${x(now)} 0V${height}`} />}
          {chosen !== undefined && <path class="cursor" d={`M${x(Date.parse(chosen.at))} 0V${height}`} />}
        </svg>
      </div>
    </figure>
  );
}

const isRunning = (call: SessionCall) => call.outcome === "open";

function endOf(call: SessionCall, now: number): number {
  const waited = call.waits.reduce((sum, wait) => sum + Math.max(0, waitEnd(call, wait, now) - Date.parse(wait.from)), 0);
  if (isRunning(call)) return now;
  return Date.parse(call.at) + waited + (call.elapsed_ms ?? 0);
}

/** A wait that nobody ended lasts until now if the call is still open. Otherwise it is not known for how long. */
function waitEnd(call: SessionCall, wait: SessionCall["waits"][number], now: number): number {
  return wait.to != null ? Date.parse(wait.to) : isRunning(call) ? now : Date.parse(wait.from);
}

function distance(call: SessionCall, time: number, now: number): number {
  const [from, to] = [Date.parse(call.at), endOf(call, now)];
  return time < from ? from - time : time > to ? time - to : 0;
}

function Bar({ call, row, x, now }: { call: SessionCall; row: number; x: (time: number) => number; now: number }) {
  const end = endOf(call, now);
  const from = call.started && call.elapsed_ms != null ? end - call.elapsed_ms : Date.parse(call.at);
  const left = x(from);
  const y = row * ROW + ROW / 2;
  if (["error", "command_failed", "refused", "unknown"].includes(call.outcome)) {
    return (
      <g class="bad">
        {call.lane === "command" && call.started && <rect class="calls" x={left} y={y - 5} width={Math.max(2, x(end) - left)} height="10" />}
        <path d={`M${x(end) - 4} ${y - 4}l8 8m0-8l-8 8`} />
      </g>
    );
  }
  // What waits for a person does not run.
  const runs = isRunning(call) && call.started;
  const isLong = runs || (call.lane === "command" && call.started);
  return <rect class={runs ? "running" : "calls"} x={left} y={isLong ? y - 5 : y - 7} width={isLong ? Math.max(2, x(end) - left) : 2} height={isLong ? 10 : 14} />;
}

function readingOf(call: SessionCall): string {
  const about = aboutOf(call.args);
  return `${clock(call.at)} ${oneLine(call.tool)}: ${resultOf(call, false).words}  ${about.length > 60 ? `${about.slice(0, 60)}…` : about}`;
}

const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600];

/** Round times: the major ones leave room for their labels, and each is divided by minor ones. */
function ticks(start: number, end: number, width: number): { time: number; isMajor: boolean }[] {
  const most = Math.max(2, Math.floor((width - LEFT) / 96));
  const step = (STEPS_S.find((seconds) => (end - start) / (seconds * 1000) <= most) ?? 43_200) * 1000;
  const minor = step / 5;
  const zone = new Date(start).getTimezoneOffset() * 60_000;
  const found = [];
  for (let time = Math.ceil((start - zone) / minor) * minor + zone; time <= end; time += minor) {
    found.push({ time, isMajor: Math.abs((time - zone) % step) < 1 });
  }
  return found;
}
