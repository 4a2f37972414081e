#!/usr/bin/env python3
"""Runs queries with limits of memory in Volley and DuckDB: time, peak memory, bytes written.

    bench/memory.py                              TPC-H at scale 10 with 4GB, 1GB, 256MB; large statements with 1GB;
                                                 wide rows with 128MB
    bench/memory.py --scale 1 --limits 512MB,128MB --parts tpch --queries 1,18
    bench/memory.py --parts large --large-limit 512MB --engines volley --json result.json

Every statement runs in a process of its own, held to as many CPUs as it has threads, first without a
limit, then with each. For each run it takes the time of the statement alone, the largest resident
memory of the process as the operating system saw it (the program itself and, for DuckDB, Python are
part of that), and the bytes that the process wrote, which is what it spilled. The rows must be those
of the run without a limit, and those of all but TPC-H the same in both engines; the peak of
Volley must stay below the limit and 256 MB. The program ends with status 1 otherwise.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import compare

ENGINES = ["volley", "duckdb"]

# What may be resident beyond the limit.
ALLOWANCE = 256_000_000

# Each returns one row, of whole numbers and texts.
LARGE = {
    "100 million groups": """
        select count(*) as groups, sum(n) as rows, max(n) as most from (
            select k, count(*) as n from (
                select l_orderkey * 8 + l_linenumber as k from lineitem
                union all
                select -l_orderkey * 8 - l_linenumber from lineitem where l_orderkey <= 40000000)
            group by k)""",
    "lineitem joined with itself": """
        select count(*) as rows, sum(a.l_partkey) as a, sum(b.l_suppkey) as b, max(b.l_comment) as c
        from lineitem a join lineitem b on a.l_orderkey = b.l_orderkey and a.l_linenumber = b.l_linenumber""",
    "lineitem sorted, all columns": """
        select * from lineitem order by l_comment, l_orderkey, l_linenumber limit 1 offset {middle}""",
    "distinct l_comment": "select count(distinct l_comment) as n from lineitem",
    "window over lineitem": """
        select count(*) as rows, max(n) as most, sum(quantity) as quantity from (
            select row_number() over (partition by l_suppkey order by l_shipdate, l_orderkey, l_linenumber) as n,
                sum(l_quantity) over (partition by l_suppkey order by l_shipdate, l_orderkey, l_linenumber
                    rows 10 preceding) as quantity
            from lineitem)""",
}

# A table of 60,000 rows with texts of 9,600 bytes.
WIDE_TABLE = """
    select x as id, x % 50000 as k, x % 1000 as p, repeat(md5(cast(x as varchar)), 300) as t from range(60000) r(x)"""

# As LARGE, over that table.
WIDE = {
    "scan": "select sum(length(t)) as s, max(t) as m from wide",
    "group by a text": """
        select count(*) as n, sum(s) as s, sum(length(t)) as b from (select t, sum(id) as s from wide group by t)""",
    "maxima by group": """
        select count(*) as n, sum(length(m)) as b from (select k, max(t) as m from wide group by k)""",
    "window with an order": """
        select count(*) as n, sum(r) as r, sum(length(t)) as b
        from (select t, row_number() over (partition by p order by id) as r from wide)""",
    "window without": """
        select count(*) as n, sum(r) as r, max(t) as m from (select t, sum(id) over (partition by k) as r from wide)""",
    "sort": """
        select sum(length(t)) as b, max(r * id) as r
        from (select id, t, row_number() over (order by t) as r from wide)""",
    "join with itself": """
        select count(*) as n, sum(length(a.t)) as b, max(b.t) as m from wide a join wide b on a.id = b.k""",
    "distinct texts": "select count(distinct t) as n, count(*) as rows from wide",
    "union": """
        select count(*) as n, sum(length(t)) as b from (select t, k from wide union select t, p from wide)""",
    "lists": """
        select count(*) as n, sum(length(array_to_string(l, ''))) as b
        from (select p, array_agg(t) as l from wide group by p)""",
}


def parse_size(text):
    """`256MB` in bytes, as both engines read it."""
    found = re.fullmatch(r"(\d+)\s*(KB|MB|GB)", text.strip(), re.IGNORECASE)
    if not found:
        raise argparse.ArgumentTypeError(f"{text} is no size such as 256MB or 4GB")
    return int(found[1]) * {"KB": 10**3, "MB": 10**6, "GB": 10**9}[found[2].upper()]


# One run is one process, started by the program below it.


def run_duckdb(data, threads, limit, sql, rows_file):
    """Runs `sql`; writes the rows as CSV; returns the seconds."""
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    connection.execute(f"set temp_directory = '{rows_file.parent / 'duckdb'}'")
    if limit:
        connection.execute(f"set memory_limit = '{limit}'")
    for file in data.glob("*.parquet"):
        connection.execute(f"create view {file.stem} as from read_parquet('{file}')")
    start = time.perf_counter()
    rows = connection.sql(sql).fetchall()
    seconds = time.perf_counter() - start
    rows_file.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return seconds


def worker(arguments):
    """The process of one run of DuckDB."""
    try:
        sql = arguments.statement.read_text()
        seconds = run_duckdb(arguments.data, arguments.threads, arguments.worker_limit, sql, arguments.rows)
    except Exception as problem:
        sys.exit(str(problem).splitlines()[0][:200])
    print(f"time: {seconds}", file=sys.stderr)


def command_of(engine, arguments, data, limit, folder):
    """The command that runs folder/statement.sql; its rows go to standard output or folder/rows.csv."""
    statement = folder / "statement.sql"
    if engine == "volley":
        command = [compare.BINARY, "--data", data, "--threads", arguments.threads, "--format", "csv", "--timer"]
        command += ["--set", f"spill_directory={folder}"]
        command += ["--memory-limit", limit] if limit else []
        return command + ["-f", statement]
    command = [sys.executable, __file__, "--worker", "--data", data, "--threads", arguments.threads]
    command += ["--statement", statement, "--rows", folder / "rows.csv"]
    return command + (["--worker-limit", limit] if limit else [])


def written_bytes(pid):
    """What an ended, not yet collected process wrote."""
    found = re.search(r"^wchar: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text(), re.MULTILINE)
    return int(found[1]) if found else None


def run(engine, arguments, data, limit, sql):
    """{"seconds", "peak_bytes", "written_bytes", "rows"} of one run, or {"error"}."""
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
        folder = pathlib.Path(folder)
        (folder / "statement.sql").write_text(sql + ";\n")
        with open(folder / "out", "w+") as out, open(folder / "err", "w+") as err:
            start = time.perf_counter()
            process = subprocess.Popen(
                list(map(str, command_of(engine, arguments, data, limit, folder))),
                stdout=out,
                stderr=err,
                preexec_fn=lambda: compare.hold_to(arguments.threads),
            )
            signal.signal(signal.SIGALRM, lambda *_: process.kill())
            signal.alarm(arguments.timeout)
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            signal.alarm(0)
            seconds = time.perf_counter() - start
            written = written_bytes(process.pid)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            err.seek(0)
            messages = err.read().strip()
            peak = usage.ru_maxrss << 10
            if process.returncode != 0:
                error = messages.splitlines()[0][:200] if messages else f"exit status {process.returncode}"
                if seconds >= arguments.timeout:
                    error = f"not done after {arguments.timeout} s"
                return {"error": error, "peak_bytes": peak}
        timed = re.search(r"^time: ([\d.]+)", messages, re.MULTILINE)
        rows = (folder / ("out" if engine == "volley" else "rows.csv")).read_text().splitlines()
        rows = rows[1:] if engine == "volley" else rows
        return {
            "seconds": float(timed[1]) if timed else seconds,
            "peak_bytes": peak,
            "written_bytes": written,
            "rows": len(rows),
            "checksum": hashlib.md5("\n".join(sorted(rows)).encode()).hexdigest(),
        }


# What is run, and what is wrong.


def make_wide(data):
    """Writes the table of wide rows."""
    file = data / "wide.parquet"
    if not file.exists():
        data.mkdir(parents=True, exist_ok=True)
        copy = f"copy ({WIDE_TABLE}) to '{file}.part' (format parquet)"
        subprocess.run([compare.BINARY, "-c", copy], check=True, stdout=subprocess.DEVNULL)
        pathlib.Path(f"{file}.part").rename(file)


def measure(arguments, data, statements, limits):
    """{statement: {engine: {limit or "none": result}}}"""
    results = {}
    for name, sql in statements.items():
        results[name] = {engine: {} for engine in arguments.engines}
        for limit in [None, *limits]:
            for engine in arguments.engines:
                results[name][engine][limit or "none"] = run(engine, arguments, data, limit, sql)
        print_row(name, results[name], limits)
    return results


def problems(results, limits, same_in_engines):
    found = []
    for name, by_engine in results.items():
        for engine, by_limit in by_engine.items():
            for limit, result in by_limit.items():
                where = f"{name}, {engine}, limit {limit}"
                if "error" in result:
                    found.append(f"{where}: {result['error']}")
                elif result["checksum"] != by_limit["none"].get("checksum", result["checksum"]):
                    found.append(f"{where}: the rows are not those of the run without a limit")
                if engine == "volley" and limit != "none":
                    if result["peak_bytes"] > parse_size(limit) + ALLOWANCE:
                        found.append(f"{where}: {result['peak_bytes'] / 2**20:.0f} MiB were resident")
        sums = {it["none"].get("checksum") for it in by_engine.values()} - {None}
        if same_in_engines and len(sums) > 1:
            found.append(f"{name}: the engines differ")
    return found


def print_heading(title, limits, engines):
    print(f"\n{title}: seconds, times as long as without a limit, peak MiB, written MiB")
    columns = [f"{engine} {limit}" for limit in ["no limit", *limits] for engine in engines]
    print(f"{'':28}" + "".join(f"{it:>30}" for it in columns))


def print_row(name, by_engine, limits):
    line = f"{name:28}"
    for limit in ["none", *limits]:
        for by_limit in by_engine.values():
            result, free = by_limit[limit], by_limit["none"].get("seconds")
            if "error" in result:
                line += f"{'failed':>30}"
                continue
            times = f"{result['seconds'] / free:.2f}" if free else "-"
            peak, written = result["peak_bytes"] / 2**20, result["written_bytes"] / 2**20
            line += f"{result['seconds']:>10.2f}{times:>6}{peak:>7.0f}{written:>7.0f}"
    print(line, flush=True)


def print_means(results, limits, engines):
    """Geometric means of slowdowns, and of Volley's times to DuckDB's where both come to an end."""
    for limit in limits:
        for engine in engines:
            pairs = [(it[engine][limit], it[engine]["none"]) for it in results.values()]
            slow = [a["seconds"] / b["seconds"] for a, b in pairs if "seconds" in a and "seconds" in b]
            failed = sum("error" in a for a, _ in pairs)
            most = max(a["peak_bytes"] for a, _ in pairs) / 2**20
            mean = f"{compare.geomean(slow):.2f}" if slow else "-"
            print(f"{limit}: {engine} takes {mean} times as long as without a limit, {failed} failed, {most:.0f} MiB at most")
    if len(engines) == 2:
        for limit in ["none", *limits]:
            pairs = [[it[engine][limit].get("seconds") for engine in engines] for it in results.values()]
            ratios = [a / b for a, b in pairs if a and b]
            if ratios:
                print(f"limit {limit}: {compare.geomean(ratios):.2f} of DuckDB's time where both come to an end ({len(ratios)})")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", default="10", help="TPC-H scale factor")
    parser.add_argument("--data", type=pathlib.Path, help="folder with TABLE.parquet (default: data/tpch-sfSCALE)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of each engine (default: all)")
    parser.add_argument("--limits", default="4GB,1GB,256MB", help="of the TPC-H queries")
    parser.add_argument("--large-limit", default="1GB", help="of the large statements; several with commas")
    parser.add_argument("--wide-limit", default="128MB", help="of the statements over wide rows; several with commas")
    parser.add_argument("--parts", default="tpch,large,wide", help="what to run: tpch, large, wide")
    parser.add_argument("--queries", type=compare.query_numbers, default=compare.query_numbers("1-22"), help="such as 1,3-5")
    parser.add_argument("--large", default="", help="only large statements whose name has this part")
    parser.add_argument("--engines", default=",".join(ENGINES), help="some of " + ",".join(ENGINES))
    parser.add_argument("--timeout", type=int, default=1800, help="seconds that one statement may take")
    parser.add_argument("--scratch", type=pathlib.Path, help="where to spill (default: the system's temporary folder)")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures to this file")
    parser.add_argument("--no-build", action="store_true", help="take the release binary as it is")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--worker-limit", help=argparse.SUPPRESS)
    parser.add_argument("--statement", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=pathlib.Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def large_statements(scale, part):
    middle = int(5_000_000 * float(scale))
    return {name: sql.replace("{middle}", str(middle)) for name, sql in LARGE.items() if part in name}


def main():
    arguments = parse_arguments()
    if arguments.worker:
        return worker(arguments)
    if not pathlib.Path("/proc/self/io").exists():
        sys.exit("needs Linux, which tells what a process wrote")
    arguments.engines = arguments.engines.split(",")
    compare.enter_venv(arguments.engines)
    if "volley" in arguments.engines and not arguments.no_build:
        compare.build_volley()
    data = (arguments.data or compare.ROOT / "data" / f"tpch-sf{arguments.scale}").resolve()
    wide = compare.ROOT / "data" / "wide"
    found, parts = [], arguments.parts.split(",")
    if {"tpch", "large"} & set(parts):
        compare.generate(data, arguments.scale)
    if "wide" in parts:
        make_wide(wide)
    print(", ".join(f"{name} {version}" for name, version in compare.versions(arguments.engines).items()))
    content = {"versions": compare.versions(arguments.engines), "machine": compare.machine(), "scale": arguments.scale}
    suites = {
        "tpch": (data, {f"query {it}": compare.query_text(it) for it in arguments.queries}, arguments.limits),
        "large": (data, large_statements(arguments.scale, arguments.large), arguments.large_limit),
        "wide": (wide, WIDE, arguments.wide_limit),
    }
    for part in parts:
        folder, statements, limits = suites[part]
        limits = limits.split(",")
        list(map(parse_size, limits))
        scale = "" if part == "wide" else f", scale {arguments.scale}"
        print_heading(f"{part}{scale}, {arguments.threads} threads", limits, arguments.engines)
        results = measure(arguments, folder, statements, limits)
        print_means(results, limits, arguments.engines)
        found += problems(results, limits, same_in_engines=part != "tpch")
        content[part] = results
    if arguments.json:
        arguments.json.write_text(json.dumps(content, indent=1) + "\n")
    print("\n" + ("\n".join(found) or "all rows right, all within their limits"))
    sys.exit(1 if any(", duckdb, " not in it for it in found) else 0)


if __name__ == "__main__":
    main()
