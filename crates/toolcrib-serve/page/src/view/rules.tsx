// Rules and grants: what is decided without a person, why, and how to change it. Left the lists, right what is taken in
// hand: a rule, a call to explain, a rule to write, a setting to change.
import { useState } from "preact/hooks";
import { Explain, type Explained } from "./rules/explain.tsx";
import { GrantList } from "./rules/grant_list.tsx";
import { RuleDetail } from "./rules/rule_detail.tsx";
import { RuleList } from "./rules/rule_list.tsx";
import { SettingEdit } from "./rules/setting_edit.tsx";
import { SettingList } from "./rules/setting_list.tsx";
import { WriteRule } from "./rules/write_rule.tsx";
import { loggedIn } from "../api.ts";
import { useData } from "../data.ts";
import { useKeys } from "../keys.ts";
import { commandLine, type SameElsewhere } from "../part/command_line.ts";
import { Note, Shown } from "../part/notes.tsx";
import { TitleBlock } from "../part/title_block.tsx";
import type { Reply } from "../reply.ts";
import { addressOf, route, setQuery } from "../router.ts";

/** The lists, each with the words of the title block. */
const LISTS = {
  "": { name: "Rules", command: commandLine("rules list"), request: "GET /api/rules" },
  grants: { name: "Grants", command: commandLine("grants list"), request: "GET /api/grants" },
  settings: { name: "Settings", command: commandLine("config show --origin"), request: "GET /api/settings" },
};
type ListName = keyof typeof LISTS;

export function Rules() {
  const name = (Object.hasOwn(LISTS, route.value.rest) ? route.value.rest : "") as ListName;
  const isAgent = loggedIn.value?.role === "agent";
  const [same, setSame] = useState<SameElsewhere>();
  // On a small screen, what was taken in hand comes before the list.
  const isInHand = ["rule", "write", "call", "setting"].some((it) => route.value.query.has(it));
  const { command, request } = (name === "" && same) || LISTS[name];
  return (
    <section class="view">
      {isAgent ? (
        <div class="pad">
          <Note tone="info">An agent does not see the rules of others. Log in with the token of an approver or an admin.</Note>
        </div>
      ) : (
        <div class={`panes rules ${name === "" ? "" : "is-list"} ${isInHand ? "in-hand" : ""}`}>
          {name === "" && <RulesAndCalls onCall={setSame} />}
          {name === "grants" && (
            <div class="pane">
              <Lists current={name} />
              <GrantList />
            </div>
          )}
          {name === "settings" && <Settings />}
        </div>
      )}
      <TitleBlock command={command} request={request} />
    </section>
  );
}

/** The ways to the lists. */
function Lists({ current }: { current: ListName }) {
  return (
    <nav class="head chips lists" aria-label="Lists">
      {Object.entries(LISTS).map(([id, list]) => (
        <a class="button chip" key={id} href={addressOf("rules", id)} aria-current={id === current ? "page" : undefined}>
          {list.name}
        </a>
      ))}
    </nav>
  );
}

function RulesAndCalls({ onCall }: { onCall: (same: SameElsewhere | undefined) => void }) {
  const loaded = useData<Reply<"/api/rules">>("/api/rules", { live: true, everyMs: 10_000 });
  const uses = useData<Reply<"/api/rules/uses">>("/api/rules/uses", { live: true, everyMs: 5000 });
  const [explained, setExplained] = useState<Explained>();
  const { query } = route.value;
  const chosen = loaded.data?.rules.find((rule) => rule.id === query.get("rule"));
  useKeys(chosen !== undefined ? { Escape: () => setQuery({ rule: "" }) } : query.has("write") ? { Escape: () => setQuery({ write: "" }) } : {});
  const isWriting = explained !== undefined || query.has("write");
  return (
    <>
      <div class="pane">
        <Lists current="" />
        <Shown loaded={loaded} what="The rules">
          {(data) => <RuleList data={data} uses={uses.data} />}
        </Shown>
      </div>
      <aside class="pane" aria-label="A rule, and what is decided about a call">
        {chosen !== undefined && <RuleDetail key={chosen.id} rule={chosen} ownFile={loaded.data?.own_file ?? null} uses={uses.data} reload={loaded.reload} />}
        <Explain onExplained={setExplained} onCall={onCall} />
        {isWriting && <WriteRule key={explained?.key ?? "blank"} explained={explained} ownFile={loaded.data?.own_file ?? null} reload={loaded.reload} />}
      </aside>
    </>
  );
}

function Settings() {
  const isAdmin = loggedIn.value?.role === "admin";
  useKeys(route.value.query.has("setting") ? { Escape: () => setQuery({ setting: "" }) } : {});
  const loaded = useData<Reply<"/api/settings">>(isAdmin ? "/api/settings" : null, { live: true, everyMs: 10_000 });
  return (
    <>
      <div class="pane">
        <Lists current="settings" />
        {isAdmin ? (
          <Shown loaded={loaded} what="The settings">
            {(data) => <SettingList data={data} />}
          </Shown>
        ) : (
          <div class="pad">
            <Note tone="info">Settings hold for everybody, so only an admin sees and changes them. You are logged in as an approver.</Note>
          </div>
        )}
      </div>
      <aside class="pane" aria-label="Change a setting">
        {loaded.data !== undefined && <SettingEdit data={loaded.data} reload={loaded.reload} />}
      </aside>
    </>
  );
}
