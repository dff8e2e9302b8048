// What is known of one tool beside its chart: errors, resources, versions, policy, callers.
import { useData } from "../../data.ts";
import { bytes, count, duration, figure, oneLine, plain } from "../../format.ts";
import { Badge, Tag } from "../../part/marks.tsx";
import { FailureNote, Shown } from "../../part/notes.tsx";
import { Meter } from "../../part/small_charts.tsx";
import { Ago } from "../../part/texts.tsx";
import type { ToolRow } from "../../part/tool_table.tsx";
import { counted, doorWords, EFFECTS, principalWords } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";
import { addressOf } from "../../router.ts";
import { filterWord } from "../../part/filter_word.ts";

type ToolSeries = Reply<"/api/stats/series">;
/** `GET /api/tools/resources/NAME`. The specification does not name the limits. */
type ToolResources = Reply<"/api/tools/resources/{tool}"> & { resources: { limits: Record<string, number> } };

const MOST_ROWS = 8;

export function Errors({ data }: { data: ToolSeries }) {
  const { errors, versions } = data;
  const all = errors.reduce((sum, group) => sum + group.count, 0);
  const fresh = errors.filter((group) => group.is_new).length;
  return (
    <section class="section">
      <div class="section-head">
        <h2>Errors, by kind and message</h2>
        <span class="third">{all === 0 ? "" : `${count(all)} since they were last cleared`}</span>
      </div>
      {errors.length === 0 ? (
        <p class="third">No call has failed. Calls that do are grouped here, with a sample of each.</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Errors">
          <table>
            <thead>
              <tr>
                <th class="r">Count</th>
                <th>Kind</th>
                <th>Message</th>
                <th>First</th>
                <th>Last</th>
                <th>Sample</th>
              </tr>
            </thead>
            <tbody>
              {errors.slice(0, MOST_ROWS).map((group) => (
                <tr key={`${group.code} ${group.shape}`}>
                  <td class="r" title={group.percent === null ? undefined : `${figure(group.percent)} % of all failures`}>
                    {count(group.count)}
                  </td>
                  <td class="mono nowrap">
                    {oneLine(group.code)} {group.is_new && <Badge tone="wait">new</Badge>}
                  </td>
                  <td class="message" title={plain(group.message)}>
                    {oneLine(group.shape)}
                  </td>
                  <td class="nowrap">
                    <Ago time={group.first_at} suffix="" />
                  </td>
                  <td class="nowrap">
                    <Ago time={group.last_at} suffix="" />
                  </td>
                  <td>
                    <Tag kind="audit" id={group.call} isSettled />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {errors.length > MOST_ROWS && <p class="third">and {counted(errors.length - MOST_ROWS, "rarer one")}</p>}
      {fresh > 0 && (
        <p class="third">
          {fresh === 1 ? "One is" : `${count(fresh)} are`} new since <code>{versions.current?.slice(0, 7)}</code>.
        </p>
      )}
    </section>
  );
}

/** The limits that calls ran into, by the names of the record. */
const VIOLATIONS: Record<string, string> = {
  timeoutExceeded: "time",
  sizeExceeded: "size",
  memoryExceeded: "memory",
  processesExceeded: "processes",
  cpuTimeExceeded: "processor",
  fileSizeExceeded: "file size",
  growthExceeded: "growth",
  newFilesExceeded: "new files",
  openFilesExceeded: "open files",
  outputExceeded: "output",
  networkExceeded: "network",
};

export function Resources({ name, wasCalled }: { name: string; wasCalled: boolean }) {
  const path = `/api/tools/resources/${name.split("/").map(encodeURIComponent).join("/")}`;
  const loaded = useData<ToolResources>(wasCalled ? path : null, { live: true, everyMs: 10_000 });
  return (
    <section class="section">
      {wasCalled ? (
        <Shown loaded={loaded} what="Resources">
          {({ resources }) => <Used all={resources} />}
        </Shown>
      ) : (
        <>
          <h2>Resources for one call</h2>
          <p class="third">It was not called yet.</p>
        </>
      )}
    </section>
  );
}

function Used({ all }: { all: ToolResources["resources"] }) {
  const { resources: used, limits, violations } = all;
  const hit = Object.entries(violations).filter(([, times]) => times > 0);
  const { memoryBytes: memory, cpuSeconds, timeoutMs: time, processes } = limits;
  const processor = cpuSeconds === undefined ? undefined : cpuSeconds * 1000;
  // These are limited, and the statistics have no measure of them.
  const others = [time === undefined ? "" : `${duration(time)} of time`, processes === undefined ? "" : counted(processes, "process", "processes")].filter((it) => it !== "");
  return (
    <>
      <div class="section-head">
        <h2>Resources for one call</h2>
        <span class="third">{hit.length === 0 ? "no limit was hit" : `limits hit: ${hit.map(([kind, times]) => `${VIOLATIONS[kind] ?? kind} ${count(times)}`).join(", ")}`}</span>
      </div>
      <table>
        <thead>
          <tr>
            <th>What</th>
            <th class="r">Mean</th>
            <th class="r">p95</th>
            <th class="r">Limit</th>
            <th>p95 of the limit</th>
          </tr>
        </thead>
        <tbody>
          <UsedRow what="Processor" mean={duration(used.cpu.avgMs)} p95={duration(used.cpu.p95Ms)} limit={processor === undefined ? undefined : duration(processor)} part={used.cpu.p95Ms / (processor ?? Infinity)} />
          <UsedRow what="Memory" mean={bytes(used.memory.avgBytes)} p95={bytes(used.memory.p95Bytes)} limit={memory === undefined ? undefined : bytes(memory)} part={used.memory.p95Bytes / (memory ?? Infinity)} />
          <UsedRow what="Read" mean={bytes(used.disk.avgReadBytes)} p95={bytes(used.disk.p95ReadBytes)} />
          <UsedRow what="Written" mean={bytes(used.disk.avgWriteBytes)} p95={bytes(used.disk.p95WriteBytes)} />
        </tbody>
      </table>
      {others.length > 0 && <p class="third">A call is also limited to {others.join(" and ")}.</p>}
      {used.network.connections + used.network.refused > 0 && (
        <p class="third">
          {counted(used.network.connections, "connection")} in all, {count(used.network.refused)} refused
        </p>
      )}
    </>
  );
}

function UsedRow({ what, mean, p95, limit, part = 0 }: { what: string; mean: string; p95: string; limit?: string | undefined; part?: number }) {
  return (
    <tr>
      <td>{what}</td>
      <td class="r">{mean}</td>
      <td class="r">{p95}</td>
      <td class="r">{limit ?? "–"}</td>
      <td>{limit !== undefined && <Meter part={part} label={`${figure(100 * part)} % of the limit`} />}</td>
    </tr>
  );
}

export function Versions({ data, row }: { data: ToolSeries; row: ToolRow | undefined }) {
  const { current, called } = data.versions;
  const isPlugin = row?.kind === "module" || row?.kind === "program";
  return (
    <section class="section">
      <h2>Versions</h2>
      {called.length === 0 && <p class="third">It was not called yet.</p>}
      <table>
        <tbody>
          {[...called].reverse().slice(0, MOST_ROWS).map((it) => (
            <tr key={it.version}>
              <td class="mono">{it.version === current ? <b>{it.version.slice(0, 7)}</b> : it.version.slice(0, 7)}</td>
              <td title={`${counted(it.calls, "call")}, the last ${new Date(it.last_at).toLocaleString("en-GB")}`}>
                {it.version === current ? "now, since " : "first called "}
                <Ago time={it.first_at} />
              </td>
              <td class={it.version === current && row?.health.regression?.measure === "p95" ? "r red" : "r"}>p95 {it.p95_ms === null ? "–" : `${figure(it.p95_ms)}\u202fms`}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {isPlugin && <a href={addressOf("proposals", row.tool.split("/").slice(1).join("/"))}>All versions and roll-back</a>}
    </section>
  );
}

/** The rules that name this tool, and those that name none. What decides about one call is in "Explain a call". */
export function PolicyOf({ name, row }: { name: string; row: ToolRow | undefined }) {
  const loaded = useData<Reply<"/api/rules">>("/api/rules");
  const [catalogue, bare] = [name.split("/")[0]!, name.split("/").slice(1).join("/")];
  const names = (tools: string[]) => tools.length === 0 || [name, catalogue, bare].some((it) => tools.includes(it));
  const rules = (loaded.data?.rules ?? []).filter((rule) => names(rule.tools)).sort((a, b) => EFFECTS.indexOf(a.effect) - EFFECTS.indexOf(b.effect));
  return (
    <section class="section">
      <h2>Policy that applies</h2>
      {loaded.error !== undefined && !loaded.error.isUnreachable && <FailureNote what="The rules could not be loaded." failure={loaded.error} />}
      <dl class="facts">
        {rules.slice(0, MOST_ROWS).map((rule) => (
          <div class="contents" key={rule.id}>
            <dt>{plain(rule.effect)}</dt>
            <dd>
              rule <a href={addressOf("rules", "", { rule: rule.id })}><code>{plain(rule.id)}</code></a>
              {rule.because !== "" && `: ${plain(rule.because)}`}
            </dd>
          </div>
        ))}
        {rules.length > MOST_ROWS && (
          <div class="contents">
            <dt>and</dt>
            <dd>
              <a href={addressOf("rules")}>{counted(rules.length - MOST_ROWS, "more rule")}</a>
            </dd>
          </div>
        )}
        {loaded.data !== undefined && (
          <>
            <dt>{rules.length === 0 ? "no rule" : "otherwise"}</dt>
            <dd>
              tier {row?.tier ?? "–"} in mode {plain(loaded.data.mode)}
            </dd>
          </>
        )}
      </dl>
      <p>
        <a href={addressOf("rules", "", { tool: name })}>Explain a call</a>
      </p>
    </section>
  );
}

export function Callers({ data }: { data: ToolSeries }) {
  return (
    <section class="section">
      <h2>Called by</h2>
      {data.callers.length === 0 ? (
        <p class="third">Nobody called it yet. Try it at the right.</p>
      ) : (
        <table>
          <tbody>
            {data.callers.slice(0, MOST_ROWS).map((caller) => (
              <tr key={`${caller.principal} ${caller.door}`}>
                <td>
                  <a href={addressOf("audit", "", { filter: `${filterWord("tool", data.tool)} ${filterWord("actor", caller.principal)}` })}>{principalWords(caller.principal)}</a>
                </td>
                <td>{doorWords(caller.door)}</td>
                <td class="r" title={caller.percent === null ? undefined : `${figure(caller.percent)} % of all calls`}>
                  {count(caller.calls)}
                </td>
                <td class="r third">
                  <Ago time={caller.last_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
