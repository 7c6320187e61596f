// A worker: the first message brings the compiled wasm; from then on the wasm listens itself.
"use strict";
self.addEventListener("message", ({ data }) => {
  if (data.module) {
    // In a Blob worker the glue is there already.
    if (typeof wasm_bindgen === "undefined") importScripts(data.glue);
    wasm_bindgen.initSync({ module: data.module });
  }
  if (data.rest) wasm_bindgen.keep_rest(data.rest);
  if (data.module) wasm_bindgen.start_worker();
});
// A trap inside a promise is an error of the worker like any other: the page must hear of it.
self.addEventListener("unhandledrejection", ({ reason }) => {
  setTimeout(() => {
    throw reason;
  });
});
