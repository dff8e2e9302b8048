// One agent's work: its lanes, its plan, its changes, and undo of all of them. `KEYBOARD` uses no mouse.
const isKeyboard = process.env.KEYBOARD === "1";

async function approved(tool, args) {
  const { body } = await execute(tool, args);
  check(body.error === "approval_required", JSON.stringify(body));
  await api("POST", `/api/approvals/${body.call}`, { decision: "approve" });
  await until(`the end of ${tool}`, async () => {
    const { call } = (await api("GET", `/api/audit/${body.call}`)).body;
    return call.outcome !== "refused" && call.outcome !== "open";
  });
  return body.call;
}

main(async () => {
  const page = await openPage();
  await logIn(page, APPROVER_TOKEN, "/sessions");
  await page.getByText("No agent made a call in the last 24 hours").waitFor();

  await execute("hikai/todo_manager", {
    items: [
      { content: "Read <i>notes</i>", activeForm: "Reading", status: "completed" },
      { content: "Change them", activeForm: "Changing", status: "in_progress" },
    ],
  });
  const first = page.getByRole("link", { name: /http-agent/ });
  await first.waitFor();
  await until("the session that is shown is in the address", () => new URL(page.url()).pathname === "/sessions/http-agent");
  // A newer session comes, and what is shown stays.
  await execute("clemini/read_file", { file_path: "notes.txt" }, { conv_id: "newer-one" });
  await page.getByRole("link", { name: /newer-one/ }).waitFor();
  check((await first.getAttribute("aria-current")) === "true", "the chosen session stays");
  await execute("clemini/read_file", { file_path: "notes.txt" });
  await approved("clemini/edit", { file_path: "notes.txt", old_string: "one", new_string: "1" });
  await approved("clemini/edit", { file_path: "notes.txt", old_string: "two", new_string: "2" });
  await approved("write_file", { path: "made.txt", content: "from an agent\n" });
  await approved("write_file", { path: "kept.txt", content: "from an agent\n" });
  fs.writeFileSync(path.join(WORKSPACE, "kept.txt"), "by hand\n");
  const waits = await execute("clemini/edit", { file_path: "notes.txt", old_string: "three", new_string: "3" });

  await page.goto(`${PAGE_URL}/sessions/http-agent?principal=agent`);
  await page.locator(".session-head .badge", { hasText: "waits for a person" }).waitFor();
  // A call that waits is not refused.
  await page.locator(".session-list .item", { hasText: "http-agent" }).getByText("1 waits").waitFor();
  await page.locator(".session-head").getByText("0 refused").waitFor();
  await page.locator(".plan li", { hasText: "Read <i>notes</i>" }).waitFor();
  await page.getByText("1 of 2 done").waitFor();
  await page.getByText("No limit is set").waitFor();
  for (const lane of ["Reads", "Edits", "Commands", "Waits"]) await page.locator(".lanes text", { hasText: lane }).waitFor();

  // The reading under the cursor is moved by arrow keys, and Enter opens the call.
  await page.locator(".lanes .plot").focus();
  await page.keyboard.press("Home");
  await page.locator(".lanes .reading", { hasText: "hikai/todo_manager" }).waitFor();
  await page.keyboard.press("ArrowRight");
  await page.locator(".lanes .reading", { hasText: "clemini/read_file" }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".timeline").waitFor();
  await page.goBack();

  // An edit that a newer one changed again cannot be undone alone.
  await page.locator(".session-changes tr", { hasText: "changed since" }).first().waitFor();
  check(await page.getByRole("button", { name: "Undo notes.txt" }).last().isDisabled(), "the older edit is not undone alone");
  check(await page.getByRole("button", { name: "Undo notes.txt" }).first().isEnabled(), "the newer one can be");
  await shot(page, "sessions");
  check((await violations(page)).length === 0, (await violations(page)).join("\n"));

  // All of it: first what would be done, newest first, and what stays; then it is done.
  if (isKeyboard) await page.keyboard.press("u");
  else await page.getByRole("button", { name: "Undo all 3…" }).click();
  await page.getByText("Nothing was done yet").waitFor();
  await page.getByText("1 call stays as it is").waitFor();
  check(read("notes.txt") === "1 2 three\n" && read("made.txt") === "from an agent\n", "a dry run changes nothing");
  const confirm = page.getByRole("button", { name: "Undo 3 calls" });
  await confirm.waitFor();
  check((await violations(page)).length === 0, (await violations(page)).join("\n"));
  if (isKeyboard) await page.keyboard.press("Enter");
  else await confirm.click();
  await page.getByText("3 calls were undone.").waitFor();
  check(read("notes.txt") === "one two three\n", "both edits are undone");
  check(!fs.existsSync(path.join(WORKSPACE, "made.txt")), "the new file is gone");
  check(read("kept.txt") === "by hand\n", "what somebody changed since stays");
  await until("the rows say so", async () => (await page.locator(".session-changes td", { hasText: /^undone$/ }).count()) === 3);

  // One call alone.
  await api("POST", `/api/approvals/${waits.body.call}`, { decision: "deny" });
  await approved("write_file", { path: "single.txt", content: "x\n" });
  await page.locator(".session-changes tr", { hasText: "single.txt" }).waitFor();
  const one = page.getByRole("button", { name: "Undo single.txt" });
  if (isKeyboard) await one.press("Enter");
  else await one.click();
  await page.getByText("Undo removes single.txt").waitFor();
  if (isKeyboard) await page.keyboard.press("Enter");
  else await page.getByRole("button", { name: "Undo this call" }).click();
  await page.getByText("1 call was undone.").waitFor();
  check(!fs.existsSync(path.join(WORKSPACE, "single.txt")), "the file is gone");

  // Both themes, and a phone.
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const size of [{ width: 1280, height: 720 }, { width: 390, height: 844 }]) {
      await page.setViewportSize(size);
      for (const view of ["/sessions/http-agent", "/sessions", "/audit", `/audit/${waits.body.call}`]) {
        await page.goto(PAGE_URL + view);
        await page.locator(":is(.lanes, .timeline, .calls-table, .session-list .item):visible").first().waitFor();
        const found = await violations(page);
        check(found.length === 0, `${view} ${colorScheme} ${size.width}: ${found.join("\n")}`);
        const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        check(!isWide, `${view} at ${size.width} needs no scrolling sideways`);
      }
    }
  }
  return [page];
});
