// The figures of the overview, as the server tells them.
import type { Reply } from "../../reply.ts";

export type Overview = Reply<"/api/overview">;
export type ToolRow = Overview["tools"][number];

export const KINDS = { built_in: "built-in", module: "module", program: "program", mcp: "MCP" };
export const MEASURES = { mean: "mean", p95: "p95", error_rate: "errors" };
