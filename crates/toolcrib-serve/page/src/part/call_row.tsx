// A call as a row of a table: when, how far it came, the tool, its arguments, who decided, and what came of it.
import type { ComponentChildren } from "preact";
import { absolute, oneLine, plain } from "../format.ts";
import { go } from "../router.ts";
import { aboutOf, type Call, decidedBy, resultOf, stationsOf } from "./call.ts";
import { PathCells } from "./marks.tsx";
import { Sentence } from "./texts.tsx";

export function CallHead() {
  return (
    <thead>
      <tr>
        <th>Time</th>
        <th>Path</th>
        <th>Tool</th>
        <th>Arguments</th>
        <th>Decided by</th>
        <th class="r">Took</th>
      </tr>
    </thead>
  );
}

/** A longer outcome stands on two lines. */
const LONGEST_UNBROKEN = 17;

interface Props {
  call: Call;
  isWaiting: boolean;
  /** Where the story of the call is. */
  to: string;
  /** The time of the call, as short as the table needs it. */
  time: ComponentChildren;
  /** Whether its story is beside the table. Without a story beside it, only the link opens one. */
  isSelected?: boolean;
}

export function CallRow({ call, isWaiting, to, time, isSelected }: Props) {
  const result = resultOf(call, isWaiting);
  const about = aboutOf(call.args);
  const open = (event: MouseEvent) => (event.target as Element).closest("a") === null && go(to);
  return (
    <tr class={isSelected === true ? "selected" : ""} onClick={isSelected === undefined ? undefined : open}>
      <td class="nowrap">
        <time dateTime={call.at} title={absolute(call.at)}>
          {time}
        </time>
      </td>
      <td>
        <PathCells stations={stationsOf(call, isWaiting)} />
      </td>
      <td class="tool">
        <a class="plain mono clip" href={to} aria-current={isSelected === true ? "true" : undefined} title={plain(call.tool)}>
          {oneLine(call.tool) || "no tool"}
        </a>
      </td>
      <td class="args mono clip" title={about.slice(0, 600)}>
        <bdi dir="ltr">{about}</bdi>
      </td>
      <td class={`decided clip ${call.outcome === "refused" && !isWaiting ? "red" : ""}`} title={decidedBy(call)}>
        <Sentence text={decidedBy(call) || (call.outcome === "open" ? "" : "–")} />
      </td>
      <td class={`r ${result.words.length > LONGEST_UNBROKEN ? "" : "nowrap"} ${result.tone}`}>{result.words}</td>
    </tr>
  );
}
