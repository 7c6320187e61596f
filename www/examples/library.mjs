// Says what is slow, and with two files what has become slower: node library.mjs [BEFORE] TRACES

import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { Pathlight, PathlightError } from "pathlight";

const read = (file) => Pathlight.read(Readable.toWeb(createReadStream(file)), { name: file });

try {
  const [last, before] = process.argv.slice(2).reverse();
  const set = await read(last);
  const baseline = before && (await read(before));
  console.log(`${set.traces} traces, ${set.spans} spans`);

  const { findings } = await set.findings({ baseline });
  for (const [at, { text }] of findings.entries()) console.log(`${at + 1}. ${text}`);
  if (findings.length === 0) console.log("Nothing stands out.");
} catch (error) {
  if (!(error instanceof PathlightError)) throw error;
  console.error(error.message, error.nextStep);
  process.exitCode = 2;
}
