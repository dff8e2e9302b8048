// What a person would type to do the same in a shell.

/** A command line that is safe to paste, whatever agents named things. Only this file makes one. */
export type CommandLine = string & { readonly isQuoted: true };

/** How to get elsewhere what a view shows. */
export interface SameElsewhere {
  command: CommandLine;
  request: string;
}

/** `verb` is our own text. The words after it are anybody's. */
export function commandLine(verb: string, ...words: string[]): CommandLine {
  return ["toolcrib", verb, ...words.map(shellWord)].join(" ") as CommandLine;
}

/** Makes a token for an agent. */
export const NEW_TOKEN = commandLine("tokens add code-agent --role agent");

/** A text as one word of a shell. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The command line that finds calls. Its filters have the names that they have in the API. */
export function searchCommand(search: Record<string, string | undefined>, limit?: number): CommandLine {
  const words = Object.entries(search).flatMap(([key, value]) => (key === "changed" ? ["--changed"] : [`--${key}`, value ?? ""]));
  return commandLine("audit search", ...words, ...(limit === undefined ? [] : ["--limit", String(limit)]));
}

/** A request with its body, which says as much as a command line: `POST /api/rules/explain {"tool":…}`. */
export function postRequest(path: string, body: Record<string, unknown>): string {
  return `POST ${path} ${JSON.stringify(body)}`;
}

/** The command line that does something with a call: "toolcrib call clemini/grep pattern=two". */
export function callCommand(verb: "call" | "policy explain", tool: string, args: Record<string, unknown>): CommandLine {
  const words = Object.entries(args).map(([key, value]) => (typeof value === "string" ? `${key}=${value}` : `${key}:=${JSON.stringify(value)}`));
  return commandLine(verb, tool, ...words);
}
