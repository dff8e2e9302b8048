// What the view of one tool shows, as the server tells it.
import type { Schema } from "../../part/schema_form.tsx";
import type { Reply } from "../../reply.ts";

export type ToolSeries = Reply<"/api/stats/series">;

/** `GET /api/tools?toolset=NAME`. The specification does not say what a declaration looks like. */
export type ToolList = Reply<"/api/tools"> & {
  defs: { function: { name: string; description: string; parameters: Schema } }[];
};

/** `GET /api/tools/resources/NAME`. The specification does not name the limits. */
export type ToolResources = Reply<"/api/tools/resources/{tool}"> & { resources: { limits: Record<string, number> } };
