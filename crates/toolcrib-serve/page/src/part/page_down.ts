// Reading on by a key.

/** Shows the next part of what a pane holds, or of the page where panes do not scroll. */
export function pageDown(pane: HTMLElement | null): void {
  const scroller = pane !== null && pane.scrollHeight > pane.clientHeight ? pane : document.scrollingElement;
  scroller?.scrollBy({ top: 0.85 * scroller.clientHeight });
}
