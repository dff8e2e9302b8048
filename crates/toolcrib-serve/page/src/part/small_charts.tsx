// Charts of a few pixels, each with its reading in words for those who cannot see it.
import { figure, tick } from "../format.ts";
import { counted, TIERS } from "./words.ts";

/** The next round number: 1, 2, 5, 10, … */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.9999)!;
}

/** Calls as bars, errors down from the base line. */
export function CallBars({ calls, errors }: { calls: number[]; errors: number[] }) {
  const width = Math.max(1, calls.length) * 3;
  const [most, mostErrors] = [Math.max(1, ...calls), Math.max(1, ...errors)];
  const total = calls.reduce((sum, it) => sum + it, 0);
  return (
    <svg class="call-bars" viewBox={`0 0 ${width} 18`} preserveAspectRatio="none" role="img" aria-label={`${counted(total, "call")} over time, most at once ${most}`}>
      <path class="calls" d={barsOf(calls, (value) => [13, -Math.max(1, (12 * value) / most)])} />
      <path class="errors" d={barsOf(errors, (value) => [14, Math.max(1.5, (4 * value) / mostErrors)])} />
    </svg>
  );
}

/** Bars as one path: a table has thousands of them. `bar` says where one begins and how high it is. */
function barsOf(values: number[], bar: (value: number) => [from: number, height: number]): string {
  const one = (value: number, at: number) => {
    const [from, height] = bar(value);
    return `M${at * 3} ${from}h2v${height.toFixed(1)}h-2z`;
  };
  return values.map((value, at) => (value > 0 ? one(value, at) : "")).join("");
}

const WIDTH = 88;
const HEIGHT = 34;
const LEFT = 31;

/** A line over time with the axis it is read against. */
export function StripChart({ values, unit }: { values: (number | null)[]; unit: string }) {
  const known = values.filter((value): value is number => value !== null);
  const top = roundUp(Math.max(0, ...known));
  const x = (at: number) => LEFT + ((WIDTH - LEFT - 3) * at) / Math.max(1, values.length - 1);
  const y = (value: number) => HEIGHT - 4 - ((HEIGHT - 9) * value) / top;
  const last = values.findLastIndex((value) => value !== null);
  let isDown = false;
  const line = values
    .map((value, at) => {
      if (value === null) {
        isDown = false;
        return "";
      }
      const step = `${isDown ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
      isDown = true;
      return step;
    })
    .join("");
  return (
    <svg class="strip-chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`over time, from 0 to ${figure(top)} ${unit}`}>
      <path class="axis" d={`M${LEFT - 3}.5 5V${HEIGHT - 3.5}H${WIDTH}`} />
      <path class="axis" d={`M${LEFT - 6} ${5.5}h3m-3 ${HEIGHT - 9}h3m-1.5 ${-(HEIGHT - 9) / 2}h1.5`} />
      <text class="tick" x={LEFT - 8} y="9" text-anchor="end">
        {tick(top)}
      </text>
      <text class="tick" x={LEFT - 8} y={HEIGHT - 1} text-anchor="end">
        0
      </text>
      <path class="line" d={line} />
      {last >= 0 && <circle class="now" cx={x(last)} cy={y(values[last]!)} r="2" />}
    </svg>
  );
}

/** How much of a limit was used. */
export function Meter({ part, label }: { part: number; label: string }) {
  const width = Math.max(0, Math.min(1, part));
  return (
    <svg class={part > 0.75 ? "meter hot" : "meter"} viewBox="0 0 60 8" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect class="ground" x=".5" y=".5" width="59" height="7" />
      <rect class="used" x="0" y="0" width={60 * width} height="8" />
    </svg>
  );
}

/** A tier from 0 to 4, as steps. */
export function Tier({ tier }: { tier: number }) {
  return (
    <span class="tier" title={`tier ${tier}: ${TIERS[tier]}`}>
      {tier}
      <svg viewBox="0 0 16 8" aria-hidden="true">
        {[1, 2, 3, 4].map((step) => (
          <rect key={step} class={step <= tier ? "on" : "rest"} x={step * 4 - 4} y={step <= tier ? 8 - 2 * step : 7} width="3" height={step <= tier ? 2 * step : 1} />
        ))}
      </svg>
    </span>
  );
}
