// A proposed tool in the order in which people decide: what it may do, whether it works, and what its code is.
import type { RefObject } from "preact";
import { figure, oneLine, plain } from "../../format.ts";
import { Badge, Key, Mark } from "../../part/marks.tsx";
import { Ago, CodeBox, Foreign } from "../../part/texts.tsx";
import { UnifiedDifference } from "../../part/unified_difference.tsx";
import { principalWords, tierWords } from "../../part/words.ts";
import { comparedWith, exampleRows, isNewTool, permissionRows, type Review } from "./proposal_words.ts";

interface Props {
  review: Review;
  isBeside: boolean;
  turnBeside: () => void;
  isWhole: boolean;
  showAll: () => void;
  end: RefObject<HTMLDivElement | null>;
}

export function ReviewHead({ review }: { review: Review }) {
  const { proposal, declaredDescription, description } = review;
  const isWaiting = proposal.status === "pending";
  return (
    <header class="section question-head">
      <div class="row">
        <span class={isWaiting ? "tag" : "tag settled"} title={proposal.id}>
          {plain(proposal.id.slice(0, 15))}
        </span>
        <h2 class="title">
          {principalWords(proposal.by)} {isWaiting ? "proposes" : "proposed"} {isNewTool(review) ? "a new tool," : "a new version of"} <code>{plain(proposal.toolName)}</code>
        </h2>
      </div>
      <p class="quoted second">{proposal.reasoning === "" ? "No reason was given." : `“${plain(proposal.reasoning)}”`}</p>
      <dl class="meta">
        <div>
          <dt>Does</dt>
          <dd>{plain(declaredDescription)}</dd>
        </div>
        {description !== "" && description !== declaredDescription && (
          <div>
            <dt>Said to do</dt>
            <dd>{plain(description)}</dd>
          </div>
        )}
        <div>
          <dt>Tier</dt>
          <dd>{tierWords(review.tier)}</dd>
        </div>
        <div>
          <dt>Proposed</dt>
          <dd>
            <Ago time={proposal.createdAt} />
          </dd>
        </div>
      </dl>
    </header>
  );
}

export function ReviewBody({ review, isBeside, turnBeside, isWhole, showAll, end }: Props) {
  const { difference, code, parameters, proposal } = review;
  const active = comparedWith(review);
  const isNew = active === null || difference == null;
  const isSame = !isNew && difference === "";
  return (
    <>
      <div class="columns two">
        <Permissions review={review} />
        <Examples review={review} />
      </div>
      <section class="section stack">
        <div class="section-head">
          <h2>{isNew ? "Code" : isSame ? "Code: the same as the active version" : "Code, against the active version"}</h2>
          <span class="diff-keys">
            {!isNew && !isSame && (
              <button type="button" class="bare wide-only" aria-pressed={isBeside} onClick={turnBeside}>
                side by side <Key name="d" />
              </button>
            )}
            {!isNew && (
              <button type="button" class="bare" aria-pressed={isWhole} onClick={showAll}>
                whole code <Key name="v" />
              </button>
            )}
          </span>
        </div>
        {!isNew && !isSame && <UnifiedDifference file={proposal.toolName} about={`against ${active.slice(0, 12)}`} text={difference} isBeside={isBeside} />}
        {(isNew || isWhole || isSame) && <CodeBox text={code} file={proposal.toolName} />}
        <details>
          <summary>The schema of its arguments</summary>
          <Foreign class="small" text={JSON.stringify(parameters, null, 2)} />
        </details>
      </section>
      <div ref={end} class="question-end" />
    </>
  );
}

function Permissions({ review }: { review: Review }) {
  const rows = permissionRows(review.permissions, review.permissionChanges);
  const { grants } = review;
  const active = comparedWith(review);
  return (
    <section class="section">
      <h2>Permissions</h2>
      {rows.length === 0 ? (
        <p>It asks for nothing: it only computes.</p>
      ) : (
        <table class="parts">
          <thead>
            <tr>
              <th>What</th>
              {active != null && <th>{active.slice(0, 7)} has</th>}
              <th>This asks for</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name}>
                <td>{row.name}</td>
                {active != null && <td class="mono all">{row.before.length === 0 ? "none" : row.before.join("\n")}</td>}
                <td class="mono all">
                  {row.asked.length === 0
                    ? "none any more"
                    : row.asked.map((it, at) => (
                        <span key={it}>
                          {at > 0 && "\n"}
                          {row.added.includes(it) ? <b>{it}</b> : it}
                        </span>
                      ))}
                </td>
                <td class="r">
                  {row.added.length > 0 && (
                    <Badge tone="wait" mark="worse">
                      {active == null ? "asks" : "wider"}
                    </Badge>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {grants.length > 0 && (
        <>
          <p class="brass">
            <Mark name="waits" /> People have granted calls of this tool. What they granted holds for this version, too:
          </p>
          <ul class="bullets">
            {grants.map((it) => (
              <li key={it} class="mono all">
                {plain(it)}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Examples({ review }: { review: Review }) {
  const rows = exampleRows(review);
  const active = comparedWith(review);
  const ms = (value: number | null | undefined) => (value == null ? "–" : figure(value));
  return (
    <section class="section">
      <h2>Examples, run in the sandbox</h2>
      {rows.length === 0 ? (
        <p class="brass">
          <Mark name="waits" /> It has no examples, so nobody has seen it work.
        </p>
      ) : (
        <table class="parts">
          <thead>
            <tr>
              <th>Example</th>
              <th>Result</th>
              <th class="r">ms</th>
              {active !== null && <th class="r">before</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                <td>{row.about === "" ? `example ${at + 1}` : oneLine(row.about)}</td>
                <td class={row.isOk ? "" : "red"}>
                  <Mark name={row.isOk ? "passed" : "failed"} /> {row.words}
                </td>
                <td class="r">{ms(row.ms)}</td>
                {active !== null && <td class="r second">{row.beforeMs === undefined ? "new" : ms(row.beforeMs)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
