"""Summarises trace files with Apache Spark: one summary for each day, one for each day and root endpoint, one over all.

Spark does what it is good at: it finds the files, hands them out, brings the spans of a trace together, repeats what was lost,
and merges as a tree. Each task runs the binary `pathlight`. Between the tasks go traces as columns, a small part of their
text, and then summaries.

    spark-submit summarise.py --pathlight ./pathlight --out hdfs:///summaries 'hdfs:///traces/*/*.json.gz'
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

# Text that one call of the binary reads into memory, unless a file has more.
BATCH_BYTES = 64 << 20
# Text whose traces come together in one task, at most: as columns about a tenth of it.
BUCKET_BYTES = 1 << 30
# Summaries that one task joins.
JOIN = 32


def run(binary, arguments):
    """Runs the binary; returns whether there were traces. What it says goes to the log of the task."""
    done = subprocess.run([binary, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode == 1:
        return False
    if done.returncode != 0:
        raise RuntimeError(f"{binary} {arguments[0]} ended with {done.returncode}: {said}")
    if said:
        print(said, file=sys.stderr)
    return True


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def partition(binary, buckets, options):
    """Returns what makes (bucket, columns) of files: traces by a hash of their id."""

    def work(files):
        with tempfile.TemporaryDirectory() as folder:
            number, held = 0, 0
            for file in files:
                # The name says nothing; the binary looks at the content.
                os.makedirs(f"{folder}/in", exist_ok=True)
                write(f"{folder}/in/{number:09}", file.content)
                number, held = number + 1, held + len(file.content)
                if held >= BATCH_BYTES:
                    yield from flush(folder)
                    held = 0
            if held:
                yield from flush(folder)

    def flush(folder):
        found = run(binary, ["partition", f"{folder}/in", "-o", f"{folder}/out", "--into", str(buckets), "--threads", "1", *options])
        for name in os.listdir(f"{folder}/in"):
            os.remove(f"{folder}/in/{name}")
        for name in os.listdir(f"{folder}/out") if found else []:
            yield int(name), read(f"{folder}/out/{name}")
            os.remove(f"{folder}/out/{name}")

    return work


def summarise(binary, options):
    """Returns what makes ((day, bucket), summary) of the columns of a bucket."""

    def work(columns):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/in")
            bucket = None
            for number, (bucket, content) in enumerate(columns):
                write(f"{folder}/in/{number}", content)
            arguments = ["summarise", f"{folder}/in", "-o", f"{folder}/out", "--per-day", "--scattered", "--threads", "1", *options]
            if bucket is not None and run(binary, arguments):
                for name in sorted(os.listdir(f"{folder}/out")):
                    if name != "all.pathlight":
                        yield (name.removesuffix(".pathlight"), bucket), read(f"{folder}/out/{name}")

    return work


def merge(binary, summaries):
    """Joins summaries; the result does not depend on their order."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/in")
        for number, summary in enumerate(summaries):
            write(f"{folder}/in/{number}", summary)
        run(binary, ["merge", f"{folder}/in", "-o", f"{folder}/out"])
        return read(f"{folder}/out")


def roots(binary, day, summary):
    """Yields (path, summary) for each root endpoint of a day."""
    with tempfile.TemporaryDirectory() as folder:
        write(f"{folder}/day", summary)
        run(binary, ["merge", f"{folder}/day", "-o", f"{folder}/out", "--per-root"])
        for name in sorted(os.listdir(f"{folder}/out/all")):
            yield f"{day}/{name}", read(f"{folder}/out/all/{name}")


def save(spark, out, files):
    """Writes files to a folder of any Hadoop file system; returns how many."""
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path
    system = path(out).getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    count = 0
    for name, content in files:
        stream = system.create(path(out, name), True)
        stream.write(bytearray(content))
        stream.close()
        count += 1
    return count


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("inputs", nargs="+", help="paths of trace files, local or of any Hadoop file system; * works")
    parser.add_argument("--out", required=True, help="folder for all.pathlight, DAY.pathlight and DAY/ROOT.pathlight")
    parser.add_argument("--pathlight", default="pathlight", help="the binary, at the same place on every machine")
    parser.add_argument("--buckets", type=int, default=0, help="how many tasks bring traces together (default: by the size of the input)")
    parser.add_argument("--sample", type=int, default=1, help="read only one of so many traces, chosen by id")
    parser.add_argument("--option", action="append", default=[], help="passed to `pathlight summarise`, such as --option=--preset=paper")
    return parser.parse_args()


def main():
    arguments = options()
    binary = arguments.pathlight
    spark = SparkSession.builder.appName("pathlight").getOrCreate()
    start = time.monotonic()
    try:
        files = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(arguments.inputs)
        sizes = [row.length for row in files.select("length").collect()]
    except AnalysisException as error:
        sys.exit(f"summarise.py: an input cannot be read: {str(error).splitlines()[0]}")
    if not sizes:
        sys.exit(f"summarise.py: there is no file in {', '.join(arguments.inputs)}")
    buckets = arguments.buckets or max(spark.sparkContext.defaultParallelism, -(-sum(sizes) // BUCKET_BYTES))

    sample = ["--sample", str(arguments.sample)]
    columns = files.select("content").rdd.mapPartitions(partition(binary, buckets, sample))
    parts = columns.partitionBy(buckets, int).mapPartitions(summarise(binary, arguments.option))
    while buckets > 1:
        # A tree: each task joins the summaries of one day from some buckets, then from some of those.
        buckets = -(-buckets // JOIN)
        parts = parts.map(lambda part: ((part[0][0], part[0][1] // JOIN), part[1])).groupByKey()
        parts = parts.mapValues(lambda found: merge(binary, found))
    days = parts.map(lambda part: (part[0][0], part[1])).sortByKey().persist()
    dates = days.keys().collect()
    if not dates:
        sys.exit(f"summarise.py: none of the {len(sizes)} files holds a trace")
    everything = days.map(lambda part: ("all", part[1])).groupByKey().mapValues(lambda found: merge(binary, found))
    each = days.flatMap(lambda part: roots(binary, *part))
    written = save(spark, arguments.out, ((f"{name}.pathlight", content) for name, content in everything.union(days).toLocalIterator()))
    written += save(spark, arguments.out, each.toLocalIterator())
    megabytes, seconds = sum(sizes) / 1e6, time.monotonic() - start
    print(f"{len(sizes)} files ({megabytes:.0f} MB) of {len(dates)} days: {written} summaries written to {arguments.out} in {seconds:.1f} s")
    spark.stop()


if __name__ == "__main__":
    main()
