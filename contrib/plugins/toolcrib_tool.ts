// Makes a Toolcrib tool of a TypeScript function. Copy this file beside your program:
//
//     import { serve } from "./toolcrib_tool.ts";
//
//     serve({
//       execute: async (params) => ({ words: params.text.split(/\s+/).filter(Boolean).length }),
//     });
//
// It serves both modes of a manifest, "once" and "resident". What the function returns is the result, and what it throws
// is the error. What it logs goes to the standard error. It needs Node.js 22.18 or later, which runs TypeScript as it is.

import { createInterface } from "node:readline";

export type Params = { sessionId: string; callId: string; [name: string]: any };

export type ToolConfig = {
  config: Record<string, unknown>;
  secrets: Record<string, string>;
  securityMode: "strict" | "standard" | "permissive";
  limits?: { timeout?: number; maxMemory?: number; maxConcurrent?: number };
};

export type Tool = {
  execute(params: Params, config?: ToolConfig): unknown;
  /** Returns what is wrong with the arguments. */
  validate?(params: Params): string[];
  /** Is called before the first call of a program that stays up. */
  initialize?(config: ToolConfig): unknown;
  /** Returns what is wrong with the tool, or nothing. */
  healthCheck?(): string | undefined | Promise<string | undefined>;
};

/** An error with a code and details, for whoever called the tool. */
export class ToolFailure extends Error {
  code: string;
  details?: unknown;

  constructor(message: string, code = "EXECUTION_ERROR", details?: unknown) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** Answers the requests on the standard input. */
export async function serve(tool: Tool): Promise<void> {
  console.log = console.info = console.debug = console.error;
  let config: ToolConfig | undefined;
  const tell = (value: unknown) => process.stdout.write(JSON.stringify(value) + "\n");

  const run = async (params: Params) => {
    const started = Date.now();
    const metadata = () => ({ duration: Date.now() - started });
    try {
      const errors = tool.validate?.(params) ?? [];
      if (errors.length > 0) throw new ToolFailure(errors.join(", "), "VALIDATION_ERROR");
      const result = await tool.execute(params, config);
      return { success: true, result, metadata: metadata() };
    } catch (thrown) {
      const { message, code, details } = thrown as ToolFailure;
      const error = { code: code ?? "EXECUTION_ERROR", message: message ?? String(thrown), details };
      return { success: false, error, metadata: metadata() };
    }
  };

  const answer = async (method: string, params: any) => {
    if (method === "initialize") {
      config = params;
      await tool.initialize?.(params);
      return null;
    }
    if (method === "validate") {
      const errors = tool.validate?.(params) ?? [];
      return { valid: errors.length === 0, errors };
    }
    if (method === "healthCheck") {
      const error = await tool.healthCheck?.();
      return error ? { healthy: false, error } : { healthy: true };
    }
    return run(params);
  };

  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    if ("callId" in request) {
      tell(await run(request)); // one call, without an envelope
      continue;
    }
    try {
      tell({ id: request.id, result: await answer(request.method, request.params) });
    } catch (thrown) {
      tell({ id: request.id, error: { code: "INTERNAL_ERROR", message: String(thrown) } });
    }
  }
}
