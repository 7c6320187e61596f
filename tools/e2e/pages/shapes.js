// Sends messages of every shape that may be sent to the Pathlight of a host, each followed by a ping, and returns those
// that were answered otherwise than expected before the pong. Arguments: `frame` or `opened`, and the messages.
const [where, which, done] = arguments;
const target = where === "frame" ? document.querySelector("#pathlight").contentWindow : window.opened;
const ours = (fields) => ({ pathlight: 1, ...fields });
const nested = (depth, wrap) => {
  let value = 1;
  for (let at = 0; at < depth; at++) value = wrap(value);
  return value;
};
const cyclic = (fields) => {
  const value = { ...fields };
  value.self = value;
  return value;
};
const sparse = () => {
  const list = [];
  list[4_000_000_000] = 1;
  return list;
};
const many = (fields) => {
  const value = { ...fields };
  for (let at = 0; at < 100_000; at++) value[`key${at}`] = at;
  return value;
};
const detached = () => {
  const buffer = new ArrayBuffer(8);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
};
const own = (key) => JSON.parse(`{"${key}":{"pathlight":1,"type":"theme","theme":"dark"}}`);
/** A message with what of it is handed over. */
class Transferred {
  constructor(message, ...transfer) {
    Object.assign(this, { message, transfer });
  }
}
const port = () => new MessageChannel().port1;

const none = {
  null: () => null,
  undefined: () => undefined,
  true: () => true,
  NaN: () => NaN,
  infinity: () => Infinity,
  "-0": () => -0,
  BigInt: () => 1n,
  text: () => "pathlight",
  "text of 50 MB": () => "x".repeat(5e7),
  "objects around primitives": () => [Object(1), Object("pathlight"), Object(true), Object(1n)],
  Date: () => new Date(NaN),
  RegExp: () => /pathlight/g,
  Error: () => new TypeError("pathlight"),
  Map: () => new Map([["pathlight", 1], ["type", "theme"], ["theme", "dark"]]),
  Set: () => new Set([1, "theme"]),
  Blob: () => new Blob(["{}"]),
  File: () => new File(["{}"], "pathlight"),
  ArrayBuffer: () => new ArrayBuffer(1e6),
  "typed array": () => new Float64Array(1000).fill(NaN),
  DataView: () => new DataView(new ArrayBuffer(8)),
  ImageData: () => new ImageData(1, 1),
  "cyclic object": () => cyclic({ type: "theme", theme: "dark" }),
  "list in 1,000 lists": () => nested(1000, (value) => [value]),
  "sparse list": sparse,
  "100,000 keys": () => many({}),
  "prototype of a message": () => Object.create(ours({ type: "theme", theme: "dark" })),
  "version in an object": () => ({ pathlight: Object(1), type: "theme", theme: "dark" }),
  "version as text": () => ({ pathlight: "1", type: "theme", theme: "dark" }),
  "version as BigInt": () => ({ pathlight: 1n, type: "theme", theme: "dark" }),
  "no version": () => ({ type: "theme", theme: "dark" }),
};
for (const key of ["__proto__", "constructor", "toString", "toJSON", "valueOf"]) none[`own ${key}`] = () => own(key);

const bad = {
  "version NaN": () => ours({ pathlight: NaN, type: "ping" }),
  "version 1.5": () => ours({ pathlight: 1.5, type: "ping" }),
  "version Infinity": () => ours({ pathlight: Infinity, type: "ping" }),
  "no type": () => ours({}),
  "type null": () => ours({ type: null }),
  "type number": () => ours({ type: 7 }),
  "type BigInt": () => ours({ type: 1n }),
  "type in an object": () => ours({ type: Object("ping") }),
  "type Map": () => ours({ type: new Map() }),
  "type cyclic": () => ours({ type: cyclic({}) }),
  "type sparse": () => ours({ type: sparse() }),
  "type in 1,000 objects": () => ours({ type: nested(1000, (value) => ({ type: value })) }),
  "type of 50 MB": () => ours({ type: "x".repeat(5e7) }),
  "type half a character": () => ours({ type: "\ud800" }),
  "type unknown, 100,000 keys": () => many({ pathlight: 1, type: "dance" }),
  "theme without one": () => ours({ type: "theme" }),
  "theme unknown": () => ours({ type: "theme", theme: "pink" }),
  "theme Date": () => ours({ type: "theme", theme: new Date(0) }),
  "view unknown": () => ours({ type: "view", view: "__proto__" }),
  "view in a list": () => ours({ type: "view", view: ["errors"] }),
  "query number": () => ours({ type: "query", query: 5 }),
  "query of 50 MB": () => ours({ type: "query", query: "&view=errors".repeat(4e6) }),
  "title Blob": () => ours({ type: "traces", title: new Blob(["x"]), data: '{"data":[]}', replace: true }),
  "replace text": () => ours({ type: "traces", data: '{"data":[]}', replace: "yes" }),
};
for (const key of ["__proto__", "constructor", "toString"]) bad[`type ${key}`] = () => ours({ type: key });

const data = {
  none: () => undefined,
  null: () => null,
  number: () => 5,
  NaN: () => NaN,
  BigInt: () => 1n,
  true: () => true,
  object: () => ({ data: [] }),
  list: () => [],
  "sparse list": sparse,
  "text in an object": () => Object('{"data":[]}'),
  Date: () => new Date(0),
  RegExp: () => /x/,
  Error: () => new Error("x"),
  Map: () => new Map(),
  Set: () => new Set(),
  ImageData: () => new ImageData(1, 1),
  "cyclic object": () => cyclic({}),
};

const wrongItems = { data: [1, null, "x", [], {}, { spans: 5 }, { traceID: {}, spans: [{}, 7, null] },
  { traceID: "__proto__", spans: [{ traceID: 7, spanID: [], references: { a: 1 }, startTime: "x", duration: {}, tags: 7 }], processes: [] }] };
const unreadable = {
  "empty text": () => "",
  null: () => "null",
  "half a list": () => "[1, 2",
  "wrong items": () => JSON.stringify(wrongItems),
  "a million lists": () => "[".repeat(1e6),
  "text of 50 MB": () => "x".repeat(5e7),
  "empty buffer": () => new ArrayBuffer(0),
  "buffer that may grow": () => new ArrayBuffer(8, { maxByteLength: 16 }),
  "typed array": () => new Float64Array(1000).fill(NaN),
  DataView: () => new DataView(new ArrayBuffer(8), 4),
  Blob: () => new Blob([]),
  File: () => new File(["\0\0\0"], "__proto__"),
};

const all = (messages, expected, wrap = (value) => value) =>
  Object.entries(messages).map(([name, make]) => [name, expected, () => wrap(make())]);
const sent = {
  shapes: () => [
    ...all(none, ["nothing"]),
    ...all(bad, ["bad-message"]),
    ["another version", ["version"], () => ours({ pathlight: 2, type: "ping" })],
    ["version -0", ["version"], () => ours({ pathlight: -0, type: "ping" })],
    ["detached buffer", ["not sent"], () => ours({ type: "traces", data: detached() })],
    // A browser may refuse to send them.
    ["list in 10,000 lists", ["nothing", "not sent"], () => nested(10_000, (value) => [value])],
    ["type in 10,000 objects", ["bad-message", "not sent"], () => ours({ type: nested(10_000, (type) => ({ type })) })],
    ["port", ["nothing"], () => { const it = port(); return new Transferred({ it }, it); }],
    ["type port", ["bad-message"], () => { const type = port(); return new Transferred(ours({ type }), type); }],
    ["buffer handed over", ["nothing"], () => { const it = new ArrayBuffer(1e6); return new Transferred(it, it); }],
  ],
  data: () => all(data, ["bad-message"], (value) => ours({ type: "traces", replace: true, data: value })),
  unreadable: () => all(unreadable, ["nothing", "bad-message"], (value) => ours({ type: "traces", data: value })),
  // These say something.
  wanted: () => [
    ["theme", ["nothing"], () => cyclic(ours({ type: "theme", theme: "dark" }))],
    ["view", ["nothing"], () => many(ours({ type: "view", view: "endpoints" }))],
  ],
};

const heard = [];
let pong;
const hear = ({ source, data }) => {
  if (source !== target || data?.pathlight !== 1) return;
  if (data.type === "pong") pong();
  else if (data.type === "error") heard.push(data.code);
};
addEventListener("message", hear);
(async () => {
  const wrong = [];
  for (const [name, expected, make] of sent[which]()) {
    heard.length = 0;
    let found;
    try {
      const made = make();
      if (made instanceof Transferred) target.postMessage(made.message, "*", made.transfer);
      else target.postMessage(made, "*");
    } catch {
      found = "not sent";
    }
    await new Promise((resolve) => {
      pong = resolve;
      target.postMessage(ours({ type: "ping" }), "*");
    });
    // What was sent and could not be read is answered once it was looked at.
    found ??= heard.filter((code) => code !== "no-traces" || which !== "unreadable").join() || "nothing";
    if (!expected.includes(found)) wrong.push(`${name}: ${found}`);
  }
  removeEventListener("message", hear);
  done(wrong);
})();
