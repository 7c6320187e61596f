// Unpacks the page in one file (single.rs) and puts it in place of this one. Lines that are comments stay behind.
"use strict";
{
  // Bytes that stand in the page as text, see crates/text/src/dense.rs.
  const loosen = (text) => {
    const bytes = new Uint8Array(text.length * 2);
    let count = 0;
    for (let at = 0; at < text.length; at += 1) {
      let pair = text.charCodeAt(at);
      if (pair >> 11 === 27) {
        const above = text.codePointAt(at) - 0x10000;
        at += 1;
        const number = above >> 8;
        if (number < 2051) {
          pair = number < 2048 ? 0xd800 + number : [0, 13, 60][number - 2048];
          bytes[count++] = pair;
          bytes[count++] = pair >> 8;
        }
        bytes[count++] = above;
      } else {
        bytes[count++] = pair;
        bytes[count++] = pair >> 8;
      }
    }
    return bytes.subarray(0, count);
  };

  // Returns a function that unpacks LZMA (lc 4, lp 0, pb 0, no header) as far as it is told, and then returns what is new.
  const unpacking = (packed, size) => {
    const out = new Uint8Array(size);
    // Where the probabilities of each kind begin.
    const [MATCH, REPEAT, REPEAT_0, REPEAT_1, REPEAT_2, LONG] = [0, 12, 24, 36, 48, 60];
    const [SLOT, DISTANCE, ALIGN, LENGTH, REPEAT_LENGTH, LITERAL] = [72, 328, 456, 472, 746, 1020];
    const odds = new Uint16Array(LITERAL + 0x300 * 16).fill(1024);
    // Range and code.
    const coder = new Uint32Array(2);
    coder[0] = 0xffffffff;
    let at = 5;
    for (let byte = 1; byte < at; byte += 1) coder[1] = coder[1] << 8 | packed[byte];
    // Goes down a tree from a node to one from `end` on, a bit a step. As long as the bits are those of the byte `match`, other
    // odds hold. Most time passes here: with range and code in variables, an eighth less.
    const down = (base, node, end, match = 0) => {
      let offset = match ? 256 : 0;
      let range = coder[0];
      let code = coder[1];
      while (node < end) {
        match <<= 1;
        const guess = match & offset;
        const place = base + offset + guess + node;
        const odd = odds[place];
        const bound = Math.imul(range >>> 11, odd) >>> 0;
        if (code >= bound) {
          range = range - bound >>> 0;
          code = code - bound >>> 0;
          odds[place] = odd - (odd >> 5);
          node = node << 1 | 1;
          offset &= guess;
        } else {
          range = bound;
          odds[place] = odd + (2048 - odd >> 5);
          node <<= 1;
          offset &= ~guess;
        }
        if (range < 0x1000000) {
          range = range << 8 >>> 0;
          code = (code << 8 | packed[at++]) >>> 0;
        }
      }
      coder[0] = range;
      coder[1] = code;
      return node;
    };
    const bit = (place) => down(place - 1, 1, 2) & 1;
    const bits = (base, count) => down(base, 1, 1 << count) - (1 << count);
    const lowestFirst = (base, count) => {
      let [node, value] = [1, 0];
      for (let step = 0; step < count; step += 1) {
        const one = bit(base + node);
        node = node << 1 | one;
        value |= one << step;
      }
      return value;
    };
    const direct = (count) => {
      let value = 0;
      for (let step = 0; step < count; step += 1) {
        coder[0] >>>= 1;
        const isOne = coder[1] >= coder[0];
        if (isOne) coder[1] -= coder[0];
        value = value << 1 | isOne;
        if (coder[0] < 0x1000000) {
          coder[0] <<= 8;
          coder[1] = coder[1] << 8 | packed[at++];
        }
      }
      return value;
    };
    const length = (base) => {
      if (!bit(base)) return 2 + bits(base + 2, 3);
      return bit(base + 1) ? 18 + bits(base + 18, 8) : 10 + bits(base + 10, 3);
    };
    const distance = (slot) => {
      if (slot < 4) return slot;
      const count = (slot >> 1) - 1;
      const start = (2 | slot & 1) << count;
      if (slot < 14) return start + lowestFirst(DISTANCE + start - slot, count);
      return start + (direct(count - 4) << 4) + lowestFirst(ALIGN, 4);
    };
    let [count, given, state] = [0, 0, 0];
    let [last, second, third, fourth] = [0, 0, 0, 0];
    return (until) => {
      while (count < until) {
        if (!bit(MATCH + state)) {
          const base = LITERAL + 0x300 * (count && out[count - 1] >> 4);
          // A bit above the byte tells one that is 0 from none.
          out[count] = down(base, 1, 256, state < 7 ? 0 : 0x10000 | out[count - last - 1]);
          count += 1;
          state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
          continue;
        }
        let many;
        if (!bit(REPEAT + state)) {
          [last, second, third, fourth] = [0, last, second, third];
          many = length(LENGTH);
          last = distance(bits(SLOT + 64 * Math.min(many - 2, 3), 6));
          state = state < 7 ? 7 : 10;
        } else {
          let isShort = false;
          if (!bit(REPEAT_0 + state)) isShort = !bit(LONG + state);
          else if (!bit(REPEAT_1 + state)) [last, second] = [second, last];
          else if (!bit(REPEAT_2 + state)) [last, second, third] = [third, last, second];
          else [last, second, third, fourth] = [fourth, last, second, third];
          many = isShort ? 1 : length(REPEAT_LENGTH);
          state = isShort ? state < 7 ? 9 : 11 : state < 7 ? 8 : 11;
        }
        for (const end = count + many; count < end; count += 1) out[count] = out[count - last - 1];
      }
      const fresh = out.subarray(given, until);
      given = until;
      return fresh;
    };
  };

  // The text of the page, then the module. Each piece of the module leaves the browser time to show the page and to compile.
  const PIECE = 1 << 20;
  const element = document.getElementById("packed");
  const { text, all } = element.dataset;
  const unpack = unpacking(loosen(element.textContent), +all);
  const module = () => {
    let until = +text;
    return new ReadableStream({
      pull: async (controller) => {
        await new Promise((resolve) => setTimeout(resolve));
        until = Math.min(until + PIECE, +all);
        controller.enqueue(unpack(until));
        if (until === +all) controller.close();
      },
    });
  };
  // A report has its traces in the page as it came (www/boot.js).
  document.addEventListener("DOMContentLoaded", () => {
    const came = document.documentElement;
    self.pathlightSingle = { came, loosen, module };
    const page = new TextDecoder().decode(unpack(+text));
    const root = new DOMParser().parseFromString(page, "text/html").documentElement;
    came.replaceWith(root);
    // Scripts of a parsed text never run.
    for (const script of root.querySelectorAll("script:not([type])")) {
      const running = document.createElement("script");
      running.id = script.id;
      running.textContent = script.textContent;
      script.replaceWith(running);
    }
  }, { once: true });
}
