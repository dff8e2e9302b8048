// A tool is proposed, read, approved and called; a worse version is rolled back; another is rejected with a reason.
// `KEYBOARD` does it without the mouse.
const isKeyboard = process.env.KEYBOARD === "1";

async function act(page, key, button) {
  const control = page.getByRole("button", { name: button });
  await control.waitFor();
  await page.waitForFunction((it) => it.getAttribute("aria-disabled") !== "true" && !it.disabled, await control.elementHandle());
  if (isKeyboard && key !== null) await page.keyboard.press(key);
  else if (isKeyboard) {
    await control.focus();
    await page.keyboard.press("Enter");
  } else await control.click();
}

function code(result, permissions = "{}") {
  return [
    "export const name = 'count_lines';",
    "export const description = 'Counts the lines of a text';",
    `export const permissions = ${permissions};`,
    "export const parameters = {type: 'object', properties: {text: {type: 'string'}}, required: ['text']};",
    "export const examples = [{about: 'two <b>lines</b>', args: {text: 'a\\nb'}, reply: {lines: 2}}];",
    `export async function execute(args) { return {lines: ${result}}; }`,
    "",
  ].join("\n");
}

async function propose(result, permissions, token = AGENT_TOKEN) {
  const { status, body } = await api("POST", "/api/tools/propose", { name: "count_lines", description: "Counts lines", code: code(result, permissions), reasoning: "I count <i>lines</i> all day" }, token);
  check(status === 200, JSON.stringify(body));
  return body.proposal;
}

async function lines() {
  const { body } = await execute("plugins/count_lines", { text: "one\ntwo\nthree" });
  return body.lines ?? body.result?.lines ?? JSON.stringify(body);
}

main(async () => {
  const page = await openPage();
  await logIn(page, ADMIN_TOKEN, "/proposals");
  await page.getByText("No proposal waits").waitFor();

  // Approve: the agent calls the tool at once.
  const first = await propose("args.text.split('\\n').length");
  const region = page.getByRole("region", { name: "Proposal", exact: true });
  await region.waitFor();
  const text = await region.innerText();
  for (const part of ["agent proposes a new tool", "I count <i>lines</i> all day", "it only computes", "two <b>lines</b>", "passed", "export async function execute"]) {
    check(text.includes(part), `${part}: ${text}`);
  }
  check((await page.locator(".hash-box").innerText()).replaceAll(/\s/g, "") === first.hash, "the whole hash is shown");
  await checkBothThemes(page, "proposal");
  await shot(page, "proposals");
  await act(page, "y", "Approve");
  await page.getByText("It is loaded.").waitFor();
  check((await lines()) === 3, `it is called: ${await lines()}`);

  // A new version: what it asks for more is marked, and so is a failed example, with the times of both versions.
  const second = await propose("args.text.length", "{read: ['src']}");
  await page.goto(`${PAGE_URL}/proposals/${second.id}`);
  await region.getByText("wider").waitFor();
  check((await region.innerText()).includes("it returned"), "the failed example says what it did");
  check((await region.locator(".diff ins, .diff tr.added").count()) > 0, "the code has a difference");
  await shot(page, "proposals-difference");
  await act(page, "y", "Approve");
  await page.getByText("It is loaded.").waitFor();
  check((await lines()) === 13, `the worse version is active: ${await lines()}`);
  // What is active now is compared with what it replaced, not with itself.
  await page.getByRole("heading", { name: "agent proposed a new version of count_lines" }).waitFor();
  check((await region.getByText("the same as the active version").count()) === 0, "it is not compared with itself");
  await act(page, null, "Roll back to version");
  await act(page, null, /^Roll back to [0-9a-f]{12}$/);
  await page.getByText(`Rolled back to ${first.hash.slice(0, 12)}.`).waitFor();
  check((await lines()) === 3, `the first version is back: ${await lines()}`);

  // Off and on.
  await act(page, null, "Switch off…");
  await act(page, null, "Switch off the tool");
  await page.getByText("Switched off: no agent can call it.").waitFor();
  check((await lines()) !== 3, "it cannot be called");
  await act(page, null, "Switch on the tool");
  await page.getByText("Switched on: agents can call it again.").waitFor();
  check((await lines()) === 3, "it can be called again");

  // A rejection needs a reason.
  const third = await propose("0");
  await page.goto(`${PAGE_URL}/proposals/${third.id}`);
  await page.waitForFunction(() => document.querySelector("button.yes")?.getAttribute("aria-disabled") === "false");
  check((await page.getByRole("button", { name: "Reject" }).getAttribute("aria-disabled")) === "true", "not without a reason");
  if (isKeyboard) await page.keyboard.press("n");
  else await page.getByLabel(/Reason/).click();
  await page.keyboard.type("it counts <b>nothing</b>");
  if (isKeyboard) await page.keyboard.press("Escape");
  await act(page, "n", "Reject");
  await page.getByRole("complementary", { name: "Answer" }).getByText("Rejected").waitFor();
  await page.getByText("it counts <b>nothing</b>").first().waitFor();
  check((await lines()) === 3, "the first version stays");

  // Somebody else is first.
  const fourth = await propose("1");
  await page.goto(`${PAGE_URL}/proposals/${fourth.id}`);
  await page.getByRole("button", { name: "Approve" }).waitFor();
  await page.keyboard.press("p");
  const reply = await api("POST", `/api/tools/reject/${fourth.id}`, { reason: "not this one" }, APPROVER_TOKEN);
  check(reply.status === 200, JSON.stringify(reply.body));
  await act(page, "y", "Approve");
  await page.getByText("Your answer was not used").waitFor();
  await page.getByText("not this one").first().waitFor();
  await page.keyboard.press("p");

  // Whoever proposed cannot answer, and sees why.
  const own = await propose("2", undefined, ADMIN_TOKEN);
  await page.goto(`${PAGE_URL}/proposals/${own.id}`);
  await page.getByText("You proposed it, so somebody else has to answer.").waitFor();
  check((await page.getByRole("button", { name: "Approve" }).getAttribute("aria-disabled")) === "true", "Approve is off");
  await page.keyboard.press("y");
  check((await api("GET", `/api/tools/pending/${own.id}`)).body.proposal.status === "pending", "it still waits");
  await checkBothThemes(page, "proposal");
  return [page];
});
