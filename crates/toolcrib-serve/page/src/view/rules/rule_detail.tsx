// One rule: all that it matches, as it is written, and what it did. A rule of the operator's file can be removed.
import { useState } from "preact/hooks";
import { conditionsOf, type Rule, TONES } from "./matches.ts";
import { ApiFailure, loggedIn, remove } from "../../api.ts";
import { oneLine, plain } from "../../format.ts";
import { Badge, Tag } from "../../part/marks.tsx";
import { FailureNote } from "../../part/notes.tsx";
import { SureButton } from "../../part/sure_button.tsx";
import { Ago, CodeBox, Left } from "../../part/texts.tsx";
import { counted } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";
import { setQuery } from "../../router.ts";

export function RuleDetail({ rule, ownFile, uses, reload }: { rule: Rule; ownFile: string | null; uses: Reply<"/api/rules/uses"> | undefined; reload: () => void }) {
  return (
    <>
      <div class="head">
        <h2 class="mono clip">{oneLine(rule.id)}</h2>
        <Badge tone={TONES[rule.effect] ?? "off"}>{rule.effect}</Badge>
        <button type="button" class="bare end" onClick={() => setQuery({ rule: "" })}>
          Close
        </button>
      </div>
      <div class="section stack">
        <dl class="facts">
          {conditionsOf(rule).map(([name, value]) => (
            <div class="contents" key={name}>
              <dt>{name}</dt>
              <dd class="mono">{plain(value)}</dd>
            </div>
          ))}
          {conditionsOf(rule).length === 0 && (
            <>
              <dt>Matches</dt>
              <dd>every call</dd>
            </>
          )}
          {rule.because !== "" && (
            <>
              <dt>Because</dt>
              <dd>{plain(rule.because)}</dd>
            </>
          )}
          {rule.confirm && (
            <>
              <dt>First</dt>
              <dd>the agent must confirm that it means the call</dd>
            </>
          )}
          {rule.expires != null && (
            <>
              <dt>Ends</dt>
              <dd>
                in <Left until={rule.expires} />
              </dd>
            </>
          )}
          <dt>From</dt>
          <dd class="mono">
            {plain(rule.file)}, line {rule.line}
          </dd>
          <dt>Decided</dt>
          <dd>
            <Decided uses={uses} id={rule.id} />
          </dd>
        </dl>
        {rule.text !== "" && <CodeBox file={`${rule.file}, line ${rule.line}`} text={rule.text} />}
        <Removal rule={rule} ownFile={ownFile} reload={reload} />
      </div>
    </>
  );
}

/** How many calls a rule decided, as far as the record was read. */
function Decided({ uses, id }: { uses: Reply<"/api/rules/uses"> | undefined; id: string }) {
  if (uses === undefined) return <>…</>;
  const use = uses.rules[id];
  const since = <Ago time={uses.since} suffix="" />;
  if (use === undefined) return <>no call in the last {since}</>;
  return (
    <>
      {counted(use.count, "call")} in the last {since}, last <Ago time={use.last_at} /> <Tag kind="audit" id={use.last_call} isSettled />
    </>
  );
}

/** Why the rule cannot be removed here, if so. */
function whyNot(rule: Rule, ownFile: string | null): string | undefined {
  if (rule.layer === "shipped") return `It is a shipped rule. The setting policy.without leaves it out.`;
  if (rule.file !== ownFile) return "It is not in the operator's own file. Change the file that it is in.";
  if (loggedIn.value?.role !== "admin") return "Only an admin removes rules. You are logged in as an approver.";
  return undefined;
}

function Removal({ rule, ownFile, reload }: { rule: Rule; ownFile: string | null; reload: () => void }) {
  const [failure, setFailure] = useState<ApiFailure>();
  const reason = whyNot(rule, ownFile);
  const act = async () => {
    try {
      await remove(`/api/rules/${encodeURIComponent(rule.id)}`);
      setQuery({ rule: "" });
      reload();
    } catch (error) {
      if (error instanceof ApiFailure) setFailure(error);
    }
  };
  if (reason !== undefined) {
    return (
      <p class="third off-because">
        <button type="button" disabled>
          Remove…
        </button>{" "}
        {reason}
      </p>
    );
  }
  const question = (
    <>
      <b>Remove this rule from the file?</b> It holds no more, for everybody and at once.
    </>
  );
  return (
    <div>
      <SureButton actions={[{ button: "Remove…", sure: "Remove the rule", act }]} question={question} keep="Keep it" />
      {failure !== undefined && <FailureNote what="The rule was not removed." failure={failure} />}
    </div>
  );
}
