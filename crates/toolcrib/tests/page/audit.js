// The record: the tail while calls come, one call's story, undo, verify and export. `KEYBOARD` uses no mouse.
const isKeyboard = process.env.KEYBOARD === "1";

/** Makes a call that a person approves, and waits for its end. */
async function approved(tool, args) {
  const { status, body } = await execute(tool, args);
  check(status === 403 && body.error === "approval_required", `it should be asked: ${JSON.stringify(body)}`);
  const answer = await api("POST", `/api/approvals/${body.call}`, { decision: "approve" });
  check(answer.status === 200, JSON.stringify(answer.body));
  await until(`the end of ${tool}`, async () => (await api("GET", `/api/audit/${body.call}`)).body.call.outcome !== "refused" && (await api("GET", `/api/audit/${body.call}`)).body.call.elapsed_ms !== null);
  return body.call;
}

const row = (page, words) => page.locator(".calls-table tbody tr", { hasText: words });

async function open(page, words) {
  const link = row(page, words).locator("td.tool a").first();
  await link.waitFor();
  if (isKeyboard) {
    // To the newest call, and from there to the one that is wanted.
    for (let tries = 0; tries < 40; tries += 1) await page.keyboard.press("k");
    for (let tries = 0; tries < 40 && !(await link.evaluate((it) => it === document.activeElement)); tries += 1) await page.keyboard.press("j");
    await page.keyboard.press("Enter");
  } else {
    await link.click();
  }
  await page.locator(".timeline").waitFor();
}

const step = (page, name) => page.locator(".step", { hasText: name });

main(async () => {
  const page = await openPage();
  await logIn(page, APPROVER_TOKEN, "/audit");
  await page.getByText("No call is on the record").waitFor();

  // The tail is live: a call shows up without a reload.
  await execute("clemini/read_file", { file_path: "notes.txt" });
  await row(page, "notes.txt").waitFor();
  const edited = await approved("clemini/edit", { file_path: "notes.txt", old_string: "two", new_string: "2" });
  await row(page, "new_string").getByText("approver").or(row(page, "new_string").getByText("admin")).waitFor();

  // While paused, calls are counted and not shown.
  await page.keyboard.press("Escape");
  await page.keyboard.press("p");
  await page.getByText("Paused at").waitFor();
  await execute("clemini/bash", { command: "printf 'red \\033[31mhot\\033[0m <img src=x onerror=alert(1)> \\342\\200\\256live\\n'; seq 60; exit 3" });
  await page.getByText("1 call came since.").waitFor();
  check((await row(page, "seq 60").count()) === 0, "a paused tail stands still");
  await page.keyboard.press("p");
  await row(page, "seq 60").waitFor();

  // The story of a read: five stations, no person.
  await open(page, "clemini/read_file");
  await step(page, "Decided: allow").getByText("tier 1 in mode standard").waitFor();
  await step(page, "Recorded").getByText("as lines").waitFor();
  check((await page.locator(".undo").count()) === 0, "a read has nothing to undo");
  await page.keyboard.press("Escape");

  // Of a failed command: its exit code, and its output as text, whatever is in it.
  await open(page, "seq 60");
  await step(page, "Failed").getByText("exit code 3").first().waitFor();
  const output = page.locator(".output .foreign").first();
  await output.getByText("red \\u{1b}[31mhot\\u{1b}[0m <img src=x onerror=alert(1)> \\u{202e}live").waitFor();
  check((await page.locator(".output img").count()) === 0, "output is no markup");
  const all = page.getByRole("button", { name: "all 61 lines" });
  if (isKeyboard) await all.press("Enter");
  else await all.click();
  await until("the last line", async () => (await output.textContent()).trimEnd().endsWith("\n60"));
  await shot(page, "audit-command");
  await page.keyboard.press("Escape");

  // Of a refused call: where it stopped, and by which rule. It shows up once nobody reads the rows any more.
  await page.keyboard.press("Escape");
  await execute("clemini/bash", { command: "rm -rf /" });
  await open(page, "rm -rf /");
  await step(page, "Decided: refuse").getByText("blocked-root-delete").waitFor();
  await step(page, "Did not run").waitFor();
  await page.keyboard.press("Escape");

  // Of a declined one: who, and the words.
  const asked = await execute("clemini/edit", { file_path: "notes.txt", old_string: "three", new_string: "3" });
  await api("POST", `/api/approvals/${asked.body.call}`, { decision: "deny", words: "not this <b>file</b>" });
  await page.goto(`${PAGE_URL}/audit/${asked.body.call}`);
  await step(page, "Decided: ask").getByText("admin declined").waitFor();
  await step(page, "Decided: ask").getByText("not this <b>file</b>").waitFor();

  // Of an approved edit: the wait, the person, the difference, and what undo would do. Then undo, from there.
  await page.goto(`${PAGE_URL}/audit/${edited}`);
  await step(page, "Decided: ask").getByText(/waited .*admin said run it/).waitFor();
  await page.locator(".diff tr.added", { hasText: "one 2 three" }).waitFor();
  await page.getByText("Undo puts back notes.txt").waitFor();
  await shot(page, "audit");
  check((await violations(page)).length === 0, (await violations(page)).join("\n"));
  if (isKeyboard) await page.keyboard.press("u");
  else await page.getByRole("button", { name: "Undo…" }).click();
  const confirm = page.getByRole("button", { name: "Undo this call" });
  await confirm.waitFor();
  check(read("notes.txt") === "one 2 three\n", "nothing is undone before the second step");
  if (isKeyboard) await page.keyboard.press("Enter");
  else await confirm.click();
  await page.getByText("Undone by the call").waitFor();
  check(read("notes.txt") === "one two three\n", "the file is as it was");
  await page.reload();
  await page.getByText("To undo that call is to redo this one").waitFor();
  check((await page.getByRole("button", { name: "Undo…" }).count()) === 0, "it is undone only once");

  // What somebody changed since is not undone, and that is said.
  const written = await approved("write_file", { path: "made.txt", content: "from an agent\n" });
  fs.writeFileSync(path.join(WORKSPACE, "made.txt"), "by hand\n");
  await page.goto(`${PAGE_URL}/audit/${written}`);
  await page.getByText("Cannot be undone now.").waitFor();
  await page.getByText("it was changed after the call").waitFor();
  check(read("made.txt") === "by hand\n", "it stays");

  // What changed between question and answer does not run, although a person approved it.
  const stale = await execute("clemini/edit", { file_path: "notes.txt", old_string: "one", new_string: "1" });
  fs.writeFileSync(path.join(WORKSPACE, "notes.txt"), "one two four\n");
  await api("POST", `/api/approvals/${stale.body.call}`, { decision: "approve" });
  await page.goto(`${PAGE_URL}/audit/${stale.body.call}`);
  await page.locator(".story-head").getByText("approved, but it did not run").waitFor();

  // Filters are in the address, and stay over a reload.
  await page.goto(`${PAGE_URL}/audit`);
  await row(page, "rm -rf /").waitFor();
  await page.locator("body").press("/");
  await page.keyboard.type("tool:bash outcome:refused");
  await until("the filter", async () => (await page.locator(".calls-table tbody tr").count()) === 1);
  await page.reload();
  await row(page, "rm -rf /").waitFor();
  check((await page.locator(".calls-table tbody tr").count()) === 1, "the filter is kept");
  check((await page.getByLabel("Filter calls").inputValue()) === "tool:bash outcome:refused", "and it is shown");
  await page.getByText("toolcrib audit search --outcome=refused --tool=bash").or(page.getByText("toolcrib audit search --tool=bash --outcome=refused")).waitFor();
  await page.goto(`${PAGE_URL}/audit?filter=door:window`);
  await page.getByText("door is one of terminal, http, mcp, plugin").waitFor();
  for (const [show, expected] of [["asked", 4], ["changed", 2], ["command", 1], ["refused", 3]]) {
    await page.goto(`${PAGE_URL}/audit?show=${show}&filter=actor:agent`);
    await until(`${expected} calls by ${show}`, async () => (await page.locator(".calls-table tbody tr").count()) === expected);
  }

  // The record is verified, and exported.
  await page.goto(`${PAGE_URL}/audit`);
  const verify = page.getByRole("button", { name: "Verify" });
  if (isKeyboard) await verify.press("Enter");
  else await verify.click();
  await page.getByText("The chain is whole:").waitFor();
  for (const [name, file, begins] of [["JSON lines", "calls.ndjson", '{"id"'], ["CSV", "calls.csv", "call,"]]) {
    const menu = page.locator(".menu summary");
    if (!(await page.locator(".menu-body").isVisible())) {
      if (isKeyboard) await menu.press("Enter");
      else await menu.click();
    }
    const button = page.getByRole("button", { name });
    const [download] = await Promise.all([page.waitForEvent("download"), isKeyboard ? button.press("Enter") : button.click()]);
    check(download.suggestedFilename() === file, download.suggestedFilename());
    const saved = fs.readFileSync(await download.path(), "utf8");
    check(saved.startsWith(begins) && saved.includes("blocked-root-delete"), saved.slice(0, 200));
    await page.getByText(`${file} was saved`).waitFor();
  }
  return [page];
});
