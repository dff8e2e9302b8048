// Settings: the difference is shown before anything is saved, wrong values are refused, two tabs do not overwrite each
// other, and what needs a restart says so.
async function change(page, name, value) {
  await page.goto(`${PAGE_URL}/rules/settings?setting=${name}`);
  await page.getByLabel("New value").waitFor();
  await page.getByLabel("New value").fill(value);
}
const show = (page) => page.getByRole("button", { name: "Show the difference…" }).click();
const save = (page) => page.getByRole("button", { name: "Save for everybody" });
const held = async (name) => (await api("GET", "/api/settings")).body.settings[name];

main(async () => {
  const page = await openPage();
  await logIn(page, ADMIN_TOKEN, "/rules/settings");
  await page.getByRole("link", { name: "policy.park_seconds" }).waitFor();
  await checkBothThemes(page, "settings");
  await page.emulateMedia({ colorScheme: "light" });
  await page.keyboard.press("/");
  await page.keyboard.type("park_sec");
  check((await page.locator(".setting-list tbody tr").count()) === 1, "the filter finds it");

  await change(page, "policy.park_seconds", "3600");
  check(await save(page).isDisabled(), "nothing is saved that was not shown");
  await show(page);
  await page.getByText("park_seconds = 3600").waitFor();
  await page.getByText("It holds at once.").waitFor();
  check((await held("policy.park_seconds")).value === 86400, "a dry run changes nothing");
  const wrongs = await violations(page);
  check(wrongs.length === 0, wrongs.join("\n"));
  await shot(page, "settings");
  await save(page).click();
  await page.getByText("It holds now, for everybody.").waitFor();
  check((await held("policy.park_seconds")).value === 3600, "it holds");
  await page.getByText(/Last changed .* by admin/).waitFor();

  // A wrong value is refused, and the one from before holds.
  for (const wrong of ["-5", "soon", ""]) {
    await change(page, "policy.park_seconds", wrong);
    await show(page);
    await page.getByText("Nothing was saved.").waitFor();
    check(await save(page).isDisabled(), "a wrong value cannot be saved");
  }
  check((await held("policy.park_seconds")).value === 3600, "the old value holds");

  // What needs a restart says so, before and after.
  await page.goto(`${PAGE_URL}/rules/settings?setting=search.index`);
  await page.getByText("needs a restart", { exact: true }).waitFor();
  await page.getByLabel("New value").selectOption("off");
  await show(page);
  await page.getByText("Holds only after a restart:").waitFor();
  await save(page).click();
  await page.getByText("It holds after a restart: search.index.").waitFor();
  await page.getByText("search.index becomes off").waitFor();
  check((await held("search.index")).value === "on", "it does not hold yet");

  // Two tabs: the second to save is told, and sees what the first wrote.
  const second = await page.context().newPage();
  await second.goto(`${PAGE_URL}/rules/settings?setting=policy.park_seconds`);
  await second.getByLabel("New value").fill("7200");
  await show(second);
  await second.getByText("park_seconds = 7200").waitFor();
  await change(page, "policy.park_seconds", "1800");
  await show(page);
  await page.getByText("park_seconds = 1800").waitFor();
  await save(page).click();
  await page.getByText("It holds now, for everybody.").waitFor();
  await save(second).click();
  await second.getByText("Somebody else was first.").waitFor();
  check((await held("policy.park_seconds")).value === 1800, "the first tab's value holds");
  await show(second);
  await second.getByText("park_seconds = 1800").waitFor();
  await save(second).click();
  await second.getByText("It holds now, for everybody.").waitFor();
  check((await held("policy.park_seconds")).value === 7200, "now it was seen");

  // Out of the file: the default holds.
  await second.getByRole("button", { name: "Take it out of the file" }).click();
  await show(second);
  await save(second).click();
  await second.getByText("It holds now, for everybody.").waitFor();
  check((await held("policy.park_seconds")).value === 86400, "the default holds");
  return [page];
});
