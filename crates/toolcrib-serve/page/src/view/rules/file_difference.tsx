// A difference that the server made: sign, line number and ground.
import { plain } from "../../format.ts";
import type { Reply } from "../../reply.ts";

type Difference = NonNullable<NonNullable<Reply<"/api/settings", "post">["file"]>["difference"]>;

const SIGN: Record<string, string> = { same: "", added: "+", removed: "−", gap: "⋮" };

export function FileDifference({ file, difference }: { file: string; difference: Difference }) {
  if ("note" in difference) return <p class="second">{plain(difference.note)}</p>;
  const { added, removed, lines, left_out: leftOut } = difference.lines;
  return (
    <div class="diff" role="region" aria-label={`difference of ${plain(file)}`} tabIndex={0}>
      <div class="diff-head">
        <b class="mono">{plain(file)}</b>
        <span class="nowrap">
          <span class="green">+{added}</span> <span class="red">−{removed}</span>
        </span>
      </div>
      <table>
        <tbody>
          {lines.map((line, at) => (
            <tr class={line.kind === "gap" ? "folded" : line.kind} key={at}>
              <td class="number">{line.kind === "gap" ? "" : line.number}</td>
              <td class="sign">{SIGN[line.kind]}</td>
              <td class="line">{plain(line.text)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {leftOut > 0 && <p class="third pad">{leftOut} more lines</p>}
    </div>
  );
}
