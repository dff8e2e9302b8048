// However many calls come, the tail stays short, in two tabs; older calls come on demand. A server that starts again is
// found, and a record that was changed is told.
const CALLS = 420;

async function many(count) {
  for (let done = 0; done < count; done += 30) {
    await Promise.all(Array.from({ length: Math.min(30, count - done) }, (_, at) => execute("clemini/read_file", { file_path: `none-${done + at}.txt` })));
  }
}

const rows = (page) => page.locator(".calls-table tbody tr").count();

main(async () => {
  const page = await openPage();
  await logIn(page, ADMIN_TOKEN, "/audit");
  const second = await page.context().newPage();
  second.wrongs = [];
  second.on("pageerror", (error) => second.wrongs.push(`error: ${error.message}`));
  await second.goto(`${PAGE_URL}/audit?filter=outcome:ok`);
  await second.getByText("No call matches").waitFor();
  await page.getByText("No call is on the record").waitFor();
  await page.evaluate(() => {
    window.mostRows = 0;
    new MutationObserver(() => (window.mostRows = Math.max(window.mostRows, document.querySelectorAll(".calls-table tbody tr").length))).observe(document.body, { childList: true, subtree: true });
  });
  await many(CALLS);
  await page.locator("tr", { hasText: `none-${CALLS - 1}.txt` }).waitFor();
  check((await rows(page)) === 300, `300 rows, not ${await rows(page)}`);
  check((await page.evaluate(() => window.mostRows)) <= 300, "never more than 300");
  check((await rows(second)) === 0, "the other tab shows what fits its filter");
  await execute("clemini/read_file", { file_path: "notes.txt" });
  await second.locator("tr", { hasText: "notes.txt" }).waitFor();

  // Older calls, a page at a time, to the very first. The newest make room, and nothing new pushes in.
  await page.reload();
  await until("the first page", async () => (await rows(page)) === 100);
  for (let tries = 0; tries < 10; tries += 1) {
    const older = page.getByRole("button", { name: /older calls/ });
    if ((await older.count()) === 0) break;
    const last = await page.locator(".calls-table tbody tr").last().textContent();
    await older.click();
    await until("an older page", async () => (await page.locator(".calls-table tbody tr").last().textContent()) !== last);
    check((await rows(page)) <= 300, `at most 300 rows, not ${await rows(page)}`);
  }
  await page.getByText("These are all that match.").waitFor();
  await execute("clemini/read_file", { file_path: "late.txt" });
  await page.getByText("1 call came since.").waitFor();
  check((await page.locator("tr", { hasText: "late.txt" }).count()) === 0, "the rows keep their place");
  await page.getByRole("button", { name: "Show the newest" }).click();
  await page.locator("tr", { hasText: "late.txt" }).waitFor();

  // What could not be read after a pause is not left out silently.
  await page.keyboard.press("p");
  await page.getByText("Paused at").waitFor();
  await execute("clemini/read_file", { file_path: "missed.txt" });
  await page.getByText("1 call came since.").waitFor();
  await page.route("**/api/audit?*", (route) => route.abort());
  await page.keyboard.press("p");
  await execute("clemini/read_file", { file_path: "later.txt" });
  await page.locator("tr", { hasText: "later.txt" }).waitFor();
  check((await page.locator("tr", { hasText: "missed.txt" }).count()) === 0, "it is not known");
  await page.unroute("**/api/audit?*");
  await page.getByRole("button", { name: "Load the calls between" }).click();
  await page.locator("tr", { hasText: "missed.txt" }).waitFor();
  check((await page.getByRole("button", { name: "Load the calls between" }).count()) === 0, "nothing is missing any more");

  // Under a filter, because axe takes its time for each row.
  await page.goto(`${PAGE_URL}/audit?filter=outcome:ok`);
  await page.locator("tr", { hasText: "notes.txt" }).waitFor();
  // A line of the record is changed behind the back of the server.
  const folder = fs.readdirSync(process.env.STATE, { recursive: true }).map(String).find((it) => /ctx-.*\.jsonl$/.test(it));
  const file = path.join(process.env.STATE, folder);
  const text = fs.readFileSync(file, "utf8");
  fs.writeFileSync(file, text.replace("none-7.txt", "nine-7.txt"));
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText(/The chain is broken in \d+ place/).waitFor();
  await page.getByText(path.basename(file)).first().waitFor();
  check((await violations(page)).length === 0, (await violations(page)).join("\n"));
  fs.writeFileSync(file, text);
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("The chain is whole:").waitFor();

  await page.goto(`${PAGE_URL}/audit`);
  await page.locator("tr", { hasText: "late.txt" }).waitFor();
  // The server ends and starts again while the page is open.
  process.kill(Number(process.env.SERVER_PID), "SIGTERM");
  await page.getByText("No connection since").waitFor();
  check((await rows(page)) > 0, "what was there stays");
  const logOut = await page.getByRole("button", { name: "Log out" }).boundingBox();
  check(logOut.x + logOut.width <= 1280, `all of the bar fits: ${JSON.stringify(logOut)}`);
  const { hostname, port } = new URL(PAGE_URL);
  const again = spawn(process.env.TOOLCRIB, ["serve", "--address", `${hostname}:${port}`], { cwd: WORKSPACE, env: { PATH: "/usr/bin:/bin", HOME: process.env.SERVER_HOME, TOOLCRIB_STATE: process.env.STATE }, stdio: "ignore" });
  try {
    await until("the server", async () => (await fetch(`${PAGE_URL}/health`).catch(() => null)) !== null);
    // Sessions of the page end with the server, so one logs in again, and is where one was.
    await page.getByText("The server was probably restarted").waitFor();
    await page.getByLabel("Token").fill(ADMIN_TOKEN);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.locator("tr", { hasText: "late.txt" }).waitFor();
    await execute("clemini/read_file", { file_path: "after.txt" });
    await page.locator("tr", { hasText: "after.txt" }).waitFor();
  } finally {
    again.kill();
  }
  return [page, second];
});
