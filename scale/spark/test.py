"""Spark's summaries are the single binary's: in local mode with 1, 2 and 4 partitions, and after tasks that were killed, of
traces whose spans lie in several files. With `--bench` it prints instead what the job costs beside the binary."""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
IS_BENCH = "--bench" in sys.argv
# The bench reads them, and then three times as many.
SPANS = int(os.environ.get("PATHLIGHT_SCALE_SPANS", "2000000" if IS_BENCH else "60000"))
FILES = 8
SPANS_OF_A_TRACE = 50
DAY_US = 86_400_000_000


def generate(binary, seed):
    """Returns the traces of one of the files."""
    command = [binary, "generate", "--traces", str(SPANS // SPANS_OF_A_TRACE // FILES), "--spans", str(SPANS_OF_A_TRACE), "--seed", str(seed)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def prepare(binary, folder):
    """Writes traces of two days into `folder`/whole, and the same into `folder`/in: of every third trace there the spans are
    scattered over files."""
    scattered = [[] for _ in range(FILES)]
    for name in ("whole", "in"):
        os.makedirs(f"{folder}/{name}/sub")
    for number in range(FILES):
        later = DAY_US * (number % 2)
        text = re.sub(rb'"startTime":(\d+)', lambda found: b'"startTime":%d' % (int(found[1]) + later), generate(binary, number + 1))
        write(f"{folder}/whole/{number}.json", text)
        traces = json.loads(text)["data"]
        for trace in traces[::3]:
            for part in range(FILES):
                spans = trace["spans"][part::FILES]
                if spans:
                    scattered[part].append({**trace, "spans": spans})
        whole = [trace for place, trace in enumerate(traces) if place % 3]
        write(f"{folder}/in/{'sub/' if number % 2 else ''}{number}.json", json.dumps({"data": whole}, separators=(",", ":")).encode())
    for part, traces in enumerate(scattered):
        write(f"{folder}/in/part{part}.json", json.dumps({"data": traces}, separators=(",", ":")).encode())


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def tree(folder):
    """All summaries below a folder by path."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if name.endswith(".pathlight"):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = file.read()
    return found


def job(master, words):
    """Runs the job; returns its exit status, what it printed, and what went wrong."""
    environment = dict(os.environ, PYSPARK_SUBMIT_ARGS=f"--master {master} --driver-memory 2g --conf spark.ui.enabled=false pyspark-shell", PYSPARK_PYTHON=sys.executable)
    done = subprocess.run([sys.executable, f"{HERE}/summarise.py", *words], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def killer(binary, folder, command):
    """A program in place of the binary that kills the task which calls it with this command for the first time."""
    path = f"{folder}/killer-{command}"
    write(path, f'#!/bin/sh\nif [ "$1" = {command} ] && mkdir "{folder}/killed-{command}" 2>/dev/null; then kill -9 $PPID; fi\nexec "{binary}" "$@"\n'.encode())
    os.chmod(path, 0o755)
    return path


class Tests:
    """Counts."""

    passed, failed = 0, 0

    @contextlib.contextmanager
    def test(self, name):
        try:
            yield
            self.passed += 1
            print(f"test {name} ... ok", flush=True)
        except AssertionError as error:
            self.failed += 1
            print(f"{error}\ntest {name} ... FAILED", flush=True)


def same(out, expected):
    found = tree(out)
    assert not [name for _, _, names in os.walk(out) for name in names if not name.endswith(".pathlight")], "other files"
    assert sorted(found) == sorted(expected), f"{sorted(found)} instead of {sorted(expected)}"
    different = [name for name in expected if found[name] != expected[name]]
    assert not different, f"{different} differ"


def bench(binary, folder):
    """Prints rows for `cargo xtask bench`: what the job takes for each GB on all cores, beside the binary. What it takes for
    any input, such as starting Python and compiling its own code, is told apart by reading three times as much."""
    cores = len(os.sched_getaffinity(0))

    def row(what, value, unit, budget=""):
        print(f"bench\tApache Spark, local mode, all cores\t{what}\t{value}\t{unit}\t{budget}", flush=True)

    gigabytes = []
    for times in (1, 2):
        os.makedirs(f"{folder}/{times}")
        for number in range(times * FILES):
            write(f"{folder}/{times}/{number}.json", generate(binary, 100 * times + number))
        gigabytes.append(sum(os.path.getsize(f"{folder}/{times}/{name}") for name in os.listdir(f"{folder}/{times}")) / 1e9)
    some, more = [f"{folder}/1"], [f"{folder}/1", f"{folder}/2"]
    row("spans, and three times as many", SPANS, "")
    row("their text", gigabytes[0], "GB")
    subprocess.run([binary, "partition", *some, "-o", f"{folder}/columns", "--into", str(cores)], check=True)
    columns = sum(os.path.getsize(f"{folder}/columns/{name}") for name in os.listdir(f"{folder}/columns")) / 1e9
    row("columns between tasks, of the text", 100 * columns / gigabytes[0], "%")

    def bare(inputs):
        start = time.monotonic()
        subprocess.run([binary, "summarise", *inputs, "-o", f"{folder}/bare", "--per-day", "--per-root"], check=True)
        return time.monotonic() - start

    def spark(inputs, *words):
        start = time.monotonic()
        status, said, errors = job(f"local[{cores}]", ["--pathlight", binary, "--out", f"{folder}/out", *words, *inputs])
        assert status == 0, errors
        seconds = float(re.search(r"in ([0-9.]+) s", said)[1])
        return seconds, time.monotonic() - start - seconds

    bare(more)
    bare_s = min(bare(more) for _ in range(3)) / sum(gigabytes)
    row("the binary alone, each GB", bare_s, "s")
    for words, name in [((), "files that every machine has"), (("--through-spark",), "files through Spark")]:
        (less_s, start_s), (more_s, _) = spark(some, *words), spark(more, *words)
        job_s = (more_s - less_s) / gigabytes[1]
        row(f"{name}: start and end of Spark", start_s, "s")
        row(f"{name}: the job", less_s, "s")
        row(f"{name}: the job, each GB more", job_s, "s")
        row(f"{name}: throughput per core, of the binary's", 100 * bare_s / job_s, "%", "" if words else "> 50")
    same(f"{folder}/out", tree(f"{folder}/bare"))


def main():
    binary = os.path.abspath(sys.argv[1])
    tests = Tests()
    with tempfile.TemporaryDirectory() as folder:
        if IS_BENCH:
            return bench(binary, folder)
        prepare(binary, folder)
        subprocess.run([binary, "summarise", f"{folder}/whole", "-o", f"{folder}/expected", "--per-day", "--per-root"], check=True)
        expected = tree(f"{folder}/expected")
        with tests.test("the binary joins spans that are scattered over files"):
            subprocess.run([binary, "summarise", f"{folder}/in", "-o", f"{folder}/joined", "--per-day", "--per-root", "--scattered"], check=True)
            assert len([name for name in expected if "/" not in name]) == 3, expected.keys()
            same(f"{folder}/joined", expected)
        for tasks in (1, 2, 4):
            with tests.test(f"with {tasks} partitions"):
                status, _, errors = job(f"local[{tasks}]", ["--pathlight", binary, "--out", f"{folder}/out{tasks}", "--buckets", str(tasks), f"{folder}/in"])
                assert status == 0, errors
                same(f"{folder}/out{tasks}", expected)
        with tests.test("with what Spark has read"):
            status, _, errors = job("local[2]", ["--pathlight", binary, "--out", f"{folder}/through", "--through-spark", f"{folder}/in"])
            assert status == 0, errors
            same(f"{folder}/through", expected)
        for command in ("partition", "summarise", "merge"):
            with tests.test(f"a task is killed in its first {command}"):
                words = ["--pathlight", killer(binary, folder, command), "--out", f"{folder}/out-{command}", f"{folder}/in"]
                status, _, errors = job("local[2,4]", words)
                assert status == 0, errors
                assert os.path.isdir(f"{folder}/killed-{command}"), "no task was killed"
                same(f"{folder}/out-{command}", expected)
        os.mkdir(f"{folder}/empty")
        write(f"{folder}/none.txt", b"nothing")
        for place, expected_words in [("empty", "there is no file in"), ("missing/*.json", "an input cannot be read"), ("none.txt", "holds a trace")]:
            with tests.test(f"input {place}"):
                status, _, errors = job("local[1]", ["--pathlight", binary, "--out", f"{folder}/none", f"{folder}/{place}"])
                assert status == 1 and f"summarise.py: " in errors and expected_words in errors and "Traceback" not in errors, errors
    print(f"test result: {'FAILED' if tests.failed else 'ok'}. {tests.passed} passed; {tests.failed} failed")
    sys.exit(1 if tests.failed else 0)


if __name__ == "__main__":
    main()
