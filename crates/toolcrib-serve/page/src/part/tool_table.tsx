// One row for each tool, because operators compare rows. Filter and order are in the address. Rows keep their place
// while one has the focus or the pointer is in the table: then only numbers change.
import { useMemo, useRef, useState } from "preact/hooks";
import { count, figure, oneLine, plain } from "../format.ts";
import type { Reply } from "../reply.ts";
import { addressOf, go, route, setQuery } from "../router.ts";
import { ListFilter } from "./list_filter.tsx";
import { Badge, Key, Mark, type MarkName } from "./marks.tsx";
import { useMoves } from "./moves.ts";
import { Empty } from "./notes.tsx";
import { CallBars, Tier } from "./small_charts.tsx";
import { Ago } from "./texts.tsx";
import { MEASURES, TOOL_KINDS } from "./words.ts";

export type ToolRow = Reply<"/api/overview">["tools"][number];
type Waiting = ReadonlySet<string>;
const SHOWN: Record<string, { name: string; test: (row: ToolRow, waiting: Waiting) => boolean }> = {
  "": { name: "All", test: () => true },
  called: { name: "Called", test: (row) => row.calls + row.refused + row.declined > 0 },
  regressed: { name: "Regressed", test: (row) => row.health.severity !== null },
  waiting: { name: "Waiting", test: (row, waiting) => waiting.has(row.tool) },
  new: { name: "New version", test: (row) => row.is_new_version },
  off: { name: "Off", test: (row) => row.health.state === "disabled" || row.health.state === "quarantined" },
};

type Value = number | string | null;
const COLUMNS: { id: string; name: string; value: (row: ToolRow) => Value; isNumber?: boolean; hide?: boolean }[] = [
  { id: "tool", name: "Tool", value: (row) => row.tool },
  { id: "kind", name: "Kind", value: (row) => row.kind, hide: true },
  { id: "tier", name: "Tier", value: (row) => row.tier, hide: true },
  { id: "version", name: "Version", value: (row) => row.version, hide: true },
  { id: "calls", name: "Calls", value: (row) => row.calls, isNumber: true },
  { id: "", name: "", value: () => null },
  { id: "failed", name: "Err %", value: (row) => row.failed_percent, isNumber: true },
  { id: "refused", name: "Refused", value: (row) => row.refused + row.declined, isNumber: true, hide: true },
  { id: "p50", name: "p50 ms", value: (row) => row.p50_ms, isNumber: true, hide: true },
  { id: "p95", name: "p95 ms", value: (row) => row.p95_ms, isNumber: true },
  { id: "p99", name: "p99 ms", value: (row) => row.p99_ms, isNumber: true, hide: true },
  { id: "health", name: "Health", value: (row) => row.health.state },
  { id: "error", name: "Last error", value: (row) => row.last_error?.at ?? null },
];

/** Words begin with a letter to begin from, numbers with the largest. */
function compare(a: Value, b: Value): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return typeof a === "string" ? a.localeCompare(String(b)) : Number(b) - a;
}

/** Returns the rows, and for those that say the same as before the objects of before: they are not drawn again. */
function useUnchanged(rows: ToolRow[]): ToolRow[] {
  const known = useRef(new Map<string, { text: string; row: ToolRow }>());
  return useMemo(
    () =>
      rows.map((row) => {
        const text = JSON.stringify(row);
        const before = known.current.get(row.tool);
        if (before?.text === text) return before.row;
        known.current.set(row.tool, { text, row });
        return row;
      }),
    [rows],
  );
}

export function ToolTable({ rows: loaded, window, waiting }: { rows: ToolRow[]; window: string; waiting: Waiting }) {
  const rows = useUnchanged(loaded);
  const { query } = route.value;
  const filter = query.get("filter") ?? "";
  const show = Object.keys(SHOWN).find((id) => id === query.get("show")) ?? "";
  const shown = SHOWN[show]!;
  const sort = query.get("sort") ?? "calls";
  const isReversed = sort.startsWith("-");
  const column = COLUMNS.find((it) => it.id === sort.replace(/^-/, "")) ?? COLUMNS[4]!;
  const [isHeld, setHeld] = useState(false);
  const order = useRef<string[]>([]);
  /** The order and the filter that somebody chose last: a new choice holds at once. */
  const orderedBy = useRef("");

  const sorted = useMemo(() => {
    const chosen = rows.filter((row) => shown.test(row, waiting) && row.tool.toLowerCase().includes(filter.toLowerCase()));
    const wanted = `${sort} ${filter} ${shown.name}`;
    if (isHeld && wanted === orderedBy.current) {
      const place = new Map(order.current.map((name, at) => [name, at]));
      return chosen.sort((a, b) => (place.get(a.tool) ?? 1e9) - (place.get(b.tool) ?? 1e9));
    }
    const by = chosen.sort((a, b) => compare(column.value(a), column.value(b)) * (isReversed ? -1 : 1) || a.tool.localeCompare(b.tool));
    order.current = by.map((row) => row.tool);
    orderedBy.current = wanted;
    return by;
  }, [rows, filter, shown, sort, isHeld, waiting]);

  const body = useRef<HTMLTableSectionElement>(null);
  useMoves(body, "a.name");

  const orderBy = (id: string) => () => setQuery({ sort: sort === id ? `-${id}` : id === "calls" ? "" : id });
  const chips = Object.entries(SHOWN).map(([id, it]) => ({ id, name: it.name, count: rows.filter((row) => it.test(row, waiting)).length }));
  return (
    <section class="pane tools wide-table" aria-label="Tools" onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)} onFocusIn={() => setHeld(true)} onFocusOut={() => setHeld(false)}>
      <div class="head">
        <ListFilter what="tools" chips={chips} chosen={show} />
        <span class="end not-phone third">
          <Key name="j" /> <Key name="k" /> move
          <Key name="Enter" /> open
        </span>
      </div>
      {sorted.length === 0 ? (
        <div class="pad">
          <Empty title="No tool matches">
            <button type="button" class="link" onClick={() => setQuery({ filter: "", show: "" })}>
              Show all tools
            </button>
          </Empty>
        </div>
      ) : (
        <table>
          <thead>
            <tr>
              {COLUMNS.map((it) => (
                <th key={it.id} class={`${it.isNumber ? "r" : ""} ${it.hide ? "hide" : ""}`} aria-sort={it === column ? (isReversed === Boolean(it.isNumber) ? "ascending" : "descending") : undefined}>
                  {it.id === "" ? (
                    window
                  ) : (
                    <button type="button" onClick={orderBy(it.id)}>
                      {it.name}
                      {it === column && <span aria-hidden="true">{isReversed === Boolean(it.isNumber) ? "▴" : "▾"}</span>}
                    </button>
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody ref={body}>
            {sorted.map((row) => (
              <Row key={row.tool} row={row} isWaiting={waiting.has(row.tool)} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

const MARKS: Record<ToolRow["health"]["state"], MarkName> = { ok: "fine", regression: "worse", quarantined: "off", disabled: "off" };

/** A row is drawn again only if something in it changed: most tools are not called between two updates. */
function Row({ row, isWaiting }: { row: ToolRow; isWaiting: boolean }) {
  return useMemo(() => <RowCells row={row} isWaiting={isWaiting} />, [row, isWaiting]);
}

function RowCells({ row, isWaiting }: { row: ToolRow; isWaiting: boolean }) {
  const to = addressOf("tools", row.tool);
  const notRun = row.refused + row.declined;
  const isOff = row.health.state === "disabled" || row.health.state === "quarantined";
  return (
    <tr class={isOff ? "idle" : ""} onClick={(event) => (event.target as Element).closest("a") === null && go(to)}>
      <td>
        <span class="tool-name">
          <Mark name={isWaiting && !isOff ? "waits" : MARKS[row.health.state]} />
          {isWaiting && <span class="unseen">waits for a person</span>}
          <a class="name plain mono clip" href={to} title={plain(row.tool)}>
            {oneLine(row.tool)}
          </a>
        </span>
      </td>
      <td class="hide">{row.kind === null ? "–" : TOOL_KINDS[row.kind]}</td>
      <td class="hide">{row.tier === null ? "–" : <Tier tier={row.tier} />}</td>
      <td class="hide mono">
        {row.version?.slice(0, 7) ?? "–"} {row.is_new_version && <span class="brass">new</span>}
      </td>
      <td class={row.calls === 0 ? "r zero" : "r"}>{count(row.calls)}</td>
      <td class="bars">{row.calls + row.failed > 0 && <CallBars calls={row.series.calls} errors={row.series.failed} />}</td>
      <Figure value={row.failed_percent} isBad={(row.failed_percent ?? 0) >= 5} />
      <td class={notRun === 0 ? "r zero hide" : "r hide"} title={`${count(row.refused)} refused by policy, ${count(row.declined)} declined by a person`}>
        {count(notRun)}
      </td>
      <Figure value={row.p50_ms} hide />
      <Figure value={row.p95_ms} />
      <Figure value={row.p99_ms} hide />
      <td>
        <HealthBadge row={row} />
      </td>
      <td class="last-error">
        {row.last_error === null ? (
          <span class="zero">none</span>
        ) : (
          <span class="pair-ends">
            <a class="plain clip" href={addressOf("audit", row.last_error.call)} title={plain(row.last_error.message)}>
              {oneLine(row.last_error.code)}
            </a>
            <span class="third">
              <Ago time={row.last_error.at} suffix="" />
            </span>
          </span>
        )}
      </td>
    </tr>
  );
}

function Figure({ value, isBad = false, hide = false }: { value: number | null; isBad?: boolean; hide?: boolean }) {
  const tone = isBad ? "red" : value === 0 || value === null ? "zero" : "";
  return <td class={`r ${tone} ${hide ? "hide" : ""}`}>{value === null ? "–" : figure(value)}</td>;
}

function HealthBadge({ row }: { row: ToolRow }) {
  const { state, regression, because } = row.health;
  if (state === "ok") return <>ok</>;
  if (state === "disabled") return <Badge tone="off" mark="off">off</Badge>;
  const why = because.map(plain).join("; ");
  if (state === "quarantined") {
    return (
      <span title={why}>
        <Badge tone="off" mark="off">
          quarantined
        </Badge>
      </span>
    );
  }
  const what = regression === null ? "worse" : `${MEASURES[regression.measure]} ${regression.factor === null ? "from 0" : `${regression.factor.toFixed(1)}×`}`;
  return (
    <span title={why}>
      <Badge tone={row.health.severity === "high" ? "bad" : "wait"} mark="worse">
        {what}
      </Badge>
    </span>
  );
}
