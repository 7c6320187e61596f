// The module in a worker of its own, from the side of who asks.

import { PathlightError } from "./errors.js";

/** Returns a worker of browsers, Deno or Node; `undefined` where there are none. */
async function start() {
  if (typeof Worker === "function") {
    // Bundlers know a worker by this very form.
    return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  }
  if (globalThis.process?.versions?.node) {
    const { Worker } = await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:worker_threads");
    return new Worker(new URL("./worker.js", import.meta.url));
  }
  return undefined;
}

/** Has the same methods as `Here`, each with a promise. */
export class Elsewhere {
  #worker;
  #calls = new Map();
  #last = 0;
  #ended = null;

  /** Returns one that answers; `undefined` where no worker can be started. */
  static async start() {
    let worker;
    try {
      worker = await start();
    } catch {
      // A page may forbid workers, or a document may have no origin for them.
    }
    if (!worker) return undefined;
    const elsewhere = new Elsewhere(worker);
    try {
      // What cannot even free nothing is no worker.
      await elsewhere.free(0);
      return elsewhere;
    } catch {
      elsewhere.end();
      return undefined;
    }
  }

  constructor(worker) {
    this.#worker = worker;
    const hear = ({ id, result, error }) => {
      const call = this.#calls.get(id);
      this.#calls.delete(id);
      if (this.#calls.size === 0) worker.unref?.();
      if (error) call?.reject(new PathlightError(error));
      else call?.resolve(result);
    };
    const fail = (reason) => this.#end(`The worker ended: ${reason}.`);
    if (worker.on) {
      worker.on("message", hear).on("error", (error) => fail(error.message)).on("exit", () => fail("it was stopped"));
      worker.unref();
    } else {
      worker.onmessage = ({ data }) => hear(data);
      worker.onerror = (event) => {
        event.preventDefault?.();
        fail(event.message ?? "its script did not load");
      };
    }
  }

  #end(message) {
    this.#ended ??= { kind: "broken", message, nextStep: "Start another with Pathlight.inWorker() and read again." };
    for (const call of this.#calls.values()) call.reject(new PathlightError(this.#ended));
    this.#calls.clear();
  }

  #call(call, args, transfer = []) {
    if (this.#ended) return Promise.reject(new PathlightError(this.#ended));
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      this.#calls.set(id, { resolve, reject });
      // Node waits for an answer, and for nothing else of the worker.
      this.#worker.ref?.();
      this.#worker.postMessage({ id, call, args }, transfer);
    });
  }

  begin(options) {
    return this.#call("begin", [options]);
  }

  open(reader, name) {
    return this.#call("open", [reader, name]);
  }

  feed(reader, bytes) {
    // A copy: what was given stays with whoever gave it, and a part of a buffer would take all of it along.
    const copy = bytes.slice();
    return this.#call("feed", [reader, copy], [copy.buffer]);
  }

  close(reader) {
    return this.#call("close", [reader]);
  }

  finish(reader) {
    return this.#call("finish", [reader]);
  }

  ask(what, number, name, options, other) {
    return this.#call("ask", [what, number, name, options, other]);
  }

  free(number) {
    return this.#call("free", [number]);
  }

  /** Ends the worker; its sets are gone. */
  end() {
    this.#end("The worker was closed.");
    this.#worker.terminate();
  }
}
