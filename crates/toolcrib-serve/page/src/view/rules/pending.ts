// Changes of settings that are not saved. They stay while another view is looked at.
import { signal } from "@preact/signals";
import type { Reply } from "../../reply.ts";

export type Report = Reply<"/api/settings">;
export type Setting = Report["settings"][string];

/** The new values by the names of their settings. `null` takes one out of the file. */
export const pending = signal<Record<string, unknown>>({});

export function want(name: string, value: unknown): void {
  pending.value = { ...pending.value, [name]: value };
}

export function discard(name: string): void {
  const { [name]: _, ...rest } = pending.value;
  pending.value = rest;
}

/** A value as a settings file has it. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shownValue).join(", ")}]`;
  return typeof value === "string" ? value || '""' : JSON.stringify(value);
}
