// The module in a worker: what `Here` does, by messages.

import { sent } from "./errors.js";
import { Here } from "./here.js";

function serve(port, listen) {
  const here = new Here();
  let before = Promise.resolve();
  // One after the other, in the order they came.
  listen(({ id, call, args }) => {
    before = before.then(async () => {
      try {
        port.postMessage({ id, result: await here[call](...args) });
      } catch (error) {
        port.postMessage({ id, error: sent(error) });
      }
    });
  });
}

if (typeof WorkerGlobalScope === "undefined") {
  import(/* webpackIgnore: true */ /* @vite-ignore */ "node:worker_threads").then(({ parentPort }) =>
    serve(parentPort, (hear) => parentPort.on("message", hear)),
  );
} else {
  serve(self, (hear) => (self.onmessage = ({ data }) => hear(data)));
}
