#!/usr/bin/env python3
"""Shows how Volley's time on the TPC-H queries grows with the data.

    bench/scaling.py                                scales 1, 10 and 30
    bench/scaling.py --scales 0.1,1,10 --runs 3 --json scaling.json

For each query and scale it prints the best time and, beside all but the first, the growth: how many
times as long a query takes per scale factor as at the first scale. 1.00 is linear, more is worse.
The data is generated into data/ on first use; it takes about 0.3 GB per scale factor, and a scale
whose data does not fit the operating system's cache measures the disk. The runs are interleaved:
each round runs every query at every scale, in processes of their own.
"""

import argparse
import json
import os
import pathlib
import sys

import compare


def measure(engines, queries, rounds, repeat):
    """{query: {scale: best seconds}}"""
    times = {query: {} for query in queries}
    for _ in range(rounds):
        for query in queries:
            for scale, engine in engines.items():
                answer = engine.run(query, repeat)
                if "error" in answer:
                    sys.exit(f"query {query} at scale {scale}: {answer['error']}")
                best = min(answer["seconds"])
                times[query][scale] = min(best, times[query].get(scale, best))
    return times


def report(times, scales):
    first, *others = scales
    print("query" + f"{'at ' + first:>11}" + "".join(f"{'at ' + it:>11}{'growth':>8}" for it in others))
    growths = {scale: [] for scale in others}
    for query, by_scale in times.items():
        line = f"{query:>5}{by_scale[first]:>11.3f}"
        for scale in others:
            growths[scale].append(by_scale[scale] / by_scale[first] / (float(scale) / float(first)))
            line += f"{by_scale[scale]:>11.3f}{growths[scale][-1]:>8.2f}"
        print(line)
    sums = {scale: sum(by_scale[scale] for by_scale in times.values()) for scale in scales}
    line = f"  sum{sums[first]:>11.3f}"
    for scale in others:
        growth = sums[scale] / sums[first] / (float(scale) / float(first))
        line += f"{sums[scale]:>11.3f}{growth:>8.2f}"
    print(line)
    means = "".join(f"{'':11}{compare.geomean(growths[scale]):>8.2f}" for scale in others)
    print(f" geom{'':11}" + means)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scales", type=lambda it: it.split(","), default=["1", "10", "30"], help="such as 1,10")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="(default: all)")
    parser.add_argument("--runs", type=int, default=2, help="rounds")
    parser.add_argument("--repeat", type=int, default=2, help="runs of a query in a row within a round")
    parser.add_argument("--queries", type=compare.query_numbers, default=compare.query_numbers("1-22"), help="such as 1,3-5")
    parser.add_argument("--json", type=pathlib.Path, help="write the times to this file")
    parser.add_argument("--no-build", action="store_true", help="take the release binary as it is")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if not arguments.no_build:
        compare.build_volley()
    engines = {}
    for scale in arguments.scales:
        data = compare.ROOT / "data" / f"tpch-sf{scale}"
        compare.generate(data, scale)
        engines[scale] = compare.Volley(data, arguments.threads)
    times = measure(engines, arguments.queries, arguments.runs, arguments.repeat)
    report(times, arguments.scales)
    if arguments.json:
        arguments.json.write_text(json.dumps(times, indent=1) + "\n")


if __name__ == "__main__":
    main()
