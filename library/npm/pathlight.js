// Pathlight as a library; pathlight.d.ts says what everything is. Answers are the public JSON, parsed.

import { Elsewhere } from "./elsewhere.js";
import { PathlightError } from "./errors.js";
import { Here } from "./here.js";

export { PathlightError };

/** Bytes fed at a time, and milliseconds after which a thread that also shows a page may do so. */
const PART = 1 << 20;
const STEP_MS = 12;

/** Questions of a set, each with whether a second set comes first. */
const QUESTIONS = [
  "findings",
  "summary",
  "criticalPath",
  "perRequest",
  "compare",
  "heatmap",
  "endpoints",
  "histograms",
  "split",
  "proposals",
  "deployments",
  "instrument",
  "serviceMap",
  "savings",
  "capacity",
  "whatIf",
  "target",
  "cheapest",
  "variants",
  "diagnosis",
  "anomaly",
  "errors",
  "queues",
  "inspect",
];

/** Gives back the memory of sets that nobody holds any more. */
const forgotten = new FinalizationRegistry(({ home, number }) => free(home, number));

function free(home, number) {
  // A worker that has ended has freed everything.
  Promise.resolve(home.free(number)).catch(() => {});
}

function wrong(message) {
  return new PathlightError({
    kind: "bad-option",
    message,
    nextStep: "Write the option as the types and docs/javascript.md say it.",
  });
}

export class TraceSet {
  #home;
  #number;

  constructor(home, { number, facts }) {
    this.#home = home;
    this.#number = number;
    Object.assign(this, facts);
    forgotten.register(this, { home, number }, this);
  }

  async #ask(what, name, { baseline, ...options }, other = baseline) {
    if (other != null && !(other instanceof TraceSet)) throw wrong("A second set is one that read() has given.");
    if (other === this) throw wrong("A set cannot be compared with itself; leave the second set out to compare parts of one.");
    if (other && other.#home !== this.#home) {
      throw new PathlightError({
        kind: "elsewhere",
        message: "The two sets are in different workers.",
        nextStep: "Read both with the same read().",
      });
    }
    return this.#home.ask(what, this.#number, name, JSON.stringify(options), other ? other.#number || -1 : 0);
  }

  async svg(chart, options = {}) {
    return this.#ask("draw", chart, options);
  }

  free() {
    forgotten.unregister(this);
    free(this.#home, this.#number);
    this.#number = 0;
  }

  static {
    for (const name of QUESTIONS) {
      const ask = async (set, options, other) => JSON.parse(await set.#ask("answer", name, options, other));
      const method =
        name === "compare"
          ? async function (other, options = {}) {
              return ask(this, options, other);
            }
          : async function (options = {}) {
              return ask(this, options);
            };
      Object.defineProperty(this.prototype, name, { value: method, writable: true, configurable: true });
    }
    if (Symbol.dispose) {
      Object.defineProperty(this.prototype, Symbol.dispose, { value: this.prototype.free });
    }
  }
}

/** Returns the parts of an input one by one. */
async function* parts(input, signal) {
  const bytes = input instanceof ArrayBuffer ? new Uint8Array(input) : input;
  if (ArrayBuffer.isView(bytes)) {
    const all = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at < all.length; at += PART) yield all.subarray(at, at + PART);
    return;
  }
  const stream = input instanceof Blob ? input.stream() : input;
  const reader = stream.getReader();
  // How that goes is nobody's concern.
  const cancel = () => reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", cancel);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (!ArrayBuffer.isView(value)) throw wrong("A stream of traces gives bytes (Uint8Array), not text.");
      yield* parts(value);
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
    // Of what is not recognised the rest is left.
    cancel();
  }
}

function size(input) {
  return input instanceof Blob ? input.size : (input.byteLength ?? NaN);
}

function isInput(input) {
  return (
    input instanceof ArrayBuffer ||
    ArrayBuffer.isView(input) ||
    input instanceof Blob ||
    typeof input?.getReader === "function"
  );
}

async function read(home, input, { name, progress, signal, ...options } = {}) {
  const inputs = Array.isArray(input) ? input : [input];
  if (!inputs.every(isInput)) throw wrong("Traces are given as bytes, a Blob or a ReadableStream of bytes, or a list of these.");
  signal?.throwIfAborted();
  const total = inputs.reduce((sum, one) => sum + size(one), 0);
  const reader = await home.begin(JSON.stringify(options));
  let [bytes, turned, set] = [0, performance.now(), undefined];
  try {
    for (const [at, one] of inputs.entries()) {
      const called = (Array.isArray(name) ? name[at] : name) ?? one.name ?? `input ${at + 1}`;
      await home.open(reader, called);
      try {
        for await (const part of parts(one, signal)) {
          signal?.throwIfAborted();
          bytes += part.length;
          const { more, traces, spans } = await home.feed(reader, part);
          progress?.({ bytes, total: Number.isNaN(total) ? null : total, traces, spans, input: called });
          if (!more) break;
          if (performance.now() - turned > STEP_MS) {
            await new Promise((resolve) => setTimeout(resolve));
            turned = performance.now();
          }
        }
        signal?.throwIfAborted();
      } catch (error) {
        if (error instanceof PathlightError || signal?.aborted) throw error;
        throw new PathlightError(
          {
            kind: "unreadable",
            message: `${called} could not be read to its end: ${error?.message ?? error}`,
            position: { input: called, offset: bytes },
            nextStep: "Read it again; what was read until then is not kept.",
          },
          error,
        );
      }
      await home.close(reader);
    }
    set = await home.finish(reader);
    return new TraceSet(home, set);
  } finally {
    if (!set) free(home, reader);
  }
}

const here = new Here();

export const Pathlight = Object.freeze({
  read: (input, options) => read(here, input, options),

  async inWorker() {
    const elsewhere = await Elsewhere.start();
    const home = elsewhere ?? here;
    return Object.freeze({
      isWorker: elsewhere !== undefined,
      read: (input, options) => read(home, input, options),
      close: () => elsewhere?.end(),
    });
  },
});
