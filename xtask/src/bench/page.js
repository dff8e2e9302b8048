// Measures the page in a browser: how soon it can be used, what an update costs, and what an hour of events leaves.
const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Says how long the main thread of a page has worked since the last time, in milliseconds. */
async function worked(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  const now = metrics.find((it) => it.name === "TaskDuration").value * 1000;
  const since = now - (session.last ?? 0);
  session.last = now;
  return since;
}

async function heap(session) {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  const value = (name) => metrics.find((it) => it.name === name).value;
  return { mb: value("JSHeapUsedSize") / 1e6, nodes: value("Nodes") };
}

/** Puts a stream that the script fills in the place of the stream of events. */
function replaceStream() {
  const real = window.fetch;
  window.fetch = (path, options) => {
    if (!String(path).startsWith("/api/events")) return real(path, options);
    const stream = new ReadableStream({ start: (control) => (window.stream = control) }, { highWaterMark: 1 });
    return Promise.resolve(new Response(stream, { headers: { "content-type": "text/event-stream" } }));
  };
  window.seq = 2_000_000;
  window.send = (count) => {
    let text = "";
    for (let at = 0; at < count; at += 1) {
      window.seq += 1;
      const isEnd = at % 2 === 1;
      const event = { seq: window.seq, event: isEnd ? "call.ended" : "call.asked", at: new Date().toISOString(), call: `01M7H${isEnd ? window.seq - 1 : window.seq}`, tool: `plugins/tool_${(isEnd ? window.seq - 1 : window.seq) % 200}`, session: "bench", principal: "ci", role: "agent", decision: null, rule: null, status: isEnd ? "ok" : null, outcome: isEnd ? "ok" : null, args: '{"file_path":"src/main.rs"}', by: null, door: "http", client: "bench", effect: "read", names_files: false, message: null, end: null, error: null, elapsed_ms: isEnd ? 1.5 : null, detail: null };
      text += `id: ${window.seq}\nevent: ${event.event}\ndata: ${JSON.stringify(event)}\n\n`;
    }
    window.stream.enqueue(new TextEncoder().encode(text));
  };
}

async function firstView() {
  const page = await openPage();
  await logIn(page, ADMIN_TOKEN);
  await page.locator("table a.name").first().waitFor();
  const cdp = await page.context().newCDPSession(page);
  const [frames, times] = [[], []];
  for (let round = 0; round < 9; round += 1) {
    await cdp.send("Network.clearBrowserCache");
    const began = Date.now();
    await page.goto(PAGE_URL, { waitUntil: "commit" });
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    frames.push(await page.evaluate(() => performance.now()));
    await page.locator("table a.name").first().waitFor();
    times.push(await page.evaluate(() => performance.now()));
    if (Date.now() - began > 60_000) throw new Error("the page does not come");
  }
  const sizes = await page.evaluate(() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].filter((it) => !it.name.includes("/api/") && !it.name.includes("/page/")).map((it) => it.encodedBodySize));
  console.log(`  first view, compressed                ${(sizes.reduce((sum, it) => sum + it, 0) / 1024).toFixed(1).padStart(8)} KiB  (goal: at most 120)`);
  console.log(`  until it can be used                  ${median(frames).toFixed(0).padStart(8)} ms   (goal: at most 300)`);
  console.log(`  until all figures are there           ${median(times).toFixed(0).padStart(8)} ms`);
  await page.context().close();
}

async function followed() {
  const page = await openPage();
  await page.addInitScript(replaceStream);
  await logIn(page, ADMIN_TOKEN, "/?window=24h");
  await page.locator("table a.name").first().waitFor();
  const rows = await page.locator("table a.name").count();
  const session = await page.context().newCDPSession(page);
  // The time of the processor: what else this machine does meanwhile is not the page's.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.evaluate(() => {
    window.long = [];
    new PerformanceObserver((list) => list.getEntries().forEach((it) => window.long.push(it.duration))).observe({ entryTypes: ["longtask"] });
  });

  // One event every two and a half seconds makes one update of the figures.
  await page.waitForTimeout(3000);
  await worked(session);
  const updates = [];
  for (let update = 0; update < 10; update += 1) {
    await page.evaluate(() => window.send(1));
    await page.waitForTimeout(2500);
    updates.push(await worked(session));
  }
  const long = await page.evaluate(() => window.long.splice(0));
  console.log(`  main thread, an update of ${rows} rows   ${median(updates).toFixed(1).padStart(8)} ms   (goal: at most 50)`);
  console.log(`  longest task meanwhile                ${Math.max(0, ...long).toFixed(0).padStart(8)} ms   (0: none over 50)`);

  // 500 events a second for ten seconds, and what a click waits meanwhile.
  const waits = [];
  for (let tick = 0; tick < 100; tick += 1) {
    await page.evaluate(() => window.send(50));
    if (tick % 10 === 5) {
      waits.push(
        await page.evaluate(() => {
          const began = performance.now();
          document.querySelector("th button").click();
          return new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began))));
        }),
      );
    }
    await page.waitForTimeout(100);
  }
  const busy = await worked(session);
  const longest = await page.evaluate(() => Math.max(0, ...window.long.splice(0)));
  console.log(`  at 500 events a second: main thread   ${(busy / 100).toFixed(1).padStart(8)} %    longest task ${longest.toFixed(0)} ms`);
  console.log(`  a click and the frame after it        ${median(waits).toFixed(0).padStart(8)} ms   longest ${Math.max(...waits).toFixed(0)} ms`);

  // An hour's worth of events, as fast as the page takes them.
  const before = await heap(session);
  for (let minute = 0; minute < 60; minute += 1) {
    await page.evaluate(async () => {
      for (let second = 0; second < 60; second += 1) {
        window.send(500);
        await new Promise((resolve) => setTimeout(resolve));
      }
    });
  }
  await page.waitForTimeout(3000);
  const after = await heap(session);
  console.log(`  1,800,000 events: memory of the page  ${before.mb.toFixed(1).padStart(8)} MB before, ${after.mb.toFixed(1)} MB after; ${before.nodes} and ${after.nodes} nodes`);
  await page.context().close();
}

main(async () => {
  await firstView();
  await followed();
  return [];
});
