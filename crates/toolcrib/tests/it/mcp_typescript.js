// Drives an MCP server with the official clients: node -e THIS SDK SCENARIO WORKSPACE PROGRAM [URL TOKEN]
// The SDK is `legacy` (@modelcontextprotocol/sdk) or `modern` (@modelcontextprotocol/client).

const assert = require('node:assert');
const fs = require('node:fs');
const { execFileSync } = require('node:child_process');

const [sdk, scenario, workspace, program, url, token] = process.argv.slice(1);

const PATIENT = { timeout: 3_600_000, resetTimeoutOnProgress: true };

const asked = [];
let answer;

function connection(transports) {
  if (url) {
    const headers = { Authorization: `Bearer ${token}` };
    return new transports.StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  }
  return new transports.StdioClientTransport({ command: program, args: ['mcp'], env: process.env });
}

async function connect() {
  const about = { name: `typescript-${sdk}`, version: '1' };
  const capabilities = { elicitation: { form: {} } };
  const listen = (request, extra) => {
    asked.push(request.params.message);
    return answer(request, extra);
  };
  if (sdk === 'legacy') {
    const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
    const { ElicitRequestSchema } = require('@modelcontextprotocol/sdk/types.js');
    const client = new Client(about, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, listen);
    await client.connect(connection({
      ...require('@modelcontextprotocol/sdk/client/stdio.js'),
      ...require('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    }));
    return { client, call: (name, args, options) => call(client, [undefined], name, args, options) };
  }
  const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
  const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
  const client = new Client(about, { capabilities, versionNegotiation: { mode: 'auto' } });
  client.setRequestHandler('elicitation/create', listen);
  await client.connect(connection({ StdioClientTransport, StreamableHTTPClientTransport }));
  assert.equal(client.getProtocolEra(), 'modern');
  return { client, call: (name, args, options) => call(client, [], name, args, options) };
}

/** Calls a tool. `schema` is what the first SDK takes before the options. */
function call(client, schema, name, args, options = {}) {
  return client.callTool({ name, arguments: args }, ...schema, { ...PATIENT, ...options });
}

/** Waits until something holds, and fails after two minutes. */
async function until(isSo) {
  for (let round = 0; round < 2400; round += 1) {
    if (isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail('it never came about');
}

const SLEEP = ['sleep', '614.25', ''].join('\0');

function sleeps() {
  return fs.readdirSync('/proc').some((name) => {
    try {
      return fs.readFileSync(`/proc/${name}/cmdline`, 'utf8') === SLEEP;
    } catch {
      return false;
    }
  });
}

const accept = (content) => () => ({ action: 'accept', content });
const YES = accept({ decision: 'once' });

async function use({ client, call }) {
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  assert(tools.includes('read_file') && tools.includes('bash'), tools);

  fs.writeFileSync('a.txt', 'hello\n');
  const read = await call('read_file', { file_path: 'a.txt' });
  assert(!read.isError && read.content[0].text.includes('1: hello'), JSON.stringify(read));

  // It runs until it was followed, however busy the machine is.
  const told = [];
  const command = 'echo first; while [ ! -e go ]; do sleep 0.1; done; echo last';
  answer = YES;
  const running = call('bash', { command }, { onprogress: (progress) => told.push(progress) });
  await until(() => told.some((it) => it.message?.includes('first')));
  fs.writeFileSync('go', '');
  const done = await running;
  assert(done.content[0].text.includes('last'), JSON.stringify(done));
  fs.unlinkSync('go');
  assert(told.every((it, at) => at === 0 || told[at - 1].progress < it.progress), JSON.stringify(told));

  fs.writeFileSync('old.txt', 'x\n');
  const remove = { command: 'rm -f old.txt' };
  for (const no of [accept({ decision: 'no', reason: 'keep it' }), () => ({ action: 'decline' })]) {
    answer = no;
    const refused = await call('bash', remove);
    assert(refused.isError && fs.existsSync('old.txt'), JSON.stringify(refused));
  }
  answer = YES;
  const allowed = await call('bash', remove);
  assert(!allowed.isError && !fs.existsSync('old.txt'), JSON.stringify(allowed));
  assert(asked.length === 4 && asked[1].includes('old.txt'), asked);

  const cancelling = new AbortController();
  const sleeping = call('bash', { command: 'sleep 614.25' }, { signal: cancelling.signal });
  await until(sleeps);
  cancelling.abort('enough');
  await assert.rejects(sleeping);
  await until(() => !sleeps());
}

/** The person answers yes, but only after the question is gone. */
async function expire({ call }) {
  fs.writeFileSync('old.txt', 'x\n');
  const waits = () => JSON.parse(execFileSync(program, ['approvals', 'list', '--json'])).length;
  answer = async () => {
    await until(() => waits() === 0);
    return { action: 'accept', content: { decision: 'once' } };
  };
  const late = call('bash', { command: 'rm -f old.txt' });
  if (sdk === 'legacy') {
    const refused = await late;
    assert(refused.isError, JSON.stringify(refused));
    assert.match(refused.content[0].text, /nobody answered within/);
  } else {
    await assert.rejects(late, /too old/);
  }
  assert(fs.existsSync('old.txt'));
  await until(() => asked.length === 1);
}

process.chdir(workspace);
connect()
  .then(async (connected) => {
    await { use, expire }[scenario](connected);
    await connected.client.close();
    console.log('all done');
  })
  .catch((error) => {
    console.error(error);
    process.exit(1);
  });
