// The overview: rates, what waits for a person, what got worse, and one row for each tool.
import { Tail } from "./overview/tail.tsx";
import { WaitingList } from "./overview/waiting_list.tsx";
import { currentWindow, type TimeWindow, WINDOWS } from "../window.ts";
import { useData } from "../data.ts";
import { count, figure, oneLine, plain, tick } from "../format.ts";
import { commandLine } from "../part/command_line.ts";
import { Badge, Mark } from "../part/marks.tsx";
import { Shown } from "../part/notes.tsx";
import { StripChart } from "../part/small_charts.tsx";
import { Ago, Left } from "../part/texts.tsx";
import { TitleBlock } from "../part/title_block.tsx";
import { type ToolRow, ToolTable } from "../part/tool_table.tsx";
import { useWaiting } from "../part/waiting.ts";
import { MEASURES } from "../part/words.ts";
import type { Reply } from "../reply.ts";
import { addressOf } from "../router.ts";

type OverviewData = Reply<"/api/overview">;

export function Overview() {
  const window = currentWindow();
  const path = `/api/overview?window=${window}`;
  const loaded = useData<OverviewData>(path, { live: true });
  const waiting = useWaiting();
  return (
    <section class="view">
      <Shown loaded={loaded} what="The overview">
        {(data) => (
          <div class="panes overview">
            <Strip strip={data.strip} window={window} />
            <ToolTable rows={data.tools} window={WINDOWS[window]} waiting={waiting.tools} />
            <aside class="pane side" aria-label="What needs a person, and what happens now">
              <WaitingList items={waiting.items} failure={waiting.failure} />
              <Regressions rows={data.tools} />
              <Tail />
            </aside>
          </div>
        )}
      </Shown>
      <TitleBlock command={commandLine("stats", [], { window })} request={`GET ${path}`} />
    </section>
  );
}

function Strip({ strip, window }: { strip: OverviewData["strip"]; window: TimeWindow }) {
  const { calls, errors, p95, in_flight: inFlight, approvals, proposals, regressions } = strip;
  return (
    <div class="strip">
      <section class="figure">
        <h2>Calls</h2>
        <p class="value">
          {figure(calls.per_second_now)} <small>/s</small>
        </p>
        <p class="about" title={`${count(calls.total)} in the ${WINDOWS[window].toLowerCase()}, ${count(calls.total_before)} before that`}>
          {change(calls.total, calls.total_before, window)}
        </p>
        <StripChart values={calls.series} unit="calls a second" />
      </section>
      <section class="figure">
        <h2>Errors</h2>
        <p class="value">
          {errors.percent === null ? "–" : figure(errors.percent)} <small>%</small>
        </p>
        <p class="about">
          {count(errors.failed)} failed, {count(errors.refused)} refused, {count(errors.declined)} declined
        </p>
        <StripChart values={errors.series} unit="%" />
      </section>
      <section class="figure">
        <h2>p95</h2>
        <p class="value">
          {p95.ms === null ? "–" : figure(p95.ms)} <small>ms</small>
        </p>
        <p class="about">{p95.ms_before === null ? "nothing to compare with" : `${figure(p95.ms_before)} ms before that`}</p>
        <StripChart values={p95.series_ms} unit="ms" />
      </section>
      <section class="figure">
        <h2>In flight</h2>
        <p class="value">
          {count(inFlight.now)} <small>{inFlight.now === 1 ? "call" : "calls"}</small>
        </p>
        <p class="about">at once; the line is the mean</p>
        <StripChart values={inFlight.series} unit="calls at once" />
      </section>
      <Queue name="Approvals" to="/approvals" value={approvals.waiting} tone="due">
        {approvals.next_expires_at === null ? "nothing waits" : <>first expires in <Left until={approvals.next_expires_at} short /></>}
      </Queue>
      <Queue name="Proposals" to="/proposals" value={proposals.waiting} tone="due">
        {proposals.next_expires_at === null ? "nothing waits" : <>first expires in <Left until={proposals.next_expires_at} short /></>}
      </Queue>
      <Queue name="Regressions" to="/?show=regressed" value={regressions.open} tone="ill">
        {severities(regressions)}
      </Queue>
    </div>
  );
}

/** "6 % more than the hour before". */
function change(now: number, before: number, window: TimeWindow): string {
  if (before === 0) return `${count(now)} in the ${WINDOWS[window].toLowerCase()}`;
  const percent = Math.round((100 * (now - before)) / before);
  const than = percent === 0 ? "as many as" : `${count(Math.abs(percent))} % ${percent > 0 ? "more" : "fewer"} than`;
  return `${than} the ${WINDOWS[window].toLowerCase().replace("last ", "")} before`;
}

/** "1 high, 1 medium", or what there is to say when there is none. */
function severities(counts: OverviewData["strip"]["regressions"]): string {
  const some = (["high", "medium", "low"] as const).filter((it) => counts[it] > 0);
  return some.length === 0 ? "nothing got worse" : some.map((it) => `${count(counts[it])} ${it}`).join(", ");
}

/** A queue that a person should empty. It has colour only while something is in it. */
function Queue({ name, to, value, tone, children }: { name: string; to: string; value: number; tone: "due" | "ill"; children: preact.ComponentChildren }) {
  return (
    <section class={`figure queue ${value > 0 ? tone : ""}`}>
      <h2>
        {value > 0 && <Mark name={tone === "due" ? "waits" : "worse"} />} <a href={to}>{name}</a>
      </h2>
      <p class="value">{count(value)}</p>
      <p class="about">{children}</p>
    </section>
  );
}

/** The tools that got worse, the worst first. */
function Regressions({ rows }: { rows: ToolRow[] }) {
  const order = ["high", "medium", "low"];
  const worse = rows.filter((row) => row.health.severity !== null).sort((a, b) => order.indexOf(a.health.severity!) - order.indexOf(b.health.severity!));
  return (
    <section>
      <div class="head">
        <h2>Regressions</h2>
        <span class="end third">against the calls before</span>
      </div>
      {worse.length === 0 ? (
        <p class="pad third">No tool got worse.</p>
      ) : (
        <ul class="waiting">
          {worse.map((row) => (
            <li key={row.tool}>
              <a class="plain mono clip" href={addressOf("tools", row.tool)} title={plain(row.tool)}>
                {oneLine(row.tool)}
              </a>
              <span class="end">
                <Badge tone={row.health.severity === "high" ? "bad" : "wait"} mark="worse">
                  {row.health.severity}
                </Badge>
              </span>
              <Worse health={row.health} version={row.version} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** What got worse and since when: "p95 38 → 81 ms since b7e2f10, 6 min ago". */
function Worse({ health, version }: { health: ToolRow["health"]; version: string | null }) {
  const { regression, because, since, state } = health;
  const unit = regression?.measure === "error_rate" ? "%" : "ms";
  return (
    <span class="who second" title={because.map(plain).join("; ")}>
      {regression === null ? because.map(oneLine).join("; ") : `${MEASURES[regression.measure]} ${tick(regression.was)} → ${tick(regression.is)}\u202f${unit}`}
      {since !== null && (
        <>
          {" "}
          since {state === "quarantined" ? "quarantine" : <code>{version?.slice(0, 7)}</code>}, <Ago time={since} />
        </>
      )}
    </span>
  );
}
