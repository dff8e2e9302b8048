// One tool: how it is doing, how it fails, what it uses, who calls it, what policy says of it, and a call by hand.
import { useState } from "preact/hooks";
import { ToolHead } from "./tool_head.tsx";
import { Callers, Errors, PolicyOf, Resources, Versions } from "./tool_sections.tsx";
import { TryIt } from "./try_it.tsx";
import { useData } from "../../data.ts";
import { useKeys } from "../../keys.ts";
import { commandLine, type SameElsewhere } from "../../part/command_line.ts";
import { FailureNote, Note, Shown } from "../../part/notes.tsx";
import type { Schema } from "../../part/schema_form.tsx";
import { spanOf, TimeChart, timeLabel } from "../../part/time_chart.tsx";
import { TitleBlock } from "../../part/title_block.tsx";
import type { Reply } from "../../reply.ts";
import { addressOf, go } from "../../router.ts";
import { currentWindow, USUAL_WINDOW, WINDOWS } from "../../window.ts";

type ToolSeries = Reply<"/api/stats/series">;
/** `GET /api/tools?toolset=NAME`. The specification does not say what a declaration looks like. */
type ToolList = Reply<"/api/tools"> & { defs: { function: { name: string; description: string; parameters: Schema } }[] };

export function ToolDetail({ name }: { name: string }) {
  const window = currentWindow();
  const path = `/api/stats/series?${new URLSearchParams({ tool: name, window })}`;
  const overview = useData<Reply<"/api/overview">>(`/api/overview?window=${window}`, { live: true });
  const series = useData<ToolSeries>(path, { live: true });
  const listed = useData<ToolList>(`/api/tools?${new URLSearchParams({ toolset: name })}`);
  const row = overview.data?.tools.find((it) => it.tool === name);
  const [same, setSame] = useState<SameElsewhere>();
  useKeys({ Escape: () => go(addressOf("tools", "", window === USUAL_WINDOW ? {} : { window })) });
  const definition = listed.data?.defs[0]?.function;
  return (
    <section class="view">
      <div class="panes tool">
        <ToolHead name={name} row={row} series={series.data} description={definition?.description} reload={overview.reload} />
        <div class="pane">
          <Shown loaded={series} what="The figures of this tool">
            {(data) => (
              <>
                <div class="section">
                  <Latency data={data} title={`Latency, ${WINDOWS[window].toLowerCase()}`} />
                </div>
                <div class="columns two">
                  <Errors data={data} />
                  <Resources name={name} wasCalled={data.versions.called.length > 0} />
                </div>
                <div class="columns three">
                  <Versions data={data} row={row} />
                  <PolicyOf name={name} row={row} />
                  <Callers data={data} />
                </div>
              </>
            )}
          </Shown>
        </div>
        <aside class="pane" aria-label="Try it">
          {definition !== undefined ? (
            <TryIt name={name} schema={definition.parameters} onChange={setSame} />
          ) : (
            <div class="pad">
              {listed.error === undefined && <p class="loading">Loading the tool …</p>}
              {listed.error?.status === 404 && <Note tone="wait">This tool is not on offer, so it cannot be called.</Note>}
              {listed.error !== undefined && listed.error.status !== 404 && !listed.error.isUnreachable && <FailureNote what="The tool could not be loaded." failure={listed.error} />}
            </div>
          )}
        </aside>
      </div>
      <TitleBlock command={same === undefined ? commandLine("stats resources", [name]) : same.command} request={same?.request ?? `GET ${path}`} />
    </section>
  );
}

function Latency({ data, title }: { data: ToolSeries; title: string }) {
  const { axis, series, versions, compared } = data;
  const start = new Date(axis.from).getTime();
  const step = axis.step_seconds * 1000;
  const times = Array.from({ length: axis.points }, (_, at) => start + at * step);
  const before = compared?.baseline;
  const baseline = before === undefined || before.calls === 0 ? null : before.p95_ms;
  return (
    <TimeChart
      title={title}
      unit="ms"
      times={times}
      bucketMs={step}
      lines={[
        { name: "p95", values: series.p95_ms, look: "strong" },
        { name: "p50", values: series.p50_ms, look: "light" },
        ...(baseline === null ? [] : [{ name: "p95 before", values: times.map(() => baseline), look: "dotted" as const }]),
      ]}
      calls={series.calls}
      errors={series.failed}
      flags={versions.changes.filter((change) => change.before !== null).map((change) => ({ at: new Date(change.at).getTime(), label: `version ${change.version.slice(0, 7)}, ${timeLabel(Date.parse(change.at), spanOf(times, step))}` }))}
    />
  );
}

