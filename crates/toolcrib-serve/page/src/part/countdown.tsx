// The time that is left to answer, on a steel rule.
import { second } from "../data.ts";
import { absolute, countdown } from "../format.ts";

const TICKS = 8;

export function Countdown({ from, until, what }: { from: string; until: string; what: string }) {
  const [start, end, now] = [new Date(from).getTime(), new Date(until).getTime(), second.value * 1000];
  const left = Math.max(0, end - now);
  const part = Math.min(1, left / Math.max(1, end - start));
  return (
    <div class="countdown">
      <p>
        <time class="value" dateTime={until} title={absolute(until)}>
          {countdown(left)}
        </time>{" "}
        <span class="second">{what}</span>
      </p>
      <svg viewBox="0 0 320 12" preserveAspectRatio="none" aria-hidden="true">
        {Array.from({ length: TICKS * 2 + 1 }, (_, at) => (
          <path key={at} class="axis" d={`M${0.5 + (at * 319) / (TICKS * 2)} ${at % 2 === 0 ? 0 : 3}V6`} />
        ))}
        <rect class="ground" x="0" y="7" width="320" height="4" />
        <rect class="left" x="0" y="7" width={320 * part} height="4" />
      </svg>
    </div>
  );
}
