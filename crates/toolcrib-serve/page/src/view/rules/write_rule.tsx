// A rule from a call that was explained: its conditions, what it does, and what it would have changed. Only a text that
// was tried can be added.
import { useEffect, useState } from "preact/hooks";
import type { Explained } from "./explain.tsx";
import { ApiFailure, loggedIn, post } from "../../api.ts";
import { absolute, count, oneLine, plain } from "../../format.ts";
import { Tag } from "../../part/marks.tsx";
import { FailureNote, Note } from "../../part/notes.tsx";
import { Ago } from "../../part/texts.tsx";
import { EFFECTS } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";
import { setQuery } from "../../router.ts";

type Replay = Reply<"/api/rules/replay", "post">;
type Added = Reply<"/api/rules", "post">;

/** A TOML string. JSON escapes the same characters, except DEL. */
function toml(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

const BLANK = 'tool = "clemini/bash"\nargv = ["git", "push"]\n';

function idOf(explained: Explained | undefined): string {
  if (explained === undefined) return "my-rule";
  const about = explained.explanation.drafts[0]?.about ?? "";
  const words = /`([^`]+)`/.exec(about)?.[1] ?? explained.explanation.tool.split("/").at(-1) ?? "call";
  return words.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 40) || "call";
}

export function WriteRule({ explained, ownFile, reload }: { explained: Explained | undefined; ownFile: string | null; reload: () => void }) {
  const drafts = explained?.explanation.drafts ?? [];
  const [draft, setDraft] = useState(0);
  const [effect, setEffect] = useState(explained?.explanation.decision === "allow" ? "ask" : "allow");
  const [id, setId] = useState(idOf(explained));
  const [because, setBecause] = useState("");
  const [own, setOwn] = useState<string>();
  const [replay, setReplay] = useState<{ text: string; found: Replay }>();
  const [failure, setFailure] = useState<{ what: string; error: ApiFailure }>();
  const [added, setAdded] = useState<Added>();
  const [isBusy, setBusy] = useState(false);
  const isAdmin = loggedIn.value?.role === "admin";
  const conditions = drafts[draft]?.conditions ?? BLANK;
  const written = `[[rule]]\nid = ${toml(id)}\n${conditions}effect = ${toml(effect)}\n${because === "" ? "" : `because = ${toml(because)}\n`}`;
  const text = own ?? written;
  // What was written by hand stays until another condition is chosen.
  useEffect(() => setOwn(undefined), [draft, effect, id, because]);
  const file = ownFile?.split("/").at(-1) ?? "rules.toml";

  const act = async (what: string, work: () => Promise<void>) => {
    setBusy(true);
    setFailure(undefined);
    try {
      await work();
    } catch (error) {
      if (error instanceof ApiFailure) setFailure({ what, error });
    } finally {
      setBusy(false);
    }
  };
  const tryIt = () =>
    act("The rule cannot be used.", async () => {
      setReplay(undefined);
      setReplay({ text, found: await post<Replay>("/api/rules/replay", { toml: text }) });
    });
  const add = () =>
    act("The rule was not added.", async () => {
      const made = await post<Added>("/api/rules", { toml: text });
      setAdded(made);
      setReplay(undefined);
      reload();
      setQuery({ rule: made.added[0] ?? "" });
    });
  const isTried = replay !== undefined && replay.text === text;
  return (
    <>
      <div class="head">
        <h2>{explained === undefined ? "Write a rule" : "Write a rule from it"}</h2>
        {explained === undefined && (
          <button type="button" class="bare end" onClick={() => setQuery({ write: "" })}>
            Close
          </button>
        )}
      </div>
      <div class="section stack">
        <div class="form">
          {drafts.length > 0 && (
            <div class="field">
              <label for="rule-about">About</label>
              <select id="rule-about" value={draft} onChange={(event) => setDraft(Number(event.currentTarget.value))}>
                {drafts.map((it, at) => (
                  <option key={at} value={at}>
                    {oneLine(it.about)}
                  </option>
                ))}
              </select>
            </div>
          )}
          <div class="field">
            <label for="rule-effect">Effect</label>
            <select id="rule-effect" value={effect} onChange={(event) => setEffect(event.currentTarget.value)}>
              {EFFECTS.map((it) => (
                <option key={it}>{it}</option>
              ))}
            </select>
          </div>
          <div class="field">
            <label for="rule-id">Name</label>
            <input id="rule-id" class="mono" value={id} spellcheck={false} autocomplete="off" onInput={(event) => setId(event.currentTarget.value)} />
          </div>
          <div class="field">
            <label for="rule-because">Because</label>
            <input id="rule-because" value={because} autocomplete="off" onInput={(event) => setBecause(event.currentTarget.value)} />
          </div>
        </div>
        <div>
          <label class="label" for="rule-text">
            The rule, as it will be in {plain(file)}
          </label>
          <textarea id="rule-text" class="mono rule-text" rows={Math.min(14, text.split("\n").length + 1)} value={text} spellcheck={false} aria-invalid={failure !== undefined && failure.error.status === 422} onInput={(event) => setOwn(event.currentTarget.value)} />
        </div>
        <button type="button" onClick={tryIt} disabled={isBusy}>
          Show what it would change…
        </button>
        <div aria-live="polite" class="stack">
          {isTried && <Changes replay={replay.found} />}
          {failure !== undefined && (
            <FailureNote what={failure.what} failure={failure.error}>
              {typeof failure.error.reply.hint === "string" && plain(failure.error.reply.hint)}
            </FailureNote>
          )}
          {added !== undefined && (
            <Note tone="info" mark="passed">
              <b>Added {added.added.map(oneLine).join(", ")}.</b> It holds now, for everybody. {added.warnings?.map(plain).join(" ")}
            </Note>
          )}
        </div>
        {isAdmin ? (
          <button type="button" class="go" onClick={add} disabled={isBusy || !isTried} title={isTried ? undefined : "Look at what it would change first."}>
            Add to {plain(file)}
          </button>
        ) : (
          <p class="third off-because">
            <button type="button" disabled>
              Add to {plain(file)}
            </button>{" "}
            Only an admin adds rules. You are logged in as an approver.
          </p>
        )}
      </div>
    </>
  );
}

/** What the rule would have changed, in a sentence and call by call. */
function Changes({ replay }: { replay: Replay }) {
  const { same, unknown, different, freed, freed_but_declined: declined, stopped, calls, since } = replay;
  return (
    <div class="changes">
      <p>
        Of the calls since <time title={absolute(since)}>{absolute(since)}</time>:{" "}
        {different === 0 ? (
          <b>it would have changed none.</b>
        ) : (
          <b>
            {freed > 0 && `it would have let ${count(freed)} run unasked, ${declined === 0 ? "none" : count(declined)} of which a person declined`}
            {freed > 0 && different > freed && "; "}
            {stopped > 0 && `it would have stopped ${count(stopped)} that ran`}
            {stopped > 0 && different > freed + stopped && "; "}
            {different > freed + stopped && `${count(different - freed - stopped)} decided otherwise`}.
          </b>
        )}{" "}
        <span class="third">
          {count(same)} as they were, {count(unknown)} that the record cannot tell.
        </span>
      </p>
      {declined > 0 && (
        <Note tone="wait">
          A person declined {count(declined)} of these calls. With this rule, nobody would be asked.
        </Note>
      )}
      {calls.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Calls that would be decided otherwise">
          <table>
            <thead>
              <tr>
                <th>Call</th>
                <th>Tool</th>
                <th>Was</th>
                <th>Would be</th>
                <th class="r">When</th>
              </tr>
            </thead>
            <tbody>
              {calls.map((call) => (
                <tr key={call.call}>
                  <td>
                    <Tag kind="audit" id={call.call} isSettled />
                  </td>
                  <td class="mono cut" title={plain(JSON.stringify(call.args))}>
                    {oneLine(call.tool)}
                  </td>
                  <td>{call.declined ? "declined" : call.was}</td>
                  <td>{call.would_be}</td>
                  <td class="r nowrap">
                    <Ago time={call.at} suffix="" />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
