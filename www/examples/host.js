// A page that shows Pathlight in a frame, hands it traces and hears what is selected: an example to copy from.
//
//   host.html?page=URL     where Pathlight is; the folder above this one by default
//   host.html?allow        Pathlight in a sandboxed frame trusts this page without asking its user
//   host.html?sandbox      the frame may run scripts and nothing else
//   host.html?jaeger=/     a second frame with the Jaeger UI of this very host, which follows the selection
//
// What an address of Jaeger UI shows and how to ask Jaeger for it is known to jaeger-plugin.js, which lends it.
"use strict";
{
  const query = new URLSearchParams(location.search);
  const element = (id) => document.getElementById(id);
  const page = new URL(query.get("page") ?? "../", location.href);
  const jaeger = query.get("jaeger");

  // The frame with Jaeger UI, if one is wanted, stands first.
  let ui;
  const base = new URL(jaeger ?? "", location.href);
  if (jaeger) {
    const script = document.createElement("script");
    script.src = "../jaeger-plugin.js";
    script.dataset.only = "asking";
    document.head.append(script);
    ui = document.createElement("iframe");
    ui.title = "Jaeger UI";
    ui.id = "jaeger";
    ui.src = `${jaeger}search`;
    document.querySelector("main").append(ui);
    element("hand-over").hidden = false;
  }

  const frame = document.createElement("iframe");
  frame.title = "Pathlight";
  frame.id = "pathlight";
  if (query.has("sandbox")) frame.setAttribute("sandbox", "allow-scripts");
  page.hash = `v=1&embed=1${query.has("allow") ? `&allow=${encodeURIComponent(location.origin)}` : ""}`;
  frame.src = page.href;
  document.querySelector("main").append(frame);

  // A sandboxed frame has no origin that could be named.
  const target = query.has("sandbox") ? "*" : page.origin;
  const send = (message, transfer = []) =>
    frame.contentWindow.postMessage({ pathlight: 1, ...message }, target, transfer);

  const say = {
    ready: () => "Pathlight listens.",
    pong: () => "It is there.",
    loaded: ({ traces, spans, warnings }) => [`${traces} traces with ${spans} spans are loaded.`, ...warnings].join(" "),
    select: ({ traceID, spanID }) => `Selected: trace ${traceID}${spanID ? `, span ${spanID}` : ""}.`,
    error: ({ message }) => message,
  };

  addEventListener("message", ({ source, origin, data }) => {
    // Only the frame itself is listened to, and only while it shows Pathlight.
    if (source !== frame.contentWindow || data?.pathlight !== 1) return;
    if (target !== "*" && origin !== target) return;
    element("said").textContent = say[data.type]?.(data) ?? "";
    const line = document.createElement("li");
    line.textContent = JSON.stringify(data);
    line.dataset.type = data.type;
    element("log").append(line);
    if (data.type === "select" && ui) {
      pathlightJaeger.show(ui.contentWindow, pathlightJaeger.link(base, data), base);
    }
  });

  element("file").addEventListener("change", async ({ target: { files: [file] } }) => {
    if (!file) return;
    const data = await file.arrayBuffer();
    send({ type: "traces", title: file.name, data }, [data]);
  });
  element("theme").addEventListener("change", ({ target: { value } }) => {
    document.documentElement.dataset.theme = value;
    send({ type: "theme", theme: value });
  });
  element("view").addEventListener("change", ({ target: { value } }) => send({ type: "view", view: value }));

  // Jaeger UI is of this host, so its address may be read and its API asked.
  element("hand-over").addEventListener("click", async () => {
    const shown = pathlightJaeger.shown(ui.contentWindow.location, base, ui.contentWindow);
    if (!shown?.parts.length) {
      element("said").textContent = "Jaeger UI shows no traces.";
      return;
    }
    try {
      const answer = await pathlightJaeger.collect(shown, base);
      for (const message of pathlightJaeger.messages(shown, answer)) send(message, message.data ? [message.data] : []);
      element("said").textContent = answer.nothing;
    } catch (error) {
      element("said").textContent = error.message;
      if (error.help) {
        const [textContent, href] = error.help;
        const link = Object.assign(document.createElement("a"), { textContent, href, target: "_blank", rel: "noopener" });
        element("said").append(" ", link);
      }
    }
  });
}
