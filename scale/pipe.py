"""What one machine does with more text than it has memory: generated traces go through a pipe into `pathlight summarise`.

    python3 scale/pipe.py target/release/pathlight 1000000

writes rows for `cargo xtask bench`. The spans of a trace are so many that a million traces are 20 GB of text. With a third
number there are so many root endpoints, and traces are small: a million are 8 GB.
"""

import os
import subprocess
import sys
import tempfile
import time

SPANS = 30
SPANS_OF_MANY_ROOTS = 10


def main():
    binary, traces = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    roots = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    spans = SPANS_OF_MANY_ROOTS if roots else SPANS
    group = f"One machine, a pipe, {roots:,} root endpoints" if roots else "One machine, a pipe"
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        words = [binary, "generate", "--traces", str(traces), "--spans", str(spans), "--seed", "1"]
        words += ["--roots", str(roots)] if roots else []
        source = subprocess.Popen(words, stdout=subprocess.PIPE)
        out = os.path.join(folder, "a.pathlight")
        reader = subprocess.Popen([binary, "summarise", "-", "-o", out], stdin=source.stdout)
        source.stdout.close()
        os.waitid(os.P_PID, reader.pid, os.WEXITED | os.WNOWAIT)
        seconds = time.monotonic() - begun
        # What it has read, while the system still knows.
        with open(f"/proc/{reader.pid}/io", encoding="ascii") as file:
            gigabytes = int(file.readline().split()[1]) / 1e9
        _, status, used = os.wait4(reader.pid, 0)
        _, generated, making = os.wait4(source.pid, 0)
        if status or generated:
            sys.exit(f"pipe.py: summarise ended with {status}, generate with {generated}")
        size = os.path.getsize(out)

    def row(what, value, unit, budget=""):
        print(f"bench\t{group}\t{what}\t{value}\t{unit}\t{budget}")

    processor_s = used.ru_utime + used.ru_stime
    row("traces", traces, "")
    row("text", gigabytes, "GB")
    row("most memory of summarise", used.ru_maxrss * 1024 / 1e6, "MB", "< 1000")
    row("summary", size / 1e6, "MB", "< 20")
    row("time, with generating on the same cores", seconds, "s")
    row(f"processor time of summarise, on {cores} cores", processor_s, "s")
    row("text per second of processor time of summarise", 1e3 * gigabytes / processor_s, "MB/s")
    row("processor time of generate", making.ru_utime + making.ru_stime, "s")


if __name__ == "__main__":
    main()
