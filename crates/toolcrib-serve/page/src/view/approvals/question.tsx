// One question, in the order in which people decide: what would run, why it asks, what a yes is bound to, what cannot be
// taken back, and what the agent did just before.
import type { ComponentChildren, RefObject } from "preact";
import { useData } from "../../data.ts";
import { oneLine, plain, shortId } from "../../format.ts";
import { FileDifferenceTable } from "../../part/file_difference.tsx";
import { Key, Mark, PathCells } from "../../part/marks.tsx";
import { Note } from "../../part/notes.tsx";
import { Ago, Foreign, Sentence } from "../../part/texts.tsx";
import { counted, tierWords } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";
import { addressOf } from "../../router.ts";
import { aboutOf, callOf, resultOf, stationsOf } from "../../part/call.ts";
import { useWaitingCalls } from "../../part/waiting.ts";
import { type Approval, type OneApproval, askedArguments, askedCommand, asker, beforeWords, changeWords, doorOf, listed, undoWords, whatOf } from "./question_words.ts";

export function QuestionHead({ one }: { one: OneApproval }) {
  const { approval } = one;
  const isWaiting = approval.status === "pending";
  return (
    <header class="section question-head">
      <div class="row">
        <span class={isWaiting ? "tag" : "tag settled"} title={approval.id}>
          {plain(shortId(approval.id))}
        </span>
        <h2 class="title">
          {asker(approval)} {isWaiting ? "asks" : "asked"} to {whatOf(approval)}
        </h2>
      </div>
      <dl class="meta">
        <div>
          <dt>Tool</dt>
          <dd class="mono">
            <a class="plain" href={addressOf("tools", approval.tool)}>
              {plain(approval.tool)}
            </a>
          </dd>
        </div>
        {one.tier != null && (
          <div>
            <dt>Tier</dt>
            <dd>{tierWords(one.tier)}</dd>
          </div>
        )}
        <div>
          <dt>Session</dt>
          <dd>
            <a class="mono" href={addressOf("sessions", approval.conversation ?? approval.requester)}>
              {oneLine(approval.conversation ?? approval.requester)}
            </a>
          </dd>
        </div>
        <div>
          <dt>Door</dt>
          <dd>{doorOf(approval)}</dd>
        </div>
        <div>
          <dt>Asked</dt>
          <dd>
            <Ago time={approval.created_at} />
          </dd>
        </div>
        {approval.place == null ? (
          <div>
            <dt>Folder</dt>
            <dd class="mono">{plain(one.directory ?? approval.workspace)}</dd>
          </div>
        ) : (
          <div>
            <dt>Runs at</dt>
            <dd class="mono">{plain(approval.place)}</dd>
          </div>
        )}
      </dl>
    </header>
  );
}

interface BodyProps {
  one: OneApproval;
  isBeside: boolean;
  turnBeside: () => void;
  showAll: (() => void) | undefined;
  /** Stands where all that an answer is about has been shown. */
  end: RefObject<HTMLDivElement | null>;
}

export function QuestionBody({ one, isBeside, turnBeside, showAll, end }: BodyProps) {
  const { approval, changed, edits } = one;
  const command = askedCommand(approval, one.command);
  const rest = Object.entries(askedArguments(approval)).filter(([, value]) => value !== command);
  // Lines that differ show what the arguments of an edit say. Where one edit has only a note, the arguments are all there is.
  const isSaid = edits.length > 0 && edits.every(({ difference }) => difference !== null && "lines" in difference);
  return (
    <>
      {approval.status === "pending" && changed.length > 0 && (
        <div class="section">
          <Note tone="wait">
            <b>Something changed after this was asked.</b> The call would not run. The agent has to ask again.
            <ul class="bullets">
              {changed.map((it) => (
                <li key={it}>{plain(it)}</li>
              ))}
            </ul>
          </Note>
        </div>
      )}
      {command !== null && <Command approval={approval} command={command} />}
      {edits.length > 0 && (
        <section class="section stack" aria-label="Changes to files">
          {edits.map((edit, at) => (
            <FileDifferenceTable key={edit.place} file={shownPlace(approval, at, edit.place)} difference={edit.difference} isBeside={isBeside} {...(showAll ? { showAll } : {})} />
          ))}
          <p class="diff-keys not-phone">
            <button type="button" class="bare wide-only" aria-pressed={isBeside} onClick={turnBeside}>
              side by side <Key name="d" />
            </button>
            {showAll !== undefined && (
              <button type="button" class="bare" onClick={showAll}>
                view all <Key name="v" />
              </button>
            )}
          </p>
        </section>
      )}
      {rest.length > 0 && (
        <section class="section stack">
          {isSaid ? (
            <details>
              <summary>The arguments, to the letter</summary>
              <Arguments all={rest} />
            </details>
          ) : (
            <Arguments all={rest} />
          )}
        </section>
      )}
      <Facts one={one} />
      <div ref={end} class="question-end" />
      <JustBefore approval={approval} />
    </>
  );
}

function shownPlace(approval: Approval, at: number, place: string): string {
  return approval.changes[at]?.path ?? place;
}

/** How long an argument is at most that stands on one line with its name. */
const LONGEST_SHORT = 60;

function Arguments({ all }: { all: [string, unknown][] }) {
  const texts = all.map(([name, value]) => [plain(name), typeof value === "string" ? value : JSON.stringify(value, null, 2)] as const);
  const isShort = (text: string) => text.length <= LONGEST_SHORT && !text.includes("\n");
  return (
    <dl class="arguments">
      {texts.map(([name, text]) => (
        <div key={name} class={isShort(text) ? "short" : ""}>
          <dt class="mono">{name}</dt>
          <dd>{isShort(text) ? <code class="all">{plain(text)}</code> : <Foreign text={text} />}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A command as it is written, and as it was read, part by part. */
function Command({ approval, command }: { approval: Approval; command: string }) {
  const { runs } = approval;
  return (
    <section class="section stack">
      <h2>As written</h2>
      <Foreign text={command} />
      {runs != null && (
        <>
          <h2>As read</h2>
          <table class="parts">
            <thead>
              <tr>
                <td />
                <th>Runs</th>
                <th>Reading</th>
              </tr>
            </thead>
            <tbody>
              {runs.runs.map((it, at) => (
                <tr key={at}>
                  <td class="r third">{at + 1}</td>
                  <td class="mono all">{plain(unquoted(it))}</td>
                  <td class="nowrap">
                    {runs.uncertain == null ? (
                      <>
                        <Mark name="proven" /> proven
                      </>
                    ) : (
                      <span class="brass">
                        <Mark name="found" /> found, not proven
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {runs.runs.length === 0 && <p>It runs something that Toolcrib cannot name.</p>}
          {runs.more > 0 && <p class="brass">It probably runs {counted(runs.more, "more program")}.</p>}
          {runs.uncertain != null && (
            <p>
              <Mark name="found" /> <b>Not sure:</b> <Sentence text={runs.uncertain} />
            </p>
          )}
        </>
      )}
    </section>
  );
}

/** A step in backticks, as a table has no need of them. What else is said about it stays. */
function unquoted(step: string): string {
  return /^`[^`]*`$/.test(step) ? step.slice(1, -1) : step;
}

function Facts({ one }: { one: OneApproval }) {
  const { approval, bound_to: bound } = one;
  const { network, runs, changes } = approval;
  const undo = undoWords(approval);
  const files = bound.paths.map(plain);
  const more = bound.more > 0 ? ` and ${bound.more} more` : "";
  return (
    <section class="section">
      <dl class="facts">
        {(changes.length > 0 || (runs?.writes.length ?? 0) > 0) && (
          <Fact name="Changes">
            {changes.map((change) => (
              <div key={change.path}>{changeWords(change)}</div>
            ))}
            {runs != null && runs.writes.length > 0 && changes.length === 0 && `writes ${listed(runs.writes.map(plain))}`}
          </Fact>
        )}
        {network != null && <Fact name="Network">{network.length === 0 ? "none" : `can reach ${network.map(plain).join(", ")}`}</Fact>}
        <Fact name="Why it asks">
          <b>
            <Sentence text={approval.why} />
          </b>
          <div class="second">
            <Sentence text={approval.rule} />
            {approval.rule_source != null && <code> {plain(approval.rule_source)}</code>}
          </div>
        </Fact>
        <Fact name="Bound to">
          {approval.host != null ? "this host and port, as long as this command runs" : "these arguments"}
          {changes.length > 0 && runs == null && ", this difference"}
          {files.length > 0 && (
            <>
              {" "}
              and, as they are now,{" "}
              {files.length + bound.more > 6 ? (
                <details class="inline">
                  <summary>{files.length + bound.more} files and folders</summary>
                  <code>{files.join(", ") + more}</code>
                </details>
              ) : (
                <code>{files.join(", ")}</code>
              )}
            </>
          )}
        </Fact>
        <Fact name="Not bound to">
          {approval.loose.length === 0
            ? "nothing"
            : approval.loose.map((it) => (
                <div key={it}>
                  <Mark name="found" /> <Sentence text={it} />
                </div>
              ))}
        </Fact>
        <Fact name="Undo">
          {undo.back} {undo.not !== "" && <b>{undo.not}</b>}
        </Fact>
      </dl>
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

const MOST_BEFORE = 5;

/** What the same session did before it asked. */
function JustBefore({ approval }: { approval: Approval }) {
  const query = new URLSearchParams({ actor: approval.requester, until: approval.created_at, limit: String(MOST_BEFORE + 1) });
  const { data } = useData<Reply<"/api/audit">>(`/api/audit?${query}`);
  const waiting = useWaitingCalls();
  const calls = data?.calls.filter((it) => it.call !== callOf(approval)).slice(0, MOST_BEFORE) ?? [];
  return (
    <section class="section">
      <h2>Just before, in the same session</h2>
      {data !== undefined && calls.length === 0 && <p class="third">No earlier call is on the record.</p>}
      {calls.length > 0 && (
        <table class="before">
          <tbody>
            {calls.map((it) => (
              <tr key={it.call}>
                <td class="nowrap second">{beforeWords(Date.parse(approval.created_at) - Date.parse(it.at))}</td>
                <td>
                  <PathCells stations={stationsOf(it, waiting.has(it))} />
                </td>
                <td>
                  <a class="plain mono" href={addressOf("audit", it.call)}>
                    {oneLine(it.tool)}
                  </a>
                </td>
                <td class="clip mono second args" title={plain(it.args ?? "")}>
                  {aboutOf(it.args)}
                </td>
                <td class="r clip result">
                  <span class={resultOf(it, waiting.has(it)).tone || "second"}>{resultOf(it, waiting.has(it)).words}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
