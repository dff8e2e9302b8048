// Tools written from the contract alone, and its runner. It takes an address, and prints a line once it listens.
const { connect } = require("nats");
const [url] = process.argv.slice(1);

// Listens on the topic of a tool, and answers in the envelope of the contract.
class ToolRunner {
  constructor(tool, nats) {
    this.tool = tool;
    this.nats = nats;
  }

  async start() {
    const topic = `nachos.tool.${this.tool.toolId}.request`;
    for await (const message of this.nats.subscribe(topic)) {
      try {
        const request = JSON.parse(message.string());
        const payload = await this.tool.execute(request.payload);
        message.respond(
          JSON.stringify({
            id: crypto.randomUUID(),
            timestamp: new Date().toISOString(),
            source: this.tool.toolId,
            type: "tool.response",
            correlationId: request.id,
            payload,
          }),
        );
      } catch (error) {
        message.respond(JSON.stringify({ success: false, error: { code: "INTERNAL_ERROR", message: error.message } }));
      }
    }
  }
}

const greeter = {
  toolId: "greeter",
  validate(params) {
    return params.name === "nobody" ? { valid: false, errors: ["there is nobody"] } : { valid: true };
  },
  async execute(params) {
    const validation = this.validate(params);
    if (!validation.valid) {
      return { success: false, error: { code: "VALIDATION_ERROR", message: validation.errors.join(", ") } };
    }
    if (params.name === "throw") throw new Error("it threw");
    if (params.name === "silent") return new Promise(() => {});
    const called = typeof params.sessionId === "string" && typeof params.callId === "string";
    return { success: true, result: { text: `Hello ${params.name}`, called }, metadata: { duration: 1 } };
  },
};

// Breaks the contract in the way that its argument names.
async function breakIt(nats) {
  for await (const message of nats.subscribe("nachos.tool.broken.request")) {
    const request = JSON.parse(message.string());
    const envelope = (correlationId, payload) => JSON.stringify({ id: "1", correlationId, payload });
    const done = { success: true, result: "done" };
    const replies = {
      garbage: "{{{",
      other: envelope("another", done),
      none: envelope(request.id, {}),
      empty: "",
      twice: envelope(request.id, done),
    };
    message.respond(replies[request.payload.how]);
    if (request.payload.how === "twice") message.respond(envelope(request.id, { success: true, result: "again" }));
  }
}

async function main() {
  const nats = await connect({ servers: url, maxReconnectAttempts: -1 });
  new ToolRunner(greeter, nats).start();
  breakIt(nats);
  await nats.flush();
  console.log("listening");
}

main();
