// The types of replies and bodies, as the specification has them. `Reply<"/api/rules">` is what GET returns.
import type { paths } from "./schema.ts";

type Success<Operation> = Operation extends { responses: { 200: { content: infer Content } } } ? Content[keyof Content] : never;
type Body<Operation> = Operation extends { requestBody?: { content: { "application/json": infer Sent } } } ? Sent : never;

export type Reply<Path extends keyof paths, Method extends "get" | "post" | "delete" = "get"> = Success<paths[Path][Method]>;
export type Sent<Path extends keyof paths, Method extends "post" = "post"> = Body<paths[Path][Method]>;
