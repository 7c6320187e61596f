// Adds Pathlight to Jaeger UI: a button on its search and trace pages, which opens Pathlight in a panel beside them and
// hands over what they show. docs/jaeger-ui.md tells how to switch it on.
//
// Jaeger UI has no interface for plugins, so this stays at its edges: it reads the address (Jaeger UI is a single page
// and changes it by the history), asks the API of the same origin with the user's own rights, and adds two elements to
// the body. Jaeger's server replaces dollar signs in its configuration; there is none in this file, so that its text may
// stand there as well.
"use strict";
(() => {
  if (document.getElementById("pathlight-button")) return;

  // Where Pathlight is: beside this script, or where the configuration says.
  const home = new URL(window.pathlightHome ?? (document.currentScript?.src ? "." : "/pathlight/"),
    document.currentScript?.src || location.href);
  // Jaeger UI writes where it is into <base>.
  const base = new URL(".", document.baseURI);

  // What the page shows: addresses to ask for, in the order to be tried, and what Pathlight should show of it.
  const shown = () => {
    const path = location.pathname;
    if (location.origin !== base.origin || !path.startsWith(base.pathname)) return null;
    const [page, ids] = path.slice(base.pathname.length).split("/");
    if (page === "trace" && ids) {
      // Two traces with dots between are being compared.
      const list = ids.split("...").filter(Boolean);
      const query = new URLSearchParams({ view: "trace", traceID: list[0] });
      return { key: ids, title: "trace " + ids, parts: list.map(trace), query: query.toString() };
    }
    if (page !== "search") return null;
    const search = new URLSearchParams(location.search);
    const list = search.getAll("traceID");
    if (list.length) return { key: location.search, title: "traces by id", parts: list.map(trace) };
    const service = search.get("service");
    if (!service) return { key: "", title: "", parts: [] };
    return { key: location.search, title: "search for " + service, parts: [found(search)] };
  };

  const trace = (id) => ["api/traces/" + encodeURIComponent(id), "api/v3/traces/" + encodeURIComponent(id)];

  const UNITS = { s: 1e6, m: 60e6, h: 3600e6, d: 86400e6, w: 604800e6 };

  // A search in the words of both versions of the API.
  const found = (search) => {
    const asked = new URLSearchParams(search);
    if (!asked.has("start") || !asked.has("end")) {
      const [, number, unit] = /^(\d+)([smhdw])/.exec(asked.get("lookback") ?? "1h") ?? [null, 1, "h"];
      const end = Date.now() * 1000;
      asked.set("end", String(end));
      asked.set("start", String(end - number * UNITS[unit]));
    }
    const newer = new URLSearchParams();
    const put = (name, value) => value && newer.set("query." + name, value);
    const time = (us) => new Date(Number(us) / 1000).toISOString();
    put("service_name", asked.get("service"));
    put("operation_name", asked.get("operation") === "all" ? null : asked.get("operation"));
    put("start_time_min", time(asked.get("start")));
    put("start_time_max", time(asked.get("end")));
    put("duration_min", asked.get("minDuration"));
    put("duration_max", asked.get("maxDuration"));
    put("search_depth", asked.get("limit"));
    put("attributes", asked.get("tags"));
    if (asked.get("operation") === "all") asked.delete("operation");
    return ["api/traces?" + asked, "api/v3/traces?" + newer];
  };

  // The first address that answers with JSON. An old server answers what it does not know with its page.
  const ask = async (addresses) => {
    let reason = "";
    for (const address of addresses) {
      const response = await fetch(new URL(address, base), { headers: { accept: "application/json" } });
      const data = await response.arrayBuffer();
      const first = new TextDecoder().decode(data.slice(0, 64)).trimStart()[0];
      if (response.ok && (first === "{" || first === "[")) return data;
      reason ||= "Jaeger answers " + response.status + " " + response.statusText;
    }
    throw new Error(reason);
  };

  const isDark = () => {
    for (const element of [document.body, document.documentElement]) {
      const [red, green, blue, alpha = 1] = getComputedStyle(element).backgroundColor.match(/[\d.]+/g).map(Number);
      if (alpha > 0) return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128;
    }
    return false;
  };
  const theme = () => (isDark() ? "dark" : "light");

  const make = (name, style, children = [], rest = {}) => {
    const element = Object.assign(document.createElement(name), rest);
    element.style.cssText = style;
    element.append(...children);
    return element;
  };

  const button = make("button",
    "position:fixed;z-index:1000;right:16px;bottom:16px;padding:8px 16px;border:0;border-radius:6px;"
      + "background:#1a66c2;color:#fff;font:600 14px/20px system-ui,sans-serif;cursor:pointer",
    ["Pathlight"],
    { id: "pathlight-button", type: "button", hidden: true, title: "Where does the latency of these traces come from?" });
  const panel = { element: null, frame: null, link: null, note: null, isReady: false, key: null };

  const send = (message, transfer = []) =>
    panel.frame.contentWindow.postMessage({ pathlight: 1, ...message }, home.origin, transfer);

  const open = () => {
    const bar = "display:flex;gap:12px;align-items:center;padding:4px 8px;font:13px/20px system-ui,sans-serif;"
      + "background:#151515;color:#fff";
    panel.link = make("a", "color:#9cc8ff", ["Show in Jaeger UI"], { hidden: true, id: "pathlight-link" });
    panel.note = make("span", "flex:1;overflow:hidden;text-overflow:ellipsis;white-space:nowrap");
    panel.note.setAttribute("role", "status");
    const close = make("button", "border:0;background:none;color:inherit;font:inherit;cursor:pointer", ["Close"],
      { type: "button", id: "pathlight-close" });
    panel.frame = make("iframe", "flex:1;border:0;width:100%;background:transparent", [],
      { title: "Pathlight", id: "pathlight-frame" });
    panel.element = make("aside",
      "position:fixed;z-index:1001;top:0;right:0;bottom:0;width:max(45vw,min(600px,100vw));display:flex;"
        + "flex-direction:column;box-shadow:0 0 12px #0006",
      [make("div", bar, [panel.note, panel.link, close]), panel.frame], { id: "pathlight-panel" });
    panel.element.setAttribute("aria-label", "Pathlight");
    const fragment = new URLSearchParams({ v: 1, embed: 1, allow: location.origin, theme: theme() });
    panel.frame.src = new URL("#" + fragment, new URL("./", home)).href;
    close.addEventListener("click", shut);
    panel.link.addEventListener("click", follow);
    document.body.append(panel.element);
    document.body.style.marginRight = panel.element.offsetWidth + "px";
    button.hidden = true;
    close.focus();
  };

  const shut = () => {
    panel.element.remove();
    Object.assign(panel, { element: null, frame: null, link: null, note: null, isReady: false, key: null });
    document.body.style.marginRight = "";
    update();
    button.focus();
  };

  // Goes to the selected trace within Jaeger UI, so that the panel stays: its router hears a step of the history.
  const follow = (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState(null, "", panel.link.href);
    dispatchEvent(new PopStateEvent("popstate", { state: null }));
  };

  const handOver = async (what) => {
    panel.key = what.key;
    panel.note.textContent = what.parts.length ? "Reading " + what.title + "..." : "";
    try {
      const answers = await Promise.all(what.parts.map(ask));
      // Meanwhile the page may show something else, or the panel be gone.
      if (panel.key !== what.key || !panel.isReady) return;
      answers.forEach((data, at) => send({ type: "traces", title: what.title, data, replace: at === 0 }, [data]));
      if (what.query) send({ type: "query", query: what.query });
    } catch (error) {
      if (panel.key === what.key && panel.note) panel.note.textContent = error.message;
    }
  };

  const counted = (number, word) => number + " " + word + (number === 1 ? "" : "s");

  const say = {
    loaded: ({ traces, spans }) => counted(traces, "trace") + ", " + counted(spans, "span"),
    error: ({ message }) => message,
  };

  addEventListener("message", ({ source, origin, data }) => {
    if (!panel.frame || source !== panel.frame.contentWindow || origin !== home.origin || data?.pathlight !== 1) return;
    if (say[data.type]) panel.note.textContent = say[data.type](data);
    if (data.type === "ready") {
      panel.isReady = true;
      update();
    }
    if (data.type === "select") {
      const span = data.spanID ? "?uiFind=" + data.spanID : "";
      panel.link.href = new URL("trace/" + data.traceID + span, base).href;
      panel.link.hidden = false;
    }
  });

  const update = () => {
    const what = shown();
    button.hidden = !what || Boolean(panel.element);
    // A trace that was followed to from the panel is loaded there already.
    const isFollowed = panel.link && panel.link.href === location.href;
    if (what && panel.isReady && panel.key !== what.key && !isFollowed) handOver(what);
  };

  button.addEventListener("click", open);
  for (const name of ["pushState", "replaceState"]) {
    const original = history[name];
    history[name] = function (...words) {
      const result = original.apply(this, words);
      // After whoever changes the page has done so.
      setTimeout(update);
      return result;
    };
  }
  addEventListener("popstate", () => setTimeout(update));
  // Jaeger UI changes its colours by attributes.
  const colours = new MutationObserver(() => panel.isReady && send({ type: "theme", theme: theme() }));
  const start = () => {
    for (const element of [document.documentElement, document.body]) {
      colours.observe(element, { attributes: true, attributeFilter: ["class", "data-theme"] });
    }
    document.body.append(button);
    update();
  };
  if (document.body) start();
  else addEventListener("DOMContentLoaded", start);
})();
