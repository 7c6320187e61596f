// Keeps the page for use without its server, once the user asked for it: index.html and the files it names. Nothing
// else is ever kept or answered here, so no answer of an API can grow old in it.
//
// The build writes a hash of their content into the names of the files. So the names prove what belongs to the page: an
// answer that names no such files, or whose files have other content, is no version of it (a login, a network that wants one
// first, a half-finished deployment) and replaces nothing. What is kept never changes, and a version is the list of its
// names. A newer index.html is looked for at every visit.
"use strict";

const PREFIX = "pathlight-";
const scope = new URL("./", location.href).href;

/** A name with the hash of the content, the first ten digits of its SHA-256; that of the page in one file, from which reports
    are made, stands behind its name. */
const HASHED = /(?:-|\.html\?)([0-9a-f]{10})(?:\.[^/]+)?$/;

/** Time a server has to answer a visit before the kept page is shown: a network may be there and bring nothing. */
const PATIENCE_MS = 5000;

/** Addresses of the files a page names, but for the ones that only sandboxed frames need, which keep nothing. */
const files = (page) =>
  [...page.matchAll(/(?:href|src)="([^":]+)"/g)]
    .map(([, name]) => new URL(name, scope).href)
    .filter((address) => !address.includes(".wasm-"));

/** Whether a text is a whole index.html of the build: it ends, and names both modules, and every file by its hash. */
const isPage = (text) => {
  const named = files(text);
  return ['id="asset-wasm"', 'id="asset-worker-wasm"'].every((part) => text.includes(part)) &&
    named.filter((address) => address.endsWith(".wasm")).length >= 2 &&
    named.every((address) => HASHED.test(address) && address.startsWith(scope)) &&
    text.trimEnd().endsWith("</html>");
};

const hashOf = async (bytes) =>
  [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** An answer as it is kept: a visit must not be answered with one that was redirected, and no cache takes every Vary. */
const copy = (answer, body) => {
  const headers = new Headers(answer.headers);
  headers.delete("vary");
  return new Response(body, { headers });
};

/** Fetches a file and returns it if its content is what its name says. */
const proven = async (address) => {
  const [, hash] = HASHED.exec(address);
  // What another server answered may lie in the browser's own cache.
  for (const cache of ["default", "reload"]) {
    const answer = await fetch(address, { cache });
    const bytes = await answer.arrayBuffer();
    if (answer.ok && (await hashOf(bytes)).startsWith(hash)) return copy(answer, bytes);
  }
  throw new Error(`${address} is not what its name says`);
};

/** Does one thing at a time, whichever worker and window asked for it, where the browser can. */
const alone = (work) => navigator.locks ? navigator.locks.request(PREFIX + scope, work) : work();

/** Keeps the version this answer is the index.html of, and forgets others; all of it or nothing. Fails if it is none. Every
    window is told what is kept, so that one with an older page can say so. */
const keep = async (answer) => {
  const page = await answer.text();
  if (!answer.ok || !answer.url.startsWith(scope) || !isPage(page)) throw new Error(`${scope} does not answer with this page`);
  const named = files(page);
  const name = `${PREFIX}${scope} ${(await hashOf(new TextEncoder().encode(page))).slice(0, 16)}`;
  await alone(async () => {
    const cache = await caches.open(name);
    // It comes in last: a version that has it is whole, even if the browser ended this worker midway.
    if (!await cache.match(scope)) {
      try {
        await Promise.all(named.map(async (address) => cache.put(address, await proven(address))));
        await cache.put(scope, copy(answer, page));
      } catch (error) {
        await caches.delete(name);
        throw error;
      }
    }
    for (const other of await caches.keys()) {
      if (other.startsWith(PREFIX + scope + " ") && other !== name) await caches.delete(other);
    }
  });
  for (const client of await self.clients.matchAll({ includeUncontrolled: true })) client.postMessage({ kept: named, scope });
};

const look = async () => keep(await fetch(scope, { cache: "no-cache" }));

self.addEventListener("install", (event) => {
  event.waitUntil(look().then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("message", (event) => {
  if (event.data === "look") event.waitUntil(look().catch(() => {}));
});

/** What a visit gets: the server's page once it is kept, with all that it names; a redirect as it came, for the browser to
    follow, since a login is elsewhere; else the kept page. Without one it gets the server's answer, whatever it is. */
const visit = async (arriving, found, stopping) => {
  const old = await caches.match(scope);
  if (!old) return arriving;
  const late = new Promise((resolve) => {
    setTimeout(() => {
      resolve(old);
      // The browser would let the next visit wait for it too. Files that a whole page names come on.
      stopping.abort();
    }, PATIENCE_MS);
  });
  return Promise.race([found.catch(() => old), late]);
};

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const address = request.url.split("#")[0];
  if (request.method !== "GET" || !address.startsWith(scope)) return;
  if (address === scope || address === `${scope}index.html`) {
    if (request.mode !== "navigate") return;
    // The address that was asked for: a server may lead from one of the two to the other.
    const stopping = new AbortController();
    const arriving = fetch(address, { cache: "no-cache", redirect: "manual", signal: stopping.signal });
    const found = arriving.then((answer) =>
      answer.type === "opaqueredirect" ? answer : keep(answer.clone()).then(() => answer));
    event.respondWith(visit(arriving, found, stopping));
    // What comes too late for this visit is there for the next.
    event.waitUntil(found.catch(() => {}));
    return;
  }
  // Only what has the hash of its content in its name; anything else goes its way as if nobody listened.
  if (HASHED.test(address)) event.respondWith(caches.match(address).then((kept) => kept ?? fetch(request)));
});
