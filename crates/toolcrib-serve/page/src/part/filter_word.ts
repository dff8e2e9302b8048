// A word of the filter of the record, such as `tool:grep`. The address of the record has such words, too.

export const FILTER_KEYS = ["tool", "actor", "session", "door", "outcome", "decision", "since", "until", "call"] as const;
export type FilterKey = (typeof FILTER_KEYS)[number];

/** The words for one filter, quoted if they must be. */
export function filterWord(key: FilterKey, value: string): string {
  return /[\s"]/.test(value) ? `${key}:"${value.replaceAll('"', "")}"` : `${key}:${value}`;
}
