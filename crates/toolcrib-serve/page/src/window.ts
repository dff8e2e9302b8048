// The window of time that figures are of.
import { route } from "./router.ts";

export const WINDOWS = { "15m": "Last 15 minutes", "1h": "Last hour", "6h": "Last 6 hours", "24h": "Last 24 hours", "7d": "Last 7 days" };
export type TimeWindow = keyof typeof WINDOWS;

/** The window of an address that names none. */
export const USUAL_WINDOW: TimeWindow = "1h";

/** The window that the address names, or the usual one. */
export function currentWindow(): TimeWindow {
  const wanted = route.value.query.get("window");
  return wanted !== null && Object.hasOwn(WINDOWS, wanted) ? (wanted as TimeWindow) : USUAL_WINDOW;
}
