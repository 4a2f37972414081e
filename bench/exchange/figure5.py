#!/usr/bin/env python3
"""The query of VectorH's figure 5 (SIGMOD 2016) in several tasks, with each rule of distribution off in turn.

    bench/exchange/figure5.py --volley target/release/volley --data data/tpch-sf1 [--tasks 4]

The tasks run in one process and exchange pages as bytes. Per run it prints what EXPLAIN ANALYZE says of all exchanges:
rows and bytes that were sent, the seconds that these bytes take on a link of 1 Gb/s, and the processor seconds of the
whole command (medians). `ratio` is the time, link and processor together, against that with all rules.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys

QUERY = """
SELECT s_suppkey, s_name, count(*) AS l_count FROM lineitem, orders, supplier
WHERE l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND l_discount > 0.03
  AND o_orderdate BETWEEN DATE '1995-03-05' AND DATE '1997-03-05'
GROUP BY s_suppkey, s_name ORDER BY l_count LIMIT 10
"""
RULES = [
    "local_joins",
    "replicated_builds",
    "broadcast_joins,replicated_builds",
    "distribution_search",
    "groups_below_exchanges",
    "limit_below_exchanges",
]
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
LINK_BYTES_PER_SECOND = 125e6


def run(options, disabled, filters):
    """Rows and bytes sent, and processor seconds."""
    settings = [f"tasks={options.tasks}", "exchange_pages=bytes", f"dynamic_filters={filters}"]
    settings += [f"disabled_rules={disabled}"] if disabled else []
    command = [options.volley, "--no-progress", "--data", options.data, "--format", "csv"]
    for setting in settings:
        command += ["--set", setting]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command + ["-c", f"EXPLAIN ANALYZE {QUERY}"], capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    edges = re.findall(r"exchange: (\d+) rows.*?sent ([0-9.]+) (\w+)", done.stdout)
    rows = sum(int(it[0]) for it in edges)
    sent = sum(float(it[1]) * UNITS[it[2]] for it in edges)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return rows, sent, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--volley", required=True)
    parser.add_argument("--data", required=True, help="a folder of the tables of TPC-H")
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    options.volley = os.path.abspath(options.volley)
    cases = [("all rules", "", "true"), ("without dynamic filters", "", "false")]
    cases += [(f"without {it}", it, "true") for it in RULES]
    cases.append(("without any", ",".join(sorted({it for rule in RULES for it in rule.split(",")})), "false"))
    first = None
    for name, disabled, filters in cases:
        runs = [run(options, disabled, filters) for _ in range(options.repetitions)]
        rows, sent, seconds = (statistics.median(it) for it in zip(*runs))
        link = sent / LINK_BYTES_PER_SECOND
        first = first or link + seconds
        figures = {"case": name, "rows": rows, "mib": round(sent / (1 << 20), 2), "link_seconds": round(link, 3)}
        figures |= {"cpu": round(seconds, 2), "ratio": round((link + seconds) / first, 2)}
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
