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

# Text that one call of the binary reads, unless a file has more.
BATCH_BYTES = 64 << 20
BATCH_FILES = 1000
# Tasks for each core that read files, so that cores end at about the same time; more of them where each would read more.
TASKS_OF_A_CORE = 4
TASK_BYTES = 512 << 20
# Text whose traces come together in one task, about; as columns a twentieth of it.
BUCKET_BYTES = 4 << 30
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
    """Returns what makes (bucket, columns) of files, each a path and its size, or a name and its bytes: traces by a hash of
    their id."""

    def flush(folder, files):
        found = run(binary, ["partition", *files, "-o", f"{folder}/out", "--into", str(buckets), "--threads", "1", *options])
        for name in os.listdir(f"{folder}/out") if found else []:
            yield int(name), read(f"{folder}/out/{name}")
            os.remove(f"{folder}/out/{name}")

    def work(files):
        with tempfile.TemporaryDirectory() as folder:
            batch, held = [], 0
            for path, content in files:
                if isinstance(content, int):
                    held += content
                else:
                    # Its name says nothing; the binary looks at the content.
                    path = f"{folder}/{len(batch)}"
                    write(path, content)
                    held += len(content)
                batch.append(path)
                if held >= BATCH_BYTES or len(batch) >= BATCH_FILES:
                    yield from flush(folder, batch)
                    batch, held = [], 0
            if batch:
                yield from flush(folder, batch)

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
    """Yields (path, summary) for a day and for each root endpoint of it."""
    yield f"{day}.pathlight", summary
    with tempfile.TemporaryDirectory() as folder:
        write(f"{folder}/day", summary)
        run(binary, ["merge", f"{folder}/day", "-o", f"{folder}/out", "--per-root"])
        for name in sorted(os.listdir(f"{folder}/out/all")):
            yield f"{day}/{name}", read(f"{folder}/out/all/{name}")


def save(spark, out, files):
    """Writes files to a folder of any Hadoop file system; returns how many."""
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path
    system = path(out).getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    # Without files of checksums beside those of a local file system.
    system.setWriteChecksum(False)
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
    parser.add_argument("--through-spark", action="store_true", help="read local files as those of another file system are read")
    parser.add_argument("--sample", type=int, default=1, help="read only one of so many traces, chosen by id")
    parser.add_argument("--option", action="append", default=[], help="passed to `pathlight summarise`, such as --option=--preset=paper")
    return parser.parse_args()


def main():
    arguments = options()
    binary = arguments.pathlight
    spark = SparkSession.builder.appName("pathlight").getOrCreate()
    start = time.monotonic()
    context = spark.sparkContext
    tasks = context.defaultParallelism
    try:
        # Paths and lengths are no reason to start a task for each 128 MB.
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(1 << 40))
        listing = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(arguments.inputs)
        files = [(row.path, row.length) for row in listing.select("path", "length").collect()]
    except AnalysisException as error:
        sys.exit(f"summarise.py: an input cannot be read: {str(error).splitlines()[0]}")
    if not files:
        sys.exit(f"summarise.py: there is no file in {', '.join(arguments.inputs)}")
    size = sum(length for _, length in files)
    buckets = arguments.buckets or max(tasks, -(-size // BUCKET_BYTES))
    if arguments.through_spark or not all(path.startswith("file:") for path, _ in files):
        context._jsc.hadoopConfiguration().set("mapreduce.input.fileinputformat.input.dir.recursive", "true")
        contents = context.binaryFiles(",".join(arguments.inputs), TASKS_OF_A_CORE * tasks)
    else:
        # What every machine has in its file system the binary reads itself. Large files first.
        local = [("/" + path.removeprefix("file:").lstrip("/"), length) for path, length in sorted(files, key=lambda file: (-file[1], file[0]))]
        slices = min(len(local), max(TASKS_OF_A_CORE * tasks, size // TASK_BYTES))
        contents = context.parallelize([local[place::slices] for place in range(slices)], slices).flatMap(list)

    columns = contents.mapPartitions(partition(binary, buckets, ["--sample", str(arguments.sample)]))
    parts = columns.partitionBy(buckets, int).mapPartitions(summarise(binary, arguments.option))
    width = buckets
    while width > 1:
        # A tree: each task joins the summaries of one day from some buckets, then from some of those.
        width = -(-width // JOIN)
        parts = parts.map(lambda part: ((part[0][0], part[0][1] // JOIN), part[1])).groupByKey(min(tasks, buckets))
        parts = parts.mapValues(lambda found: merge(binary, found))
    days = parts.map(lambda part: (part[0][0], part[1])).persist()
    everything = days.map(lambda part: ("all", part[1])).groupByKey(1).mapValues(lambda found: merge(binary, found)).collect()
    if not everything:
        sys.exit(f"summarise.py: none of the {len(files)} files holds a trace")
    each = days.flatMap(lambda part: roots(binary, *part))
    written = save(spark, arguments.out, [("all.pathlight", everything[0][1])])
    written += save(spark, arguments.out, each.toLocalIterator(prefetchPartitions=True))
    seconds = time.monotonic() - start
    print(f"{len(files)} files ({size / 1e6:.0f} MB): {written} summaries written to {arguments.out} in {seconds:.1f} s")
    spark.stop()


if __name__ == "__main__":
    main()
