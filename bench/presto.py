#!/usr/bin/env python3
"""Measures Volley's worker against a Java worker under real coordinators of Presto.

    bench/presto.py --volley target/release/volley --scale 1 --versions 0.287,0.296
                    [--catalog hive|tpch] [--workers 1] [--queries 1,6,13,19] [--warm-up 5]
                    [--rounds 3] [--java-heap 8g] [--json FILE]

For each version, two clusters run one after the other: a coordinator with the flags of native
workers and Volley's workers; and a coordinator with Presto's default flags and Java workers, with
5/8 of their heap per query. Both run the 22 queries of TPC-H on the same rows: on Parquet files of a
hive catalog, which Volley writes first (0.287; later releases have no hive connector on Maven
Central), or on the tpch connector, where the workers make the rows.

A query runs `--warm-up` times and then `--rounds` times. Its CPU time is the median of what the
worker processes took (user and system, from /proc), its wall time the median at the client. The
ratio is Java / Volley: above 1, Volley takes less. Answers of both must be equal.

Prints also how long a worker takes from its start to its first answer over HTTP, and its resident
memory before the first query. Needs what tests/presto/run.py needs.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
import urllib.error

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "presto"))

import run  # noqa: E402

SCHEMAS = {"0.01": "tiny"}
IDLE_SECONDS = 2
# Ratios of the Velox paper (section 5), which Volley is to reach: Java / Volley.
MINIMUM = {1: 6.5, 6: 3.7, 13: 2.1, 19: 2.5}

JAVA_COORDINATOR = f"""coordinator=true
node-scheduler.include-coordinator=false
http-server.http.port={run.COORDINATOR_PORT}
discovery-server.enabled=true
discovery.uri=http://127.0.0.1:{run.COORDINATOR_PORT}
plugin.dir={{plugins}}
catalog.config-dir=etc/catalog
presto.version=testversion
query.max-memory=40GB
query.max-total-memory=40GB
query.max-memory-per-node=200MB
query.max-total-memory-per-node=300MB
query-manager.required-workers={{workers}}
query-manager.required-workers-max-wait=60s
"""

JAVA_WORKER = f"""coordinator=false
http-server.http.port={{port}}
discovery.uri=http://127.0.0.1:{run.COORDINATOR_PORT}
plugin.dir={{plugins}}
catalog.config-dir=etc/catalog
presto.version=testversion
query.max-memory=40GB
query.max-total-memory=40GB
query.max-memory-per-node={{query}}MB
query.max-total-memory-per-node={{query}}MB
"""

COORDINATOR_OPTIONS = ["-server", "-Xmx1536m", "-XX:+UseSerialGC",
                       "-Djdk.attach.allowAttachSelf=true", "-Duser.timezone=UTC"]


def megabytes(text):
    units = {"m": 1, "g": 1024}
    return int(float(text[:-1]) * units[text[-1].lower()])


def resident_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) << 10


def first_answer(process, port, start):
    """Seconds from `start` until a worker answers a request."""
    while process.poll() is None:
        try:
            run.get_json(f"http://127.0.0.1:{port}/v1/info")
            return time.time() - start
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.01)
    raise SystemExit(f"a worker ended with status {process.returncode}")


class Cluster:
    """A coordinator and workers of one engine."""

    def __init__(self, engine, version, folder, args):
        self.engine, self.folder, self.args = engine, folder, args
        self.has_hive = args.catalog == "hive"
        self.plugins = folder / "plugin"
        self.processes, self.start_seconds, self.idle = [], [], []
        try:
            self.processes.append(self.coordinator(version))
            for port in run.WORKER_PORTS[:args.workers]:
                start = time.time()
                self.processes.append(self.worker(port))
                self.start_seconds.append(first_answer(self.processes[-1], port, start))
            time.sleep(IDLE_SECONDS)
            self.idle = [resident_bytes(it.pid) for it in self.processes[1:]]
            run.wait_until_ready(self.processes, "two")
            run.wait_until(lambda: run.active_workers() == args.workers, "all workers")
        except BaseException:
            self.end()
            raise

    def coordinator(self, version):
        home = self.folder / f"bench-{self.engine}"
        shutil.rmtree(home, ignore_errors=True)
        if self.engine == "java":
            config = JAVA_COORDINATOR.format(plugins=self.plugins, workers=self.args.workers)
        else:
            config = run.COORDINATOR_CONFIG + run.FURTHER_CONFIG[version]
            config = config.replace("plugin.dir=plugin", f"plugin.dir={self.plugins}")
            config = config.replace("query.max-memory=2GB",
                                    "query.max-memory=40GB\nquery.max-total-memory=40GB")
        return run.java_process(self.folder, home, "coordinator", config, COORDINATOR_OPTIONS,
                                self.has_hive)

    def worker(self, port):
        home = self.folder / f"bench-{self.engine}-{port}"
        shutil.rmtree(home, ignore_errors=True)
        if self.engine == "volley":
            home.mkdir(parents=True)
            run.write_files(home, {
                "config.properties":
                    f"coordinator=false\nhttp-server.http.port={port}\n"
                    f"discovery.uri=http://127.0.0.1:{run.COORDINATOR_PORT}\n"
                    "presto.version=testversion\n"
                    f"query.max-memory-per-node={self.args.java_heap.upper()}B\n",
                "node.properties": run.node_properties(f"volley-{port}", home),
                **run.catalogs(self.folder, self.has_hive),
            })
            log = open(home / "worker.log", "w")
            command = [self.args.volley, "presto-worker", "--etc", str(home)]
            return subprocess.Popen(command, stdout=log, stderr=log)
        query = megabytes(self.args.java_heap) * 5 // 8
        config = JAVA_WORKER.format(port=port, plugins=self.plugins, query=query)
        options = ["-server", f"-Xmx{self.args.java_heap}", "-XX:+UseG1GC",
                   "-XX:+ExitOnOutOfMemoryError", "-Djdk.attach.allowAttachSelf=true",
                   "-Duser.timezone=UTC"]
        return run.java_process(self.folder, home, f"java-{port}", config, options, self.has_hive)

    def cpu(self):
        return sum(run.cpu_seconds(it.pid) for it in self.processes[1:])

    def measure(self, sql, schema):
        """Rows, and the medians of CPU and wall seconds; or the error of the query."""
        mode = "hive" if self.has_hive else "two"
        rows, cpus, walls = None, [], []
        try:
            for turn in range(self.args.warm_up + self.args.rounds):
                cpu, wall = self.cpu(), time.time()
                rows = run.run_query(sql, schema, mode)
                if turn >= self.args.warm_up:
                    walls.append(time.time() - wall)
                    cpus.append(self.cpu() - cpu)
        except run.QueryFailed as error:
            return {"error": str(error).splitlines()[0]}
        return {"rows": rows, "cpu": statistics.median(cpus), "wall": statistics.median(walls)}

    def end(self):
        for process in reversed(self.processes):
            run.end(process)


def sql_of(number):
    return (run.TPCH / "queries" / f"q{number:02}.sql").read_text().strip().rstrip(";")


def same_answers(left, right):
    """Whether the rows are equal; sums of doubles may differ in the last digits."""
    def is_equal(a, b):
        if isinstance(a, float) and isinstance(b, float):
            return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
        return a == b

    rest = list(right)
    for row in left:
        match = next((it for it in rest if all(map(is_equal, row, it))), None)
        if match is None:
            return False
        rest.remove(match)
    return not rest


def ratio_of(volley, java, what):
    return java[what] / max(volley[what], 1 / os.sysconf("SC_CLK_TCK"))


def print_table(title, numbers, volley, java):
    print(f"\n{title}\n{'':4} {'Volley CPU':>11} {'Java CPU':>9} {'ratio':>6} {'minimum':>8} "
          f"{'Volley wall':>12} {'Java wall':>10} {'ratio':>6}")
    ratios, problems = [], []
    for number in numbers:
        mine, other = volley[number], java[number]
        failed = [f"{name}: {it['error']}" for name, it in [("Volley", mine), ("Java", other)]
                  if "error" in it]
        if failed:
            problems.append(f"Q{number} {'; '.join(failed)}")
            print(f"Q{number:<3} {'; '.join(failed)}")
            continue
        if not same_answers(mine["rows"], other["rows"]):
            problems.append(f"Q{number} has other rows")
        ratios.append(ratio_of(mine, other, "cpu"))
        print(f"Q{number:<3} {mine['cpu']:9.2f} s {other['cpu']:7.2f} s {ratios[-1]:6.2f} "
              f"{MINIMUM.get(number, ''):>8} {mine['wall']:10.2f} s {other['wall']:8.2f} s "
              f"{ratio_of(mine, other, 'wall'):6.2f}")
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"geometric mean of the ratios of CPU {mean:.2f}, least {min(ratios):.2f}, of "
              f"{len(ratios)} queries")
    return problems


def measure_version(version, args):
    folder = args.cache.resolve() / version
    schema = SCHEMAS.get(args.scale, f"sf{args.scale}")
    schema = "tiny" if args.catalog == "hive" else schema
    numbers = range(1, 23) if args.queries == "all" else list(map(int, args.queries.split(",")))
    found = {}
    for engine in ["volley", "java"]:
        if engine == "volley" and args.catalog == "hive":
            shutil.rmtree(folder / "hive", ignore_errors=True)
        cluster = Cluster(engine, version, folder, args)
        try:
            if engine == "volley" and args.catalog == "hive":
                run.fill_hive(args.volley, folder, args.scale)
            answers = {}
            for number in numbers:
                answers[number] = cluster.measure(sql_of(number), schema)
                shown = answers[number].get("error") or f"{answers[number]['cpu']:.2f} s CPU"
                print(f"{version} {engine} Q{number}: {shown}", flush=True)
            found[engine] = {"start": cluster.start_seconds, "idle": cluster.idle,
                             "queries": answers}
        finally:
            cluster.end()
    title = (f"Presto {version}, TPC-H scale {args.scale}, {args.catalog}, {args.workers} workers, "
             f"median of {args.rounds} after {args.warm_up}")
    problems = print_table(title, numbers, found["volley"]["queries"], found["java"]["queries"])
    for engine in ["volley", "java"]:
        start, idle = max(found[engine]["start"]), max(found[engine]["idle"])
        print(f"{engine:6} HTTP answers after {start:.2f} s, idle memory {idle / 2**20:.0f} MB")
    return found, [f"{version} {it}" for it in problems]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--volley", default=str(ROOT / "target" / "release" / "volley"),
                        help="the volley command, built with --features presto")
    parser.add_argument("--scale", default="1", help="0.01, 1, 10 ...")
    parser.add_argument("--versions", default="0.287", help="0.287, 0.296 or both")
    parser.add_argument("--catalog", choices=["hive", "tpch"],
                        help="hive for 0.287 alone and tpch otherwise, if not given")
    parser.add_argument("--workers", type=int, choices=[1, 2], default=1)
    parser.add_argument("--queries", default="all", help="numbers of TPC-H queries, or all")
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--java-heap", default="8g", help="of a Java worker; the limit of Volley's")
    parser.add_argument("--json", type=pathlib.Path, help="where figures are written")
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    parser.add_argument("--cache", type=pathlib.Path, default=cache / "volley" / "presto",
                        help="where the coordinator is kept")
    args = parser.parse_args()
    args.volley = str(pathlib.Path(args.volley).resolve())
    versions = args.versions.split(",")
    args.catalog = args.catalog or ("hive" if versions == ["0.287"] else "tpch")
    if args.catalog == "hive" and versions != ["0.287"]:
        raise SystemExit("the hive catalog is measured on 0.287 alone")
    for version in versions:
        folder = args.cache.resolve() / version
        folder.mkdir(parents=True, exist_ok=True)
        run.fetch(folder, version, args.catalog == "hive")
    run.enter_namespace(pathlib.Path(__file__).resolve())
    figures, problems = {}, []
    for version in versions:
        figures[version], wrong = measure_version(version, args)
        problems += wrong
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1))
    if problems:
        raise SystemExit("\n".join(problems))


if __name__ == "__main__":
    main()
