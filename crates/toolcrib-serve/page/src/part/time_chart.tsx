// Lines over time with their axes, and calls and errors below on the same axis. The reading under the cursor stands in
// the head, never over the data; arrow keys move it. The same numbers are in a table for those who cannot see it.
import { useEffect, useRef, useState } from "preact/hooks";
import { clock, count, figure, tick } from "../format.ts";
import { counted } from "./words.ts";
import { roundUp } from "./small_charts.tsx";

export interface Line {
  name: string;
  values: (number | null)[];
  /** How it is told apart from the others without colour. */
  look: "strong" | "light" | "dotted";
}

export interface TimeChartProps {
  title: string;
  unit: string;
  /** The beginning of each bucket, in milliseconds. */
  times: number[];
  bucketMs: number;
  lines: Line[];
  calls: number[];
  errors: number[];
  /** Times at which something changed, each with a label. */
  flags: { at: number; label: string }[];
}

const LEFT = 46;
const RIGHT = 8;
const TOP = 20;
const PLOT = 130;
const BARS = 44;

export function TimeChart(props: TimeChartProps) {
  const { title, unit, times, bucketMs, lines, calls, errors, flags } = props;
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(760);
  const [cursor, setCursor] = useState<number | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(280, Math.round(entry!.contentRect.width))));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const start = times[0] ?? 0;
  const end = (times.at(-1) ?? start) + bucketMs;
  const inner = width - LEFT - RIGHT;
  const x = (time: number) => LEFT + (inner * (time - start)) / Math.max(1, end - start);
  const known = lines.flatMap((line) => line.values).filter((value): value is number => value !== null);
  const top = roundUp(Math.max(0, ...known));
  const y = (value: number) => TOP + PLOT - (PLOT * value) / top;
  const mostCalls = roundUp(Math.max(1, ...calls));
  const mostErrors = Math.max(1, ...errors);
  const base = TOP + PLOT + 24 + BARS - 12;
  const at = cursor ?? calls.findLastIndex((value) => value > 0);
  const move = (by: number) => setCursor(Math.max(0, Math.min(times.length - 1, (at < 0 ? times.length - 1 : at) + by)));
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -times.length, End: times.length }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      move(by);
    }
  };
  const onMove = (event: PointerEvent) => {
    const left = (event.currentTarget as Element).getBoundingClientRect().left;
    const bucket = Math.floor((((event.clientX - left - LEFT) / inner) * (end - start)) / bucketMs);
    setCursor(Math.max(0, Math.min(times.length - 1, bucket)));
  };
  return (
    <figure class="time-chart">
      <figcaption>
        <b>{title}</b>
        <span class="legend">
          {lines.map((line) => (
            <span key={line.name}>
              <svg viewBox="0 0 18 6" aria-hidden="true">
                <path class={`line ${line.look}`} d="M0 3h18" />
              </svg>
              {line.name}
            </span>
          ))}
          <span class="not-phone">calls below, errors under the line</span>
        </span>
        <span class="reading" aria-live="polite">
          {at >= 0 && times[at] !== undefined ? (
            <>
              <b>
                {timeLabel(times[at]!, end - start)} to {timeOfDay(times[at]! + bucketMs)}
              </b>{" "}
              {lines.filter((line) => line.look !== "dotted").map((line) => `${line.name} ${reading(line.values[at], unit)}, `)}
              {counted(calls[at] ?? 0, "call")}, {counted(errors[at] ?? 0, "error")}
            </>
          ) : (
            "no calls in this window"
          )}
        </span>
      </figcaption>
      <div ref={box} class="plot" tabIndex={0} role="group" aria-label={`${title}; arrow keys move the reading`} onKeyDown={onKey} onPointerMove={onMove} onPointerLeave={() => setCursor(null)}>
        <svg viewBox={`0 0 ${width} ${base + 18}`} width={width} height={base + 18} aria-hidden="true">
          <text class="tick" x={LEFT - 6} y={12} text-anchor="end">
            {unit}
          </text>
          {[0, 1, 2, 3, 4].map((step) => {
            const value = (top * step) / 4;
            return (
              <g key={step}>
                {step > 0 && <path class="grid" d={`M${LEFT} ${y(value)}H${width - RIGHT}`} />}
                <path class="axis" d={`M${LEFT - 4} ${y(value)}h4`} />
                {step % 2 === 0 && (
                  <text class="tick" x={LEFT - 6} y={y(value) + 4} text-anchor="end">
                    {tick(value)}
                  </text>
                )}
              </g>
            );
          })}
          <path class="axis" d={`M${LEFT} ${TOP}V${TOP + PLOT}H${width - RIGHT}`} />
          {timeTicks(start, end, inner).map((time) => (
            <g key={time}>
              <path class="axis" d={`M${x(time)} ${TOP + PLOT}v4`} />
              <text class="tick" x={Math.min(x(time), width - (end - start > DAY_MS ? 36 : 15))} y={TOP + PLOT + 15} text-anchor="middle">
                {timeLabel(time, end - start)}
              </text>
            </g>
          ))}
          {flags.map((flag) => (
            <g key={flag.at} class="flag">
              <path d={`M${x(flag.at)} ${TOP - 4}V${base}`} />
              <text x={x(flag.at) - 4} y={TOP - 8} text-anchor={x(flag.at) > width / 2 ? "end" : "start"}>
                {flag.label}
              </text>
            </g>
          ))}
          {lines.map((line) => (
            <LineShape key={line.name} line={line} unit={unit} at={(index) => x(times[index]! + bucketMs / 2)} y={y} left={LEFT} right={width - RIGHT} />
          ))}
          <text class="tick" x={LEFT - 6} y={base - BARS + 20} text-anchor="end">
            {tick(mostCalls)}
          </text>
          <text class="tick" x={LEFT - 6} y={base + 4} text-anchor="end">
            0
          </text>
          {calls.map((value, index) => (
            <rect key={index} class="calls" x={x(times[index]!) + 0.5} width={Math.max(1, inner / times.length - 1)} y={base - (value / mostCalls) * (BARS - 16)} height={(value / mostCalls) * (BARS - 16)} />
          ))}
          {errors.map((value, index) => value > 0 && <rect key={index} class="errors" x={x(times[index]!) + 0.5} width={Math.max(1, inner / times.length - 1)} y={base + 1} height={Math.max(2, (9 * value) / mostErrors)} />)}
          <path class="axis" d={`M${LEFT} ${base}H${width - RIGHT}`} />
          {at >= 0 && times[at] !== undefined && <path class="cursor" d={`M${x(times[at]! + bucketMs / 2)} ${TOP}V${base + 10}`} />}
        </svg>
      </div>
      <Numbers {...props} />
    </figure>
  );
}

interface LineShapeProps {
  line: Line;
  unit: string;
  /** Where the value with this index is. */
  at: (index: number) => number;
  y: (value: number) => number;
  left: number;
  right: number;
}

/** A line with its name where it begins; one that is dotted has its name at its end. */
function LineShape({ line, unit, at, y, left, right }: LineShapeProps) {
  const { name, values, look } = line;
  const isDotted = look === "dotted";
  const named = isDotted ? values.findLastIndex((value) => value !== null) : values.findIndex((value) => value !== null);
  if (named < 0) return null;
  const isAtEnd = isDotted || at(named) > left + (right - left) * 0.9;
  const nameX = isDotted ? right - 4 : isAtEnd ? at(named) - 5 : at(named) + 5;
  // A value between two gaps has no line to anything.
  const alone = values.flatMap((value, index) => (value !== null && values[index - 1] == null && values[index + 1] == null ? [index] : []));
  return (
    <g>
      <path class={`line ${look}`} d={pathOf(values, at, y)} />
      {alone.map((index) => (
        <circle key={index} class={`dot ${look}`} cx={at(index)} cy={y(values[index]!)} r="2.5" />
      ))}
      <text class={`name ${look}`} x={nameX} y={Math.max(TOP + 10, y(values[named]!) - 5)} text-anchor={isAtEnd ? "end" : "start"}>
        {isDotted ? `${name} ${tick(values[named]!)} ${unit}` : name}
      </text>
    </g>
  );
}

/** The same for those who cannot see the chart. */
function Numbers({ title, unit, times, bucketMs, lines, calls, errors }: TimeChartProps) {
  const span = spanOf(times, bucketMs);
  return (
    <details class="numbers">
      <summary>The same as a table</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label={`${title}, as a table`}>
        <table>
          <thead>
            <tr>
              <th>from</th>
              {lines.map((line) => (
                <th class="r" key={line.name}>{`${line.name} ${unit}`}</th>
              ))}
              <th class="r">calls</th>
              <th class="r">errors</th>
            </tr>
          </thead>
          <tbody>
            {times.map((time, index) => (
              <tr key={time}>
                <td>{timeLabel(time, span)}</td>
                {lines.map((line) => (
                  <td class="r" key={line.name}>
                    {line.values[index] == null ? "–" : figure(line.values[index]!)}
                  </td>
                ))}
                <td class="r">{count(calls[index] ?? 0)}</td>
                <td class="r">{count(errors[index] ?? 0)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function reading(value: number | null | undefined, unit: string): string {
  return value == null ? "–" : `${figure(value)}\u202f${unit}`;
}

function pathOf(values: (number | null)[], x: (at: number) => number, y: (value: number) => number): string {
  let path = "";
  let isDown = false;
  values.forEach((value, at) => {
    if (value === null) {
      isDown = false;
      return;
    }
    path += `${isDown ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    isDown = true;
  });
  return path;
}

const DAY_MS = 86_400_000;
const timeOfDay = (time: number) => clock(time).slice(0, 5);
const dateOf = (time: number) => new Date(time).toLocaleDateString("en-GB", { day: "numeric", month: "short" });

/** From the beginning of the first bucket to the end of the last. */
export function spanOf(times: number[], bucketMs: number): number {
  return times.length * bucketMs;
}

/** A time on an axis of so many milliseconds. Over more than a day, times of day alone would repeat. */
export function timeLabel(time: number, span: number): string {
  if (span <= DAY_MS) return timeOfDay(time);
  return timeOfDay(time) === "00:00" ? dateOf(time) : `${dateOf(time)} ${timeOfDay(time)}`;
}

const STEPS_MIN = [1, 2, 5, 10, 15, 30, 60, 120, 240, 360, 720, 1440];

/** Round times that leave room for their labels. */
function timeTicks(start: number, end: number, width: number): number[] {
  const most = Math.max(2, Math.floor(width / 90));
  const step = (STEPS_MIN.find((minutes) => (end - start) / (minutes * 60_000) <= most) ?? 2880) * 60_000;
  const zone = new Date(start).getTimezoneOffset() * 60_000;
  const ticks = [];
  for (let time = Math.ceil((start - zone) / step) * step + zone; time <= end; time += step) ticks.push(time);
  return ticks;
}
