// A browser, and what every script expects of the page: no error, no violation of its policy, no request elsewhere.
const { chromium } = require("playwright-core");
const axeSource = require("axe-core").source;
const fs = require("node:fs");
const path = require("node:path");
const { spawn } = require("node:child_process");

const { PAGE_URL, WORKSPACE, TOOLCRIB, SHOTS, AGENT_TOKEN, APPROVER_TOKEN, ADMIN_TOKEN } = process.env;
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

let browser;

function check(isSo, words) {
  if (!isSo) throw new Error(words);
}

/** A page of a browser of its own. What goes wrong in it fails the script at the end. */
async function openPage(options = {}) {
  browser ??= await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, ...options });
  const page = await context.newPage();
  page.wrongs = [];
  page.on("pageerror", (error) => page.wrongs.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // A status that the page expects, such as 401 before the login, is logged by the browser itself.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) page.wrongs.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`${PAGE_URL}/`) && !request.url().startsWith("blob:")) page.wrongs.push(`request to ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    page.wrongs.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.setDefaultTimeout(20_000);
  return page;
}

async function logIn(page, token, to = "/") {
  await page.goto(PAGE_URL + to);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("navigation", { name: "Views" }).waitFor();
}

/** Makes a call as an agent would. */
async function execute(tool, args, more = {}, token = AGENT_TOKEN) {
  const reply = await fetch(`${PAGE_URL}/api/tools/execute/${tool}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ args, ...more }),
  });
  return { status: reply.status, body: await reply.json(), call: reply.headers.get("x-toolcrib-call") };
}

async function api(method, path, body, token = ADMIN_TOKEN) {
  const reply = await fetch(PAGE_URL + path, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: reply.status, body: await reply.json() };
}

const read = (name) => fs.readFileSync(path.join(WORKSPACE, name), "utf8");

async function until(words, isSo) {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`it never came: ${words}`);
}

/** What axe finds on the page as it is. */
async function violations(page) {
  await page.evaluate(axeSource);
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const found = await page.evaluate((runOnly) => axe.run(document, { runOnly }), tags);
  return found.violations.map((it) => `${it.id}: ${it.help}: ${it.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" | ")}`);
}

/**
 * Waits until no colour is on its way to another, where it is neither. What was changed just now begins its way in the
 * next frame.
 */
async function untilColoursRest() {
  const nextFrame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  for (;;) {
    await nextFrame();
    const running = document.getAnimations().filter((it) => it instanceof CSSTransition);
    if (running.length === 0) return;
    await Promise.allSettled(running.map((it) => it.finished));
  }
}

/** Fails if axe finds something in either theme. */
async function checkBothThemes(page, what) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(untilColoursRest);
    const found = await violations(page);
    check(found.length === 0, `${what}, ${colorScheme}: ${found.join("\n")}`);
  }
}

async function shot(page, name) {
  if (SHOTS) await page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
}

const clients = [];

/** An MCP client over pipes. `answer` is called for what the server asks. */
function mcpClient(answer) {
  const child = spawn(TOOLCRIB, ["mcp"], { cwd: WORKSPACE, env: process.env, stdio: ["pipe", "pipe", "ignore"] });
  const waiting = new Map();
  clients.push(child);
  let rest = "";
  let last = 0;
  const send = (message) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  child.stdout.on("data", (bytes) => {
    const lines = (rest + bytes).split("\n");
    rest = lines.pop();
    for (const message of lines.filter(Boolean).map((line) => JSON.parse(line))) {
      if (message.method !== undefined) {
        if (message.id !== undefined) answer(message, (result) => send({ id: message.id, result }));
      } else waiting.get(message.id)?.(message);
    }
  });
  const request = (method, params) =>
    new Promise((resolve) => {
      last += 1;
      waiting.set(last, resolve);
      send({ id: last, method, params });
    });
  /** Says hello. What the client can is in its capabilities. */
  const begin = async (capabilities) => {
    await request("initialize", { protocolVersion: "2025-06-18", capabilities, clientInfo: { name: "page-test", version: "1" } });
    send({ method: "notifications/initialized" });
  };
  const call = (name, args) => request("tools/call", { name, arguments: args });
  return { child, begin, call };
}

/** Runs a script, and says what was wrong anywhere. */
function main(script) {
  script()
    .then(async (pages) => {
      const wrongs = (pages ?? []).flatMap((page) => page.wrongs);
      check(wrongs.length === 0, wrongs.join("\n"));
      await browser?.close();
      process.stdout.write("all done\n");
    })
    .catch(async (error) => {
      console.error(error.stack);
      await browser?.close();
      process.exitCode = 1;
    })
    // A client that is left would keep the script from ending.
    .finally(() => clients.forEach((child) => child.kill()));
}
