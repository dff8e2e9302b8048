// What an agent writes is text, however it looks; what is long is shown whole before it can be approved; and nobody
// answers their own question.
const LONG = Array.from({ length: 3000 }, (_, at) => `line ${at}`).join("\n") + "\n";
const HOSTILE = '<img src=x onerror="document.title=1"><script>alert(1)</script>\u001b[31m \u202egpj.exe\u200b \u05d0\u05d1\u05d2 </pre><b>bold</b>';

const ODD = "\u05e9\u202e<b>\u200b".repeat(30).slice(0, 128);

async function openQuestion(page, tool, args, token = AGENT_TOKEN, more = {}) {
  const { status, body } = await execute(tool, args, more, token);
  check(status === 403 && body.error === "approval_required", `it should be asked: ${JSON.stringify(body)}`);
  await page.goto(`${PAGE_URL}/approvals/${body.approval.id}`);
  await page.getByRole("button", { name: "Decline" }).waitFor();
  return body.approval.id;
}

const isOff = async (page, name) => (await page.getByRole("button", { name }).getAttribute("aria-disabled")) === "true";

main(async () => {
  const page = await openPage();
  await logIn(page, ADMIN_TOKEN, "/approvals");

  // Markup, terminal codes and letters that turn the direction are spelled out.
  await openQuestion(page, "write_file", { path: `hostile <i>${ODD}.txt`.slice(0, 80), content: HOSTILE }, AGENT_TOKEN, { conv_id: "<b>".repeat(40) });
  const shown = await page.getByRole("region", { name: "Question", exact: true }).innerText();
  check(shown.includes("<img src=x") && shown.includes("</pre><b>bold</b>"), `markup is text: ${shown}`);
  check(shown.includes("\\u{202e}") && shown.includes("\\u{1b}") && !/[\u001b\u202e\u200b]/.test(shown), `what is hidden is spelled out: ${shown}`);
  check((await page.locator("main img, main script").count()) === 0, "nothing became an element");
  await page.getByRole("heading", { name: /Just before/ }).scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector("button.yes").getAttribute("aria-disabled") === "false");
  // The grant is long, so its end was not on the screen.
  check(await isOff(page, "Run and store the grant"), "nobody stores a grant that was not shown");
  await page.getByRole("button", { name: "Run and store the grant" }).scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelectorAll("[aria-disabled=true]").length === 0);
  await checkBothThemes(page, "answer_hostile");

  // Words with markup come back as text.
  await page.getByLabel(/Words for the agent/).fill("<img src=x onerror=alert(1)> no");
  await page.getByRole("button", { name: "Decline" }).click();
  await page.getByText("The call did not run").waitFor();
  check((await page.locator("main img").count()) === 0, "words are text");

  // A long edit is not approved before its end was on the screen.
  await openQuestion(page, "write_file", { path: "long.txt", content: LONG });
  await page.getByText("more lines are not shown").waitFor();
  await page.waitForFunction(() => document.querySelector("button.no").getAttribute("aria-disabled") === "false");
  check(await isOff(page, "Run once"), "not all of it was shown");
  await page.keyboard.press("y");
  check((await api("GET", "/api/approvals")).body.count === 1, "the key is locked, too");
  await page.keyboard.press("v");
  await page.getByRole("cell", { name: "line 2999" }).waitFor();
  check(await isOff(page, "Run once"), "its end was not on the screen");
  await page.getByRole("heading", { name: /Just before/ }).scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector("button.yes").getAttribute("aria-disabled") === "false");
  // Enter is no answer.
  await page.getByRole("region", { name: "Question", exact: true }).focus();
  await page.keyboard.press("Enter");
  check((await api("GET", "/api/approvals")).body.count === 1, "Enter does nothing");
  await page.keyboard.press("y");
  await page.getByText("It ran").waitFor();
  check(read("long.txt") === LONG, "all of it is written");

  // A question of one's own cannot be answered, and says why.
  const own = await openQuestion(page, "write_file", { path: "own.txt", content: "x" }, ADMIN_TOKEN);
  await page.getByText("You asked for this call").waitFor();
  check((await isOff(page, "Run once")) && (await isOff(page, "Decline")), "both answers are off");
  await page.keyboard.press("y");
  await page.keyboard.press("n");
  const { approval } = (await api("GET", `/api/approvals/${own}`)).body;
  check(approval.status === "pending", `it still waits: ${approval.status}`);
  // The control: somebody else can answer it.
  const other = await openPage({ viewport: { width: 390, height: 844 }, hasTouch: true });
  await logIn(other, APPROVER_TOKEN, `/approvals/${own}`);
  await other.waitForFunction(() => document.querySelector("button.no")?.getAttribute("aria-disabled") === "false");
  check((await other.evaluate(() => document.documentElement.scrollWidth)) <= 390, "a phone needs no scrolling sideways");
  const height = (await other.getByRole("button", { name: "Run once" }).boundingBox()).height;
  check(height >= 44, `a finger hits it: ${height}`);
  await checkBothThemes(other, "answer_hostile");
  await shot(other, "approvals-phone");
  await other.getByRole("button", { name: "Decline" }).click();
  await page.getByText("The call did not run").waitFor();

  // A file that changes after the question is told while somebody looks, and what changed cannot be approved.
  const rest = async () => page.getByRole("heading", { name: /Just before/ }).scrollIntoViewIfNeeded();
  await openQuestion(page, "clemini/edit", { file_path: "notes.txt", old_string: "two", new_string: "2" });
  await rest();
  await page.waitForFunction(() => document.querySelector("button.yes").getAttribute("aria-disabled") === "false");
  fs.writeFileSync(path.join(WORKSPACE, "notes.txt"), "one two four\n");
  await page.getByText("Something changed after this was asked").first().waitFor();
  check((await page.getByText("notes.txt").count()) > 1, "it is named");
  await rest();
  await page.waitForFunction(() => document.querySelector("button.no").getAttribute("aria-disabled") === "false");
  check(await isOff(page, "Run once"), "what changed is not approved");

  // Nothing of a long line lies beyond the edge.
  await openQuestion(page, "write_file", { path: "wide.txt", content: `${"x".repeat(2000)}${" ".repeat(400)}the end of the line\n` });
  const wide = page.getByRole("region", { name: "difference of wide.txt" });
  await wide.waitFor();
  check(await wide.evaluate((it) => it.scrollWidth <= it.clientWidth), "the line is wrapped");
  return [page, other];
});
