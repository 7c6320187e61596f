"""Summarises trace files with Apache Spark: one summary for each day and one over all.

Spark does what it is good at: it finds the files, hands them out, repeats what was lost, and merges as a tree. Each task runs
the binary `pathlight` on the bytes of some files; a summary is the only thing that travels.

    spark-submit summarise.py --pathlight ./pathlight --out hdfs:///summaries hdfs:///traces/day=*/*.json.gz
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

from pyspark.sql import SparkSession


def run(binary, arguments, data=b""):
    """Runs the binary with some bytes as its input; returns its output."""
    done = subprocess.run([binary, *arguments], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode == 1 and b"no trace found" in done.stderr:
        return b""
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return done.stdout


def merge(binary, summaries):
    """Joins summaries; the result does not depend on their order."""
    summaries = [summary for summary in summaries if summary]
    if len(summaries) < 2:
        return summaries[0] if summaries else b""
    with tempfile.TemporaryDirectory() as folder:
        for number, summary in enumerate(summaries):
            with open(os.path.join(folder, str(number)), "wb") as file:
                file.write(summary)
        return run(binary, ["merge", folder, "-o", "-"])


def of_files(binary, options):
    """Returns what summarises the files of a partition: all of a day at once."""

    def work(files):
        days = {}
        for day, path, content in files:
            days.setdefault(day, []).append((path, bytes(content)))
        for day, found in days.items():
            # In one call, so that a trace in several of these files counts once.
            with tempfile.TemporaryDirectory() as folder:
                for number, (path, content) in enumerate(sorted(found)):
                    with open(os.path.join(folder, f"{number:06}"), "wb") as file:
                        file.write(content)
                yield day, run(binary, ["summarise", folder, "-o", "-", "--threads", "1", *options])

    return work


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("inputs", nargs="+", help="paths of trace files, local or of any Hadoop file system; * works")
    parser.add_argument("--out", required=True, help="folder for DAY.pathlight and all.pathlight")
    parser.add_argument("--pathlight", default="pathlight", help="the binary, at the same place on every machine")
    parser.add_argument("--day", default=r"(\d{4}-?\d{2}-?\d{2})", help="finds the day in a path: the first group")
    parser.add_argument("--partitions", type=int, default=0, help="how many tasks read (default: as Spark cuts)")
    parser.add_argument("--option", action="append", default=[], help="passed to `pathlight summarise`, such as --option=--preset=paper")
    arguments = parser.parse_args()

    spark = SparkSession.builder.appName("pathlight").getOrCreate()
    binary, day = arguments.pathlight, re.compile(arguments.day)

    def keyed(row):
        found = day.search(row.path)
        return (found.group(1) if found else "undated", row.path, row.content)

    files = spark.read.format("binaryFile").load(arguments.inputs).select("path", "content")
    if arguments.partitions:
        files = files.repartition(arguments.partitions)
    parts = files.rdd.map(keyed).mapPartitions(of_files(binary, arguments.option))
    # Pairs are joined by key in the tasks and then between them, as a tree.
    days = parts.reduceByKey(lambda a, b: merge(binary, [a, b])).sortByKey().cache()
    summary = days.values().treeReduce(lambda a, b: merge(binary, [a, b]))
    if not summary:
        sys.exit("no trace found")

    jvm = spark.sparkContext._jvm
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    folder = jvm.org.apache.hadoop.fs.Path(arguments.out)
    system = folder.getFileSystem(configuration)
    for name, content in [*days.toLocalIterator(), ("all", summary)]:
        if content:
            stream = system.create(jvm.org.apache.hadoop.fs.Path(folder, f"{name}.pathlight"), True)
            stream.write(bytearray(content))
            stream.close()
    spark.stop()


if __name__ == "__main__":
    main()
