// A host that a running command wants to reach: the client and the page ask about it, and the first answer counts.
main(async () => {
  const page = await openPage();
  await logIn(page, APPROVER_TOKEN, "/approvals");

  const forms = [];
  const client = mcpClient((message, reply) => {
    forms.push(message.params.message);
    // The client answers for the command itself, and leaves the host to the page.
    if (forms.length === 1) reply({ action: "accept", content: { decision: "once" } });
  });
  await client.begin({ elicitation: {} });
  // `localhost` is never on the open internet, so that no test reaches anything.
  const wanted = (number) => `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT localhost:${number} HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3; `;
  const done = client.call("bash", { command: wanted(443) + wanted(8443) + wanted(9443) + "echo ended" });

  const question = page.getByRole("region", { name: "Question", exact: true });
  const isNext = async (place) => {
    await page.getByRole("link", { name: new RegExp(place) }).click();
    await page.getByRole("heading", { name: new RegExp(`asks to reach ${place}`) }).waitFor();
  };
  const isOpen = () => page.waitForFunction(() => document.querySelector("button.yes")?.getAttribute("aria-disabled") === "false");

  await isNext("localhost:443");
  const text = await question.innerText();
  for (const part of ["CONNECT localhost:443", "sandbox.egress", "this host and port, as long as this command runs", "what the command sends there", "Nothing takes back what the command sends"]) {
    check(text.includes(part), `${part}: ${text}`);
  }
  await checkBothThemes(page, "answer_host");
  await shot(page, "approvals-host");
  const { approvals } = (await api("GET", "/api/approvals")).body;
  check(approvals.length === 1 && /^[0-9A-Z]{26}-host1$/.test(approvals[0].id), JSON.stringify(approvals));
  await isOpen();
  await page.keyboard.press("y");
  await page.getByText("Let through", { exact: true }).waitFor();
  await page.getByText("It was let through.").waitFor();

  await isNext("localhost:8443");
  await isOpen();
  await page.getByLabel(/Words for the agent/).fill("not there");
  await page.getByRole("button", { name: "Decline" }).click();
  await page.getByText("It was not let through.").waitFor();

  await isNext("localhost:9443");
  await isOpen();
  await page.getByRole("button", { name: "Let through and store the grant" }).scrollIntoViewIfNeeded();
  await page.waitForFunction(() => [...document.querySelectorAll("button")].find((it) => it.innerText.startsWith("Let through and store")).getAttribute("aria-disabled") === "false");
  await page.keyboard.press("a");
  await page.getByText("Approved, and a grant stored").waitFor();
  await page.getByText("connections to localhost:9443").first().waitFor();

  // What the command was told: an address of this machine is refused even to whoever may reach the host.
  const { result } = await done;
  const output = result.structuredContent.stdout;
  check(/a person said no: not there/.test(output) && /ended/.test(output), output);
  check((output.match(/not on the open internet/g) ?? []).length === 2, output);
  check(forms.length === 4 && forms.slice(1).every((it) => it.includes("localhost")), JSON.stringify(forms));
  const grants = (await api("GET", "/api/grants")).body.grants.map((it) => it.id);
  check(grants.length === 1 && grants[0].endsWith("-host3"), JSON.stringify(grants));

  // The record has who was asked, and who decided.
  await page.getByRole("link", { name: "The whole story of the call" }).click();
  await page.getByRole("heading", { name: /clemini\/bash/ }).waitFor();
  const { body } = await api("GET", `/api/audit/${approvals[0].id.split("-")[0]}`);
  const story = JSON.stringify(body);
  for (const event of ["host_asked", "host_answered", "host_allowed", "host_refused"]) check(story.includes(event), `${event}: ${story.slice(0, 4000)}`);
  return [page];
});
