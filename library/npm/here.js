// The module in this thread, and the sets that live in it.

import start, { SetReader, whyBroken } from "./module.js";
import { PathlightError } from "./errors.js";

let started;

/** Starts the module, once. */
function begun() {
  started ??= (async () => {
    const address = new URL("./module_bg.wasm", import.meta.url);
    // Node cannot fetch files.
    if (address.protocol === "file:" && globalThis.process?.versions?.node) {
      const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:fs/promises");
      return start({ module_or_path: await readFile(address) });
    }
    return start({ module_or_path: address });
  })();
  // The next one tries again.
  started.catch(() => (started = undefined));
  return started;
}

/** Readers and sets of this thread, by number. */
export class Here {
  #held = new Map();
  #last = 0;

  #hold(value) {
    this.#held.set(++this.#last, value);
    return this.#last;
  }

  /** Calls what the module has; its errors are JSON, anything else thrown means that it broke off. */
  #run(call) {
    try {
      return call();
    } catch (error) {
      if (typeof error === "string") throw new PathlightError(JSON.parse(error));
      throw new PathlightError(
        {
          kind: "broken",
          message: `The module broke off: ${whyBroken() || error?.message || error}`,
          nextStep: "Start anew: load the page again, or in a worker close it and start another.",
        },
        error,
      );
    }
  }

  #of(number) {
    const held = this.#held.get(number);
    if (held) return held;
    throw new PathlightError({ kind: "freed", message: "The set was freed.", nextStep: "Read the traces again." });
  }

  /** Begins to read; returns the number of the reader. */
  async begin(options) {
    await begun();
    return this.#hold(this.#run(() => new SetReader(options)));
  }

  open(reader, name) {
    this.#run(() => this.#of(reader).open(name));
  }

  /** Feeds bytes; returns whether more of the input is wanted, and what was read so far. */
  feed(reader, bytes) {
    const of = this.#of(reader);
    const more = this.#run(() => of.feed(bytes));
    return { more, traces: of.traces, spans: of.spans };
  }

  close(reader) {
    this.#run(() => this.#of(reader).close());
  }

  /** Ends reading; returns the number of the set and what it holds. */
  finish(reader) {
    const of = this.#of(reader);
    this.#held.delete(reader);
    const set = this.#run(() => of.finish());
    return { number: this.#hold(set), facts: JSON.parse(this.#run(() => set.facts())) };
  }

  /** Returns an answer as JSON, or a chart as SVG; `other` is the number of a second set, or 0. */
  ask(what, number, name, options, other) {
    const set = this.#of(number);
    if (!other) return this.#run(() => set[what](name, options));
    const second = this.#of(other);
    return this.#run(() => set[`${what}With`](name, options, second));
  }

  /** Forgets a reader or a set and gives its memory back. */
  free(number) {
    const held = this.#held.get(number);
    this.#held.delete(number);
    // After a break nothing can be given back.
    try {
      held?.free();
    } catch {}
  }
}
