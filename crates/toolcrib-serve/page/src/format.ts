// How numbers, times and foreign text are written.

const THIN = "\u202f";

/** 61204 → "61,204". */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** A number with about three digits: 41.8, 0.31, 9,800. */
export function figure(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 100) return count(value);
  return value.toFixed(size >= 10 ? 1 : 2);
}

/** A number as an axis has it, without zeros at its end: 50, 0.2, 10k. */
export function tick(value: number): string {
  return value >= 10_000 ? `${Number((value / 1000).toPrecision(3))}k` : String(Number(value.toPrecision(3)));
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? "0" : figure((100 * part) / whole);
}

/** Milliseconds with a unit that suits them: "0.4 ms", "3.9 s", "2 min 5 s". */
export function duration(ms: number): string {
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)}${THIN}ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}${THIN}s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes}${THIN}min ${Math.floor((ms % 60_000) / 1000)}${THIN}s`;
  return `${Math.floor(minutes / 60)}${THIN}h ${minutes % 60}${THIN}min`;
}

/** How long something lasts or has lasted, in one unit: "12 s", "6 min", "19 h", "3 d". */
export function span(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 60) return `${Math.floor(seconds)}${THIN}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}${THIN}min`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)}${THIN}h`;
  return `${Math.floor(seconds / 86_400)}${THIN}d`;
}

/** What is left of a time limit, moving by the second where it matters: "1:19", "23 h 41 min". */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)}${THIN}h ${Math.floor((seconds % 3600) / 60)}${THIN}min`;
  return span(ms);
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let size = value;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? size : figure(size)}${THIN}${units[unit]}`;
}

/** 14:02:53, in the reader's time zone. */
export function clock(time: number | string): string {
  return new Date(time).toLocaleTimeString("en-GB");
}

/** 2026-11-04, in the reader's time zone. */
export function day(time: number | string): string {
  return new Date(time).toLocaleDateString("sv-SE");
}

/** 14:02:53.118 */
export function preciseClock(time: number | string): string {
  const date = new Date(time);
  return `${clock(time)}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** The whole time with its zone, for what shows on hover and focus. */
export function absolute(time: number | string): string {
  return new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "long" });
}

// Controls, marks of direction, characters that cannot be seen and odd spaces: the same that a terminal is not shown
// (`is_deceptive` in escape.rs of toolcrib-core). A test holds the two lists together.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f-\u1160\u1680\u17b4-\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
// More than two marks on one letter cover the lines around it.
const PILED_MARK = /(?<=\p{M}{2})\p{M}/gu;

/** Foreign text with hidden characters spelled out. Line breaks and tabs stay. */
export function plain(text: string): string {
  return text.replace(PILED_MARK, escaped).replace(HIDDEN, escaped);
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}

/** Foreign text on one line. */
export function oneLine(text: string): string {
  return plain(text).replace(/\s+/g, " ").trim();
}

/** The first letters of an id, enough to tell it from others. */
export function shortId(id: string): string {
  return id.length > 10 ? id.slice(0, 10) : id;
}

/** The first letters of a hash. */
export function shortHash(hash: string): string {
  return hash.replace(/^sha256:/, "").slice(0, 7);
}
