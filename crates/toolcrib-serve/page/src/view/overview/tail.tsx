// The newest calls. Of many, some are shown, and it says how many.
import { useEffect, useState } from "preact/hooks";
import { clock, duration, oneLine } from "../../format.ts";
import { listen, type RecordEvent } from "../../live.ts";
import { PathCells, stationsOf } from "../../part/marks.tsx";
import { absolute } from "../../format.ts";
import { addressOf } from "../../router.ts";

const ROWS = 12;

export function Tail() {
  const [state, setState] = useState<{ shown: RecordEvent[]; every: number }>({ shown: [], every: 1 });
  useEffect(
    () =>
      listen((events) => {
        const ended = events.filter((event) => event.event === "call.ended" || event.event === "call.waiting");
        if (ended.length === 0) return;
        // A moment with more calls than there is room for shows an even choice of them.
        const every = Math.max(1, Math.ceil(ended.length / (ROWS / 2)));
        const chosen = ended.filter((_, at) => at % every === 0).reverse();
        setState(({ shown }) => ({ shown: [...chosen, ...shown].slice(0, ROWS), every }));
      }),
    [],
  );
  return (
    <section class="tail">
      <div class="head">
        <h2>Now</h2>
        <span class="end third">{state.every === 1 ? "every call" : `1 in ${state.every} calls`}</span>
      </div>
      {state.shown.length === 0 && <p class="pad third">Calls show up here as they end.</p>}
      {state.shown.map((event) => (
        <a key={event.seq} class="plain event" href={addressOf("audit", event.call ?? "")}>
          <time class="third" dateTime={event.at} title={absolute(event.at)}>
            {clock(event.at)}
          </time>
          <PathCells stations={stationsOf({ ...event, status: event.event === "call.waiting" ? "waiting" : event.status })} />
          <code class="clip">{oneLine(event.tool ?? "")}</code>
          <Outcome event={event} />
        </a>
      ))}
    </section>
  );
}

function Outcome({ event }: { event: RecordEvent }) {
  if (event.event === "call.waiting") return <span class="brass">waits</span>;
  if (event.status === "ok") return <span>{event.elapsed_ms === null ? "ok" : duration(event.elapsed_ms)}</span>;
  return <span class="red clip">{oneLine(event.error ?? event.status ?? "failed")}</span>;
}
