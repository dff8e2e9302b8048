// A server that comes to an imported file waits until somebody accepts it on the page.
main(async () => {
  const file = path.join(WORKSPACE, "servers.json");
  const write = (servers) => fs.writeFileSync(file, JSON.stringify({ mcpServers: servers }));
  const servers = async () => (await api("GET", "/api/servers")).body.servers;
  write({});
  const set = await api("POST", "/api/settings", { "mcp.import": [file] });
  check(set.status === 200, JSON.stringify(set.body));
  check((await servers()).length === 0, "the file is imported as it is");
  write({ notes: { command: "no-such-server", args: ["--all", "<img src=x>"] } });

  const page = await openPage();
  await logIn(page, APPROVER_TOKEN, "/proposals");
  const region = page.getByRole("region", { name: "What waits" });
  await region.waitFor();
  const text = await region.innerText();
  check(text.includes("A file brings the MCP server notes") && text.includes("<img src=x>"), text);
  await checkBothThemes(page, "a server that waits");
  await shot(page, "proposals-server");
  const [{ waiting_hash: hash }] = await servers();
  check((await page.locator(".hash-box").innerText()).replaceAll(/\s/g, "") === hash, "the whole hash is shown");

  // What changes while it is read is not accepted.
  await page.keyboard.press("p");
  write({ notes: { command: "another-server" } });
  await page.waitForFunction(() => document.querySelector("button.yes")?.getAttribute("aria-disabled") === "false");
  await page.keyboard.press("y");
  await page.getByText("is not what was shown").waitFor();
  check((await servers())[0].import !== undefined, "it still waits");
  await page.getByText("another-server").first().waitFor();
  await page.waitForFunction(() => document.querySelector("button.yes")?.getAttribute("aria-disabled") === "false");
  await page.getByRole("button", { name: /^Accept/ }).click();
  await page.getByText("Accepted.", { exact: true }).waitFor();
  check((await servers())[0].import === undefined, "it is accepted");
  return [page];
});
