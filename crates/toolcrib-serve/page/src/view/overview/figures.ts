// The figures of the overview, as `GET /api/overview` gives them.
export interface Axis {
  from: string;
  step_seconds: number;
  points: number;
}

export interface Waiting {
  waiting: number;
  next_expires_at: string | null;
}

export interface Strip {
  calls: { per_second_now: number; per_second: number; total: number; total_before: number; series: number[] };
  errors: { percent: number | null; percent_before: number | null; failed: number; refused: number; declined: number; series: (number | null)[] };
  p95: { ms: number | null; ms_before: number | null; series_ms: (number | null)[] };
  in_flight: { now: number; bound: number; series: number[] };
  approvals: Waiting;
  proposals: Waiting;
  regressions: { open: number; high: number; medium: number; low: number };
}

export interface Health {
  state: "ok" | "regression" | "quarantined" | "disabled";
  regression: { measure: string; was: number; is: number; factor: number | null; severity: string } | null;
  since: string | null;
  because: string[];
}

export interface ToolRow {
  tool: string;
  kind: "built_in" | "module" | "program" | "mcp" | null;
  tier: number | null;
  version: string | null;
  is_new_version: boolean;
  calls: number;
  failed: number;
  failed_percent: number | null;
  refused: number;
  declined: number;
  series: { calls: number[]; failed: number[] };
  p50_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  health: Health;
  last_error: { code: string; message: string; at: string; call: string } | null;
}

export interface Overview {
  at: string;
  window: string;
  axis: Axis;
  tool_axis: Axis;
  strip: Strip;
  tools: ToolRow[];
}

export const KINDS = { built_in: "built-in", module: "module", program: "program", mcp: "MCP" };
