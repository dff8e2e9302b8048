// The versions of a tool that were active, and the ways back and off.
import { useState } from "preact/hooks";
import { ApiFailure, loggedIn, post } from "../../api.ts";
import { plain } from "../../format.ts";
import { FailureNote } from "../../part/notes.tsx";
import { SureButton } from "../../part/sure_button.tsx";
import { Ago } from "../../part/texts.tsx";
import { principalWords } from "../../part/words.ts";
import type { Plugin } from "./proposal_words.ts";

const HOW: Record<string, string> = { approved: "approved", rolled_back: "rolled back", reloaded: "reloaded", written: "written" };

export function Versions({ plugin, onChanged }: { plugin: Plugin; onChanged: () => void }) {
  const [failure, setFailure] = useState<{ what: string; failure: ApiFailure }>();
  const [isBusy, setBusy] = useState(false);
  const [done, setDone] = useState("");
  const isAdmin = loggedIn.value?.role === "admin";
  const send = (path: string, body: Record<string, string>, what: string, after: string) => async () => {
    setBusy(true);
    setFailure(undefined);
    setDone("");
    try {
      await post(`/api/plugins/${encodeURIComponent(plugin.name)}/${path}`, body);
      setDone(after);
      onChanged();
    } catch (error) {
      if (error instanceof ApiFailure) setFailure({ what, failure: error });
    } finally {
      setBusy(false);
    }
  };
  const newest = [...plugin.history].reverse();
  // A version can have been active several times.
  const seen = new Set<string>();
  return (
    <div class="section stack">
      <h2>Versions</h2>
      {plugin.problem != null && <p class="red">It does not run: {plain(plugin.problem)}</p>}
      <ul class="versions">
        {newest.map((it, at) => {
          const isActive = at === 0 && it.version === plugin.version;
          const canGoBack = isAdmin && it.version !== plugin.version && !seen.has(it.version);
          seen.add(it.version);
          return (
            <li key={at}>
              <span>
                <code title={it.version}>{it.version.slice(0, 12)}</code> {isActive && <b>active</b>}
                <br />
                <span class="second">
                  {HOW[String(it.how)] ?? plain(String(it.how))} by {principalWords(it.by)}, <Ago time={it.at} />
                </span>
              </span>
              {canGoBack && (
                <SureButton
                  actions={[
                    {
                      button: "Roll back…",
                      label: `Roll back to version ${it.version.slice(0, 12)}…`,
                      sure: `Roll back to ${it.version.slice(0, 12)}`,
                      act: send("rollback", { version: it.version }, "The tool was not rolled back.", `Rolled back to ${it.version.slice(0, 12)}.`),
                    },
                  ]}
                />
              )}
            </li>
          );
        })}
      </ul>
      {isAdmin && plugin.enabled && (
        <p>
          <SureButton actions={[{ button: "Switch off…", note: "Agents can no longer call it.", sure: "Switch off the tool", act: send("disable", {}, "The tool was not switched off.", "Switched off: no agent can call it.") }]} />
        </p>
      )}
      {isAdmin && !plugin.enabled && (
        <button type="button" disabled={isBusy} onClick={send("enable", {}, "The tool was not switched on.", "Switched on: agents can call it again.")}>
          Switch on the tool
        </button>
      )}
      {!isAdmin && (
        <p class="third">An admin can roll back, and switch the tool off.</p>
      )}
      <p role="status">{done !== "" && <b>{done}</b>}</p>
      {failure && <FailureNote what={failure.what} failure={failure.failure} />}
    </div>
  );
}
