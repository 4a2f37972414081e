#!/usr/bin/env python3
"""Compares Volley with DuckDB, Polars and DataFusion on 20 expressions over a table in memory.

    bench/expressions.py                               10 million rows, all engines
    bench/expressions.py --rows 1000000 --runs 7 --threads 1 --json result.json

The data is made by DuckDB, as a Parquet file in data/, and loaded into a table of each engine before
anything is measured. A statement puts one expression into one cheap aggregate, so that every value
is computed and few rows come out. In each round every engine runs every statement `--repeat` times,
one engine after the other; the table shows the best time of each and Volley's ratio to each peer
(below 1: Volley is faster). An engine that does not know an expression is left out there.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

import compare

ROOT = compare.ROOT

# The columns, as DuckDB makes them from a row number.
COLUMNS = """
    (hash(n) % 1000000)::bigint as i,
    (hash(n + 1) % 1000)::integer as j,
    (hash(n + 2) % 1000003) / 1000003.0::double as x,
    (hash(n + 3) % 1000033) / 1000033.0::double as y,
    (hash(n + 4) % 1000037) / 1000037.0::double as z,
    ((hash(n + 5) % 10000000) / 100.0)::decimal(15, 2) as price,
    ((hash(n + 6) % 11) / 100.0)::decimal(15, 2) as discount,
    substr(md5(n::varchar), 1, 8) as word,
    md5(n::varchar) || ' ' || md5((n + 1)::varchar) as line,
    date '1992-01-01' + (hash(n + 7) % 2500)::integer as day,
    timestamp '2001-01-01' + to_seconds((hash(n + 8) % 600000000)::bigint) as moment,
    [(hash(n) % 100)::bigint, (hash(n + 9) % 100)::bigint, n] as list
"""

EXPRESSIONS = {
    "integers": "sum(i * 3 + j)",
    "doubles": "sum(x * (1 - y) * (1 + z))",
    "decimals": "sum(price * (1 - discount))",
    "absolute, modulo": "sum(abs(i - 500000) % 1000)",
    "square root, logarithm": "sum(sqrt(x) + ln(y + 1))",
    "floor": "sum(floor(x * 100))",
    "upper": "max(upper(word))",
    "length": "sum(length(line))",
    "substr": "max(substr(line, 5, 10))",
    "concat": "max(concat(word, '-', word))",
    "replace": "max(replace(word, 'a', 'bc'))",
    "strpos": "sum(strpos(line, 'abc'))",
    "year": "sum(extract(year from day))",
    "date + interval": "max(day + interval '3 days')",
    "date_trunc": "max(date_trunc('month', moment))",
    "case": "sum(case when i < 1000 then 1 when i < 100000 then 2 else 3 end)",
    "nulls": "sum(coalesce(nullif(j, 5), 0))",
    "like": "sum(case when line like '%abc%' then 1 else 0 end)",
    "in": "sum(case when i in (3, 77, 512, 4096, 9999, 70000, 250000, 333333, 600000, 999999) then 1 else 0 end)",
    "nested": "sum(list[2])",
}


def statement(expression):
    return f"select {expression} as result from t"


def open_duckdb(file, threads):
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    connection.execute(f"create table t as from read_parquet('{file}')")
    return lambda sql: connection.sql(sql).fetchall()[0][0]


def open_polars(file, threads):
    import polars

    assert polars.thread_pool_size() == threads
    context = polars.SQLContext({"t": polars.read_parquet(file)})
    return lambda sql: context.execute(sql).collect(engine="streaming").item()


def open_datafusion(file, threads):
    import datafusion

    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(threads))
    batches = context.read_parquet(str(file)).collect()
    share = -(-len(batches) // threads)
    context.register_record_batches("t", [batches[at : at + share] for at in range(0, len(batches), share)])
    return lambda sql: context.sql(sql).collect()[0].column(0)[0].as_py()


OPENERS = {"duckdb": open_duckdb, "polars": open_polars, "datafusion": open_datafusion}


def worker(engine, file, threads):
    """Answers each line, `REPEAT`, with a line of JSON: seconds and result by expression."""
    run = OPENERS[engine](file, threads)
    for line in sys.stdin:
        answers = {}
        for name, expression in EXPRESSIONS.items():
            try:
                seconds = []
                for _ in range(int(line)):
                    start = time.perf_counter()
                    result = run(statement(expression))
                    seconds.append(time.perf_counter() - start)
                answers[name] = {"seconds": seconds, "result": str(result)}
            except BaseException as problem:  # Polars' panics are no Exception
                answers[name] = {"error": str(problem).splitlines()[0][:150]}
        print(json.dumps(answers), flush=True)


class Peer(compare.Peer):
    """A peer in a worker process that lives as long as the comparison."""

    SCRIPT = __file__

    def round(self, repeat):
        print(repeat, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


class Volley:
    """Volley's shell, which loads the table anew in each round."""

    def __init__(self, file, threads):
        self.file, self.threads = file, threads

    def round(self, repeat):
        statements = [f"create table t as select * from '{self.file}'"]
        for expression in EXPRESSIONS.values():
            statements += [statement(expression)] * repeat
        command = [compare.BINARY, "--timer", "--format", "csv", "--threads", str(self.threads)]
        script = ";\n".join(statements)
        limits = lambda: compare.hold_to(self.threads)
        done = subprocess.run(command, input=script, capture_output=True, text=True, preexec_fn=limits)
        if done.returncode != 0:
            sys.exit(f"volley: {done.stderr.strip()}")
        times = [float(it) for it in re.findall(r"time: ([0-9.]+) s", done.stderr)][1:]
        results = done.stdout.splitlines()[1::2]
        return {
            name: {"seconds": times[at * repeat : (at + 1) * repeat], "result": results[at * repeat]}
            for at, name in enumerate(EXPRESSIONS)
        }

    def close(self):
        pass


def generate(file, rows):
    if file.exists():
        return
    import duckdb

    file.parent.mkdir(exist_ok=True)
    duckdb.sql(f"copy (select {COLUMNS} from range({rows}) as r(n)) to '{file}' (format parquet)")


def collect(engines, rounds, repeat):
    """Returns {expression: {engine: {"seconds": [...], "result"} or {"error"}}}."""
    results = {name: {engine: {"seconds": []} for engine in engines} for name in EXPRESSIONS}
    for round_ in range(rounds):
        names = list(engines)
        shift = round_ % len(names)
        for engine in names[shift:] + names[:shift]:
            for name, answer in engines[engine].round(repeat).items():
                into = results[name][engine]
                if "error" in answer:
                    into["error"] = answer["error"]
                else:
                    into["seconds"] += answer["seconds"]
                    into["result"] = answer["result"]
    return results


def report(results, names):
    peers = [name for name in names if name != "volley"]
    print("| expression |" + "".join(f" {name} |" for name in names) + "".join(f" / {peer} |" for peer in peers))
    print("|---|" + "---|" * (len(names) + len(peers)))
    quotients = {peer: [] for peer in peers}
    for name, by_engine in results.items():
        times = {engine: compare.best(by_engine[engine]) for engine in names}
        line = f"| {name} |" + "".join(compare.cell(times[engine], 0, 3).join("  ") + "|" for engine in names)
        for peer in peers:
            quotient = times["volley"] / times[peer] if times.get("volley") and times[peer] else None
            line += f" {compare.cell(quotient, 0, 2)} |"
            if quotient:
                quotients[peer].append(quotient)
        print(line)
    means = "".join(f" {compare.cell(compare.geomean(quotients[peer]), 0, 2)} |" for peer in peers)
    print("| geometric mean |" + " |" * len(names) + means)
    for name, by_engine in results.items():
        for engine, result in by_engine.items():
            if "error" in result:
                print(f"{name}: {engine}: {result['error']}")


def different_results(results):
    """Results that are not the same, but for the last digits of doubles."""

    def number(text):
        try:
            return f"{float(text):.9g}"
        except ValueError:
            return text[:10]

    for name, by_engine in results.items():
        found = {engine: number(it["result"]) for engine, it in by_engine.items() if "result" in it}
        if len(set(found.values())) > 1:
            yield f"{name}: {found}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2, help="threads of each engine")
    parser.add_argument("--runs", type=int, default=3, help="rounds")
    parser.add_argument("--repeat", type=int, default=2, help="runs of a statement in a row within a round")
    parser.add_argument("--engines", default=",".join(compare.ENGINES), help="some of " + ",".join(compare.ENGINES))
    parser.add_argument("--json", type=pathlib.Path, help="write all times to this file")
    parser.add_argument("--no-build", action="store_true", help="take the release binary as it is")
    parser.add_argument("--data", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(arguments.worker, arguments.data, arguments.threads)
    names = arguments.engines.split(",")
    compare.enter_venv(compare.PEERS)
    if "volley" in names and not arguments.no_build:
        compare.build_volley()
    file = arguments.data or ROOT / "data" / f"expressions-{arguments.rows}.parquet"
    generate(file, arguments.rows)
    engines = {}
    for name in names:
        engines[name] = (Volley if name == "volley" else lambda file, threads: Peer(name, file, threads))(
            file, arguments.threads
        )
    print(f"{arguments.rows} rows in memory, {arguments.threads} threads, best of", end=" ")
    print(f"{arguments.runs} x {arguments.repeat} runs, seconds")
    print(", ".join(f"{name} {version}" for name, version in compare.versions(names).items()) + "\n")
    try:
        results = collect(engines, arguments.runs, arguments.repeat)
    finally:
        for engine in engines.values():
            engine.close()
    report(results, names)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    if wrong := list(different_results(results)):
        sys.exit("results differ:\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
