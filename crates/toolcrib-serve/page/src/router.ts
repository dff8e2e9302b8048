// Where the page is: the view, what it is about, and its filters. All of it is in the address, so that a link shows
// the same to somebody else.
import { computed, signal } from "@preact/signals";

const address = signal(location.pathname + location.search);

export interface Route {
  /** The first part of the path: "", "approvals", "tools", … */
  view: string;
  /** What comes after it, decoded: the id of a call, the name of a tool. */
  rest: string;
  query: URLSearchParams;
}

export const route = computed<Route>(() => {
  const url = new URL(address.value, location.origin);
  const [view = "", ...rest] = url.pathname.slice(1).split("/");
  return { view, rest: rest.map(safeDecode).join("/"), query: url.searchParams };
});

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a view. Names of tools keep their slash. */
export function addressOf(view: string, rest = "", query: Record<string, string> = {}): string {
  const path = rest === "" ? `/${view}` : `/${view}/${rest.split("/").map(encodeURIComponent).join("/")}`;
  const search = new URLSearchParams(query).toString();
  return search === "" ? path : `${path}?${search}`;
}

export function go(to: string): void {
  if (to !== address.value) {
    history.pushState(null, "", to);
    address.value = to;
  }
}

/** Goes to an address in place of the present one, so that the way back does not lead there. */
export function replaceWith(to: string): void {
  history.replaceState(null, "", to);
  address.value = to;
}

/** Changes filters in the address. An empty value takes one out. No step back is needed to leave a filter. */
export function setQuery(changes: Record<string, string>): void {
  const url = new URL(address.value, location.origin);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  replaceWith(url.pathname + url.search);
}

/** Makes links of the page change the view and load nothing. */
export function followLinks(): void {
  addEventListener("popstate", () => {
    address.value = location.pathname + location.search;
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest<HTMLAnchorElement>("a[href^='/']");
    if (link === null || link.target !== "" || link.hasAttribute("download")) return;
    // The API and the viewer of its specification are not views.
    if (/^\/(api|docs|metrics|assets|page)(\/|$)/.test(link.pathname)) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
