// A client of the bus, written from the contract alone. It takes an address and what its inboxes begin with, and
// reads steps; it prints what came back for each, a line each: the reply, or null if there was none.
const { connect, createInbox, nkeyAuthenticator } = require("nats");
const [url, inboxPrefix, user] = process.argv.slice(1);
const steps = JSON.parse(require("fs").readFileSync(0, "utf8"));

function envelope({ id, timestamp, source, payload }) {
  return JSON.stringify({
    id: id ?? crypto.randomUUID(),
    timestamp: timestamp ?? new Date().toISOString(),
    source: source ?? "test-client",
    type: "tool.request",
    payload: { sessionId: "session-1", callId: crypto.randomUUID(), ...payload },
  });
}

// A gateway that has just been started may not be connected yet. The NATS server says that nobody listens.
async function untilSomebodyListens(nats, { prefix }) {
  const subject = `${prefix ?? "nachos"}.tool.calculator.request`;
  for (let tries = 0; tries < 600; tries++) {
    const reply = await nats.request(subject, "no request", { timeout: 30000 }).catch((err) => err);
    if (reply.code !== "503") return;
    await new Promise((done) => setTimeout(done, 50));
  }
}

async function main() {
  // A user logs in with the seed of a key, or with a password.
  const login = user?.startsWith("SU")
    ? { authenticator: nkeyAuthenticator(new TextEncoder().encode(user)) }
    : { user, pass: user && `${user}-password` };
  const nats = await connect({ servers: url, inboxPrefix, ...login, maxReconnectAttempts: -1 });
  const denied = [];
  const refused = (code) => denied.includes(code) || denied.push(code);
  (async () => {
    for await (const { type, data } of nats.status()) if (type === "error") refused(data);
  })();
  let last;
  for (const step of steps) {
    const subject = step.subject ?? `${step.prefix ?? "nachos"}.tool.${step.tool}.request`;
    const body = step.again ? last : step.raw ?? envelope(step);
    last = body;
    const inbox = step.reply ?? createInbox(inboxPrefix);
    if (step.denied) {
      // The NATS server answers in order, so it has refused what it refuses when it answers the ping of a flush.
      if (step.listen) nats.subscribe(step.listen, { callback: (err) => err && refused(err.code) });
      else nats.publish(subject, body, { reply: inbox });
      await nats.flush();
      await new Promise(setImmediate);
      console.log(JSON.stringify(denied.splice(0)));
      continue;
    }
    if (!step.silent) await untilSomebodyListens(nats, step);
    const replies = nats.subscribe(inbox, { max: 1 });
    const heard = (async () => {
      const texts = [];
      for await (const message of replies) texts.push(message.string());
      return texts;
    })();
    for (let copy = 0; copy < (step.copies ?? 1); copy++) nats.publish(subject, body, { reply: inbox });
    if (step.silent) {
      // What is refused is on the record before the gateway answers what came after it.
      const after = await nats.request("nachos.tool.calculator.request", envelope({ payload: { expression: "1" } }), { timeout: 30000 }).catch(() => null);
      replies.unsubscribe();
      console.log(JSON.stringify({ heard: await heard, after: after !== null }));
      continue;
    }
    const texts = await heard;
    console.log(texts[0]);
  }
  await nats.close();
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
