// What a person would type to do the same in a shell.

/** A command line that is safe to paste, whatever agents named things. Only this file makes one. */
export type CommandLine = string & { readonly isQuoted: true };

/** How to get elsewhere what a view shows. */
export interface SameElsewhere {
  command: CommandLine;
  request: string;
}

type Options = Record<string, string | true>;

/** `verb` and the names of options are our own text. All else is anybody's. */
export function commandLine(verb: string, words: string[] = [], options: Options = {}): CommandLine {
  const given = Object.entries(options).map(([name, value]) => (value === true ? `--${name}` : `--${name}=${shellWord(value)}`));
  // Nobody names something so that it becomes an option.
  const end = words.some((it) => it.startsWith("-")) ? ["--"] : [];
  return ["toolcrib", verb, ...given, ...end, ...words.map(shellWord)].join(" ") as CommandLine;
}

/** Makes a token for an agent. */
export const NEW_TOKEN = commandLine("tokens add code-agent --role agent");

/** A text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+:,./-][\w@%+=:,./-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The command line that finds calls. Its filters have the names that they have in the API. */
export function searchCommand(search: Record<string, string | undefined>, limit?: number): CommandLine {
  const options = Object.entries(search).map(([key, value]): [string, string | true] => [key, key === "changed" ? true : (value ?? "")]);
  return commandLine("audit search", [], { ...Object.fromEntries(options), ...(limit === undefined ? {} : { limit: String(limit) }) });
}

/** A request with its body, which says as much as a command line: `POST /api/rules/explain {"tool":…}`. */
export function postRequest(path: string, body: Record<string, unknown>): string {
  return `POST ${path} ${JSON.stringify(body)}`;
}

/** The command line that does something with a call: "toolcrib call clemini/grep pattern=two". */
export function callCommand(verb: "call" | "policy explain", tool: string, args: Record<string, unknown>, options: Options = {}): CommandLine {
  const words = Object.entries(args).map(([key, value]) => (typeof value === "string" ? `${key}=${value}` : `${key}:=${JSON.stringify(value)}`));
  return commandLine(verb, [tool, ...words], options);
}
