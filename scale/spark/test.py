"""Spark's result is the single binary's: in local mode, with 1, 2 and 4 partitions, and after a task that was killed."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TRACES = int(os.environ.get("PATHLIGHT_SCALE_TRACES", "400"))


def main():
    binary = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for day in range(1, 3):
            for part in range(4):
                place = os.path.join(folder, f"in/2026-11-0{day}")
                os.makedirs(place, exist_ok=True)
                file = os.path.join(place, f"{part}.json")
                seed = str(day * 10 + part)
                subprocess.run([binary, "generate", "--traces", str(TRACES), "--spans", "50", "--seed", seed, "--out", file], check=True)

        def single(inputs, name):
            out = os.path.join(folder, name)
            subprocess.run([binary, "summarise", *inputs, "-o", out], check=True)
            with open(out, "rb") as file:
                return file.read()

        expected = {name: single([f"{folder}/in/{name}"], name) for name in ("2026-11-01", "2026-11-02")}
        expected["all"] = single([f"{folder}/in"], "all")
        # Kills itself the first time it is called as a summariser in a task.
        flaky = os.path.join(folder, "flaky")
        with open(flaky, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nif [ "$1" = summarise ] && mkdir "{folder}/killed" 2>/dev/null; then kill -9 $$; fi\nexec "{binary}" "$@"\n')
        os.chmod(flaky, 0o755)
        checked = 0
        for partitions, program, master in [(1, binary, "local[1]"), (2, binary, "local[2]"), (4, binary, "local[4]"), (4, flaky, "local[2,4]")]:
            out = os.path.join(folder, f"out-{partitions}-{os.path.basename(program)}")
            environment = dict(os.environ, PYSPARK_SUBMIT_ARGS=f"--master {master} pyspark-shell", PYSPARK_PYTHON=sys.executable)
            command = [sys.executable, os.path.join(HERE, "summarise.py"), "--pathlight", program, "--out", out, "--partitions", str(partitions), f"{folder}/in/*/*.json"]
            subprocess.run(command, check=True, env=environment)
            for name, content in expected.items():
                with open(os.path.join(out, f"{name}.pathlight"), "rb") as file:
                    assert file.read() == content, f"{name} differs with {partitions} partitions of {program}"
                checked += 1
        assert os.path.isdir(os.path.join(folder, "killed")), "no task was killed"
        print(f"test result: ok. {checked} passed; 0 failed")


if __name__ == "__main__":
    main()
