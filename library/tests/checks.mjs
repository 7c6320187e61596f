// What a program does with the package, in the runtime that runs this: node and deno. `cargo xtask test library` copies it
// into an empty project in which the package is installed. The first argument is the binary: its answers are the ones wanted.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { Pathlight, PathlightError } from "pathlight";

const binary = process.argv[2];
const folder = mkdtempSync(join(tmpdir(), "pathlight-library-"));
// Spans of a large stream.
const SPANS = 1_000_000;
// Sets that are read to see whether their memory comes back.
const ROUNDS = 120;

const run = (...args) => execFileSync(binary, args, { cwd: folder, encoding: "utf8", maxBuffer: 1 << 30 });
const binaryJson = (...args) => JSON.parse(run(...args, "--json"));
const generate = (file, line) => run("generate", ...line.split(" "), "--out", file);
const bytesOf = (file) => new Uint8Array(readFileSync(join(folder, file)));
const streamOf = (file) => Readable.toWeb(createReadStream(join(folder, file)));

/** A million spans are 290 MB of text: made while they are read, so that nobody holds them. */
function manySpans(spans) {
  const [text, encoder] = [JSON.stringify(oneTrace(0)), new TextEncoder()];
  const id = /00000000000000000000000000000001/g;
  let trace = 0;
  return new ReadableStream({
    pull(controller) {
      const lines = [];
      for (let at = 0; at < 100 && trace * 40 < spans; at++) {
        lines.push(`{"data":[${text.replace(id, String(++trace).padStart(32, "0"))}]}\n`);
      }
      if (lines.length === 0) controller.close();
      else controller.enqueue(encoder.encode(lines.join("")));
    },
  });
}

function oneTrace() {
  const traceID = "00000000000000000000000000000001";
  const spans = Array.from({ length: 40 }, (_, at) => ({
    traceID,
    spanID: String(at + 1).padStart(16, "0"),
    operationName: `work ${at % 7}`,
    references: at ? [{ refType: "CHILD_OF", traceID, spanID: String(Math.ceil(at / 3)).padStart(16, "0") }] : [],
    startTime: 1_700_000_000_000_000 + at * 100,
    duration: 5_000 - at * 100,
    processID: `p${at % 3}`,
    tags: [],
  }));
  const processes = Object.fromEntries([0, 1, 2].map((at) => [`p${at}`, { serviceName: `service-${at}`, tags: [] }]));
  return { traceID, spans, processes };
}

async function thrown(promise, kind) {
  const error = await promise.then(
    () => assert.fail(`nothing was thrown, and not ${kind}`),
    (error) => error,
  );
  assert(error instanceof PathlightError, String(error?.stack ?? error));
  assert.equal(error.kind, kind, error.message);
  assert.match(error.message, /\S/);
  assert.match(error.nextStep, /\.$/);
  return error;
}

generate("before.json", "--traces 120 --spans 20 --shape mixed --seed 11");
generate("after.json", "--traces 120 --spans 20 --shape mixed --seed 12 --defects all");

const tests = {
  async answers_are_those_of_the_binary() {
    const set = await Pathlight.read(bytesOf("after.json"), { name: "after.json" });
    const { traces, spans } = binaryJson("inspect", "after.json");
    assert.deepEqual([set.traces, set.spans], [traces, spans]);
    assert.deepEqual(await set.findings(), binaryJson("findings", "after.json"));
    assert.deepEqual(await set.criticalPath(), binaryJson("critical-path", "after.json"));
    assert.deepEqual(await set.criticalPath({ range: "95-99" }), binaryJson("critical-path", "--range", "95-99", "after.json"));
    assert.deepEqual(await set.inspect(), binaryJson("inspect", "after.json"));
    assert.deepEqual(await set.compare(), binaryJson("compare", "after.json"));
    assert.deepEqual(
      await set.whatIf({ changes: ["in:catalog=-50%"] }),
      binaryJson("flow", "--what-if", "in:catalog=-50%", "after.json"),
    );
    set.free();
  },

  async two_sets_are_compared_in_either_place() {
    const wanted = binaryJson("compare", "-a", "before.json", "-b", "after.json");
    const worker = await Pathlight.inWorker();
    assert(worker.isWorker, "there are workers here");
    for (const { read } of [Pathlight, worker]) {
      const [before, after] = [await read(bytesOf("before.json")), await read(bytesOf("after.json"))];
      assert.deepEqual(await after.compare(before), wanted);
      assert.deepEqual(
        await after.findings({ baseline: before }),
        binaryJson("findings", "after.json", "--baseline", "before.json"),
      );
      // What was compared answers by itself as before.
      assert.deepEqual(await after.criticalPath(), binaryJson("critical-path", "after.json"));
      assert.match(await after.svg("difference", { baseline: before }), /^<svg [^]*<\/svg>\s*$/);
    }
    const here = await Pathlight.read(bytesOf("before.json"));
    await thrown((await worker.read(bytesOf("after.json"))).compare(here), "elsewhere");
    worker.close();
    await thrown(worker.read(bytesOf("before.json")), "broken");
  },

  async bytes_blobs_and_streams_give_the_same() {
    const [bytes, wanted] = [bytesOf("before.json"), binaryJson("critical-path", "before.json")];
    for (const input of [bytes, bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), new Blob([bytes]), streamOf("before.json")]) {
      const set = await Pathlight.read(input);
      assert.deepEqual(await set.criticalPath(), wanted);
      set.free();
    }
    // Bytes that were given stay with whoever gave them.
    const worker = await Pathlight.inWorker();
    await worker.read(bytes);
    assert.equal(bytes[0], "{".charCodeAt(0));
    worker.close();
    const both = await Pathlight.read([streamOf("before.json"), bytesOf("after.json")], { name: ["before.json", "after.json"] });
    assert.deepEqual((await both.inspect()).files.map(({ name }) => name), ["before.json", "after.json"]);
  },

  async charts_are_drawn() {
    const set = await Pathlight.read(bytesOf("before.json"));
    const [{ trace_id: traceId }] = (await set.perRequest()).requests ?? [];
    for (const chart of ["flame", "callers", "difference", "heatmap", "histograms", "services", "timeline"]) {
      const svg = await set.svg(chart, chart === "timeline" ? { traceId } : {});
      assert.match(svg, /^<svg [^]*<\/svg>\s*$/, chart);
    }
    const flame = await set.svg("flame", { width: 640, theme: "dark", title: "A title" });
    assert.match(flame, /width="640"/);
    assert.match(flame, /<title>A title<\/title>/);
    assert.notEqual(flame, await set.svg("flame", { width: 640, title: "A title" }));
    await thrown(set.svg("pie"), "bad-option");
  },

  async errors_say_kind_place_and_next_step() {
    const html = new TextEncoder().encode("{\"data\": [], \"x\": 1}");
    const error = await thrown(Pathlight.read(html, { name: "empty.json" }), "no-traces");
    assert.equal(error.position.input, "empty.json");
    assert.equal(typeof error.position.offset, "number");
    const worker = await Pathlight.inWorker();
    assert.deepEqual({ ...(await thrown(worker.read(html, { name: "empty.json" }), "no-traces")) }, { ...error });
    worker.close();
    const set = await Pathlight.read(bytesOf("before.json"));
    assert.match((await thrown(set.findings({ rnage: "tail" }), "bad-option")).message, /rnage/);
    await thrown(set.findings({ range: "slow" }), "bad-option");
    await thrown(set.criticalPath({ where: "no-such-word-anywhere" }), "no-requests");
    await thrown(set.compare(set), "bad-option");
    await thrown(Pathlight.read("text"), "bad-option");
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("the line is dead")) });
    const unreadable = await thrown(Pathlight.read(broken, { name: "line" }), "unreadable");
    assert.equal(unreadable.cause.message, "the line is dead");
    set.free();
    set.free();
    await thrown(set.findings(), "freed");
  },

  async reading_can_be_stopped() {
    for (const { read } of [Pathlight, await Pathlight.inWorker()]) {
      const [controller, reason] = [new AbortController(), new Error("enough")];
      let parts = 0;
      const progress = () => ++parts === 3 && controller.abort(reason);
      const error = await read(manySpans(1e9), { signal: controller.signal, progress }).catch((error) => error);
      assert.equal(error, reason);
      assert(parts < 10, `${parts} parts`);
      // A stream that never gives anything holds nothing up.
      const silent = new AbortController();
      setTimeout(() => silent.abort(reason), 20);
      const waited = await read(new ReadableStream(), { signal: silent.signal }).catch((error) => error);
      assert.equal(waited, reason);
    }
  },

  async a_worker_that_is_closed_at_work_says_so() {
    const worker = await Pathlight.inWorker();
    const set = await worker.read(bytesOf("before.json"));
    const [read, asked] = [worker.read(manySpans(1e9)), set.findings()];
    setTimeout(() => worker.close(), 50);
    await thrown(read, "broken");
    await asked.catch((error) => assert.equal(error.kind, "broken"));
    await thrown(set.findings(), "broken");
    // What belonged to it is freed without complaint, and another one works.
    set.free();
    const next = await Pathlight.inWorker();
    assert.equal((await next.read(bytesOf("before.json"))).traces, 120);
    next.close();
  },

  async a_large_stream_is_read_with_progress() {
    const worker = await Pathlight.inWorker();
    const seen = [];
    const began = performance.now();
    const set = await worker.read(manySpans(SPANS), { progress: (progress) => seen.push(progress) });
    const seconds = (performance.now() - began) / 1000;
    assert.deepEqual([set.spans, set.traces], [SPANS, SPANS / 40]);
    assert(seen.length > SPANS / 10_000, `${seen.length} parts`);
    assert(seen.every(({ bytes }, at) => at === 0 || bytes > seen[at - 1].bytes));
    assert.equal(seen.at(-1).spans, SPANS);
    assert.equal(seen.at(-1).total, null);
    const path = await set.criticalPath();
    assert.equal(path.requests, SPANS / 40);
    console.log(
      `${SPANS} spans, ${(seen.at(-1).bytes / 1e6).toFixed(0)} MB: read in ${seconds.toFixed(1)} s, ` +
        `critical path after ${((performance.now() - began) / 1000).toFixed(1)} s`,
    );
    worker.close();
  },

  async memory_comes_back_from_sets_that_are_freed_or_forgotten() {
    const bytes = bytesOf("before.json");
    const grown = async (rounds, each) => {
      const before = process.memoryUsage().rss;
      for (let round = 0; round < rounds; round++) {
        each(await Pathlight.read(bytes));
        if (round % 20 === 19) {
          globalThis.gc();
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      }
      return (process.memoryUsage().rss - before) / 1e6;
    };
    // The runtime itself takes its memory first.
    await grown(40, (set) => set.free());
    const [freed, forgotten] = [await grown(ROUNDS, (set) => set.free()), await grown(ROUNDS, () => {})];
    const sets = [];
    const held = await grown(ROUNDS, (set) => sets.push(set));
    console.log(`${ROUNDS} sets take ${held.toFixed(0)} MB, freed ${freed.toFixed(0)} MB, forgotten ${forgotten.toFixed(0)} MB`);
    assert(held > 40, `${held} MB tell nothing`);
    assert(Math.max(freed, forgotten) < held / 2, `freed ${freed} MB, forgotten ${forgotten} MB, held ${held} MB`);
    for (const set of sets) set.free();
  },

  async it_works_where_there_are_no_workers() {
    const { Worker } = globalThis;
    const node = process.versions.node;
    globalThis.Worker = undefined;
    Object.defineProperty(process.versions, "node", { value: undefined, configurable: true });
    try {
      const none = await Pathlight.inWorker();
      assert.equal(none.isWorker, false);
      assert.equal((await none.read(bytesOf("before.json"))).traces, 120);
      none.close();
    } finally {
      globalThis.Worker = Worker;
      Object.defineProperty(process.versions, "node", { value: node, configurable: true });
    }
  },

  async the_example_says_what_the_binary_says() {
    const program = globalThis.Deno ? [process.execPath, "run", "--allow-all", "--no-lock"] : [process.execPath];
    const example = (...files) =>
      execFileSync(program[0], [...program.slice(1), "library.mjs", ...files.map((file) => join(folder, file))], {
        encoding: "utf8",
      });
    const [first] = binaryJson("findings", "after.json", "--baseline", "before.json").findings;
    assert(example("before.json", "after.json").includes(first.text), first.text);
    assert(example("after.json").includes(binaryJson("findings", "after.json").findings[0].text));
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log(`test ${name} ... ok`);
  } catch (error) {
    failed++;
    console.log(`test ${name} ... FAILED`);
    console.error(error);
  }
}
rmSync(folder, { recursive: true });
console.log(`test result: ${failed ? "FAILED" : "ok"}. ${Object.keys(tests).length - failed} passed; ${failed} failed; 0 ignored`);
process.exit(failed ? 1 : 0);
