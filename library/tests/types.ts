// What the types of the package allow and what they do not, for the compiler alone.

import { Pathlight, PathlightError } from "pathlight";
import type { Comparison, Findings, ReadOptions, TraceSet } from "pathlight";

const options: ReadOptions = { name: "a.json", sample: 10, progress: ({ bytes, total }) => void (bytes / (total ?? 1)) };
const before: TraceSet = await Pathlight.read(new Uint8Array(), options);
const worker = await Pathlight.inWorker();
const after = await worker.read([new Blob(), new ReadableStream<Uint8Array>(), new ArrayBuffer(1)]);

const findings: Findings = await after.findings({ baseline: before, range: "tail", where: "region=eu" });
const sentence: string | undefined = findings.findings[0]?.text;
const p99: number = (await after.criticalPath({ service: "shop", operation: "GET /cart" })).latency_us.p99;
const comparison: Comparison = await after.compare(before, { rangeA: "0-50", share: true });
const whatIf = await after.whatIf({ changes: ["in:cart=-50%"], baseline: undefined });
const svg: string = await after.svg("flame", { width: 800, theme: "dark" });
after.free();
worker.close();

try {
  await Pathlight.read(new Blob());
} catch (error) {
  if (error instanceof PathlightError && error.kind === "no-traces") {
    const place: number | undefined = error.position?.offset;
    void [place, error.nextStep];
  }
}

// @ts-expect-error: text is no input
await Pathlight.read("text");
// @ts-expect-error: there is no such chart
await after.svg("pie");
// @ts-expect-error: there is no such option
await after.findings({ rnage: "tail" });
// @ts-expect-error: there is no such key
findings.finding;
void [sentence, p99, comparison, whatIf.version, svg];
