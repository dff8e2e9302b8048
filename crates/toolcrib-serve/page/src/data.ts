// Data of the server that a view shows: loaded, kept while it is loaded again, and never thrown away for an error.
import { useEffect, useRef, useState } from "preact/hooks";
import { effect, signal, useSignalEffect } from "@preact/signals";
import { ApiFailure, get } from "./api.ts";
import { pausedAt, pulse } from "./live.ts";

export interface Loaded<T> {
  data: T | undefined;
  error: ApiFailure | undefined;
  /** When the data came. */
  at: number | undefined;
  reload: () => void;
}

const never = () => false;
const isPaused = () => pausedAt.peek() !== null;

/** When the newest data of the view came, for the title block. */
export const updatedAt = signal<number | undefined>(undefined);

/**
 * Loads `path`, again when it changes, and, if `live`, while events come. `pollMs` loads it again without any event.
 * `null` loads nothing. A reply for another path than the last one wanted is dropped, and so is what was not asked for by
 * a person and comes while the page is paused.
 */
export function useData<T>(path: string | null, { live = false, everyMs = 2000, pollMs = 0 } = {}): Loaded<T> {
  const [state, setState] = useState<{ path: string | null; data?: T; error?: ApiFailure; at?: number }>({ path });
  const wanted = useRef(path);
  wanted.current = path;
  const last = useRef(0);

  const load = (isDropped: () => boolean, abort?: AbortSignal) => {
    if (path === null || isDropped()) return;
    last.current = Date.now();
    get<T>(path, abort).then(
      (data) => {
        if (wanted.current !== path || isDropped()) return;
        const at = Date.now();
        updatedAt.value = at;
        setState({ path, data, at });
      },
      (error) => {
        if (wanted.current !== path || isDropped() || !(error instanceof ApiFailure)) return;
        setState((before) => (before.path === path ? { ...before, error } : { path, error }));
      },
    );
  };

  useEffect(() => {
    const abort = new AbortController();
    load(never, abort.signal);
    return () => abort.abort();
  }, [path]);

  const again = useRef(load);
  again.current = load;
  useSignalEffect(() => {
    // Read first, so that this runs for each pulse.
    const count = pulse.value;
    if (!live || count === 0 || isPaused()) return;
    const wait = Math.max(0, last.current + everyMs - Date.now());
    const timer = setTimeout(() => again.current(isPaused), wait);
    return () => clearTimeout(timer);
  });

  useEffect(() => {
    if (pollMs === 0) return;
    const timer = setInterval(() => again.current(isPaused), pollMs);
    return () => clearInterval(timer);
  }, [path, pollMs]);

  const isCurrent = state.path === path;
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    at: isCurrent ? state.at : undefined,
    reload: () => load(never),
  };
}

/** The present second, for countdowns and ages. */
export const second = signal(Math.floor(Date.now() / 1000));
effect(() => {
  const timer = setInterval(() => (second.value = Math.floor(Date.now() / 1000)), 1000);
  return () => clearInterval(timer);
});
