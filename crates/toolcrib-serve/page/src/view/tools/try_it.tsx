// A call by hand, from a form that is made of the tool's schema. It goes down the same path as an agent's.
import { useEffect, useState } from "preact/hooks";
import { ApiFailure, loggedIn, send } from "../../api.ts";
import { duration, plain } from "../../format.ts";
import { useKeys } from "../../keys.ts";
import { callCommand, postRequest, type SameElsewhere } from "../../part/command_line.ts";
import { Key, Tag } from "../../part/marks.tsx";
import { FailureNote, Note } from "../../part/notes.tsx";
import { argumentsOf, type Schema, SchemaForm } from "../../part/schema_form.tsx";
import { Foreign } from "../../part/texts.tsx";
import { principalWords } from "../../part/words.ts";

type Said = { kind: "reply"; text: string; call: string | null; tookMs: number } | { kind: "dry"; text: string; decision: string } | { kind: "failed"; failure: ApiFailure };

/** The path that executes a tool: tools of the API's own catalogue have bare names. */
function executePath(name: string): string {
  const [catalogue, ...rest] = name.split("/");
  const parts = catalogue === "forgekeeper" ? rest : [catalogue!, ...rest];
  return `/api/tools/execute/${parts.map(encodeURIComponent).join("/")}`;
}

function objectIn(json: string): Record<string, unknown> | undefined {
  try {
    const parsed = JSON.parse(json) as unknown;
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The arguments of a form so far, or nothing while one of them is wrong. */
function filledIn(schema: Schema, values: Record<string, string>): Record<string, unknown> | undefined {
  const result = argumentsOf(schema, values);
  return "args" in result ? result.args : undefined;
}

export function TryIt({ name, schema, onChange }: { name: string; schema: Schema; onChange: (same: SameElsewhere | undefined) => void }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const [isJson, setJson] = useState(false);
  const [json, setJsonText] = useState("{}");
  const [wrong, setWrong] = useState<{ field: string; why: string }>();
  const [said, setSaid] = useState<Said>();
  const [isBusy, setBusy] = useState(false);

  const read = (): Record<string, unknown> | undefined => {
    if (isJson) {
      try {
        return JSON.parse(json) as Record<string, unknown>;
      } catch (error) {
        setWrong({ field: "json", why: (error as Error).message });
        return undefined;
      }
    }
    const result = argumentsOf(schema, values);
    if ("args" in result) {
      setWrong(undefined);
      return result.args;
    }
    setWrong(result);
    return undefined;
  };
  // Until somebody has begun a call, the title block says where the figures come from.
  useEffect(() => {
    const args = isJson ? objectIn(json) : Object.values(values).some((it) => it !== "") ? filledIn(schema, values) : undefined;
    onChange(args === undefined ? undefined : { command: callCommand("call", name, args), request: postRequest(executePath(name), { args }) });
  }, [values, isJson, json]);

  const run = (isDry: boolean) => async () => {
    const args = read();
    if (args === undefined || isBusy) return;
    setBusy(true);
    const began = performance.now();
    try {
      const response = await send("POST", executePath(name), isDry ? { args, dry_run: true } : { args }, { accept: "application/json" });
      const reply = (await response.json()) as Record<string, unknown>;
      const text = JSON.stringify(reply, null, 2);
      setSaid(isDry ? { kind: "dry", text, decision: String(reply.decision ?? "") } : { kind: "reply", text, call: response.headers.get("x-toolcrib-call"), tookMs: performance.now() - began });
    } catch (error) {
      if (error instanceof ApiFailure) setSaid({ kind: "failed", failure: error });
    } finally {
      setBusy(false);
    }
  };
  useKeys({ x: run(true), "Ctrl Enter": run(false) });

  if (loggedIn.value?.role === "approver") {
    return (
      <div class="pad">
        <Note tone="info">An approver answers questions and makes no calls. Log in with the token of an agent or an admin to try a tool.</Note>
      </div>
    );
  }
  return (
    <>
      <div class="head">
        <h2>Try it</h2>
        <span class="end">
          <button type="button" class="chip" aria-pressed={!isJson} onClick={() => setJson(false)}>
            Form
          </button>
          <button
            type="button"
            class="chip"
            aria-pressed={isJson}
            onClick={() => {
              const result = argumentsOf(schema, values);
              if ("args" in result) setJsonText(JSON.stringify(result.args, null, 2));
              setJson(true);
            }}
          >
            JSON
          </button>
        </span>
      </div>
      <div class="section stack">
        {isJson ? (
          <div>
            <label class="label" for="try-json">
              Arguments
            </label>
            <textarea id="try-json" class="mono" rows={10} value={json} spellcheck={false} aria-invalid={wrong?.field === "json"} onInput={(event) => setJsonText(event.currentTarget.value)} />
            {wrong?.field === "json" && <p class="red">{plain(wrong.why)}</p>}
          </div>
        ) : (
          <SchemaForm schema={schema} values={values} onChange={setValues} wrong={wrong} />
        )}
        <div class="pair">
          <button type="button" onClick={run(true)} disabled={isBusy}>
            Dry run <Key name="x" />
          </button>
          <button type="button" class="go" onClick={run(false)} disabled={isBusy}>
            Call <Key name="Ctrl ↵" />
          </button>
        </div>
        <p class="third">The call goes down the same path as an agent's, as {principalWords(loggedIn.value?.name)}, and is recorded.</p>
      </div>
      {said !== undefined && <div class="section stack">{<Outcome said={said} />}</div>}
    </>
  );
}

function Outcome({ said }: { said: Said }) {
  switch (said.kind) {
    case "reply":
      return (
        <>
          <p>
            <b>ok</b> {duration(said.tookMs)} {said.call !== null && <Tag kind="audit" id={said.call} isSettled />}
          </p>
          <Foreign class="small" text={said.text} />
        </>
      );
    case "dry":
      return (
        <>
          <p>
            Nothing ran. Policy would say <b>{plain(said.decision)}</b>.
          </p>
          <Foreign class="small" text={said.text} />
        </>
      );
    case "failed": {
      const { failure } = said;
      if (failure.code === "approval_required") {
        const call = typeof failure.reply.call === "string" ? failure.reply.call : null;
        return (
          <Note tone="wait">
            <b>A person must answer first.</b> {plain(failure.message)} {call !== null && <Tag kind="approvals" id={call} />}
          </Note>
        );
      }
      return (
        <>
          <FailureNote what="The call did not succeed." failure={failure} />
          {failure.reply.reply !== undefined && <Foreign class="small" text={JSON.stringify(failure.reply.reply, null, 2)} />}
        </>
      );
    }
  }
}
