// One call's whole story: found, checked, decided, ran, recorded; its output, its changes, and what undo would do.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Output } from "./output.tsx";
import { timelineOf, waitedWords, type CallStory, type StoryReply, type Timeline } from "./timeline.ts";
import { useData } from "../../data.ts";
import { absolute, bytes, count, duration, oneLine, plain, preciseClock, shortHash } from "../../format.ts";
import { becameOf, besideCommand, commandIn, endWords, wasApproved } from "../../part/call.ts";
import { FileDifferenceTable } from "../../part/file_difference.tsx";
import { filterWord } from "../../part/filter_word.ts";
import { Badge, Key, Tag } from "../../part/marks.tsx";
import { Shown } from "../../part/notes.tsx";
import { Ago, Foreign, Sentence } from "../../part/texts.tsx";
import { mayUndo, UndoCall } from "../../part/undo.tsx";
import { useWaitingCalls } from "../../part/waiting.ts";
import { askerWords, changeKind, counted, doorWords, isMadeUp, principalWords } from "../../part/words.ts";
import { addressOf } from "../../router.ts";

export function Story({ id, close }: { id: string; close: () => void }) {
  // A call that has ended can still be undone elsewhere, or be approved after all.
  const loaded = useData<StoryReply>(`/api/audit/${encodeURIComponent(id)}`, { live: true, everyMs: 1000 });
  return (
    <Shown loaded={loaded} what="The story of this call">
      {(reply) => <Whole reply={reply} reload={loaded.reload} close={close} />}
    </Shown>
  );
}

function Whole({ reply, reload, close }: { reply: StoryReply; reload: () => void; close: () => void }) {
  const { call: story, differences } = reply;
  const timeline = timelineOf(story);
  const [isUndoOpen, setUndoOpen] = useState(false);
  const isWaiting = useWaitingCalls({ isWanted: timeline.wait?.to === null }).has(story);
  const became = becameOf(story, isWaiting);
  const canUndo = story.changes.length > 0 && story.taken_back_by == null && mayUndo();
  const [command, beside] = [commandIn(story.args), besideCommand(story.args)];
  const told = differences.map((difference, at) => ({ difference, change: story.changes[at]! }));
  return (
    <article aria-label="The story of this call">
      <header class="story-head">
        <button type="button" class="back bare" onClick={close}>
          Back
        </button>
        <Tag id={story.call} kind="audit" isSettled />
        <h2 class="mono clip" title={plain(story.tool)}>
          {oneLine(story.tool) || "no tool"}
        </h2>
        <span class={became.tone || "second"}>{became.words}</span>
        {canUndo && !isUndoOpen && (
          <button type="button" class="end" onClick={() => setUndoOpen(true)}>
            Undo… <Key name="u" />
          </button>
        )}
      </header>
      <div class="story-what">
        {command === null ? <Foreign text={story.args ?? "no arguments on the record"} /> : <Foreign text={command} />}
        {beside !== null && <Foreign class="small" text={JSON.stringify(beside, null, 2)} />}
      </div>
      <h3 class="stages">Stages</h3>
      <ol class="timeline">
        <Found story={story} />
        <Checked story={story} timeline={timeline} />
        <Decided story={story} timeline={timeline} isWaiting={isWaiting} />
        <Ran story={story} timeline={timeline} />
        <Recorded timeline={timeline} />
      </ol>
      {told.map(({ difference, change }) =>
        difference === null ? (
          <p class="story-change second" key={`${change.at} ${change.path}`}>
            <code>{plain(change.path)}</code>: {changeKind(change.kind)}
            {sizeWords(change)}
          </p>
        ) : (
          <div class="story-change" key={`${change.at} ${change.path}`}>
            <FileDifferenceTable file={change.path} about={changeKind(change.kind)} difference={difference} />
          </div>
        ),
      )}
      <UndoCall call={story.call} hasChanges={story.changes.length > 0} undoneBy={story.taken_back_by ?? null} others={story.touched.length > 0} isOpen={isUndoOpen} setOpen={setUndoOpen} onDone={reload} />
    </article>
  );
}

/** What there is instead of a difference. */
function sizeWords({ before, after, kind }: CallStory["changes"][number]): string {
  const image = after ?? before;
  if (image == null || kind.endsWith("directory")) return "";
  return `, ${bytes(image.size)}`;
}

type Look = "done" | "person" | "waits" | "stopped" | "runs" | "never";

function Step({ at, look, name, children }: { at: string | number | null; look: Look; name: string; children: ComponentChildren }) {
  return (
    <li class={`step ${look}`}>
      <span class="offset">
        {typeof at === "string" ? (
          <time dateTime={at} title={absolute(at)}>
            {preciseClock(at)}
          </time>
        ) : (
          at !== null && `+${duration(at)}`
        )}
      </span>
      <svg class="cell" viewBox="0 0 14 14" aria-hidden="true">
        {look === "stopped" ? <path d="m3 3 8 8m0-8-8 8" /> : look === "person" || look === "waits" ? <path d="M7 1l6 6-6 6-6-6z" /> : <path d="M3.5 3.5h7v7h-7z" />}
      </svg>
      <div>
        <b>{name}</b> {children}
      </div>
    </li>
  );
}

function Found({ story }: { story: CallStory }) {
  const isMissing = story.error === "no_tool" || story.error === "not_offered";
  const who = story.principal ?? (story.user == null ? null : `user ${story.user}`);
  return (
    <Step at={story.at} look={isMissing ? "stopped" : "done"} name={isMissing ? "Not found" : "Found"}>
      {isMissing && (
        <>
          <Sentence text={story.message ?? ""} />;{" "}
        </>
      )}
      {story.version != null && (
        <>
          version <code>{shortHash(story.version)}</code>;{" "}
        </>
      )}
      asked by {who === null ? "nobody known" : <a href={addressOf("audit", "", { filter: filterWord("actor", who) })}>{askerWords(story)}</a>}
      {story.role != null && story.role !== "user" && `, as ${story.role},`} over {doorWords(story.door)}
      {story.session != null && (
        <>
          {" "}
          in <a href={addressOf("sessions", story.session, story.principal == null ? {} : { principal: story.principal })}>{isMadeUp(story.session) ? "its session" : oneLine(story.session)}</a>
        </>
      )}
    </Step>
  );
}

function Checked({ story, timeline }: { story: CallStory; timeline: Timeline }) {
  const isBad = timeline.decided === undefined && timeline.wait === null && timeline.ended !== undefined;
  if (story.error === "no_tool" || story.error === "not_offered") {
    return <Step at={null} look="never" name="Not checked">{""}</Step>;
  }
  if (isBad) {
    return (
      <Step at={timeline.endedMs} look="stopped" name="Check failed:">
        <Sentence text={story.message ?? story.error ?? ""} />
      </Step>
    );
  }
  const isReached = timeline.decided !== undefined || timeline.wait !== null;
  return (
    <Step at={null} look={isReached ? "done" : "runs"} name={isReached ? "Checked" : "Is checked"}>
      {isReached && "the arguments fit, and the tool could do it"}
    </Step>
  );
}

function Decided({ story, timeline, isWaiting }: { story: CallStory; timeline: Timeline; isWaiting: boolean }) {
  const { decided, wait, decidedMs } = timeline;
  if (decided === undefined && wait === null) return <Step at={null} look="never" name="Not decided">{""}</Step>;
  const isRefused = decided?.decision === "deny" && (wait === null || wait.said !== "approved");
  const isOpen = isWaiting || (wait !== null && wait.to === null && story.outcome === "open");
  const look: Look = isOpen ? "waits" : wait !== null && wait.to !== null ? (wait.said === "declined" ? "stopped" : "person") : isRefused || wait !== null ? "stopped" : "done";
  const verdict = wait !== null ? "ask" : decided?.decision === "deny" ? "refuse" : "allow";
  const rule = timeline.decided?.rule ?? story.rule;
  return (
    <Step at={decidedMs} look={look} name={`Decided: ${verdict}`}>
      {rule != null && <RuleWords rule={rule} />}
      {wait !== null && (
        <div class="person">
          <Badge tone="wait" mark="waits">
            {wait.to === null && !isOpen ? "asked" : waitedWords(wait)}
          </Badge>{" "}
          {wait.to === null ? (
            isOpen ? (
              <>
                for <Ago time={wait.from} suffix="" />: <a href={addressOf("approvals", story.call)}>answer it</a>
              </>
            ) : (
              "and nobody answered in time"
            )
          ) : (
            <>
              <b>{wait.by === null ? "somebody" : principalWords(wait.by)}</b> {wait.said === "approved" ? "said run it" : "declined"}
              {wait.words !== "" && <q class="words">{plain(wait.words)}</q>}
            </>
          )}
        </div>
      )}
    </Step>
  );
}

/** A rule of a file is named as such; what tier and mode say stands for itself. */
function RuleWords({ rule }: { rule: string }) {
  return <span class="rule-words"><Sentence text={rule} /></span>;
}

function Ran({ story, timeline }: { story: CallStory; timeline: Timeline }) {
  const { started, startedMs, ended, lost, taskEnded } = timeline;
  if (started === undefined) {
    const isStopped = ended !== undefined && wasApproved(story);
    return (
      <Step at={null} look={isStopped ? "stopped" : "never"} name="Did not run">
        {isStopped && <Sentence text={story.message ?? ""} />}
      </Step>
    );
  }
  const isOver = ended !== undefined && ended.seq > started.seq;
  const failed = isOver && (story.error !== null || story.outcome === "command_failed");
  const look: Look = lost !== undefined ? "stopped" : !isOver ? "runs" : failed ? "stopped" : "done";
  const { used } = story;
  const [profile, limits] = (started.terms ?? "").split(/; (.*)/s);
  const facts = [
    used == null ? "" : `${duration(used.cpu_us / 1000)} of processor`,
    used == null || used.peak_memory === 0 ? "" : `${bytes(used.peak_memory)} of memory`,
    used == null || used.written_bytes === 0 ? "" : `${bytes(used.written_bytes)} written`,
    used == null || used.processes === 0 ? "" : counted(used.processes, "process", "processes"),
  ].filter((it) => it !== "");
  const name = lost !== undefined ? "Lost" : !isOver ? "Runs" : failed ? "Failed" : "Ran";
  return (
    <Step at={startedMs} look={look} name={name}>
      {story.elapsed_ms != null && isOver && `${failed ? "after" : "for"} ${duration(story.elapsed_ms)}`}
      {profile !== undefined && profile !== "" && (
        <span title={limits === undefined ? undefined : plain(limits)}> in sandbox {oneLine(profile)}</span>
      )}
      {story.directory != null && (
        <>
          {" "}
          at <code>{plain(story.directory)}</code>
        </>
      )}
      {facts.length > 0 && `; ${facts.join(", ")}`}
      {isOver && story.error !== null && (
        <p class="red">
          {(story.error ?? "").replaceAll("_", " ")}: <Sentence text={story.message ?? ""} />
        </p>
      )}
      {story.outcome === "command_failed" && <p class="red">the command failed, {endWords(taskEnded === undefined ? story.end : story.task)}</p>}
      {lost !== undefined && <p class="red">Toolcrib ended during the call, so it is not known what the call did.</p>}
      {story.network.length > 0 && (
        <p>
          Network:{" "}
          {story.network.map((host) => (
            <code key={host.host}>{plain(host.host)} </code>
          ))}
        </p>
      )}
      {isOver && <Output call={story.call} isSaved={story.output_saved} reply={story.result ?? null} isCommand={commandIn(story.args) !== null} />}
      <Touched story={story} />
    </Step>
  );
}

/** Files that were seen to change and that no difference tells of. */
function Touched({ story }: { story: CallStory }) {
  const [isAll, setAll] = useState(false);
  const known = new Set(story.changes.map((change) => `${change.root.replace(/\/$/, "")}/${change.path}`));
  const all = story.touched.flatMap((files) => [
    ...(files.made ?? []).map((path) => ["new", path] as const),
    ...(files.changed ?? []).map((path) => ["changed", path] as const),
    ...(files.removed ?? []).map((path) => ["removed", path] as const),
  ]);
  const others = all.filter(([, path]) => !known.has(path));
  if (others.length === 0) return null;
  const shown = isAll ? others : others.slice(0, 5);
  return (
    <ul class="touched">
      {shown.map(([what, path]) => (
        <li key={`${what} ${path}`}>
          {what} <code>{plain(path)}</code>
        </li>
      ))}
      {!isAll && others.length > shown.length && (
        <li>
          <button type="button" class="link" onClick={() => setAll(true)}>
            {count(others.length - shown.length)} more
          </button>
        </li>
      )}
    </ul>
  );
}

function Recorded({ timeline }: { timeline: Timeline }) {
  const { ended, lost, endedMs, lines } = timeline;
  const isOver = ended !== undefined || lost !== undefined;
  const where = lines[0] === lines[1] ? `as line ${count(lines[0])}` : `as lines ${count(lines[0])} to ${count(lines[1])}`;
  return (
    <Step at={endedMs} look={isOver ? "done" : "runs"} name={isOver ? "Recorded" : "On the record so far"}>
      {where}
    </Step>
  );
}
