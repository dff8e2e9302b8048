// The head of one tool: what it is, how it does, and what an admin can do about it.
import { useState } from "preact/hooks";
import { ApiFailure, loggedIn, post } from "../../api.ts";
import { oneLine, plain } from "../../format.ts";
import { Badge } from "../../part/marks.tsx";
import { FailureNote, Note } from "../../part/notes.tsx";
import { Ago } from "../../part/texts.tsx";
import type { ToolRow } from "../../part/tool_table.tsx";
import { MEASURES, tierWords, TOOL_KINDS } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";
import { addressOf } from "../../router.ts";

export function ToolHead({ name, row, series, description, reload }: { name: string; row: ToolRow | undefined; series: Reply<"/api/stats/series"> | undefined; description: string | undefined; reload: () => void }) {
  const since = series?.versions.changes.at(-1)?.at;
  return (
    <div class="tool-head">
      <div>
        <h2 class="mono">
          {plain(name)} {row !== undefined && <HealthOf health={row.health} />}
        </h2>
        <dl class="meta">
          {description !== undefined && (
            <div>
              <dt class="unseen">What it does</dt>
              <dd>{oneLine(description)}</dd>
            </div>
          )}
          {row?.kind != null && <Fact name="Kind">{TOOL_KINDS[row.kind]}</Fact>}
          {row?.tier != null && <Fact name="Tier">{tierWords(row.tier)}</Fact>}
          {row?.version != null && (
            <Fact name="Version">
              <code>{row.version.slice(0, 12)}</code>
            </Fact>
          )}
          {since !== undefined && (
            <Fact name="Called since">
              <Ago time={since} />
            </Fact>
          )}
        </dl>
      </div>
      {loggedIn.value?.role === "admin" && row !== undefined && <Actions name={name} row={row} reload={reload} />}
    </div>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** How the tool does, in words: "p95 2.1× the baseline, high". */
function HealthOf({ health }: { health: ToolRow["health"] }) {
  const { state, severity, regression, because } = health;
  if (state === "ok") return null;
  if (state === "disabled") return <Badge tone="off" mark="off">switched off</Badge>;
  const grown = regression === null ? "worse than" : `${MEASURES[regression.measure]} ${regression.factor === null ? "up from 0 in" : `${regression.factor.toFixed(1)}×`}`;
  return (
    <span title={because.map(plain).join("; ")}>
      {severity !== null && (
        <Badge tone={severity === "high" ? "bad" : "wait"} mark="worse">
          {grown} the baseline, {severity}
        </Badge>
      )}{" "}
      {state === "quarantined" && <Badge tone="off" mark="off">quarantined</Badge>}
    </span>
  );
}

interface Action {
  button: string;
  /** What is said before it is done. Without it, it is done at once. */
  ask?: string;
  path: string;
  done: string;
}

function Actions({ name, row, reload }: { name: string; row: ToolRow; reload: () => void }) {
  const [said, setSaid] = useState<{ text: string } | { failure: ApiFailure }>();
  const [asked, setAsked] = useState<Action>();
  const [isBusy, setBusy] = useState(false);
  const path = name.split("/").map(encodeURIComponent).join("/");
  const plugin = name.startsWith("plugins/") && (row.kind === "module" || row.kind === "program" || row.kind === null) ? name.slice("plugins/".length) : null;
  const actions: Action[] = [];
  if (row.health.severity !== null || row.health.state === "quarantined") {
    actions.push({ button: "Set as baseline", path: `/api/tools/regression/${path}/clear`, done: "Its recent calls are the baseline now." });
  }
  if (plugin !== null) {
    const at = `/api/plugins/${encodeURIComponent(plugin)}`;
    if (row.health.state === "disabled") actions.push({ button: "Switch on", path: `${at}/enable`, done: "It is on offer again." });
    else actions.push({ button: "Switch off…", ask: "No agent can call it until it is switched on again. Calls that run are finished.", path: `${at}/disable`, done: "It is off." });
  }
  const run = async (action: Action) => {
    setBusy(true);
    setAsked(undefined);
    try {
      await post(action.path);
      setSaid({ text: action.done });
      reload();
    } catch (error) {
      if (error instanceof ApiFailure) setSaid({ failure: error });
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="tool-actions">
      <div class="buttons">
        {plugin !== null && (
          <a class="button" href={addressOf("proposals", plugin)}>
            Versions and roll-back…
          </a>
        )}
        {actions.map((action) => (
          <button type="button" key={action.button} disabled={isBusy} onClick={() => (action.ask === undefined ? void run(action) : setAsked(action))}>
            {action.button}
          </button>
        ))}
      </div>
      {asked !== undefined && (
        <Note tone="wait">
          {asked.ask}{" "}
          <button type="button" class="link" onClick={() => void run(asked)}>
            Switch it off
          </button>{" "}
          <button type="button" class="link" onClick={() => setAsked(undefined)}>
            Keep it on
          </button>
        </Note>
      )}
      {said !== undefined && ("text" in said ? <Note tone="info">{said.text}</Note> : <FailureNote what="Nothing changed." failure={said.failure} />)}
    </div>
  );
}
