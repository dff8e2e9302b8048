// What a session plans, and what it has used of its limits, as far as the server knows them.
import { bytes, count, duration, figure, oneLine, plain } from "../../format.ts";
import { Mark, type MarkName } from "../../part/marks.tsx";
import { Empty } from "../../part/notes.tsx";
import { Meter } from "../../part/small_charts.tsx";
import { Ago } from "../../part/texts.tsx";
import { principalWords } from "../../part/words.ts";
import { addressOf } from "../../router.ts";
import type { OneSession } from "../sessions.tsx";

type SessionCall = OneSession["calls"][number];

export function Side({ data }: { data: OneSession }) {
  return (
    <>
      <Plan calls={data.calls} />
      <Budget data={data} />
    </>
  );
}

interface Step {
  content: string;
  status: string;
}

/** The tools with which agents keep a plan, and the argument that has it. */
const PLAN_TOOLS: Record<string, string> = { "hikai/todo_manager": "items", "clemini/todo_write": "todos" };

function planOf(calls: SessionCall[]): { steps: Step[]; call: SessionCall } | null {
  const call = calls.find((it) => it.tool in PLAN_TOOLS && it.outcome === "ok");
  if (call === undefined) return null;
  try {
    const args = JSON.parse(call.args ?? "") as Record<string, unknown>;
    const items = args[PLAN_TOOLS[call.tool]!];
    if (!Array.isArray(items)) return null;
    const steps = items.filter((it): it is Step => typeof it === "object" && it !== null && typeof it.content === "string" && typeof it.status === "string");
    return steps.length === 0 ? null : { steps, call };
  } catch {
    // The record has only the beginning of a long plan.
    return { steps: [], call };
  }
}

const MARKS: Record<string, MarkName> = { completed: "passed", in_progress: "waits", pending: "fine" };
const SAID: Record<string, string> = { completed: "done", in_progress: "now", pending: "later" };

function Plan({ calls }: { calls: SessionCall[] }) {
  const plan = planOf(calls);
  if (plan === null) {
    return (
      <section class="section">
        <h2>Plan</h2>
        <p class="third">The agent keeps none with a tool of Toolcrib.</p>
      </section>
    );
  }
  const { steps, call } = plan;
  const done = steps.filter((step) => step.status === "completed").length;
  return (
    <section class="section">
      <div class="section-head">
        <h2>Plan</h2>
        {steps.length > 0 && (
          <span class="third">
            {count(done)} of {count(steps.length)} done
          </span>
        )}
      </div>
      <ol class="plan">
        {steps.map((step, at) => (
          <li key={at} class={step.status === "in_progress" ? "current" : step.status === "completed" ? "past" : ""}>
            <Mark name={MARKS[step.status] ?? "fine"} />
            <span class="unseen">{SAID[step.status] ?? oneLine(step.status)}:</span> {plain(step.content)}
          </li>
        ))}
      </ol>
      <p class="third">
        {steps.length === 0 && "It is too long for the record. "}
        <a href={addressOf("audit", call.call)}>Written</a> <Ago time={call.at} />
      </p>
    </section>
  );
}

function Budget({ data }: { data: OneSession }) {
  const { budget, session } = data;
  if (budget == null) {
    return (
      <section class="section">
        <h2>Limits</h2>
        <p class="third">This server counts the limits of calls that are made to it. These were not.</p>
      </section>
    );
  }
  const { calls_per_minute: perMinute, bytes: written, seconds, tool_bytes: toolBytes, tool_seconds: toolSeconds, tools, tainted } = budget;
  const busiest = [...tools].sort((a, b) => b.calls - a.calls)[0];
  const most = (value: (tool: (typeof tools)[number]) => number) => [...tools].sort((a, b) => value(b) - value(a))[0];
  const [writer, runner] = [most((tool) => tool.bytes), most((tool) => tool.seconds)];
  const hasLimit = [perMinute, written, seconds, toolBytes, toolSeconds].some((it) => it != null);
  return (
    <section class="section">
      <h2>Limits</h2>
      {hasLimit ? (
        <table class="budget">
          <tbody>
            {written != null && <Limit name="Written" used={bytes(written.used)} limit={bytes(written.limit)} part={written.used / written.limit} />}
            {seconds != null && <Limit name="Time" used={duration(seconds.used * 1000)} limit={duration(seconds.limit * 1000)} part={seconds.used / seconds.limit} />}
            {perMinute != null && <Limit name="Calls this minute" about={busiest?.tool} used={count(busiest?.calls ?? 0)} limit={count(perMinute)} part={(busiest?.calls ?? 0) / perMinute} />}
            {toolBytes != null && <Limit name="Written with one tool" about={writer?.tool} used={bytes(writer?.bytes ?? 0)} limit={bytes(toolBytes)} part={(writer?.bytes ?? 0) / toolBytes} />}
            {toolSeconds != null && <Limit name="Time with one tool" about={runner?.tool} used={duration((runner?.seconds ?? 0) * 1000)} limit={duration(toolSeconds * 1000)} part={(runner?.seconds ?? 0) / toolSeconds} />}
          </tbody>
        </table>
      ) : (
        <Empty title="No limit is set">
          <code>toolcrib config set policy.session_bytes 64MiB</code> sets one for what a session writes.
        </Empty>
      )}
      {tainted && (
        <p class="brass">
          <Mark name="waits" /> It could reach the network, so a person is asked about calls that would be allowed.
        </p>
      )}
      {hasLimit && <p class="third">All calls of {principalWords(session.principal)} to this server count together, from the start of the server.</p>}
    </section>
  );
}

function Limit({ name, about, used, limit, part }: { name: string; about?: string | undefined; used: string; limit: string; part: number }) {
  return (
    <tr>
      <th scope="row">
        {name}
        {about !== undefined && <span class="third mono"> {oneLine(about)}</span>}
      </th>
      <td class="r nowrap">
        {used} of {limit}
      </td>
      <td>
        <Meter part={part} label={`${figure(100 * part)} % of the limit`} />
      </td>
    </tr>
  );
}
