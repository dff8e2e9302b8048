// A command as it was read; and a question that came over MCP, which the page answers while the client waits.
main(async () => {
  const page = await openPage();
  await logIn(page, APPROVER_TOKEN, "/approvals");

  const command = "cp notes.txt copy.txt && rm -rf copy.txt $(echo src)";
  const told = await execute("clemini/bash", { command });
  check(told.body.error === "confirmation_required", JSON.stringify(told.body));
  const { body } = await execute("clemini/bash", { command, confirmed: true });
  check(body.error === "approval_required", JSON.stringify(body));
  await page.getByText("As written").waitFor();
  const question = page.getByRole("region", { name: "Question", exact: true });
  await question.getByText("found, not proven").first().waitFor();
  const text = await question.innerText();
  for (const part of ["cp notes.txt copy.txt", "Not sure:", "Why it asks", "Bound to", "Not bound to", "Undo", "Nothing takes back"]) {
    check(text.includes(part), `${part}: ${text}`);
  }
  await checkBothThemes(page, "answer_command");
  await shot(page, "approvals-command");
  await question.getByRole("heading", { name: /Just before/ }).scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector("button.no").getAttribute("aria-disabled") === "false");
  await page.getByRole("button", { name: "Decline" }).click();
  await page.getByText("The call did not run").waitFor();

  // The client shows its form and waits. Somebody answers on the page first, and the call runs in the client's process.
  let asked = () => undefined;
  const isAsked = new Promise((resolve) => (asked = resolve));
  const client = mcpClient((message) => asked(message));
  await client.begin({ elicitation: {} });
  const done = client.call("edit", { file_path: "notes.txt", old_string: "three", new_string: "3" });
  const form = await Promise.race([isAsked, done]);
  check(form.method === "elicitation/create", `the client is asked: ${JSON.stringify(form)}`);
  const { approvals } = (await api("GET", "/api/approvals")).body;
  check(approvals.length === 1 && approvals[0].caller.door === "mcp" && !approvals[0].is_parked, JSON.stringify(approvals));
  await page.goto(`${PAGE_URL}/approvals/${approvals[0].id}`);
  await page.getByText("MCP, the client waits").waitFor();
  await page.getByRole("heading", { name: /^local user \(mcp client page-test.* asks to/ }).waitFor();
  await page.waitForFunction(() => document.querySelector("button.yes").getAttribute("aria-disabled") === "false");
  await page.keyboard.press("y");
  const reply = await done;
  check(reply.result !== undefined && !reply.result.isError, JSON.stringify(reply));
  await page.getByText("It ran").waitFor();
  check(read("notes.txt") === "one two 3\n", "the client's process made the change");
  client.child.kill();

  // A client that cannot be asked is told to wait. The server runs the call, and for as long as it takes.
  const simple = mcpClient(() => undefined);
  await simple.begin({});
  const slow = "sleep 1; rm -rf copy.txt $(echo gone); cp notes.txt slept.txt";
  await simple.call("bash", { command: slow });
  const parked = await simple.call("bash", { command: slow, confirmed: true });
  check(parked.result?.isError === true, JSON.stringify(parked));
  simple.child.kill();
  const [waits] = (await api("GET", "/api/approvals")).body.approvals;
  check(waits?.caller.door === "mcp" && waits.is_parked, JSON.stringify([waits, parked]));
  await page.goto(`${PAGE_URL}/approvals/${waits.id}`);
  await page.getByText("As written").waitFor();
  await page.getByRole("heading", { name: /Just before/ }).scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector("button.yes").getAttribute("aria-disabled") === "false");
  await page.keyboard.press("y");
  await page.getByText("It ran").waitFor();
  check(read("slept.txt") === "one two 3\n", "it ran to its end");
  return [page];
});
