// Starts the page: compiles the wasm once, runs it here, and knows how to start a worker that runs it too.
// What it needs stands in elements of index.html: links to files in dist/, or, in the single file, texts; the module is
// unpacked there by what has unpacked this (tools/xtask/src/unpack.js).
// Of a folder it runs before the page is read, so that compiling begins at once.
"use strict";
{
  const asset = (name) => document.getElementById(`asset-${name}`);

  // A module of nothing but 4.2 kB: Chrome before 114 compiles none of this size at once on a page.
  const LARGE = new Uint8Array(4200);
  LARGE.set([0, 97, 115, 109, 1, 0, 0, 0, 0, 0xdd, 0x20]);

  // One i8x16 operation: valid where simd128 is.
  const SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11];

  const run = (address) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${address} cannot be loaded`));
    script.src = address;
    document.head.append(script);
  });

  const decode = (base64) => {
    const letters = atob(base64.trim());
    const bytes = new Uint8Array(letters.length);
    for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
    return new Blob([bytes]);
  };

  const WASM = { headers: { "content-type": "application/wasm" } };
  const unpack = (packed) => {
    const bytes = packed.stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(bytes, WASM);
  };

  const get = async (address) => {
    const response = await fetch(address);
    if (!response.ok) throw new Error(`${address} answers ${response.status} ${response.statusText}`);
    return response;
  };

  const isSingle = Boolean(self.pathlightSingle);
  // A sandboxed frame has no origin, so its own host is a foreign one to fetch(); scripts it may load.
  const isForeign = self.origin === "null" && location.protocol !== "file:";
  const wasm = async () => {
    if (isSingle) return new Response(self.pathlightSingle.module(), WASM);
    if (!asset("wasm")) throw new Error("the browser saved only what was shown; use Save report in the page");
    if (!isForeign) return get(asset("wasm").href);
    await run(asset("wasm-script").href);
    return unpack(decode(self.pathlightWasm));
  };

  const compile = async (arriving) => {
    const response = await arriving;
    // Compiling while it arrives is refused for any other type, and some static hosts send another.
    return response.headers.get("content-type")?.startsWith("application/wasm")
      ? WebAssembly.compileStreaming(response)
      : WebAssembly.compile(await response.arrayBuffer());
  };

  const hasSimd = self.WebAssembly?.validate(new Uint8Array(SIMD));
  const compiled = hasSimd ? compile(wasm()) : undefined;
  // Its failure is told by who waits for it.
  compiled?.catch(() => {});
  // The module comes in two parts (tools/xtask/src/split.rs), of which the start page needs one. Until the other is compiled,
  // its address stands for it.
  let rest = isSingle || isForeign ? undefined : asset("wasm-rest")?.href;
  const compileRest = async () => {
    rest = await compile(get(rest));
  };
  const startRest = (exports) => WebAssembly.instantiate(rest, { "": exports });
  // What needs the rest early has it compiled at once (src/rest.rs), where the browser does that.
  const compilesAtOnce = () => {
    try {
      return Boolean(new WebAssembly.Module(LARGE));
    } catch {
      return false;
    }
  };
  // An address with a view in it may need both, and a host page soon hands traces over.
  const isPlain = !location.hash && self.parent === self;
  const needsBoth = hasSimd && rest && (!isPlain || self.opener || !compilesAtOnce());
  const whole = needsBoth ? compileRest().catch(() => {}) : undefined;
  const isParsed = isSingle || new Promise((resolve) => {
    document.addEventListener("DOMContentLoaded", resolve, { once: true });
  });
  // The start page is to be seen at once, unless the address or a host page asks for more than that.
  const root = document.documentElement;
  root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  if (!isSingle && isPlain) root.dataset.first = "";
  // Nobody reads yet what is dropped, and a browser would show it in place of the page.
  const starting = new AbortController();
  for (const kind of ["dragover", "drop"]) {
    addEventListener(kind, (event) => {
      event.preventDefault();
      if (event.dataTransfer) event.dataTransfer.dropEffect = "none";
    }, { signal: starting.signal });
  }

  let blob;
  // Workers that have the address of the rest only.
  const early = [];
  const startWorker = (module) => {
    const [glue, script] = [asset("glue"), asset("worker")];
    let worker;
    // A page without an origin of its own (file:, a sandboxed frame) may start no worker by address, only from a Blob.
    if (script.href && self.origin !== "null") {
      worker = new Worker(script.href);
    } else {
      blob ??= URL.createObjectURL(new Blob(
        script.href
          ? [`importScripts(${JSON.stringify(glue.src)}, ${JSON.stringify(script.href)});`]
          : [glue.textContent, "\n", script.textContent],
        { type: "text/javascript" },
      ));
      worker = new Worker(blob);
    }
    worker.postMessage({ module, glue: glue.src, rest });
    if (typeof rest === "string") early.push(worker);
    return worker;
  };

  // What a report is written with: gzip, and the page in one file, from the elements it came as.
  const pack = (blob) => new Response(blob.stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer();
  const file = async (came) => {
    if (!came) return (await get("pathlight.html")).arrayBuffer();
    // An extension may have added elements, of which one before the policy could end the head.
    for (const child of [...came.children]) if (!child.matches("head, body")) child.remove();
    const policy = came.querySelector("meta[http-equiv]");
    policy.parentElement.prepend(policy);
    const text = `\ufeff<!doctype html>\n${came.outerHTML}`;
    const units = new Uint16Array(text.length);
    for (let at = 0; at < text.length; at += 1) units[at] = text.charCodeAt(at);
    return units.buffer;
  };

  // What the page came with. A saved report (crates/view/src/saved.rs) has its traces in data blocks, which are taken out.
  const given = () => {
    if (!isSingle) return { pack, file };
    const { came, loosen } = self.pathlightSingle;
    delete self.pathlightSingle;
    const [facts, ...parts] = came.querySelectorAll("#report, .report-part");
    const blobs = parts.map((part) => new Blob([loosen(part.textContent)]));
    for (const element of facts ? [facts, ...parts] : []) {
      element.nextSibling?.remove();
      element.remove();
    }
    return { ...JSON.parse(facts?.textContent ?? "{}"), parts: blobs, came, pack, file };
  };

  const fail = (sentence) => {
    delete root.dataset.first;
    const note = document.querySelector(".boot") ?? document.createElement("p");
    if (!note.isConnected) document.body.prepend(note);
    note.className = "boot";
    note.setAttribute("role", "alert");
    note.textContent = sentence;
    root.dataset.state = "failed";
  };

  const start = async () => {
    await isParsed;
    if (!hasSimd) {
      fail("Pathlight needs a newer browser: Chrome or Edge 97, Firefox 89, Safari 16.4, or later.");
      return;
    }
    const came = given();
    const module = await compiled;
    const exports = await wasm_bindgen({ module_or_path: module });
    wasm_bindgen.keep_rest(rest);
    await whole;
    if (rest instanceof WebAssembly.Module) await startRest(exports);
    starting.abort();
    delete root.dataset.first;
    wasm_bindgen.start_page(() => startWorker(module), came);
    if (typeof rest === "string") follow(exports);
  };

  // Fetches the rest. If it does not come now, what needs it asks for it again.
  const follow = async (exports) => {
    try {
      await compileRest();
      await startRest(exports);
      for (const worker of early.splice(0)) worker.postMessage({ rest });
    } catch {
      // The browser has said why.
    }
  };

  // A page that is kept for use without its server looks for a newer one when somebody comes back to it; other windows may
  // have found one too.
  const LOOK_MS = 600_000;
  const watch = () => {
    if (isSingle) return;
    let workers;
    try {
      workers = navigator.serviceWorker;
    } catch {
      // A sandboxed frame keeps nothing.
    }
    let looked = -LOOK_MS;
    workers?.addEventListener("message", ({ data }) => {
      const own = [...document.querySelectorAll("link[href], script[src]")].map((element) => element.href || element.src);
      const isOld = own.some((address) => !address.includes(".wasm-") && !data?.kept?.includes(address));
      // A Pathlight beside this one, under another path, is another page.
      const isOurs = data?.kept && data.scope === new URL("./", location.href).href;
      if (isOurs && isOld) dispatchEvent(new Event("pathlight-newer"));
    });
    workers?.startMessages();
    workers && document.addEventListener("visibilitychange", async () => {
      if (document.hidden || performance.now() - looked < LOOK_MS) return;
      looked = performance.now();
      (await workers.getRegistration())?.active?.postMessage("look");
    });
  };

  start().then(watch).catch((error) => {
    fail(location.protocol === "file:" && asset("wasm")
      ? "Opened from a folder, this page cannot read its own files: open pathlight.html instead."
      : `Pathlight could not start: ${error.message ?? error}. Reload the page to try again.`);
    throw error;
  });
}
