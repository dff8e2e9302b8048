// Rules: a call is explained, a rule is written from it, decides, and is removed. Wrong rules are refused with their
// place. Grants are revoked. What an approver may not do is off, with the reason.
const ODD = '<img src=x onerror="alert(1)"> \u202egnp.exe "q"';

async function isAsked(path, words) {
  const { status, body } = await execute("write_file", { path, content: "x" });
  check(status === 403 && body.error === "approval_required", `${words}: ${JSON.stringify(body)}`);
  return body.call;
}

async function goodFor(page, words) {
  const found = await violations(page);
  check(found.length === 0, `${words}\n${found.join("\n")}`);
}

main(async () => {
  const page = await openPage();
  await logIn(page, ADMIN_TOKEN, "/rules");
  await page.getByRole("cell", { name: "shipped" }).first().waitFor();
  await goodFor(page, "rules");
  await shot(page, "rules");

  // A shipped rule shows all that it matches, as it is written, and says why it cannot be removed.
  await page.getByRole("link", { name: "caution-delete", exact: true }).first().click();
  await page.getByText("id = \"caution-delete\"").waitFor();
  await page.getByText("policy.without").waitFor();
  check(await page.getByRole("button", { name: "Remove…" }).isDisabled(), "a shipped rule stays");

  // A call of the record is explained.
  const call = await isAsked("src/new.txt", "without a rule");
  await page.getByLabel("From the record").focus();
  await page.locator(`#explain-recent option[value="${call}"]`).waitFor({ state: "attached" });
  await page.getByLabel("From the record").selectOption(call);
  await page.getByText("It would ask a person.").waitFor();
  const answer = page.getByRole("heading", { name: "It would ask a person." });
  await until("the answer has the focus", () => answer.evaluate((it) => it === document.activeElement));
  check((await page.getByLabel("Tool", { exact: true }).inputValue()) === "write_file", "the form has the call");

  const block = page.getByLabel("Where this comes from");
  await block.getByText(/toolcrib policy explain forgekeeper\/write_file .*path=src\/new.txt/).waitFor();
  await block.getByText(/POST \/api\/rules\/explain \{"tool":"write_file",/).waitFor();

  // A wrong rule is refused with its place, and nothing can be added that was not tried.
  const text = page.getByLabel(/The rule, as it will be in/);
  const add = page.getByRole("button", { name: /^Add to/ });
  const tried = page.getByRole("button", { name: "Show what it would change…" });
  check(await add.isDisabled(), "it was not tried");
  await text.fill('[[rule]]\nid = "ok"\ntool = "write_file"\neffect = "ask"\n\n[[rule]]\neffect = "perhaps"\n');
  await tried.click();
  await page.getByText(/line 6.*effect must be/).waitFor();
  check(await add.isDisabled(), "it is wrong");
  await text.fill("[[rule]\n");
  await tried.click();
  await page.getByRole("alert").getByText(/line 1/).waitFor();

  // The rule from the call: what it would have changed is shown before it is added.
  await page.getByLabel("About", { exact: true }).selectOption({ label: "calls that write below src/" });
  await page.getByLabel("Effect").selectOption("allow");
  await page.getByLabel("Name", { exact: true }).fill("notes-of-agents");
  await page.getByLabel("Because", { exact: true }).fill(ODD);
  check((await text.inputValue()).includes('writes = ["src/**"]'), await text.inputValue());
  await tried.click();
  await page.getByText("it would have let 1 run unasked, none of which a person declined").waitFor();
  await goodFor(page, "a rule that was tried");
  await shot(page, "rules-write");
  await add.click();
  await page.getByText("Added notes-of-agents").waitFor();
  await page.locator(".rule-list").getByRole("link", { name: "notes-of-agents" }).first().waitFor();
  check((await page.locator("img").count()) === 0, "a reason is text");
  await page.getByText("\\u{202e}gnp.exe").first().waitFor();

  // It decides, and the page counts that.
  const allowed = await execute("write_file", { path: "src/new.txt", content: "x" });
  check(allowed.status === 200, `the rule allows it: ${JSON.stringify(allowed.body)}`);
  await page.getByText(/1 call in the last 24\sh/).waitFor();
  await page.getByRole("button", { name: "Explain", exact: true }).click();
  await page.getByText("It would run.").waitFor();

  // The same name again is refused.
  await page.getByLabel("Name", { exact: true }).fill("notes-of-agents");
  await tried.click();
  await page.getByText(/another rule already has the id/).waitFor();

  // Removed, it decides no more.
  await page.locator(".rule-list").getByRole("link", { name: "notes-of-agents" }).first().click();
  await page.getByRole("button", { name: "Remove…" }).click();
  await page.getByRole("button", { name: "Keep it" }).click();
  await page.getByRole("button", { name: "Remove…" }).click();
  await page.getByRole("button", { name: "Remove the rule" }).click();
  await page.locator(".rule-list").getByRole("link", { name: "notes-of-agents" }).first().waitFor({ state: "detached" });
  const waits = await isAsked("src/other.txt", "without the rule");

  // A grant is listed with all that it covers, and revoked.
  await page.getByRole("link", { name: "Grants", exact: true }).click();
  await page.getByText("No grants").waitFor();
  const always = await api("POST", `/api/approvals/${waits}`, { decision: "always" }, APPROVER_TOKEN);
  check(always.status === 200, JSON.stringify(always.body));
  await page.getByRole("button", { name: /^Revoke/ }).waitFor();
  await goodFor(page, "grants");
  await shot(page, "grants");
  await until("the call that was approved", () => fs.existsSync(path.join(WORKSPACE, "src/other.txt")));
  check((await execute("write_file", { path: "src/third.txt", content: "x" })).status === 200, "the grant holds for calls like it");
  await page.getByRole("button", { name: /^Revoke/ }).click();
  await page.getByText("It stops holding at once, for everybody.").waitFor();
  await page.getByRole("button", { name: /^Revoke/ }).click();
  await page.getByText("Calls like these are asked about again.").waitFor();
  // The same call again would only be told that it was made.
  await isAsked("src/more.txt", "after it was revoked");

  // An approver looks and tries, and does not change; what is off says why.
  const other = await openPage({ colorScheme: "dark" });
  await logIn(other, APPROVER_TOKEN, "/rules?write=1");
  await other.getByText("Only an admin adds rules.").waitFor();
  await other.getByRole("button", { name: "Show what it would change…" }).click();
  await other.getByText("it would have changed none").waitFor();
  check(await other.getByRole("button", { name: /^Add to/ }).isDisabled(), "an approver adds no rules");
  await goodFor(other, "rules, dark");
  await shot(other, "rules-dark");
  await other.getByRole("link", { name: "Settings", exact: true }).click();
  await other.getByText("only an admin sees and changes them").waitFor();

  // By keyboard alone.
  await other.keyboard.press("1");
  await other.keyboard.press("7");
  await other.getByRole("cell", { name: "shipped" }).first().waitFor();
  await other.keyboard.press("/");
  await other.keyboard.type("caution-delete");
  await other.getByRole("link", { name: "caution-delete", exact: true }).waitFor();
  await other.keyboard.press("Escape");
  await other.keyboard.press("j");
  await other.keyboard.press("Enter");
  await other.getByText("id = \"caution-delete\"").waitFor();
  await other.getByLabel("Tool", { exact: true }).focus();
  await other.keyboard.type("clemini/bash");
  await other.keyboard.press("Tab");
  await other.getByLabel(/command/).first().focus();
  await other.keyboard.type("rm -rf src");
  await other.keyboard.press("Control+Enter");
  await other.getByText("It would ask a person.").waitFor();
  await other.getByText("caution-delete").nth(1).waitFor();

  const phone = await openPage({ viewport: { width: 390, height: 844 }, hasTouch: true });
  await logIn(phone, ADMIN_TOKEN, "/rules?rule=caution-delete");
  await phone.getByText("id = \"caution-delete\"").waitFor();
  check(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the phone");
  await goodFor(phone, "rules on a phone");
  await shot(phone, "rules-phone");
  return [page, other, phone];
});
