// Buttons for what is not done at once: the first press shows what it would do by name, and a way back.
import { type ComponentChildren, Fragment } from "preact";
import { useState } from "preact/hooks";
import { useSettling } from "./answer_lock.ts";
import { Note } from "./notes.tsx";

interface SureAction {
  /** What the first button says: "Revoke…". */
  button: string;
  /** The name of the first button, where others say the same. */
  label?: string;
  /** What is said beside the second button. */
  note?: string;
  /** What the second button says: "Revoke ci". */
  sure: string;
  act: () => Promise<void>;
}

interface Props {
  actions: SureAction[];
  /** What is said before the second button. Without it, both are as small as in a table. */
  question?: ComponentChildren;
  keep?: string;
}

export function SureButton({ actions, question, keep = "Keep" }: Props) {
  const [chosen, choose] = useState<SureAction>();
  const look = question === undefined ? "chip" : "";
  if (chosen === undefined) {
    return (
      <>
        {actions.map((it, at) => (
          <Fragment key={it.button}>
            {at > 0 && " "}
            <button type="button" class={look} aria-label={it.label} onClick={() => choose(it)}>
              {it.button}
            </button>
          </Fragment>
        ))}
      </>
    );
  }
  return <Second action={chosen} question={question} keep={keep} back={() => choose(undefined)} />;
}

/** The second button takes the place of the first, so a double press does nothing. */
function Second({ action, question, keep, back }: { action: SureAction; question: ComponentChildren; keep: string; back: () => void }) {
  const isSettling = useSettling();
  const look = question === undefined ? "chip" : "";
  const run = async () => {
    await action.act();
    back();
  };
  const answers = (
    <>
      {action.note !== undefined && <span class="sure-note second">{action.note}</span>}
      <button type="button" class={`${look} no`} disabled={isSettling} onClick={run}>
        {action.sure}
      </button>{" "}
      <button type="button" class={look} onClick={back}>
        {keep}
      </button>
    </>
  );
  if (question === undefined) return answers;
  return (
    <Note tone="wait">
      {question}
      <div class="options">{answers}</div>
    </Note>
  );
}
