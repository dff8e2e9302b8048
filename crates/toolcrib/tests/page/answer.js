// Questions are answered in the browser while an agent waits. `KEYBOARD` answers them without the mouse.
const isKeyboard = process.env.KEYBOARD === "1";

/** Presses a key of the page, or the button that it stands for. */
async function act(page, key, button) {
  const control = page.getByRole("button", { name: button });
  await control.waitFor();
  // Answers are locked for a moment, so that nobody answers what has just moved under the pointer.
  await page.waitForFunction((it) => it.getAttribute("aria-disabled") !== "true" && !it.disabled, await control.elementHandle());
  if (isKeyboard) await page.keyboard.press(key);
  else await control.click();
}

async function asked(tool, args) {
  const { status, body, call } = await execute(tool, args);
  check(status === 403 && body.error === "approval_required", `it should be asked: ${JSON.stringify(body)}`);
  return body.call ?? call;
}

main(async () => {
  const page = await openPage();
  await logIn(page, APPROVER_TOKEN, "/approvals");
  await page.getByText("No call waits for a person").waitFor();

  // Approve: the call runs, and the page says so without a reload.
  const written = await asked("write_file", { path: "made.txt", content: "from an agent\n" });
  await page.getByRole("button", { name: "Run once" }).waitFor();
  await page.getByText("made.txt").first().waitFor();
  check((await page.getByText("from an agent").count()) > 0, "the question shows the content");
  await page.getByRole("heading", { name: "asks to create made.txt (+1 −0)" }).waitFor();
  await shot(page, "approvals");
  await act(page, "y", "Run once");
  await page.getByText("It ran").waitFor();
  check(read("made.txt") === "from an agent\n", "the file is written");
  const outcome = await execute("write_file", { path: "made.txt", content: "from an agent\n" }, { approval_id: written });
  check(outcome.body.ok === true, `the agent gets the outcome: ${JSON.stringify(outcome.body)}`);

  // Take it back.
  await act(page, "u", "Undo…");
  await act(page, "Enter", "Undo this call");
  await page.getByText("Undone by the call").waitFor();
  check(!fs.existsSync(path.join(WORKSPACE, "made.txt")), "the file is gone again");

  // Decline with words: the agent gets them.
  const edited = await asked("clemini/edit", { file_path: "notes.txt", old_string: "two", new_string: "2" });
  await page.goto(`${PAGE_URL}/approvals/${edited}`);
  await page.getByRole("button", { name: "Decline" }).waitFor();
  if (isKeyboard) await page.keyboard.press("c");
  else await page.getByLabel(/Words for the agent/).click();
  await page.keyboard.type("use the other file <b>please</b>");
  if (isKeyboard) await page.keyboard.press("Escape");
  await act(page, "n", "Decline");
  await page.getByText("The call did not run").waitFor();
  const declined = await execute("clemini/edit", { file_path: "notes.txt", old_string: "two", new_string: "2" }, { approval_id: edited });
  check(JSON.stringify(declined.body).includes("use the other file"), `the words arrive: ${JSON.stringify(declined.body)}`);
  check(read("notes.txt") === "one two three\n", "nothing was changed");

  // Always: the next call is not asked about, until the grant is revoked.
  const stored = await asked("clemini/edit", { file_path: "notes.txt", old_string: "one", new_string: "1" });
  await page.goto(`${PAGE_URL}/approvals/${stored}`);
  await act(page, "a", "Run and store the grant");
  await page.getByText("It ran").waitFor();
  const allowed = await execute("clemini/edit", { file_path: "notes.txt", old_string: "three", new_string: "3" });
  check(allowed.status === 200, `the grant allows it: ${JSON.stringify(allowed.body)}`);
  await page.getByRole("button", { name: "Revoke the grant…" }).click();
  await page.getByRole("button", { name: "Revoke the grant", exact: true }).click();
  await page.getByText("Revoked.").waitFor();
  await asked("clemini/edit", { file_path: "notes.txt", old_string: "1", new_string: "one" });

  // Somebody else is first.
  const raced = await asked("write_file", { path: "raced.txt", content: "x" });
  await page.goto(`${PAGE_URL}/approvals/${raced}`);
  await page.getByRole("button", { name: "Run once" }).waitFor();
  await page.keyboard.press("p");
  const first = await api("POST", `/api/approvals/${raced}`, { decision: "deny", words: "not now" });
  check(first.status === 200, JSON.stringify(first.body));
  await act(page, "y", "Run once");
  await page.getByText("Your answer was not used").waitFor();
  await page.getByText("not now").first().waitFor();
  check(!fs.existsSync(path.join(WORKSPACE, "raced.txt")), "it did not run");
  return [page];
});
