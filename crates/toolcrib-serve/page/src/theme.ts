// Light or dark: what the system says, unless a person chose.
import { signal } from "@preact/signals";

const STORED = "toolcrib.theme";
type Theme = "light" | "dark";

function isTheme(text: string | null): text is Theme {
  return text === "light" || text === "dark";
}

function stored(): Theme | null {
  const asked = new URLSearchParams(location.search).get("theme");
  if (isTheme(asked)) return asked;
  try {
    const kept = localStorage.getItem(STORED);
    return isTheme(kept) ? kept : null;
  } catch {
    return null;
  }
}

const chosen = signal(stored());

export function applyTheme(): void {
  if (chosen.value === null) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen.value;
}

export function switchTheme(): void {
  const isDark = chosen.value === "dark" || (chosen.value === null && matchMedia("(prefers-color-scheme: dark)").matches);
  chosen.value = isDark ? "light" : "dark";
  try {
    localStorage.setItem(STORED, chosen.value);
  } catch {
    // Without storage the choice holds until the page is closed.
  }
  applyTheme();
}
