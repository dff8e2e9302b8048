// What a person would type to do the same in a shell.

/** A text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The command line that does something with a call: "toolcrib call clemini/grep pattern=two". */
export function callCommand(verb: "call" | "policy explain", tool: string, args: Record<string, unknown>): string {
  const words = Object.entries(args).map(([key, value]) => (typeof value === "string" ? `${key}=${value}` : `${key}:=${JSON.stringify(value)}`));
  return ["toolcrib", verb, ...[tool, ...words].map(shellWord)].join(" ");
}
