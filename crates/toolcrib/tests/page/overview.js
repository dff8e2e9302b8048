// The overview: real calls, sorted and filtered by the address, live and paused, by keyboard and on a phone.
async function counts(page, tool) {
  const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: tool, exact: true }) });
  return row.locator("td").nth(4).innerText();
}

async function names(page) {
  return page.locator("table a.name").allInnerTexts();
}

async function hasNoViolations(page, where) {
  for (const theme of ["light", "dark"]) {
    await page.evaluate((it) => (document.documentElement.dataset.theme = it), theme);
    const found = await violations(page);
    check(found.length === 0, `${where}, ${theme}:\n${found.join("\n")}`);
  }
}

main(async () => {
  const page = await openPage({ reducedMotion: "reduce" });
  await logIn(page, APPROVER_TOKEN);
  // Rows keep their place while the pointer is among them.
  await page.mouse.move(640, 60);
  await page.getByText("Nothing waits for an answer").waitFor();
  await page.getByText("No tool got worse").waitFor();
  check((await counts(page, "forgekeeper/read_file")) === "0", "nothing was called yet");

  // Calls arrive by themselves: some that work, one that fails, one that is refused, one that waits.
  for (let call = 0; call < 5; call += 1) await execute("read_file", { path: "notes.txt" });
  await execute("read_file", { path: "<img src=x onerror=alert(1)>" });
  await execute("read_file", { wrong: true });
  await execute("clemini/grep", { pattern: "one" });
  await execute("write_file", { path: "made.txt", content: "x" });
  await until("the calls show up", async () => (await counts(page, "forgekeeper/read_file")) === "6");
  await page.getByText("1 failed, 1 refused, 0 declined").waitFor();
  const waiting = page.getByRole("complementary").getByRole("listitem");
  await until("the question shows up", async () => (await waiting.count()) === 1);
  check((await waiting.first().innerText()).includes("made.txt"), "it says what waits");
  await page.getByRole("complementary").getByText("forgekeeper/read_file").first().waitFor();
  check((await page.locator("table a.name").first().innerText()) === "forgekeeper/read_file", "the most called comes first");
  const error = page.getByRole("row").filter({ hasText: "forgekeeper/read_file" }).locator(".last-error a");
  check((await error.innerText()) === "not_found", "the last error is named");
  await hasNoViolations(page, "overview");
  await shot(page, "overview");

  // The order and the filter are in the address, and a link shows the same to somebody else.
  await page.getByRole("button", { name: "Tool", exact: true }).click();
  check(new URL(page.url()).searchParams.get("sort") === "tool", page.url());
  const sorted = await names(page);
  check(sorted.join() === [...sorted].sort((a, b) => a.localeCompare(b)).join(), "sorted by name");
  await page.getByLabel("Filter tools").fill("gre");
  await page.getByRole("button", { name: /^Called/ }).click();
  check(page.url().includes("filter=gre") && page.url().includes("show=called"), page.url());
  check((await names(page)).join() === "clemini/grep", `filtered: ${await names(page)}`);
  await page.reload();
  await until("the filter holds after a reload", async () => (await names(page)).join() === "clemini/grep");
  await page.getByLabel("Filter tools").fill("no such tool");
  await page.getByText("No tool matches").waitFor();
  await page.getByRole("button", { name: "Show all tools" }).click();
  check((await names(page)).length > 20, "all are back");
  await page.getByLabel("Window of time").selectOption("15m");
  check(page.url().includes("window=15m"), page.url());
  await until("the window has the calls", async () => (await counts(page, "forgekeeper/read_file")) === "6");

  // Paused: nothing moves, and what is missed is counted.
  await page.locator("body").click({ position: { x: 640, y: 60 } });
  await page.keyboard.press("p");
  await page.getByRole("button", { name: /Paused/ }).waitFor();
  await execute("read_file", { path: "notes.txt" });
  await page.getByRole("button", { name: /Paused \+1/ }).waitFor();
  check((await counts(page, "forgekeeper/read_file")) === "6", "the figures stand still");
  await page.keyboard.press("p");
  await until("the figures go on", async () => (await counts(page, "forgekeeper/read_file")) === "7");

  // By keyboard: to the filter, along the rows, and into a tool.
  await page.goto(`${PAGE_URL}/`);
  await page.locator("table a.name").first().waitFor();
  await page.keyboard.press("/");
  check((await page.evaluate(() => document.activeElement.getAttribute("aria-label"))) === "Filter tools", "the filter has the focus");
  await page.keyboard.type("read_file");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  const before = await names(page);
  // While a row has the focus, rows keep their place.
  for (let call = 0; call < 9; call += 1) await execute("clemini/read_file", { file_path: "notes.txt" });
  await until("only the numbers change", async () => (await counts(page, "clemini/read_file")) === "9");
  check((await names(page)).join() === before.join(), "no row moved");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /read_file/ }).waitFor();
  check(new URL(page.url()).pathname === "/tools/forgekeeper/read_file", page.url());

  // On a phone: queues before rates, tools as rows of two lines, nothing wider than the screen.
  const phone = await openPage({ reducedMotion: "reduce", viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await logIn(phone, APPROVER_TOKEN);
  await phone.locator("table a.name").first().waitFor();
  const wide = await phone.evaluate(() => document.documentElement.scrollWidth);
  check(wide <= 390, `nothing is wider than the screen: ${wide}`);
  const top = async (name) => (await phone.getByRole("heading", { name, exact: true }).boundingBox()).y;
  check((await top("Approvals")) < (await top("Calls")), "queues come before rates");
  await hasNoViolations(phone, "overview on a phone");
  await shot(phone, "overview-phone");
  for (const view of ["approvals", "tools", "tools/forgekeeper/read_file", "proposals", "audit", "sessions", "rules", "rules/grants", "rules/settings", "connect", "connect/http"]) {
    await phone.goto(`${PAGE_URL}/${view}`);
    await phone.getByLabel("Where this comes from").waitFor();
    const right = await phone.evaluate(() => document.documentElement.scrollWidth);
    check(right <= 390, `${view} is wider than the screen: ${right}`);
    const isSmall = (all) => all.filter((it) => it.checkVisibility() && it.getBoundingClientRect().height < 43).map((it) => it.outerHTML.slice(0, 120));
    const small = await phone.locator("button").evaluateAll(isSmall);
    check(small.length === 0, `${view} has buttons that are too small for a finger: ${small.join(" ")}`);
  }
  return [page, phone];
});
