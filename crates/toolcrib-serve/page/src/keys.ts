// Single keys. None acts in a text field, none with a modifier, and a person can turn them all off.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

const STORED = "toolcrib.single_keys";

export const singleKeys = signal(readStored());

function readStored(): boolean {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

export function setSingleKeys(on: boolean): void {
  singleKeys.value = on;
  try {
    localStorage.setItem(STORED, on ? "on" : "off");
  } catch {
    // Without storage the choice holds until the page is closed.
  }
}

type Actions = Record<string, ((event: KeyboardEvent) => void) | undefined>;
const layers: { current: Actions }[] = [];

/** Gives keys a meaning while a component is shown. The newest component that knows a key has it. */
export function useKeys(actions: Actions): void {
  useLayer(actions, (layer) => layers.push(layer));
}

/** Gives keys the meaning that they have in every view which gives them no other. */
export function useBaseKeys(actions: Actions): void {
  // The frame is ready after the view in it, so it would be the newest.
  useLayer(actions, (layer) => layers.unshift(layer));
}

function useLayer(actions: Actions, add: (layer: { current: Actions }) => void): void {
  const layer = useRef(actions);
  layer.current = actions;
  useEffect(() => {
    add(layer);
    return () => void layers.splice(layers.indexOf(layer), 1);
  }, []);
}

function isTyping(target: EventTarget | null): target is HTMLElement {
  return target instanceof HTMLElement && (target.matches("input:not([type=radio],[type=checkbox]),textarea,select") || target.isContentEditable);
}

export function hearKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.repeat || event.isComposing) return;
    const withControl = (event.ctrlKey || event.metaKey) && !event.altKey;
    const name = withControl ? `Ctrl ${event.key}` : event.key;
    if (event.altKey || (withControl && event.key !== "Enter")) return;
    // A dialog closes itself.
    if (document.querySelector("dialog[open]") !== null) return;
    if (isTyping(event.target) && event.key === "Escape") {
      // A search field would be cleared.
      event.preventDefault();
      event.target.blur();
      return;
    }
    if (isTyping(event.target) && !withControl) return;
    if (event.key.length === 1 && !singleKeys.value) return;
    // A button or link that has the focus takes Enter and space itself.
    if ((name === "Enter" || name === " ") && event.target instanceof HTMLElement && event.target.matches("button,a,summary,input")) return;
    for (let at = layers.length - 1; at >= 0; at -= 1) {
      const action = layers[at]!.current[name];
      if (action !== undefined) {
        event.preventDefault();
        action(event);
        return;
      }
    }
  });
}
