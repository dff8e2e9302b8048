// Small marks. They differ by shape, so that none needs its colour.
import type { ComponentChildren } from "preact";
import { plain, shortId } from "../format.ts";
import { addressOf } from "../router.ts";

export type MarkName = "fine" | "waits" | "worse" | "failed" | "off" | "passed" | "proven" | "found";

const SHAPES: Record<MarkName, { tone: string; shape: () => ComponentChildren }> = {
  fine: { tone: "quiet", shape: () => <circle cx="5" cy="5" r="2" /> },
  waits: { tone: "brass", shape: () => <path d="M5 0 10 5 5 10 0 5z" /> },
  worse: { tone: "red", shape: () => <path d="M5 .5 10 9.5H0z" /> },
  failed: { tone: "red", shape: () => <path class="stroke" d="m1.5 1.5 7 7m0-7-7 7" /> },
  off: { tone: "quiet", shape: () => <path class="stroke thin" d="M.7.7h8.6v8.6H.7zM.7 9.3l8.6-8.6" /> },
  passed: { tone: "green", shape: () => <path class="stroke" d="m1 5.5 2.7 2.7L9 2" /> },
  proven: { tone: "ink", shape: () => <path d="M1 1h8v8H1z" /> },
  found: { tone: "brass", shape: () => <path class="stroke thin dashed" d="M1 1h8v8H1z" /> },
};

export function Mark({ name, tone }: { name: MarkName; tone?: string }) {
  const { tone: own, shape } = SHAPES[name];
  return (
    <svg class={`mark ${tone ?? own}`} viewBox="0 0 10 10" aria-hidden="true">
      {shape()}
    </svg>
  );
}

export function Badge({ tone, mark, children }: { tone: "bad" | "wait" | "good" | "info" | "off"; mark?: MarkName; children: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`}>
      {mark && <Mark name={mark} tone="inherit" />}
      {children}
    </span>
  );
}

/** Something that a person can take in hand: a question or a proposal while it waits, a call. */
export function Tag({ id, kind, label, isSettled = false }: { id: string; kind: "approvals" | "proposals" | "audit"; label?: string; isSettled?: boolean }) {
  return (
    <a class={isSettled ? "tag settled" : "tag"} href={addressOf(kind, id)} title={plain(id)}>
      {plain(label ?? (kind === "proposals" ? id : shortId(id)))}
    </a>
  );
}

/** How far a call came: find, check, decide, run, record. */
export type Station = "done" | "stopped" | "person" | "waits" | "runs" | "never";
const STATIONS = ["found", "checked", "decided", "ran", "recorded"];
const SAID: Record<Station, string> = {
  done: "done",
  stopped: "stopped here",
  person: "a person answered",
  waits: "waits for a person",
  runs: "runs",
  never: "not reached",
};

export function PathCells({ stations }: { stations: Station[] }) {
  const label = stations.map((station, at) => `${STATIONS[at]}: ${SAID[station]}`).join(", ");
  return (
    <svg class="path" viewBox="0 0 38 10" role="img" aria-label={label}>
      <title>{label}</title>
      {stations.map((station, at) => (
        <g key={at} class={`station ${station}`} transform={`translate(${at * 7.6} 1)`}>
          {station === "stopped" && <path d="m.5.5 6 7m0-7-6 7" />}
          {(station === "person" || station === "waits") && <path d="M3.5-.5 7.5 4l-4 4.5L-.5 4z" />}
          {station === "runs" && <path d="M.5.5h6v7h-6zM.5 4h6v3.5h-6z" />}
          {station === "done" && <path d="M.5 0h6v8h-6z" />}
          {station === "never" && <path d="M1 .5h5v7H1z" />}
        </g>
      ))}
    </svg>
  );
}

/** A key beside its control. */
export function Key({ name }: { name: string }) {
  return <kbd aria-hidden="true">{name}</kbd>;
}
