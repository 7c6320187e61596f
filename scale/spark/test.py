"""Spark's summaries are the single binary's: in local mode with 1, 2 and 4 partitions, and after tasks that were killed, of
traces whose spans lie in several files. With `--bench` it prints instead what the job costs beside the binary."""

import concurrent.futures
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


def run_all(tests):
    """Runs tests, by name, two at a time: most of a job is the start of Spark, on one core. Returns how many failed."""
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, outcome in [(name, pool.submit(test)) for name, test in tests.items()]:
            try:
                outcome.result()
                print(f"test {name} ... ok", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"{error}\ntest {name} ... FAILED", flush=True)
    return failed


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


def tests_in(binary, folder):
    """Writes what is read; returns the tests by name."""
    prepare(binary, folder)
    subprocess.run([binary, "summarise", f"{folder}/whole", "-o", f"{folder}/expected", "--per-day", "--per-root"], check=True)
    os.mkdir(f"{folder}/empty")
    write(f"{folder}/none.txt", b"nothing")
    expected = tree(f"{folder}/expected")

    def joins():
        subprocess.run([binary, "summarise", f"{folder}/in", "-o", f"{folder}/joined", "--per-day", "--per-root", "--scattered"], check=True)
        assert len([name for name in expected if "/" not in name]) == 3, expected.keys()
        same(f"{folder}/joined", expected)

    def agrees(out, master, words, program=binary):
        status, _, errors = job(master, ["--pathlight", program, "--out", f"{folder}/{out}", *words, f"{folder}/in"])
        assert status == 0, errors
        same(f"{folder}/{out}", expected)

    def killed(command):
        agrees(f"out-{command}", "local[2,4]", [], killer(binary, folder, command))
        assert os.path.isdir(f"{folder}/killed-{command}"), "no task was killed"

    def refused(place, words):
        status, _, errors = job("local[1]", ["--pathlight", binary, "--out", f"{folder}/none", f"{folder}/{place}"])
        assert status == 1 and f"summarise.py: " in errors and words in errors and "Traceback" not in errors, errors

    tests = {"the binary joins spans that are scattered over files": joins}
    for tasks in (1, 2, 4):
        tests[f"with {tasks} partitions"] = lambda tasks=tasks: agrees(f"out{tasks}", f"local[{tasks}]", ["--buckets", str(tasks)])
    tests["with what Spark has read"] = lambda: agrees("through", "local[2]", ["--through-spark"])
    for command in ("partition", "summarise", "merge"):
        tests[f"a task is killed in its first {command}"] = lambda command=command: killed(command)
    for place, words in [("empty", "there is no file in"), ("missing/*.json", "an input cannot be read"), ("none.txt", "holds a trace")]:
        tests[f"input {place}"] = lambda place=place, words=words: refused(place, words)
    return tests


def main():
    binary = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        if IS_BENCH:
            return bench(binary, folder)
        tests = tests_in(binary, folder)
        failed = run_all(tests)
    print(f"test result: {'FAILED' if failed else 'ok'}. {len(tests) - failed} passed; {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
