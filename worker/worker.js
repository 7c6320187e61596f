// A worker, behind its glue: one message brings the compiled module, which listens itself from then on. What the page has sent
// before waits for it.
"use strict";
{
  const early = [];
  const onMessage = (event) => {
    const { module } = event.data;
    if (!module) {
      early.push(event);
      return;
    }
    removeEventListener("message", onMessage);
    wasm_bindgen.initSync({ module });
    wasm_bindgen.start_worker();
    for (const message of early) self.onmessage(message);
  };
  addEventListener("message", onMessage);
}
// A trap inside a promise is an error of the worker like any other: the page must hear of it.
self.addEventListener("unhandledrejection", ({ reason }) => {
  setTimeout(() => {
    throw reason;
  });
});
