// Makes src/schema.ts, the types of requests and replies, from the specification of a server:
//   curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:7766/api/openapi.json | node types.mjs
// `node types.mjs --check` fails instead if src/schema.ts is not what the specification gives.
import { readFile, writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import openapiTS, { astToString } from "openapi-typescript";

const PATH = "src/schema.ts";
const specification = JSON.parse(await text(process.stdin));
for (const operation of Object.values(specification.paths).flatMap((path) => Object.values(path))) {
  // Every failure has the same form, which `ApiFailure` reads.
  for (const status of Object.keys(operation.responses ?? {})) {
    if (!status.startsWith("2")) delete operation.responses[status];
  }
  // Examples are of one recorded run, and say nothing of types.
  for (const parameter of operation.parameters ?? []) delete parameter.example;
  const bodies = [operation.requestBody, ...Object.values(operation.responses ?? {})];
  for (const media of bodies.flatMap((body) => Object.values(body?.content ?? {}))) {
    delete media.example;
    delete media.examples;
  }
}
const types = astToString(await openapiTS(specification, { exportType: true, alphabetize: true }));
const made = `// Made by types.mjs from the specification of the server. Change the handlers, and make it again.\n${types}`;
if (!process.argv.includes("--check")) {
  await writeFile(PATH, made);
} else if ((await readFile(PATH, "utf8")) !== made) {
  console.error(`${PATH} is not what the specification gives; make it again, as types.mjs says`);
  process.exitCode = 1;
}
