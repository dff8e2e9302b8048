// What the view of one tool shows, as the server gives it.
import type { Axis } from "../overview/figures.ts";
import type { Schema } from "../../part/schema_form.tsx";

/** `GET /api/stats/series`. */
export interface ToolSeries {
  axis: Axis;
  series: { calls: number[]; failed: number[]; refused: number[]; declined: number[]; p50_ms: (number | null)[]; p95_ms: (number | null)[] };
  total: { calls: number; failed: number; failed_percent: number | null; refused: number; declined: number; p50_ms: number | null; p95_ms: number | null; p99_ms: number | null };
  compared: { baseline: WindowFigures; current: WindowFigures; severity: string | null; because: string[] } | null;
  versions: { current: string | null; called: { version: string; first_at: string; last_at: string }[]; changes: { at: string; version: string; before: string | null }[] };
  callers: { principal: string; door: string; calls: number; last_at: string; percent: number | null }[];
  errors: { shape: string; message: string; count: number; percent: number | null; origin: ErrorOrigin | null }[];
}

interface WindowFigures {
  p95_ms?: number | null;
}

interface ErrorOrigin {
  code: string;
  first_at: string;
  last_at: string;
  call: string;
  first_version: string;
  is_new: boolean;
}

/** `GET /api/tools?toolset=NAME`. */
export interface ToolList {
  defs: { function: { name: string; description: string; parameters: Schema } }[];
  limits: { deadline_ms: number; output_bytes: number }[];
}

/** `GET /api/tools/resources/NAME`. */
export interface ToolResources {
  resources: {
    totalCalls: number;
    resources: {
      cpu: { avgMs: number; maxMs: number; p95Ms: number };
      memory: { avgBytes: number; maxBytes: number; p95Bytes: number };
      disk: { avgReadBytes: number; avgWriteBytes: number; p95ReadBytes: number; p95WriteBytes: number; maxReadBytes: number; maxWriteBytes: number };
      network: { connections: number; refused: number };
    };
    limits: { timeoutMs: number; maxOutputBytes: number };
    violations: { sizeExceeded: number; timeoutExceeded: number };
  };
}
