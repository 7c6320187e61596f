// A page of its own that reads traces in a worker and shows findings and a flame graph.

import { Pathlight, PathlightError } from "../npm/pathlight.js";

const of = (id) => document.getElementById(id);
const [said, progress, chart, list] = ["said", "progress", "chart", "findings"].map(of);
const theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
const worker = await Pathlight.inWorker();
const sets = { traces: null, before: null };

function say(words, kind) {
  said.textContent = words;
  if (kind) said.dataset.kind = kind;
  else delete said.dataset.kind;
}

async function read(side, file) {
  sets[side]?.free();
  sets[side] = null;
  progress.hidden = false;
  try {
    sets[side] = await worker.read(file, {
      progress: ({ bytes, total, spans }) => {
        progress.value = bytes / total;
        say(`${spans} spans so far`);
      },
    });
  } finally {
    progress.hidden = true;
  }
}

async function show() {
  const { traces: set, before: baseline } = sets;
  if (!set) return say("Choose a file with traces.");
  const { findings } = await set.findings({ baseline });
  list.replaceChildren(...findings.map(({ text }) => Object.assign(document.createElement("li"), { textContent: text })));
  const name = baseline ? "difference" : "flame";
  const svg = await set.svg(name, { baseline, theme, width: Math.max(320, Math.min(innerWidth, 1600) - 32) });
  URL.revokeObjectURL(chart.src);
  chart.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  chart.alt = baseline ? "Flame graph of what differs" : "Flame graph of the critical paths";
  chart.hidden = false;
  say(`${set.traces} traces, ${set.spans} spans${worker.isWorker ? ", read in a worker" : ""}`);
}

for (const side of Object.keys(sets)) {
  of(side).addEventListener("change", async ({ target }) => {
    try {
      await read(side, target.files[0]);
      await show();
    } catch (error) {
      if (!(error instanceof PathlightError)) throw error;
      say(`${error.message} ${error.nextStep}`, error.kind);
    }
  });
}
document.documentElement.dataset.ready = "";
