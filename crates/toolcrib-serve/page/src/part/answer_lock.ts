// What keeps an answer locked: the moment after a question appears, and what of it was not on the screen yet.
import { useEffect, useState } from "preact/hooks";

/** How long answers stay locked after a question appears: nobody shall answer what has just moved under the pointer. */
const SETTLE_MS = 600;

export function useSettling(): boolean {
  const [isSettling, setSettling] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setSettling(false), SETTLE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isSettling;
}

/** Whether an element has been on the screen since all before it was there. */
export function useSeen(element: { current: HTMLElement | null }, isComplete: boolean): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (element.current === null || !isComplete || isSeen) return;
    const observer = new IntersectionObserver((entries) => entries.at(-1)!.isIntersecting && setSeen(true));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [isComplete, isSeen]);
  return isSeen;
}

/** Shows the next part of what a pane holds, or of the page where panes do not scroll. */
export function pageDown(pane: HTMLElement | null): void {
  const scroller = pane !== null && pane.scrollHeight > pane.clientHeight ? pane : document.scrollingElement;
  scroller?.scrollBy({ top: 0.85 * scroller.clientHeight });
}
