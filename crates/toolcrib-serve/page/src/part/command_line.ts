// What a person would type to do the same in a shell.

/** Makes a token for an agent. */
export const NEW_TOKEN = "toolcrib tokens add code-agent --role agent";

/** A text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The command line that finds calls. Its filters have the names that they have in the API. */
export function searchCommand(search: Record<string, string | undefined>, limit?: number): string {
  const words = Object.entries(search).map(([key, value]) => (key === "changed" ? "--changed" : `--${key} ${shellWord(value ?? "")}`));
  return ["toolcrib audit search", ...words, ...(limit === undefined ? [] : [`--limit ${limit}`])].join(" ");
}

/** A request with its body, which says as much as a command line: `POST /api/rules/explain {"tool":…}`. */
export function postRequest(path: string, body: Record<string, unknown>): string {
  return `POST ${path} ${JSON.stringify(body)}`;
}

/** The command line that does something with a call: "toolcrib call clemini/grep pattern=two". */
export function callCommand(verb: "call" | "policy explain", tool: string, args: Record<string, unknown>): string {
  const words = Object.entries(args).map(([key, value]) => (typeof value === "string" ? `${key}=${value}` : `${key}:=${JSON.stringify(value)}`));
  return ["toolcrib", verb, ...[tool, ...words].map(shellWord)].join(" ");
}
