// The overview: rates, what waits for a person, what got worse, and one row for each tool.
import { Tail } from "./overview/tail.tsx";
import { ToolTable } from "./overview/tool_table.tsx";
import type { Overview as OverviewData, Strip as StripData, ToolRow } from "./overview/figures.ts";
import { currentWindow, WINDOWS } from "../window.ts";
import { useData } from "../data.ts";
import { count, figure, oneLine } from "../format.ts";
import { Badge, Mark, Tag } from "../part/marks.tsx";
import { Empty, Shown } from "../part/notes.tsx";
import { StripChart } from "../part/small_charts.tsx";
import { Ago, Left } from "../part/texts.tsx";
import { TitleBlock } from "../part/title_block.tsx";
import { addressOf } from "../router.ts";

export function Overview() {
  const window = currentWindow();
  const path = `/api/overview?window=${window}`;
  const loaded = useData<OverviewData>(path, { live: true });
  return (
    <section class="view">
      <Shown loaded={loaded} what="The overview">
        {(data) => (
          <div class="panes overview">
            <Strip strip={data.strip} window={WINDOWS[window].toLowerCase()} />
            <ToolTable rows={data.tools} window={WINDOWS[window]} />
            <aside class="pane side" aria-label="What needs a person, and what happens now">
              <WaitingList />
              <Regressions rows={data.tools} />
              <Tail />
            </aside>
          </div>
        )}
      </Shown>
      <TitleBlock command="toolcrib stats" request={`GET ${path}`} />
    </section>
  );
}

function Strip({ strip, window }: { strip: StripData; window: string }) {
  const { calls, errors, p95, in_flight: inFlight, approvals, proposals, regressions } = strip;
  return (
    <div class="strip">
      <section class="figure">
        <h2>Calls</h2>
        <p class="value">
          {figure(calls.per_second_now)} <small>/s</small>
        </p>
        <p class="about">{change(calls.total, calls.total_before, `in the ${window}`)}</p>
        <StripChart values={calls.series} unit="calls" />
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
          {count(inFlight.now)} <small>of {count(inFlight.bound)}</small>
        </p>
        <p class="about">calls that run now</p>
        <StripChart values={inFlight.series} unit="calls at once" />
      </section>
      <Queue name="Approvals" to="/approvals" value={approvals.waiting} tone="due">
        {approvals.next_expires_at === null ? "nothing waits" : <>first expires in <Left until={approvals.next_expires_at} /></>}
      </Queue>
      <Queue name="Proposals" to="/proposals" value={proposals.waiting} tone="due">
        {proposals.next_expires_at === null ? "nothing waits" : <>first expires in <Left until={proposals.next_expires_at} /></>}
      </Queue>
      <Queue name="Regressions" to="/?show=regressed" value={regressions.open} tone="ill">
        {regressions.open === 0 ? "nothing got worse" : `${regressions.high} high, ${regressions.medium} medium, ${regressions.low} low`}
      </Queue>
    </div>
  );
}

function change(now: number, before: number, when: string): string {
  if (before === 0) return `${count(now)} ${when}`;
  const percent = Math.round((100 * (now - before)) / before);
  return `${count(now)} ${when}, ${percent === 0 ? "as many as" : `${Math.abs(percent)} % ${percent > 0 ? "more" : "fewer"} than`} before`;
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

interface WaitingApproval {
  call: string;
  tool: string;
  principal?: string | null;
  expires_at?: string;
}
interface WaitingProposal {
  name?: string;
  tool?: string;
  expires_at?: string | null;
}

const MOST_WAITING = 6;

/** The questions and proposals that wait, least time first. */
function WaitingList() {
  const approvals = useData<{ approvals: WaitingApproval[] }>("/api/approvals", { live: true });
  const proposals = useData<{ pending?: WaitingProposal[]; proposals?: WaitingProposal[] }>("/api/tools/pending", { live: true, everyMs: 5000 });
  const items = [
    ...(approvals.data?.approvals ?? []).map((it) => ({ kind: "approvals" as const, id: it.call, what: it.tool, who: it.principal ?? "", until: it.expires_at })),
    ...(proposals.data?.pending ?? proposals.data?.proposals ?? []).map((it) => ({ kind: "proposals" as const, id: it.name ?? it.tool ?? "", what: "proposes a tool", who: "", until: it.expires_at ?? undefined })),
  ].sort((a, b) => (a.until ?? "9").localeCompare(b.until ?? "9"));
  return (
    <section>
      <div class="head">
        <h2>Waiting for a person</h2>
        <span class="end third">least time first</span>
      </div>
      {items.length === 0 ? (
        <div class="pad">
          <Empty title="Nothing waits for an answer">Calls that ask show up here.</Empty>
        </div>
      ) : (
        <ul class="waiting">
          {items.slice(0, MOST_WAITING).map((item) => (
            <li key={item.kind + item.id}>
              <Tag kind={item.kind} id={item.id} /> <code class="clip">{oneLine(item.what)}</code>
              {item.until !== undefined && (
                <span class="end brass">
                  <Left until={item.until} suffix=" left" />
                </span>
              )}
              {item.who !== "" && <span class="who second">{oneLine(item.who)}</span>}
            </li>
          ))}
          {items.length > MOST_WAITING && (
            <li>
              <a href="/approvals">and {items.length - MOST_WAITING} more</a>
            </li>
          )}
        </ul>
      )}
    </section>
  );
}

function Regressions({ rows }: { rows: ToolRow[] }) {
  const worse = rows.filter((row) => row.health.regression !== null);
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
              <a class="plain mono clip" href={addressOf("tools", row.tool)}>
                {oneLine(row.tool)}
              </a>
              <span class="end">
                <Badge tone={row.health.regression!.severity === "high" ? "bad" : "wait"} mark="worse">
                  {row.health.regression!.severity}
                </Badge>
              </span>
              <span class="who second">
                {row.health.because.map(oneLine).join("; ")}
                {row.health.since !== null && (
                  <>
                    , since <Ago time={row.health.since} />
                  </>
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
