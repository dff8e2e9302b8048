// The keys, and the switch that turns them off.
import { useEffect, useRef } from "preact/hooks";
import { setSingleKeys, singleKeys } from "./keys.ts";

const KEYS: [string[], string][] = [
  [["1", "8"], "views, in their order"],
  [["j", "k"], "next, previous in the list"],
  [["Enter"], "open"],
  [["Esc"], "leave a field, close what is open, or go back to the list"],
  [["/"], "filter"],
  [["p"], "pause, resume"],
  [["y", "n"], "run once or approve, decline or reject"],
  [["c"], "words for the agent"],
  [["a", "e"], "run and store the grant, change the grant"],
  [["d", "v"], "side by side, view all"],
  [["x", "Ctrl Enter"], "dry run, call"],
  [["u"], "undo this call"],
  [["?"], "this help"],
];

export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={close}>
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        {KEYS.map(([names, what]) => (
          <div key={what}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label class="option">
        <input type="checkbox" checked={singleKeys.value} onChange={(event) => setSingleKeys(event.currentTarget.checked)} />
        Single keys act. None acts while you type in a field.
      </label>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
