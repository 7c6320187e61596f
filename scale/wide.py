"""Makes traces of a company with very many endpoints: 100,000 traces of 10 spans, 5,000 services and 40,000 endpoints, each of
which is a root endpoint too. 325 MB of Jaeger's JSON, always the same.

    python3 scale/wide.py wide.json

is the file by which docs/scale.md says how long each view takes.
"""

import random
import sys

TRACES, SPANS, SERVICES, ENDPOINTS = 100_000, 10, 5_000, 40_000
START_US = 1_700_000_000_000_000
APART_US = 36_000
# Endpoints that are called by all, as stores are.
SHARED = 200


def spans_of(root, start_us, draw):
    """Returns endpoint, start, duration and parent of each span: a tree with three calls a span, the same endpoints for the
    same root."""
    spans = [(root, start_us, draw.randrange(5_000, 50_000), None)]
    callees = random.Random(root)
    for number in range(1, SPANS):
        endpoint = callees.randrange(ENDPOINTS) if number < 7 else (root * 7 + number) % SHARED
        parent = (number - 1) // 3
        _, begun_us, lasts_us, _ = spans[parent]
        at_us = 20 + (number - 1) % 3 * (lasts_us // 3 - 20) if lasts_us > 90 else 0
        longest_us = max(10, lasts_us // 4 - 20 - draw.randrange(200))
        spans.append((endpoint, begun_us + at_us, max(1, min(longest_us, lasts_us // 3)), parent))
    return spans


def trace(number, draw):
    """Returns the JSON of a trace."""
    root = number if number < ENDPOINTS else draw.randrange(ENDPOINTS)
    trace_id = f"{draw.getrandbits(128):032x}"
    ids = [f"{draw.getrandbits(64):016x}" for _ in range(SPANS)]
    processes, spans = {}, []
    for span_id, (endpoint, start_us, us, parent) in zip(ids, spans_of(root, START_US + number * APART_US, draw)):
        process = processes.setdefault(endpoint % SERVICES, f"p{len(processes) + 1}")
        reference = "" if parent is None else (
            f'{{"refType":"CHILD_OF","traceID":"{trace_id}","spanID":"{ids[parent]}"}}'
        )
        spans.append(
            f'{{"traceID":"{trace_id}","spanID":"{span_id}","operationName":"op{endpoint}","references":[{reference}],'
            f'"startTime":{start_us},"duration":{us},"tags":[],"logs":[],"processID":"{process}"}}'
        )
    named = ",".join(f'"{name}":{{"serviceName":"service{service}"}}' for service, name in processes.items())
    return f'{{"traceID":"{trace_id}","spans":[{",".join(spans)}],"processes":{{{named}}}}}'


def main():
    draw = random.Random(5)
    with open(sys.argv[1], "w") as out:
        out.write('{"data":[')
        for number in range(TRACES):
            out.write(("," if number else "") + trace(number, draw))
        out.write("]}")


if __name__ == "__main__":
    main()
