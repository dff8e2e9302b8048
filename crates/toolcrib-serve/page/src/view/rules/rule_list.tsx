// Every rule in force, the strictest first, because of two that match a call the stricter decides.
import { useMemo, useRef } from "preact/hooks";
import { aboutOf, placeOf, type Rule, TONES } from "./matches.ts";
import { loggedIn } from "../../api.ts";
import { absolute, count, oneLine, plain, span } from "../../format.ts";
import { ListFilter } from "../../part/list_filter.tsx";
import { Badge } from "../../part/marks.tsx";
import { useMoves } from "../../part/moves.ts";
import { Empty } from "../../part/notes.tsx";
import { Ago } from "../../part/texts.tsx";
import { EFFECTS } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";
import { addressOf, route, setQuery } from "../../router.ts";

type Uses = Reply<"/api/rules/uses">;

const LAYERS: Record<string, string> = { "": "All", operator: "Operator's", project: "Project's", shipped: "Shipped" };

export function RuleList({ data, uses }: { data: Reply<"/api/rules">; uses: Uses | undefined }) {
  const { query } = route.value;
  const filter = (query.get("filter") ?? "").toLowerCase();
  const layer = query.get("layer") ?? "";
  const shown = useMemo(() => {
    const text = (rule: Rule) => `${rule.id} ${rule.because} ${rule.effect} ${aboutOf(rule)} ${rule.file}`.toLowerCase();
    return data.rules
      .filter((rule) => (layer === "" || rule.layer === layer) && text(rule).includes(filter))
      .sort((a, b) => EFFECTS.indexOf(a.effect) - EFFECTS.indexOf(b.effect) || Number(a.layer === "shipped") - Number(b.layer === "shipped"));
  }, [data, filter, layer]);
  const body = useRef<HTMLTableSectionElement>(null);
  useMoves(body, "a.name");
  const isAdmin = loggedIn.value?.role === "admin";
  const chips = Object.entries(LAYERS).map(([id, name]) => ({ id, name, count: data.rules.filter((rule) => id === "" || rule.layer === id).length }));
  return (
    <>
      <div class="head filter">
        <ListFilter what="rules" chips={chips} chosen={layer} name="layer" />
        <button type="button" class="end" onClick={() => setQuery({ write: "1" })} title={isAdmin ? undefined : "Only an admin adds rules. You can write one and see what it would change."}>
          Add a rule…
        </button>
      </div>
      {shown.length === 0 ? (
        <div class="pad">
          <Empty title={layer === "operator" && filter === "" ? "The operator has written no rules" : "No rule matches"}>
            {filter === "" ? (
              <>Explain a call, and write a rule from it.</>
            ) : (
              <button type="button" class="link" onClick={() => setQuery({ filter: "", layer: "" })}>
                Show all rules
              </button>
            )}
          </Empty>
        </div>
      ) : (
        <table class="rule-list">
          <thead>
            <tr>
              <th>Effect</th>
              <th>Rule</th>
              <th>About</th>
              <th class="hide">Because</th>
              <th>From</th>
              <th class="r" title={uses === undefined ? undefined : `counted since ${absolute(uses.since)}`}>
                Used{uses === undefined ? "" : `, ${span(Date.now() - new Date(uses.since).getTime())}`}
              </th>
              <th class="r hide">Last</th>
            </tr>
          </thead>
          <tbody ref={body}>
            {shown.map((rule) => (
              <Row key={`${rule.file}:${rule.line}:${rule.id}`} rule={rule} uses={uses} isChosen={query.get("rule") === rule.id} />
            ))}
          </tbody>
        </table>
      )}
      <p class="pad third">Calls that no rule matches are decided by tier, in mode {data.mode}.</p>
    </>
  );
}

function Row({ rule, uses, isChosen }: { rule: Rule; uses: Uses | undefined; isChosen: boolean }) {
  const use = uses?.rules[rule.id];
  const open = () => setQuery({ rule: rule.id });
  return (
    <tr class={isChosen ? "selected" : ""} onClick={open}>
      <td>
        <Badge tone={TONES[rule.effect] ?? "off"}>{rule.effect}</Badge>
      </td>
      <td class="mono">
        <a class="plain name" href={addressOf("rules", "", { rule: rule.id })} aria-current={isChosen ? "true" : undefined} onClick={(event) => (event.preventDefault(), open())}>
          {oneLine(rule.id)}
        </a>
      </td>
      <td class="mono second cut" title={plain(aboutOf(rule))}>
        {aboutOf(rule)}
      </td>
      <td class="hide cut" title={plain(rule.because)}>
        {oneLine(rule.because)}
      </td>
      <td class="second nowrap" title={`${plain(rule.file)}, line ${rule.line}`}>
        {placeOf(rule)}
      </td>
      <td class={`r ${use === undefined ? "zero" : ""}`}>{uses === undefined ? "–" : count(use?.count ?? 0)}</td>
      <td class="r hide nowrap">{use === undefined ? "" : <Ago time={use.last_at} suffix="" />}</td>
    </tr>
  );
}
