// Moves along a list with the keys j and k.
import type { RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import { useKeys } from "../keys.ts";
import { addressOf, go, route } from "../router.ts";

const within = (at: number, length: number) => Math.max(0, Math.min(length - 1, at));

/** Moves the focus along the links of a list. From outside, j goes to the first and k to the last. */
export function useMoves(list: RefObject<Element | null>, link: string, { fromCurrent = false } = {}): void {
  const move = (by: 1 | -1) => () => {
    const links = [...(list.current?.querySelectorAll<HTMLElement>(link) ?? [])];
    const focused = links.indexOf(document.activeElement as HTMLElement);
    const at = focused < 0 && fromCurrent ? links.findIndex((it) => it.getAttribute("aria-current") === "true") : focused;
    links.at(at >= 0 ? within(at + by, links.length) : by > 0 ? 0 : -1)?.focus();
  };
  useKeys({ j: move(1), k: move(-1) });
}

/** Returns what a view of questions shows, and moves along all of them. Without an id in the address, it is the first that waits. */
export function useCurrent(view: "approvals" | "proposals", waiting: string[], others: string[]): string | undefined {
  const wanted = route.value.rest;
  // The first stays when others come or it is answered.
  const first = useRef<string | undefined>(undefined);
  const [lastWanted, setLastWanted] = useState(wanted);
  if (wanted !== lastWanted) {
    first.current = undefined;
    setLastWanted(wanted);
  }
  first.current ??= waiting[0];
  const current = wanted !== "" ? wanted : first.current;
  const all = [...waiting, ...others];
  const move = (by: 1 | -1) => () => {
    const to = all[within((current === undefined ? -1 : all.indexOf(current)) + by, all.length)];
    if (to !== undefined) go(addressOf(view, to));
  };
  useKeys({ j: move(1), k: move(-1) });
  return current;
}
