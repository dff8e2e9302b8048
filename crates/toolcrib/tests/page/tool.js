// One tool: its figures, its errors, and a call by the form, by keyboard and on a phone.
async function hasNoViolations(page, where) {
  for (const theme of ["light", "dark"]) {
    await page.evaluate((it) => (document.documentElement.dataset.theme = it), theme);
    const found = await violations(page);
    check(found.length === 0, `${where}, ${theme}:\n${found.join("\n")}`);
  }
}

main(async () => {
  const page = await openPage({ reducedMotion: "reduce" });
  await logIn(page, ADMIN_TOKEN, "/tools/clemini/grep");
  await page.getByText("Nobody called it yet").waitFor();
  await page.getByText("no calls in this window").waitFor();

  // A call by the form. The title block has the same call as a command and as a request.
  const block = page.getByLabel("Where this comes from");
  await block.getByText("toolcrib stats resources clemini/grep").waitFor();
  await page.getByLabel(/pattern/).first().fill("two");
  await block.getByText("toolcrib call clemini/grep pattern=two").waitFor();
  await block.getByText('POST /api/tools/execute/clemini/grep {"args":{"pattern":"two"}}').waitFor();
  await page.keyboard.press("Control+Enter");
  await page.getByText("notes.txt").first().waitFor();
  await until("its figures come by themselves", async () => (await page.getByText(/1 call, 0 errors/).count()) > 0);
  await page.getByRole("link", { name: "admin" }).waitFor();

  // A dry run runs nothing.
  await page.getByRole("button", { name: /^Dry run/ }).click();
  await page.getByText("Nothing ran.").waitFor();

  // As JSON, and what is no JSON.
  await page.getByRole("button", { name: "JSON" }).click();
  await page.getByLabel("Arguments").fill("{");
  await page.getByRole("button", { name: /^Call/ }).click();
  check((await page.getByLabel("Arguments").getAttribute("aria-invalid")) === "true", "what is wrong is marked");
  await page.getByLabel("Arguments").fill('{"pattern": "("}');
  await page.getByRole("button", { name: /^Call/ }).click();
  await page.getByText("The call did not succeed.").waitFor();

  // Calls that fail are grouped; the message of an agent is text.
  for (const name of ["<b>c</b>", "missing", "missing", "missing"]) await execute("clemini/read_file", { file_path: `${name}.txt` }, {}, ADMIN_TOKEN);
  await page.goto(`${PAGE_URL}/tools/clemini/read_file`);
  const group = page.getByRole("region", { name: "Errors" }).getByRole("row").nth(1);
  await group.waitFor();
  check((await group.innerText()).startsWith("3"), `one group of three: ${await group.innerText()}`);
  await group.getByRole("link").click();
  check(new URL(page.url()).pathname.startsWith("/audit/"), "the sample leads to the story of a call");
  await page.goBack();
  await page.getByRole("region", { name: "Errors" }).waitFor();
  await hasNoViolations(page, "tool");
  await shot(page, "tool");

  // The chart is read by keyboard, and its numbers are in a table.
  const chart = page.getByRole("group", { name: /Latency/ });
  await chart.focus();
  await page.keyboard.press("End");
  const reading = page.locator(".reading");
  const last = await reading.innerText();
  await page.keyboard.press("ArrowLeft");
  check((await reading.innerText()) !== last, "the reading moves");
  await page.getByText("The same as a table").click();
  check((await page.getByRole("region", { name: /as a table/ }).getByRole("row").count()) === 61, "a row for each minute");

  // Over more than a day, the axis says the date.
  await page.getByLabel("Window of time").selectOption("7d");
  const month = await page.evaluate(() => new Date().toLocaleDateString("en-GB", { month: "short" }));
  await page.locator(".time-chart .tick", { hasText: month }).first().waitFor();
  check((await page.locator(".time-chart .dot").count()) > 0, "a single value is a dot");
  await page.getByLabel("Window of time").selectOption("1h");

  // Esc leaves a field first, and then the tool.
  await page.getByLabel(/file_path/).first().focus();
  await page.keyboard.press("Escape");
  check(new URL(page.url()).pathname === "/tools/clemini/read_file", "only the field is left");
  await page.keyboard.press("Escape");
  await page.getByLabel("Filter tools").waitFor();
  check(new URL(page.url()).pathname === "/tools", page.url());

  // A tool that is not there, and one of an odd name.
  const odd = "\u202e<img src=x onerror=alert(1)>%/".repeat(4);
  for (const name of ["nope/nope", odd]) {
    await page.goto(`${PAGE_URL}/tools/${name.split("/").map(encodeURIComponent).join("/")}`);
    await page.getByText("not found").first().waitFor();
    await page.getByText("This tool is not on offer").waitFor();
  }
  check((await page.getByRole("heading", { name: /img src/ }).innerText()).includes("\\u{202e}"), "hidden characters are spelled out");

  // An approver reads the same, and makes no calls.
  const approver = await openPage();
  await logIn(approver, APPROVER_TOKEN, "/tools/clemini/read_file");
  await approver.getByText("An approver answers questions and makes no calls.").waitFor();

  const phone = await openPage({ reducedMotion: "reduce", viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await logIn(phone, ADMIN_TOKEN, "/tools/clemini/read_file");
  await phone.getByRole("region", { name: "Errors" }).waitFor();
  const wide = await phone.evaluate(() => document.documentElement.scrollWidth);
  check(wide <= 390, `nothing is wider than the screen: ${wide}`);
  await hasNoViolations(phone, "tool on a phone");
  await shot(phone, "tool-phone");
  return [page, approver, phone];
});
