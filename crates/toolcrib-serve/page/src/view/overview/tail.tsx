// The newest calls that ended or wait. Of many, some are shown, and it says how many.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { absolute, clock, oneLine } from "../../format.ts";
import { listen, pausedAt, type RecordEvent } from "../../live.ts";
import { PathCells } from "../../part/marks.tsx";
import { addressOf } from "../../router.ts";
import { afterEvent, resultOf, stationsOf, type Call } from "../../part/call.ts";
import { useWaitingCalls } from "../../part/waiting.ts";

const ROWS = 12;
/** How many calls that have not ended are remembered. */
const MOST_OPEN = 2000;

export function Tail() {
  const [state, setState] = useState<{ shown: Call[]; every: number }>({ shown: [], every: 1 });
  const waiting = useWaitingCalls();
  useEffect(() => {
    const open = new Map<string, Call>();
    return listen((events) => {
      const ended = events.flatMap((event) => afterOne(open, event) ?? []);
      if (ended.length === 0) return;
      // A moment with more calls than there is room for shows an even choice of them.
      const every = Math.max(1, Math.ceil(ended.length / (ROWS / 2)));
      const chosen = ended.filter((_, at) => at % every === 0).reverse();
      const isNew = (it: Call) => chosen.every((other) => other.call !== it.call);
      setState(({ shown }) => ({ shown: [...chosen, ...shown.filter(isNew)].slice(0, ROWS), every }));
    });
  }, []);
  // What came during a pause is not known here, so what was before it is not shown as if nothing had been between.
  useSignalEffect(() => {
    if (pausedAt.value === null) setState({ shown: [], every: 1 });
  });
  return (
    <section class="tail">
      <div class="head">
        <h2>Now</h2>
        <span class="end third">{state.every === 1 ? "every call" : `1 in ${state.every} calls`}</span>
      </div>
      {state.shown.length === 0 && <p class="pad third">Calls show up here as they end.</p>}
      {state.shown.map((call) => (
        <Row key={call.call} call={call} isWaiting={waiting.has(call)} />
      ))}
    </section>
  );
}

/** The events after which a call is shown. */
const SHOWN_AFTER = ["call.waiting", "call.ended", "approval.denied"];

/** Takes in an event. Returns its call if it ended by it, began to wait, or was declined. */
function afterOne(open: Map<string, Call>, event: RecordEvent): Call | undefined {
  const call = afterEvent(open.get(event.call ?? ""), event);
  if (call === undefined) return undefined;
  // A call that waits can go on after its end.
  if (event.event === "call.ended" && call.error !== "approval_required") open.delete(call.call);
  else open.set(call.call, call);
  if (open.size > MOST_OPEN) open.delete(open.keys().next().value!);
  return SHOWN_AFTER.includes(event.event) ? call : undefined;
}

function Row({ call, isWaiting }: { call: Call; isWaiting: boolean }) {
  const { words, tone } = resultOf(call, isWaiting);
  return (
    <a class="plain event" href={addressOf("audit", call.call)}>
      <time class="third" dateTime={call.at} title={absolute(call.at)}>
        {clock(call.at)}
      </time>
      <PathCells stations={stationsOf(call, isWaiting)} />
      <code class="clip">{oneLine(call.tool)}</code>
      <span class={tone === "" ? "" : `${tone} clip`} title={words}>
        {words}
      </span>
    </a>
  );
}
