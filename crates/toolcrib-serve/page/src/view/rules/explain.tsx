// What would be decided about a call, and why. Nothing runs.
import { useEffect, useRef, useState } from "preact/hooks";
import { RecentCalls } from "./recent_calls.tsx";
import { idIn, TONES } from "./matches.ts";
import { ApiFailure, get, loggedIn, post } from "../../api.ts";
import { useData } from "../../data.ts";
import { plain } from "../../format.ts";
import { useKeys } from "../../keys.ts";
import { callCommand, postRequest, type SameElsewhere } from "../../part/command_line.ts";
import { Key, Mark } from "../../part/marks.tsx";
import { FailureNote, Note } from "../../part/notes.tsx";
import { argumentsOf, type Schema, SchemaForm } from "../../part/schema_form.tsx";
import { askerWords, principalWords } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";
import { addressOf, route, setQuery } from "../../router.ts";
import { Sentence } from "../../part/texts.tsx";

export type Explanation = Reply<"/api/rules/explain", "post">;
export interface Explained {
  /** Another one for each call that was explained. */
  key: number;
  explanation: Explanation;
}

interface Declared {
  function: { name: string; parameters: Schema };
}

/** The texts of a form that stand for these arguments. */
function valuesOf(args: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]));
}

/** The name of a tool in the list of the API: the tools of its own contract, and those that were proposed, are bare. */
function servedName(name: string): string {
  return name.replace(/^(forgekeeper|plugins)\//, "");
}

/** The options that name a principal, which is JSON or nothing. */
function principalOptions(who: string): Record<string, string> {
  if (who === "") return {};
  const { name, role } = JSON.parse(who) as { name: string; role: string };
  return { principal: name, role };
}

export function Explain({ onExplained, onCall }: { onExplained: (explained: Explained | undefined) => void; onCall: (same: SameElsewhere | undefined) => void }) {
  const [tool, setTool] = useState(servedName(route.value.query.get("tool") ?? ""));
  const [values, setValues] = useState<Record<string, string>>({});
  const [who, setWho] = useState("");
  const [wrong, setWrong] = useState<{ field: string; why: string }>();
  const [failure, setFailure] = useState<ApiFailure>();
  const [said, setSaid] = useState<Explained>();
  const tools = useData<{ names: string[]; defs: Declared[] }>("/api/tools?toolset=all");
  const callers = useData<Reply<"/api/callers">>("/api/callers");
  const isKnown = tools.data?.names.includes(tool) ?? false;
  // Names and declarations are in the same order.
  const schema = isKnown ? tools.data?.defs[tools.data.names.indexOf(tool)]?.function.parameters : undefined;
  const principals = [...new Set((callers.data?.callers ?? []).filter((it) => it.principal != null && it.role != null).map((it) => JSON.stringify({ name: it.principal, role: it.role })))];

  const result = schema === undefined ? { args: {} } : argumentsOf(schema, values);
  const args = "args" in result ? result.args : undefined;
  const body = (name: string, given: Record<string, unknown>) => ({ tool: name, args: given, ...(who === "" ? {} : { principal: JSON.parse(who) as Record<string, unknown> }) });
  const plugins = useData<Reply<"/api/plugins">>("/api/plugins");
  useEffect(() => {
    const isPlugin = plugins.data?.plugins.some((it) => it.name === tool) === true;
    const fullName = tool.includes("/") ? tool : `${isPlugin ? "plugins" : "forgekeeper"}/${tool}`;
    // Without a principal, the command explains the calls of whoever runs it.
    const same = { command: callCommand("policy explain", fullName, args ?? {}, principalOptions(who)), request: postRequest("/api/rules/explain", body(tool, args ?? {})) };
    onCall(tool === "" || args === undefined ? undefined : same);
  }, [tool, who, JSON.stringify(args), plugins.data]);

  const explain = async (name: string, given: Record<string, unknown>) => {
    setFailure(undefined);
    try {
      const explanation = await post<Explanation>("/api/rules/explain", body(name, given));
      const explained = { key: Date.now(), explanation };
      setSaid(explained);
      onExplained(explained);
    } catch (error) {
      if (!(error instanceof ApiFailure)) return;
      setSaid(undefined);
      onExplained(undefined);
      setFailure(error);
    }
  };
  const submit = () => {
    setWrong("args" in result ? undefined : result);
    if (tool !== "" && args !== undefined) void explain(tool, args);
  };
  const take = async (call: string) => {
    setFailure(undefined);
    try {
      const found = await get<Reply<"/api/audit/{id}">>(`/api/audit/${call}`);
      const given = recordedArgs(found.call.args);
      setTool(servedName(found.call.tool));
      setValues(given === undefined ? {} : valuesOf(given));
      if (given !== undefined) await explain(found.call.tool, given);
      else setFailure(new ApiFailure(404, "cut", "The record does not have all arguments of this call: they were too long, or something secret was in them. Fill in the form.", null, {}));
    } catch (error) {
      if (error instanceof ApiFailure) setFailure(error);
    }
  };
  // A link from another view names a call.
  const linked = route.value.query.get("call");
  useEffect(() => {
    if (linked !== null) void take(linked);
  }, [linked]);
  useKeys({ x: submit });

  return (
    <>
      <div class="head">
        <h2>Explain a call</h2>
        <span class="end third">runs nothing</span>
      </div>
      <form
        class="section stack"
        onSubmit={(event) => (event.preventDefault(), submit())}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
        }}
      >
        <RecentCalls onTake={(call) => (linked === call ? void take(call) : setQuery({ call }))} />
        <div class="field">
          <label for="explain-tool">Tool</label>
          <input id="explain-tool" class="mono" list="explain-tools" autocomplete="off" spellcheck={false} value={tool} onInput={(event) => (setTool(event.currentTarget.value), setWrong(undefined))} />
          <datalist id="explain-tools">
            {(tools.data?.names ?? []).map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </div>
        {schema !== undefined && <SchemaForm schema={schema} values={values} onChange={setValues} wrong={wrong} />}
        {tool !== "" && !isKnown && tools.data !== undefined && <p class="third">No tool on offer has this name.</p>}
        <div class="field">
          <label for="explain-who">As</label>
          <select id="explain-who" value={who} onChange={(event) => setWho(event.currentTarget.value)}>
            <option value="">me, {principalWords(loggedIn.value?.name)}</option>
            {principals.map((it) => {
              const { name, role } = JSON.parse(it) as { name: string; role: string };
              return (
                <option key={it} value={it}>
                  {role === "user" ? askerWords({ principal: name, role, door: null }) : `${principalWords(name)}, ${role}`}
                </option>
              );
            })}
          </select>
        </div>
        <button type="submit" class="go" disabled={tool === ""}>
          Explain <Key name="x" />
        </button>
        <div aria-live="polite">
          {failure !== undefined && <FailureNote what="This call was not explained." failure={failure} />}
          {said !== undefined && <Decision key={said.key} explanation={said.explanation} />}
        </div>
      </form>
    </>
  );
}

/** The arguments of a recorded call, if the record has all of them. */
function recordedArgs(text: string | null | undefined): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text ?? "") as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

const WORDS: Record<string, string> = { allow: "It would run.", ask: "It would ask a person.", deny: "It would be refused." };

function Decision({ explanation }: { explanation: Explanation }) {
  const { decision, rule, because, source, reading, confirm, audited, trouble } = explanation;
  // The form can be longer than the screen, so the answer is brought to whoever asked.
  const answer = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    answer.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const tone = TONES[decision] === "bad" ? "bad" : TONES[decision] === "wait" ? "wait" : "info";
  const id = idIn(rule);
  const isUncertain = reading != null && (reading.includes("not certain") || reading.startsWith("probably"));
  return (
    <div ref={answer} class="stack decision">
      <Note tone={tone} mark={decision === "allow" ? "passed" : decision === "deny" ? "failed" : "waits"}>
        <h3 ref={heading} tabIndex={-1}>
          {WORDS[decision] ?? plain(decision)}
        </h3>
      </Note>
      <dl class="facts">
        <dt>Rule</dt>
        <dd>
          {id === undefined ? (
            <Sentence text={rule} />
          ) : (
            <a class="mono" href={addressOf("rules", "", { rule: id })} onClick={(event) => (event.preventDefault(), setQuery({ rule: id }))}>
              {plain(id)}
            </a>
          )}
          {source != null && (
            <span class="third">
              {" "}
              {plain(source.file)}, line {source.line}
            </span>
          )}
        </dd>
        {because !== "" && (
          <>
            <dt>Because</dt>
            <dd>
              <Sentence text={because} />
            </dd>
          </>
        )}
        {reading != null && (
          <>
            <dt>Reading</dt>
            <dd>
              <Mark name={isUncertain ? "found" : "proven"} /> <Sentence text={reading} />
            </dd>
          </>
        )}
        {confirm && (
          <>
            <dt>First</dt>
            <dd>the agent must confirm that it means the call</dd>
          </>
        )}
        {audited.length > 0 && (
          <>
            <dt>Noted by</dt>
            <dd>{audited.map(plain).join(", ")}</dd>
          </>
        )}
        {trouble != null && (
          <>
            <dt>But</dt>
            <dd>the call would fail anyway: <Sentence text={trouble} /></dd>
          </>
        )}
      </dl>
    </div>
  );
}
