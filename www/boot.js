// Starts the page: compiles its two modules, runs the page's here and hands the worker's to every worker.
// What it needs stands in elements of index.html: links to files in dist/ or, in the page in one file, data blocks at its
// end (tools/xtask/src/single.rs). It runs before the page is read, so that compiling begins at once.
"use strict";
{
  const asset = (name) => document.getElementById(`asset-${name}`);

  // One i8x16 operation: valid where simd128 is.
  const SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11];

  // Where the host requires Trusted Types, the addresses of scripts pass this policy: files beside the page and Blobs made here,
  // and nothing else.
  let trusted;
  try {
    trusted = self.trustedTypes?.createPolicy("pathlight", {
      createScriptURL: (address) => {
        const isOwn = address.startsWith("blob:") ||
          new URL(address, document.baseURI).href.startsWith(new URL("./", document.baseURI).href);
        if (!isOwn) throw new TypeError(`${address} is no script of this page`);
        return address;
      },
    });
  } catch {
    // The host names the policies that there may be, and not this one. Where it requires one, workers fail and it is said.
  }
  const scriptAt = (address) => trusted?.createScriptURL(address) ?? address;
  self.pathlightScript = scriptAt;

  const run = (address) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${address} cannot be loaded`));
    script.src = scriptAt(address);
    document.head.append(script);
  });

  const decode = (base64) => {
    const letters = atob(base64.trim());
    const bytes = new Uint8Array(letters.length);
    for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
    return new Blob([bytes]);
  };

  const unpack = (packed) => {
    const bytes = packed.stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(bytes, { headers: { "content-type": "application/wasm" } });
  };

  const get = async (address, options) => {
    const response = await fetch(address, options);
    if (!response.ok) throw new Error(`${address} answers ${response.status} ${response.statusText}`);
    return response;
  };

  const root = document.documentElement;
  const isSingle = !asset("wasm");
  // A browser that saves the page keeps the marks of one that runs.
  const isCopy = isSingle && Boolean(root.dataset.state);
  // A sandboxed frame has no origin, so its own host is a foreign one to fetch(); scripts it may load.
  const isForeign = self.origin === "null" && location.protocol !== "file:";
  const isParsed = new Promise((resolve) => {
    document.addEventListener("DOMContentLoaded", resolve, { once: true });
  });

  // Returns the answer that brings a module, by the name of its element.
  const module = async (name) => {
    if (isSingle) {
      await isParsed;
      if (isCopy) throw new Error("the browser saved only what was shown; use Save report in the page");
      // The glue stands behind the modules.
      if (typeof wasm_bindgen === "undefined") throw new Error("the end of this file is missing");
      return unpack(decode(asset(name).textContent));
    }
    // As index.html preloads it: not by CORS, which a sandboxed frame would be refused.
    if (!isForeign) return get(asset(name).href, { mode: "no-cors", credentials: "include" });
    await run(asset(`${name}-script`).href);
    return unpack(decode(self.pathlightModules[name]));
  };

  const compile = async (arriving) => {
    const response = await arriving;
    // Compiling while it arrives is refused for any other type, and some static hosts send another.
    return response.headers.get("content-type")?.startsWith("application/wasm")
      ? WebAssembly.compileStreaming(response)
      : WebAssembly.compile(await response.arrayBuffer());
  };

  const hasSimd = self.WebAssembly?.validate(new Uint8Array(SIMD));
  const compiled = hasSimd ? compile(module("wasm")) : undefined;
  // Its failure is reported by who waits for it.
  compiled?.catch(() => {});
  // The worker's module is fetched beside the page's and compiled behind it: the start page does without. What failed is
  // fetched again for the next worker.
  let workerModule;
  const compileWorker = () => {
    const arriving = module("worker-wasm");
    workerModule = compiled.then(() => compile(arriving));
    Promise.all([arriving, workerModule]).catch(() => {
      workerModule = undefined;
    });
  };
  if (hasSimd) compileWorker();

  // The start page is to be seen at once, unless the address or a host page asks for more than that.
  root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  if (!isSingle && !location.hash && self.parent === self) root.dataset.first = "";
  // Nobody reads yet what is dropped, and a browser would show it in place of the page.
  const starting = new AbortController();
  for (const kind of ["dragover", "drop"]) {
    addEventListener(kind, (event) => {
      event.preventDefault();
      if (event.dataTransfer) event.dataTransfer.dropEffect = "none";
    }, { signal: starting.signal });
  }

  let blob;
  const newWorker = () => {
    const script = asset("worker");
    // A page without an origin of its own (file:, a sandboxed frame) may start no worker by address, only from a Blob.
    if (script.href && self.origin !== "null") return new Worker(scriptAt(script.href));
    // It has the policy of the page, and its own Trusted Types.
    const policy = `self.trustedTypes?.createPolicy("pathlight", { createScriptURL: (address) => address })`;
    const address = JSON.stringify(script.href ?? "");
    const load = `importScripts(${policy}?.createScriptURL(${address}) ?? ${address});`;
    blob ??= URL.createObjectURL(new Blob([script.href ? load : script.textContent], { type: "text/javascript" }));
    return new Worker(scriptAt(blob));
  };
  const startWorker = () => {
    const worker = newWorker();
    if (!workerModule) compileWorker();
    workerModule.then(
      (module) => worker.postMessage({ module }),
      (error) => worker.dispatchEvent(new ErrorEvent("error", { message: error.message ?? `${error}` })),
    );
    return worker;
  };

  // gzip, then base64.
  const pack = async (blob) => {
    const packed = await new Response(blob.stream().pipeThrough(new CompressionStream("gzip"))).blob();
    const reader = new FileReader();
    await new Promise((resolve, reject) => {
      reader.onload = resolve;
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(packed);
    });
    return reader.result.slice(reader.result.indexOf(",") + 1);
  };

  // What the page came with (src/boot.rs). A saved report (crates/view/src/export/saved.rs) has its traces in data blocks, which
  // are taken out; the page in one file keeps its own text, to write a report from.
  const given = () => {
    const facts = document.getElementById("report");
    const parts = [...document.querySelectorAll(".report-part")];
    const blobs = facts ? parts.map((part) => decode(part.textContent)) : [];
    for (const element of facts ? [facts, ...parts] : []) {
      element.nextSibling?.remove();
      element.remove();
    }
    let source;
    if (isSingle) {
      // An extension may have added elements, of which one before the policy could end the head.
      const page = root.cloneNode(true);
      for (const child of [...page.children]) if (!child.matches("head, body")) child.remove();
      page.querySelector("head").prepend(page.querySelector("meta[http-equiv]"));
      source = `<!doctype html>\n${page.outerHTML}`;
    }
    const page = async () => source ?? (await get(asset("single").href)).text();
    return { fragment: "", headline: "", names: [], ...JSON.parse(facts?.textContent ?? "{}"), parts: blobs, pack, page, startWorker };
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
    const module = await compiled;
    const came = given();
    await wasm_bindgen({ module_or_path: module });
    starting.abort();
    delete root.dataset.first;
    wasm_bindgen.start_page(came);
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
    fail(location.protocol === "file:" && !isSingle
      ? "Opened from a folder, this page cannot read its own files: open pathlight.html instead."
      : `Pathlight could not start: ${error.message ?? error}.${isSingle ? "" : " Reload the page to try again."}`);
    throw error;
  });
}
