main(async () => {
  const page = await openPage();
  await page.goto(`${PAGE_URL}/audit`);
  await page.getByLabel("Token").fill("tcb_wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("You are not logged in.").waitFor();
  check((await violations(page)).length === 0, (await violations(page)).join("\n"));

  await page.getByLabel("Token").fill(ADMIN_TOKEN);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("link", { name: "Audit" }).waitFor();
  check(new URL(page.url()).pathname === "/audit", `the view that was asked for: ${page.url()}`);
  check((await page.getByRole("link", { name: "Audit" }).getAttribute("aria-current")) === "page", "the view is marked");

  check((await page.getByLabel("Window of time").count()) === 0, "the record has no window of time");

  // The cookie cannot be read by a script, and a reload keeps the session.
  check(!(await page.evaluate(() => document.cookie)).includes("toolcrib"), "the cookie is hidden");
  await page.reload();
  await page.getByRole("navigation", { name: "Views" }).waitFor();

  // A link also leads in whoever is logged in, and its code does not stay in the address.
  await page.goto(`${PAGE_URL}/login#link=wrong`);
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  check(new URL(page.url()).pathname === "/" && new URL(page.url()).hash === "", page.url());
  // A name in the address that every object of JavaScript has is no setting, list or window.
  for (const odd of ["/rules/settings?setting=__proto__", "/rules/constructor", "/?window=__proto__", "/audit?show=__proto__"]) {
    await page.goto(PAGE_URL + odd);
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    check((await page.getByText("cannot be shown").count()) === 0, `the view of ${odd} breaks`);
  }

  // A second tab has the same session, and ends with it.
  const second = await page.context().newPage();
  await second.goto(PAGE_URL);
  await second.getByRole("navigation", { name: "Views" }).waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Token").waitFor();
  await second.getByLabel("Token").waitFor();
  return [page];
});
