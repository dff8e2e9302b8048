// Connect: the snippets are those of `toolcrib mcp install --print`, the first call shows up, and tokens are made,
// rotated and revoked by an admin alone.
const SNIPPETS = JSON.parse(process.env.SNIPPETS);
const ODD = "<b>odd</b> \u202eclient";

/** Makes a call over MCP, as a client with an odd name. */
async function callOverMcp(token) {
  const params = {
    name: "read_file",
    arguments: { file_path: "notes.txt" },
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": { name: ODD, version: "1" },
    },
  };
  const reply = await fetch(`${PAGE_URL}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "read_file",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  const said = await reply.text();
  check(reply.status === 200 && said.includes("one two three"), `${reply.status} ${said}`);
}

main(async () => {
  const page = await openPage();
  await logIn(page, ADMIN_TOKEN, "/connect");
  await page.getByText("Nobody has made a call").waitFor();
  for (const [client, scopes] of Object.entries(SNIPPETS)) {
    await page.goto(`${PAGE_URL}/connect/${client}`);
    for (const [scope, expected] of Object.entries(scopes)) {
      await page.getByRole("radio", { name: scope === "user" ? /^your own file/ : /^the project's file/ }).check();
      const shown = await page.locator(".steps .code pre").last().textContent();
      check(shown === expected, `${client}, ${scope}:\n${shown}\n${expected}`);
    }
  }
  await checkBothThemes(page, "connect");

  // By keyboard along the clients.
  await page.goto(`${PAGE_URL}/connect/codex`);
  const clients = page.getByRole("navigation", { name: "Clients" }).getByRole("link");
  await clients.first().waitFor();
  const at = await clients.evaluateAll((all) => all.findIndex((it) => it.getAttribute("aria-current") === "true"));
  await page.keyboard.press("j");
  check(await clients.nth(at + 1).evaluate((it) => it === document.activeElement), "j goes to the next client");
  await page.keyboard.press("k");
  check(await clients.nth(at).evaluate((it) => it === document.activeElement), "k goes back");

  // What is shown to paste is a command that works.
  await page.goto(`${PAGE_URL}/connect/http`);
  const pasted = await page.locator(".steps > ol > li").nth(1).locator("pre").textContent();
  const [, target, body] = /(http:\S+)[^']*'(\{.*\})'$/s.exec(pasted.trim());
  const tried = await api("POST", target.slice(PAGE_URL.length), JSON.parse(body), ADMIN_TOKEN);
  check(tried.status === 200, `${pasted} ${JSON.stringify(tried.body)}`);
  for (const other of ["http", "mcp-http", "tokens"]) {
    await page.goto(`${PAGE_URL}/connect/${other}`);
    await page.locator(".steps > h2").waitFor();
    const found = await violations(page);
    check(found.length === 0, `${other}: ${found.join("\n")}`);
  }

  // The first call of a client shows up, with its odd name as text.
  await page.goto(`${PAGE_URL}/connect/claude-code`);
  await page.getByText("No call from Claude Code yet").waitFor();
  await shot(page, "connect");
  await callOverMcp(AGENT_TOKEN);
  await page.locator(".first-call").getByText("read_file").waitFor();
  await page.locator(".first-call").getByText("<b>odd</b> \\u{202e}client").waitFor();
  await page.getByRole("cell", { name: "<b>odd</b>" }).waitFor();
  await shot(page, "connect-called");

  // A token for a program: shown once, in the snippet, and it works.
  await page.goto(`${PAGE_URL}/connect/http`);
  await page.getByText("No call from the program yet").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("no spaces");
  await page.getByRole("button", { name: "Make a token" }).click();
  await page.getByText("No token was made.").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("code-agent");
  await page.getByRole("button", { name: "Make a token" }).click();
  await page.getByText("shown this once").waitFor();
  const token = await page.locator(".new-token .code pre").textContent();
  check(/^tcb_[0-9a-f]{64}$/.test(token), token);
  check((await page.locator(".steps > ol > li").nth(1).locator("pre").textContent()).includes("Bearer $TOOLCRIB_TOKEN"), "the command does not have it: a shell remembers commands");
  check((await execute("get_time", {}, {}, token)).status === 200, "the token works");
  await page.locator(".first-call").getByText("get_time").waitFor();

  // Rotated, the old one counts no more; revoked, none does.
  await page.getByRole("link", { name: /^Tokens/ }).click();
  await page.locator(".tokens").getByRole("cell", { name: "code-agent", exact: true }).waitFor();
  check((await page.getByText(token).count()) === 0, "it is not shown again");
  const found = await violations(page);
  check(found.length === 0, found.join("\n"));
  await shot(page, "tokens");
  await page.getByRole("button", { name: "Rotate code-agent…" }).click();
  await page.getByRole("button", { name: "Give code-agent another token" }).click();
  await page.getByText("The token of code-agent, shown this once.").waitFor();
  const rotated = await page.locator(".steps .code pre").last().textContent();
  check((await execute("get_time", {}, {}, token)).status === 401, "the old one is refused");
  check((await execute("get_time", {}, {}, rotated)).status === 200, "the new one works");
  await page.getByRole("button", { name: "Revoke code-agent…" }).click();
  await page.getByRole("button", { name: "Revoke code-agent", exact: true }).click();
  await page.locator(".tokens").getByRole("cell", { name: "code-agent", exact: true }).waitFor({ state: "detached" });
  check((await execute("get_time", {}, {}, rotated)).status === 401, "it is revoked");
  // The name is not given again.
  await page.getByLabel("Name", { exact: true }).fill("code-agent");
  await page.getByRole("button", { name: "Make a token" }).click();
  await page.getByText("choose another name").waitFor();

  // Only an admin: neither at the page nor past it.
  for (const role of [AGENT_TOKEN, APPROVER_TOKEN]) {
    const made = await api("POST", "/api/tokens", { name: "more", role: "admin" }, role);
    check(made.status === 403, `a token makes itself more: ${JSON.stringify(made.body)}`);
  }
  const phone = await openPage({ viewport: { width: 390, height: 844 }, hasTouch: true });
  await logIn(phone, APPROVER_TOKEN, "/connect/tokens");
  await phone.getByText("Only an admin sees, makes and revokes tokens").waitFor();
  await phone.goto(`${PAGE_URL}/connect/cursor`);
  await phone.getByText("Connect Cursor").waitFor();
  const wide = await phone.evaluate(() => {
    const isOutside = (it) => it.getBoundingClientRect().right > innerWidth + 1 && !it.closest(".list");
    const found = [...document.querySelectorAll("body *")].filter(isOutside).slice(0, 9);
    return document.documentElement.scrollWidth <= innerWidth ? "" : found.map((it) => it.outerHTML.slice(0, 120)).join("\n");
  });
  check(wide === "", `wider than the phone: ${wide}`);
  const small = await violations(phone);
  check(small.length === 0, small.join("\n"));
  await shot(phone, "connect-phone");
  return [page, phone];
});
