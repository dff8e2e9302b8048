// One tool: how it is doing, how it fails, what it uses, who calls it, what policy says of it, and a call by hand.
import { useState } from "preact/hooks";
import { KINDS, type Overview, type ToolRow } from "../overview/figures.ts";
import { HealthBadge } from "../overview/tool_table.tsx";
import type { ToolList, ToolResources, ToolSeries } from "./figures.ts";
import { TryIt } from "./try_it.tsx";
import { ApiFailure, loggedIn, post } from "../../api.ts";
import { useData } from "../../data.ts";
import { bytes, clock, count, duration, figure, oneLine, plain } from "../../format.ts";
import { Badge, Tag } from "../../part/marks.tsx";
import { Empty, FailureNote, Note, Shown } from "../../part/notes.tsx";
import { Meter } from "../../part/small_charts.tsx";
import { Ago } from "../../part/texts.tsx";
import { TimeChart } from "../../part/time_chart.tsx";
import { TitleBlock } from "../../part/title_block.tsx";
import { addressOf } from "../../router.ts";
import { currentWindow, WINDOWS } from "../../window.ts";

/** The words of the try-it form on a command line, for the title block. */
export interface SameCall {
  command: string;
  request: string;
}

export function ToolDetail({ name }: { name: string }) {
  const window = currentWindow();
  const overview = useData<Overview>(`/api/overview?window=${window}`, { live: true });
  const series = useData<ToolSeries>(`/api/stats/series?${new URLSearchParams({ tool: name, window })}`, { live: true });
  const listed = useData<ToolList>(`/api/tools?${new URLSearchParams({ toolset: name })}`);
  const row = overview.data?.tools.find((it) => it.tool === name);
  const [same, setSame] = useState<SameCall>();
  const definition = listed.data?.defs[0]?.function;
  return (
    <section class="view">
      <div class="panes tool">
        <ToolHead name={name} row={row} description={definition?.description} reload={overview.reload} />
        <div class="pane">
          <Shown loaded={series} what="The figures of this tool">
            {(data) => (
              <>
                <div class="section">
                  <Latency data={data} title={`Latency, ${WINDOWS[window].toLowerCase()}`} />
                </div>
                <div class="columns two">
                  <Errors data={data} />
                  <Resources name={name} />
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
              {listed.error !== undefined ? <Note tone="wait">This tool is not on offer, so it cannot be called.</Note> : <p class="loading">Loading the tool …</p>}
            </div>
          )}
        </aside>
      </div>
      <TitleBlock command={same?.command ?? `toolcrib stats ${name}`} request={same?.request ?? `GET /api/stats/series?tool=${name}`} />
    </section>
  );
}

function ToolHead({ name, row, description, reload }: { name: string; row: ToolRow | undefined; description: string | undefined; reload: () => void }) {
  const [said, setSaid] = useState<{ text: string } | { failure: ApiFailure }>();
  const isPlugin = row?.kind === "module" || row?.kind === "program";
  const isAdmin = loggedIn.value?.role === "admin";
  const act = (path: string, text: string) => async () => {
    try {
      await post(path);
      setSaid({ text });
      reload();
    } catch (error) {
      if (error instanceof ApiFailure) setSaid({ failure: error });
    }
  };
  const bare = name.split("/").slice(1).join("/");
  return (
    <div class="tool-head">
      <div>
        <h2 class="mono">
          {plain(name)} {row !== undefined && row.health.state !== "ok" && <HealthBadge row={row} />}
        </h2>
        <dl class="meta">
          {description !== undefined && <div>{oneLine(description)}</div>}
          {row?.kind != null && (
            <div>
              <dt>Kind</dt>
              <dd>{KINDS[row.kind]}</dd>
            </div>
          )}
          {row?.tier != null && (
            <div>
              <dt>Tier</dt>
              <dd>{TIERS[row.tier]}</dd>
            </div>
          )}
          {row?.version != null && (
            <div>
              <dt>Version</dt>
              <dd class="mono">{row.version.slice(0, 12)}</dd>
            </div>
          )}
        </dl>
        {said !== undefined && ("text" in said ? <Note tone="info">{said.text}</Note> : <FailureNote what="Nothing changed." failure={said.failure} />)}
      </div>
      {isAdmin && (
        <div class="tool-actions">
          {row?.health.state === "regression" || row?.health.state === "quarantined" ? (
            <button type="button" onClick={act(`/api/tools/regression/${name}/clear`, "Its recent calls are the baseline now.")}>
              Set as baseline
            </button>
          ) : null}
          {isPlugin && (
            <a class="button" href={addressOf("proposals", bare)}>
              Versions and roll-back…
            </a>
          )}
        </div>
      )}
    </div>
  );
}
const TIERS = ["0, looks at what it is given", "1, reads", "2, writes", "3, dangerous"];

function Latency({ data, title }: { data: ToolSeries; title: string }) {
  const { axis, series, versions, compared } = data;
  const start = new Date(axis.from).getTime();
  const step = axis.step_seconds * 1000;
  const times = Array.from({ length: axis.points }, (_, at) => start + at * step);
  const baseline = compared?.baseline.p95_ms ?? null;
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
      flags={versions.changes.map((change) => ({ at: new Date(change.at).getTime(), label: `version ${change.version.slice(0, 7)}, ${clock(change.at).slice(0, 5)}` }))}
    />
  );
}

function Errors({ data }: { data: ToolSeries }) {
  const { errors, total } = data;
  return (
    <section class="section">
      <div class="section-head">
        <h2>Errors, by kind and message</h2>
        <span class="third">
          {count(total.failed)} of {count(total.calls)} calls failed
        </span>
      </div>
      {errors.length === 0 ? (
        <p class="third">No call has failed.</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Errors">
          <table>
            <thead>
              <tr>
                <th class="r">Count</th>
                <th>Kind</th>
                <th>Message</th>
                <th>Last</th>
                <th>Sample</th>
              </tr>
            </thead>
            <tbody>
              {errors.map((group) => (
                <tr key={group.shape}>
                  <td class="r">{count(group.count)}</td>
                  <td class="mono">
                    {oneLine(group.origin?.code ?? "–")} {group.origin?.is_new && <Badge tone="wait">new</Badge>}
                  </td>
                  <td class="message" title={plain(group.message)}>
                    {oneLine(group.shape)}
                  </td>
                  <td class="nowrap">{group.origin === null ? "–" : <Ago time={group.origin.last_at} suffix="" />}</td>
                  <td>{group.origin !== null && <Tag kind="audit" id={group.origin.call} isSettled />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Resources({ name }: { name: string }) {
  const loaded = useData<ToolResources>(`/api/tools/resources/${name.split("/").map(encodeURIComponent).join("/")}`, { live: true, everyMs: 10_000 });
  return (
    <section class="section">
      <Shown loaded={loaded} what="Resources">
        {({ resources: { resources: used, limits, violations } }) => (
          <>
            <div class="section-head">
              <h2>Resources for one call</h2>
              <span class="third">
                limits hit: time {count(violations.timeoutExceeded)}, size {count(violations.sizeExceeded)}
              </span>
            </div>
            <table>
              <thead>
                <tr>
                  <th>What</th>
                  <th class="r">mean</th>
                  <th class="r">p95</th>
                  <th class="r">Limit</th>
                  <th>p95 of the limit</th>
                </tr>
              </thead>
              <tbody>
                <Used what="Processor" mean={duration(used.cpu.avgMs)} p95={duration(used.cpu.p95Ms)} limit={duration(limits.timeoutMs)} part={used.cpu.p95Ms / limits.timeoutMs} />
                <Used what="Memory" mean={bytes(used.memory.avgBytes)} p95={bytes(used.memory.p95Bytes)} />
                <Used what="Read" mean={bytes(used.disk.avgReadBytes)} p95={bytes(used.disk.p95ReadBytes)} />
                <Used what="Written" mean={bytes(used.disk.avgWriteBytes)} p95={bytes(used.disk.p95WriteBytes)} />
                <Used what="Connections" mean={count(used.network.connections)} p95={`${count(used.network.refused)} refused`} />
              </tbody>
            </table>
          </>
        )}
      </Shown>
    </section>
  );
}

function Used({ what, mean, p95, limit, part }: { what: string; mean: string; p95: string; limit?: string; part?: number }) {
  return (
    <tr>
      <td>{what}</td>
      <td class="r">{mean}</td>
      <td class="r">{p95}</td>
      <td class="r">{limit ?? "–"}</td>
      <td>{part !== undefined && <Meter part={part} label={`${figure(100 * part)} % of the limit`} />}</td>
    </tr>
  );
}

function Versions({ data, row }: { data: ToolSeries; row: ToolRow | undefined }) {
  const { current, called } = data.versions;
  const isPlugin = row?.kind === "module" || row?.kind === "program";
  return (
    <section class="section">
      <h2>Versions</h2>
      {called.length === 0 && <p class="third">It was not called yet.</p>}
      <table>
        <tbody>
          {[...called].reverse().slice(0, 8).map((it) => (
            <tr key={it.version}>
              <td class="mono">{it.version === current ? <b>{it.version.slice(0, 7)}</b> : it.version.slice(0, 7)}</td>
              <td>
                {it.version === current ? "now, " : ""}first called <Ago time={it.first_at} />
              </td>
              <td class="r">
                last <Ago time={it.last_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {isPlugin && row !== undefined && <a href={addressOf("proposals", row.tool.split("/").slice(1).join("/"))}>all versions and roll-back</a>}
    </section>
  );
}

interface RuleInForce {
  id: string;
  effect: string;
  because?: string | null;
  tool?: string | string[] | null;
}

/** The rules that name this tool. What decides about one call is in "Explain a call". */
function PolicyOf({ name, row }: { name: string; row: ToolRow | undefined }) {
  const loaded = useData<{ rules: RuleInForce[] }>("/api/rules");
  const bare = name.split("/").at(-1);
  const names = (rule: RuleInForce) => [rule.tool ?? []].flat().some((tool) => tool === name || tool === bare || tool === `${name.split("/")[0]}/*`);
  const rules = (loaded.data?.rules ?? []).filter(names);
  return (
    <section class="section">
      <h2>Policy that applies</h2>
      <dl class="facts">
        <dt>Without a rule</dt>
        <dd>tier {row?.tier ?? "–"} in the mode of the server</dd>
        {rules.map((rule) => (
          <div class="contents" key={rule.id}>
            <dt>{plain(rule.effect)}</dt>
            <dd>
              rule <code>{plain(rule.id)}</code>
              {rule.because != null && `: ${plain(rule.because)}`}
            </dd>
          </div>
        ))}
      </dl>
      {loaded.data !== undefined && rules.length === 0 && <p class="third">No rule names this tool.</p>}
      <p>
        <a href={addressOf("rules", "", { tool: name })}>Explain a call</a>
      </p>
    </section>
  );
}

function Callers({ data }: { data: ToolSeries }) {
  return (
    <section class="section">
      <h2>Called by</h2>
      {data.callers.length === 0 ? (
        <Empty title="Nobody called it yet" />
      ) : (
        <table>
          <tbody>
            {data.callers.slice(0, 8).map((caller) => (
              <tr key={`${caller.principal} ${caller.door}`}>
                <td>
                  <a href={addressOf("audit", "", { filter: `actor:${caller.principal}` })}>{oneLine(caller.principal)}</a>
                </td>
                <td>{plain(caller.door)}</td>
                <td class="r">{count(caller.calls)}</td>
                <td class="r third">{caller.percent === null ? "" : `${figure(caller.percent)} %`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
