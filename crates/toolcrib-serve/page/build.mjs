// Makes dist/, which is committed: cargo embeds it, and needs no Node for that.
// `node build.mjs --check` builds into memory instead, and fails if dist/ is not what the sources give.
import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const isCheck = process.argv.includes("--check");
const { outputFiles } = await build({
  entryPoints: { page: "src/main.tsx" },
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome120", "firefox121", "safari17.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  outdir: "dist",
  write: false,
});
const files = outputFiles.map((file) => ({ name: file.path.split("/").pop(), bytes: file.contents }));
for (const name of ["index.html", "icon.svg"]) files.push({ name, bytes: await readFile(`src/${name}`) });

let stale = 0;
for (const { name, bytes } of files) {
  const path = `dist/${name}`;
  if (!isCheck) {
    await writeFile(path, bytes);
    console.log(`${path}  ${bytes.length} bytes`);
  } else if (Buffer.compare(Buffer.from(bytes), await readFile(path).catch(() => Buffer.alloc(0))) !== 0) {
    console.error(`${path} is not what the sources give; run \`npm run build\` and commit dist/`);
    stale += 1;
  }
}
process.exitCode = stale > 0 ? 1 : 0;
