// Keeps the page for use without its server, once the user asked for it: index.html and the files it names. Nothing
// else is ever kept or answered here, so no answer of an API can grow old in it.
//
// The build writes a hash of their content into the names of the files, so what is kept never changes, and a version is
// the list of its names. A newer index.html is looked for at every visit.
"use strict";

const PREFIX = "pathlight-";
const scope = new URL("./", location.href).href;

/** Addresses of the files a page names, but for the one that only sandboxed frames need, which keep nothing. */
const files = (page) =>
  [...page.matchAll(/(?:href|src)="([^":]+)"/g)]
    .map(([, name]) => new URL(name, scope).href)
    .filter((address) => !address.includes(".wasm-"));

const nameOf = async (page) => {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(page)));
  return PREFIX + scope + " " + [...hash.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
};

/** Keeps the version this answer is the index.html of, and forgets others; all of it or nothing. Every window is told what
    is kept, so that one with an older page can say so. */
const keep = async (answer) => {
  const page = await answer.clone().text();
  const name = await nameOf(page);
  if (!await caches.has(name)) {
    const cache = await caches.open(name);
    try {
      await cache.addAll(files(page));
      await cache.put(scope, answer.clone());
    } catch (error) {
      await caches.delete(name);
      throw error;
    }
  }
  for (const other of await caches.keys()) {
    if (other.startsWith(PREFIX + scope + " ") && other !== name) await caches.delete(other);
  }
  const kept = files(page);
  for (const client of await self.clients.matchAll({ includeUncontrolled: true })) client.postMessage({ kept, scope });
};

const fresh = async () => {
  const answer = await fetch(scope, { cache: "no-cache" });
  if (!answer.ok) throw new Error(`${scope} answers ${answer.status}`);
  return answer;
};

self.addEventListener("install", (event) => {
  event.waitUntil(fresh().then(keep).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("message", (event) => {
  if (event.data === "look") event.waitUntil(fresh().then(keep).catch(() => {}));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const address = request.url.split("#")[0];
  if (request.method !== "GET" || !address.startsWith(scope)) return;
  if (address === scope || address === `${scope}index.html`) {
    const answer = fresh();
    event.respondWith(answer.then((page) => page.clone(), () => caches.match(scope).then((kept) => kept ?? Response.error())));
    // What the newer page names is fetched now, so that it will do without the server.
    event.waitUntil(answer.then(keep).catch(() => {}));
    return;
  }
  // Only what has the hash of its content in its name; anything else goes its way as if nobody listened.
  if (/-[0-9a-f]{10}\.[^/]+$/.test(address)) {
    event.respondWith(caches.match(address).then((kept) => kept ?? fetch(request)));
  }
});
