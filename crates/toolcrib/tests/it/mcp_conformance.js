// Passes requests on to a server of Toolcrib, with the token that the conformance suite cannot send.
const http = require("node:http");

const [target, token] = [new URL(process.argv[2]), process.argv[3]];

const proxy = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const own = `127.0.0.1:${proxy.address().port}`;
  // What names this proxy names the server. Anything else, such as a foreign host, stays as it is.
  if (headers.host === own) headers.host = target.host;
  if (headers.origin === `http://${own}`) headers.origin = target.origin;
  const options = { hostname: target.hostname, port: target.port, path: request.url, method: request.method, headers };
  const passed = http.request(options, (reply) => {
    response.writeHead(reply.statusCode, reply.headers);
    reply.pipe(response);
  });
  passed.on("error", () => response.destroy());
  response.on("close", () => passed.destroy());
  request.pipe(passed);
});

proxy.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${proxy.address().port}/mcp`));
