// Files that were opened come back after a reload, where the browser gives handles of them that last: of what is dropped or
// picked. Handles are kept in IndexedDB, by window; what is in the files is not.
"use strict";
{
  // Windows that are remembered, the latest, and handles of one. To ask for a handle and its file takes a message each, so
  // of what is dropped fewer are remembered. Where there are more, none are: a part of what was open would only mislead.
  const WINDOWS = 8;
  const HANDLES = 1000;
  const DROPPED = 100;

  // Handles by what tells a file from others, folders by their name.
  const known = new Map();
  const keyOf = ({ name, size, lastModified }) => `${name} ${size} ${lastModified}`;
  const learn = async (handle) => {
    if (handle?.kind === "directory") known.set(`${handle.name}/`, handle);
    else if (handle) known.set(keyOf(await handle.getFile()), handle);
  };

  let learning = Promise.resolve();
  // What comes next is too much to be remembered.
  let isMuch = false;
  addEventListener("drop", ({ dataTransfer }) => {
    // They must be asked for before the event is over.
    const items = [...dataTransfer?.items ?? []].filter((item) => item.kind === "file");
    isMuch = items.length > DROPPED;
    if (isMuch) return;
    learning = Promise.allSettled(items.map((item) => item.getAsFileSystemHandle?.().then(learn)));
  }, true);

  const KEY = "pathlight-window";
  const ofWindow = () => {
    // crypto.randomUUID is missing where the page comes by http from another machine.
    const id = sessionStorage.getItem(KEY) ?? crypto.getRandomValues(new Uint32Array(4)).join("-");
    sessionStorage.setItem(KEY, id);
    return id;
  };

  const inStore = (mode, work) => new Promise((resolve, reject) => {
    const opening = indexedDB.open("pathlight", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("opened");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const base = opening.result;
      try {
        const act = base.transaction("opened", mode);
        const asked = work(act.objectStore("opened"));
        act.oncomplete = () => {
          base.close();
          resolve(asked.result);
        };
        act.onabort = () => {
          base.close();
          reject(act.error);
        };
      } catch (error) {
        base.close();
        reject(error);
      }
    };
  });
  const kept = async () => await inStore("readonly", (store) => store.get(ofWindow())) ?? { opened: [], isMuch: false };

  const hasSame = async (opened, { handle, group }) => {
    for (const other of opened) {
      if (other.group === group && other.handle.name === handle.name && await other.handle.isSameEntry(handle)) return true;
    }
    return false;
  };

  const note = async (inputs) => {
    await learning;
    const { opened, isMuch: wasMuch } = await kept();
    const found = new Map();
    for (const [name, blob, group] of inputs) {
      const handle = known.get(keyOf(blob)) ?? known.get(name.slice(0, name.indexOf("/") + 1));
      if (handle) found.set(handle, group);
    }
    const more = isMuch || wasMuch || opened.length + found.size > HANDLES;
    isMuch = false;
    for (const [handle, group] of more ? [] : found) {
      if (!await hasSame(opened, { handle, group })) opened.push({ handle, group });
    }
    if (found.size === 0 && !more) return;
    const record = { at: Date.now(), opened: more ? [] : opened, isMuch: more };
    await inStore("readwrite", (store) => store.put(record, ofWindow()));
    const keys = await inStore("readonly", (store) => store.getAllKeys());
    const all = await inStore("readonly", (store) => store.getAll());
    const oldest = keys.map((key, at) => [all[at].at, key]).sort(([a], [b]) => b - a).slice(WINDOWS);
    for (const [, key] of oldest) await inStore("readwrite", (store) => store.delete(key));
  };

  // Files asked for and not waited for yet, at most: an answer comes from another process, so many are under way at a time.
  const ASKED = 1000;

  // Folders are handles, or the entries of browsers that give none: each file of an entry takes four times as long.
  const entriesOf = async function* (folder) {
    const reader = folder.createReader();
    for (;;) {
      // A call gives some hundred entries; the end is an empty one.
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (some.length === 0) return;
      yield* some;
    }
  };
  const fileOf = (entry) => entry.getFile?.() ?? new Promise((resolve, reject) => entry.file(resolve, reject));

  // Dropped folders that are looked into: how many files they had so far, and what ends that.
  let found = 0;
  let stopping = new AbortController();

  /** Returns the files below a folder as [name, file], and the names of what cannot be read; null once the signal says so.
      Hidden ones are left out. */
  const walk = async (folder, signal) => {
    const [files, unreadable, asked] = [[], [], []];
    const ask = async (name, entry) => {
      try {
        files.push([name, await fileOf(entry)]);
        found += 1;
      } catch {
        unreadable.push(name);
      }
    };
    const waiting = [[folder.name, folder]];
    while (waiting.length > 0) {
      const [path, of] = waiting.pop();
      try {
        for await (const entry of of.values?.() ?? entriesOf(of)) {
          if (signal?.aborted) return null;
          const name = `${path}/${entry.name}`;
          if (entry.name.startsWith(".")) continue;
          if (entry.kind === "directory" || entry.isDirectory) {
            waiting.push([name, entry]);
            continue;
          }
          asked.push(ask(name, entry));
          if (asked.length >= ASKED) await Promise.all(asked.splice(0));
        }
      } catch {
        unreadable.push(path);
      }
    }
    await Promise.all(asked);
    return signal?.aborted ? null : { files, unreadable };
  };

  // One thing after the other: what is noted may be forgotten next.
  let last = Promise.resolve();
  const after = (work) => {
    last = last.then(work).catch(() => {});
    return last;
  };

  self.pathlightFiles = {
    /** Remembers the handles of inputs ([name, blob, group]), of those that have one. */
    remember: (inputs) => after(() => note(inputs)),
    /** Forgets what was opened in this window. */
    forget: () => after(() => inStore("readwrite", (store) => store.delete(ofWindow()))),
    /** How many handles there are of what was opened in this window; 0 too if they would be only a part of it. */
    count: async () => {
      await last;
      return (await kept()).opened.length;
    },
    /** Reads them again, asking where the browser wants it: { inputs, missing }, the second by name. */
    again: async () => {
      const [inputs, missing] = [[], []];
      for (const { handle, group } of (await kept()).opened) {
        try {
          const how = { mode: "read" };
          const may = await handle.queryPermission(how) === "granted" || await handle.requestPermission(how) === "granted";
          if (!may) throw new Error("not allowed");
          const isFolder = handle.kind === "directory";
          const { files, unreadable } = isFolder ? await walk(handle) : { files: [[handle.name, await handle.getFile()]], unreadable: [] };
          missing.push(...unreadable);
          for (const [name, file] of files) {
            inputs.push([name, file, group]);
            known.set(isFolder ? `${handle.name}/` : keyOf(file), handle);
          }
        } catch {
          missing.push(handle.name);
        }
      }
      return { inputs, missing };
    },
    /** The files below a dropped folder, as walk returns them; null if it is none. To be asked before the event is over. */
    folder: (item) => {
      const entry = item.webkitGetAsEntry();
      if (!entry?.isDirectory) return null;
      found = 0;
      const { signal } = stopping;
      const handle = item.getAsFileSystemHandle?.();
      return handle ? handle.then((folder) => walk(folder, signal), () => walk(entry, signal)) : walk(entry, signal);
    },
    /** How many files were found so far below what was dropped last. */
    found: () => found,
    /** Ends looking into what was dropped. */
    stop: () => {
      stopping.abort();
      stopping = new AbortController();
    },
    /** Asks for files; null where the browser gives no handles of what is picked. */
    pick: async () => {
      if (!self.showOpenFilePicker) return null;
      try {
        const handles = await self.showOpenFilePicker({ multiple: true });
        isMuch = handles.length > HANDLES;
        learning = isMuch ? Promise.resolve() : Promise.allSettled(handles.map(learn));
        return await Promise.all(handles.map(async (handle) => [handle.name, await handle.getFile()]));
      } catch (error) {
        // Closed without a choice; a frame of another origin may not ask at all.
        return error.name === "AbortError" ? [] : null;
      }
    },
  };
}
