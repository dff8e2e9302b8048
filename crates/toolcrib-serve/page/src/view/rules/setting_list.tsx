// Every setting with its value and where that comes from. What differs from the default stands out by weight.
import { useMemo, useRef } from "preact/hooks";
import { pending, type Report, type Setting, shownValue } from "./pending.ts";
import { oneLine, plain } from "../../format.ts";
import { ListFilter } from "../../part/list_filter.tsx";
import { Badge } from "../../part/marks.tsx";
import { useMoves } from "../../part/moves.ts";
import { Empty, Note } from "../../part/notes.tsx";
import { Ago } from "../../part/texts.tsx";
import { principalWords } from "../../part/words.ts";
import { addressOf, route, setQuery } from "../../router.ts";

const SHOWN: Record<string, { name: string; test: (setting: Setting) => boolean }> = {
  "": { name: "All", test: () => true },
  set: { name: "Set", test: (setting) => setting.origin !== "default" },
  restart: { name: "Needs a restart", test: (setting) => setting.needs_restart },
};

export function SettingList({ data }: { data: Report }) {
  const { query } = route.value;
  const filter = (query.get("filter") ?? "").toLowerCase();
  const show = Object.keys(SHOWN).find((id) => id === query.get("show")) ?? "";
  const all = useMemo(() => Object.entries(data.settings), [data]);
  const shown = all.filter(([name, setting]) => SHOWN[show]!.test(setting) && `${name} ${setting.about} ${shownValue(setting.value)}`.toLowerCase().includes(filter));
  const body = useRef<HTMLTableSectionElement>(null);
  useMoves(body, "a.name");
  const chips = Object.entries(SHOWN).map(([id, it]) => ({ id, name: it.name, count: all.filter(([, setting]) => it.test(setting)).length }));
  return (
    <>
      <div class="head filter">
        <ListFilter what="settings" chips={chips} chosen={show} />
      </div>
      <State data={data} />
      {shown.length === 0 ? (
        <div class="pad">
          <Empty title="No setting matches">
            <button type="button" class="link" onClick={() => setQuery({ filter: "", show: "" })}>
              Show all settings
            </button>
          </Empty>
        </div>
      ) : (
        <table class="setting-list">
          <thead>
            <tr>
              <th>Setting</th>
              <th>Value</th>
              <th class="hide">What it is for</th>
              <th>From</th>
            </tr>
          </thead>
          <tbody ref={body}>
            {shown.map(([name, setting]) => (
              <Row key={name} name={name} setting={setting} />
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

/** What is wrong with the files, what waits for a restart, and who changed something last. */
function State({ data: { state } }: { data: Report }) {
  const restarts = state.needs_restart;
  return (
    <>
      {state.errors.length > 0 && (
        <div class="pad">
          <Note tone="bad">
            <b>The files on disk have errors. The settings from before hold.</b> {state.errors.map(plain).join("; ")}
          </Note>
        </div>
      )}
      {restarts.length > 0 && (
        <div class="pad">
          <Note tone="wait">
            <b>Restart the server:</b> {restarts.map((it) => `${it.setting} becomes ${shownValue(it.new)}`).join("; ")}.
          </Note>
        </div>
      )}
      {state.changed_at != null && (
        <p class="pad third changed">
          Last changed <Ago time={state.changed_at} /> by {state.changed_by == null ? "a change of the files" : principalWords(state.changed_by)}.
        </p>
      )}
    </>
  );
}

function fileOf(origin: string): string {
  return origin.startsWith("/") ? origin.split("/").slice(-2).join("/") : origin;
}

function Row({ name, setting }: { name: string; setting: Setting }) {
  const isChosen = route.value.query.get("setting") === name;
  const open = () => setQuery({ setting: name });
  const isPending = name in pending.value;
  return (
    <tr class={isChosen ? "selected" : ""} onClick={open}>
      <td class="mono">
        <a class="plain name" href={addressOf("rules", "settings", { setting: name })} aria-current={isChosen ? "true" : undefined} onClick={(event) => (event.preventDefault(), open())}>
          {name}
        </a>{" "}
        {isPending && <Badge tone="wait">not saved</Badge>}
      </td>
      <td class={`mono cut ${setting.origin === "default" ? "second" : "set"}`} title={plain(shownValue(setting.value))}>
        {oneLine(shownValue(setting.value))}
      </td>
      <td class="hide second cut" title={plain(setting.about)}>
        {oneLine(setting.about)}
      </td>
      <td class="second nowrap" title={plain(setting.origin)}>
        {oneLine(fileOf(setting.origin))}
      </td>
    </tr>
  );
}
