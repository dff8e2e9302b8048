// A setting in hand, and the changes that are not saved. What they do to the file is shown before they are saved, and
// they are saved only into the file that was shown.
import { useEffect, useState } from "preact/hooks";
import { discard, pending, type Report, type Setting, shownValue, want } from "./pending.ts";
import { ApiFailure, post } from "../../api.ts";
import { oneLine, plain } from "../../format.ts";
import { FileDifferenceTable } from "../../part/file_difference.tsx";
import { Badge } from "../../part/marks.tsx";
import { Empty, FailureNote, Note } from "../../part/notes.tsx";
import { counted } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";
import { route } from "../../router.ts";
import { Sentence } from "../../part/texts.tsx";

type Changed = Reply<"/api/settings", "post">;

export function SettingEdit({ data, reload }: { data: Report; reload: () => void }) {
  const name = route.value.query.get("setting") ?? "";
  const setting = Object.hasOwn(data.settings, name) ? data.settings[name] : undefined;
  return (
    <>
      {setting === undefined ? (
        <div class="pad">
          <Empty title="No setting in hand">Choose one to read what it is for, and to change it.</Empty>
        </div>
      ) : (
        <OneSetting key={name} name={name} setting={setting} />
      )}
      <Unsaved data={data} reload={reload} />
    </>
  );
}

function OneSetting({ name, setting }: { name: string; setting: Setting }) {
  const isPending = name in pending.value;
  return (
    <>
      <div class="head">
        <h2 class="mono">{name}</h2>
        {setting.needs_restart && <Badge tone="wait">needs a restart</Badge>}
      </div>
      <div class="section stack">
        <p><Sentence text={setting.about} /></p>
        <dl class="facts">
          <dt>Holds now</dt>
          <dd class="mono">{plain(shownValue(setting.value))}</dd>
          <dt>From</dt>
          <dd class="mono">{plain(setting.origin)}</dd>
          <dt>Default</dt>
          <dd class="mono">{plain(shownValue(setting.default))}</dd>
          {setting.min != null && (
            <>
              <dt>Range</dt>
              <dd>
                {setting.min} to {setting.max}
              </dd>
            </>
          )}
        </dl>
        <NewValue name={name} setting={setting} />
        <div class="options">
          {setting.origin.startsWith("/") && (
            <button type="button" onClick={() => want(name, null)}>
              Take it out of the file
            </button>
          )}
          {isPending && (
            <button type="button" onClick={() => discard(name)}>
              Discard
            </button>
          )}
        </div>
      </div>
    </>
  );
}

/** What a text in the field stands for. A number that is none is sent as it is: the server says what is wrong. */
function valueOf(setting: Setting, text: string): unknown {
  switch (setting.kind) {
    case "number":
      return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
    case "list":
      return text
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "");
    case "table":
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return text;
      }
    default:
      return text;
  }
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join("\n");
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function NewValue({ name, setting }: { name: string; setting: Setting }) {
  const wanted = pending.value[name];
  const current = wanted === undefined || wanted === null ? setting.value : wanted;
  const shared = { id: "new-value", "aria-describedby": "new-value-about" };
  const set = (text: string) => {
    const value = valueOf(setting, text);
    if (JSON.stringify(value) === JSON.stringify(setting.value)) discard(name);
    else want(name, value);
  };
  return (
    <div class="field">
      <label for="new-value">New value</label>
      {setting.kind === "choice" ? (
        <select {...shared} value={textOf(current)} onChange={(event) => set(event.currentTarget.value)}>
          {(setting.choices ?? []).map((word) => (
            <option key={word}>{word}</option>
          ))}
        </select>
      ) : setting.kind === "list" || setting.kind === "table" ? (
        <textarea {...shared} class="mono" rows={Math.min(10, textOf(current).split("\n").length + 1)} spellcheck={false} value={textOf(current)} onInput={(event) => set(event.currentTarget.value)} />
      ) : (
        <input {...shared} class="mono" inputMode={setting.kind === "number" ? "numeric" : "text"} spellcheck={false} autocomplete="off" value={textOf(current)} onInput={(event) => set(event.currentTarget.value)} />
      )}
      <p class="about" id="new-value-about">
        {wanted === null ? "It is taken out of this file." : { list: "One per line.", table: "As JSON.", choice: "Strictest first.", number: "", text: "" }[setting.kind]}
      </p>
    </div>
  );
}

function Unsaved({ data, reload }: { data: Report; reload: () => void }) {
  const changes = pending.value;
  const names = Object.keys(changes);
  const key = JSON.stringify(changes);
  const [tried, setTried] = useState<{ key: string; found: Changed }>();
  const [saved, setSaved] = useState<Changed>();
  const [failure, setFailure] = useState<{ key: string; error: ApiFailure }>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    if (names.length > 0) setSaved(undefined);
  }, [key]);

  const send = async (query: string, done: (found: Changed) => void) => {
    setBusy(true);
    setFailure(undefined);
    try {
      done(await post<Changed>(`/api/settings?${query}`, changes));
    } catch (error) {
      if (error instanceof ApiFailure) setFailure({ key, error });
      setTried(undefined);
    } finally {
      setBusy(false);
    }
  };
  const show = () => send("dry_run=true", (found) => setTried({ key, found }));
  const save = () =>
    send(new URLSearchParams({ version: tried?.found.file?.version ?? "" }).toString(), (found) => {
      setSaved(found);
      setTried(undefined);
      pending.value = {};
      reload();
    });
  const isTried = tried !== undefined && tried.key === key;
  const wrong = failure !== undefined && failure.key === key ? failure.error : undefined;
  return (
    <>
      {names.length > 0 && (
        <>
          <div class="head">
            <h2>Not saved</h2>
            <Badge tone="wait">{counted(names.length, "change")}</Badge>
          </div>
          <div class="section stack">
            <ul class="unsaved">
              {names.map((name) => (
                <li key={name}>
                  <code>{name}</code> <del class="mono">{oneLine(shownValue(data.settings[name]?.value))}</del> → <b class="mono">{changes[name] === null ? "out of the file" : oneLine(shownValue(changes[name]))}</b>
                  <button type="button" class="bare" aria-label={`Discard the change of ${name}`} onClick={() => discard(name)}>
                    Discard
                  </button>
                </li>
              ))}
            </ul>
            <button type="button" onClick={show} disabled={isBusy}>
              Show the difference…
            </button>
            {isTried && <Trial changed={tried.found} />}
            <button type="button" class="go" onClick={save} disabled={isBusy || !isTried} title={isTried ? undefined : "Look at the difference first."}>
              Save for everybody
            </button>
          </div>
        </>
      )}
      <div aria-live="polite">
        {wrong !== undefined && (
          <div class="pad">
            <FailureNote what={wrong.code === "changed_meanwhile" ? "Somebody else was first." : "Nothing was saved."} failure={wrong}>
              {wrong.code === "changed_meanwhile" && "Show the difference again: it is one with what they wrote."}
            </FailureNote>
          </div>
        )}
        {saved !== undefined && (
          <div class="pad">
            <Note tone="info" mark="passed">
              <b>Saved.</b> {saved.changed.length > 0 && "It holds now, for everybody. "}
              {(saved.needs_restart?.length ?? 0) > 0 && `It holds after a restart: ${saved.needs_restart!.map((it) => it.setting).join(", ")}. `}
              {saved.warnings?.map(plain).join(" ")}
            </Note>
          </div>
        )}
      </div>
    </>
  );
}

/** What the changes would do. */
function Trial({ changed }: { changed: Changed }) {
  const restarts = changed.needs_restart ?? [];
  return (
    <div class="stack">
      {changed.file?.difference != null ? <FileDifferenceTable file={changed.file.path} difference={changed.file.difference} /> : <p class="second">The file stays as it is.</p>}
      {restarts.length > 0 && (
        <Note tone="wait">
          <b>Holds only after a restart:</b> {restarts.map((it) => `${it.setting}, ${shownValue(it.old)} → ${shownValue(it.new)}`).join("; ")}.
        </Note>
      )}
      {(changed.warnings ?? []).map((warning) => (
        <Note tone="wait" key={warning}>
          <Sentence text={warning} />
        </Note>
      ))}
      {restarts.length === 0 && <p class="third">It holds at once. Calls that run keep the old values.</p>}
    </div>
  );
}
