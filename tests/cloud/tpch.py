#!/usr/bin/env python3
"""Counts the requests of the 22 queries of TPC-H over an object store, against DuckDB's httpfs.

    cargo build -p volley-cli --features cloud
    tests/cloud/run.py --delay-ms 30 -- python tests/cloud/tpch.py target/debug/volley --scale 0.1

Each query runs in a process of its own, with the tables as files of the bucket. DuckDB runs it in a
new connection. Needs the packages duckdb and duckdb-extension-httpfs. The optimum is what footers
and columns take: a request for each file, and one for each run of needed column chunks of a row
group with at most 500 KB in between and 8 MB in all. The ranges are those of the columns that the
text of the query names, without pruning.

The answers of both engines are compared. With --warm, Volley runs each query a second time with a
cache on disk that the first run filled.
"""

import argparse
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUCKET = "s3://" + os.environ["VOLLEY_S3_BUCKET"]
PROXY = os.environ["VOLLEY_S3_PROXY"]
TABLES = ["lineitem", "orders", "customer", "partsupp", "part", "supplier", "nation", "region"]
GAP, PART = 500_000, 8 << 20


def proxy(request):
    return urllib.request.urlopen(f"{PROXY}/__proxy/{request}").read().decode()


def over_files(sql):
    """The query with files in place of tables."""
    def file(match):
        table, alias = match.group(1), match.group(2)
        path = f"'{BUCKET}/{table}.parquet'"
        keywords = {"where", "group", "order", "left", "inner", "join", "on", "limit"}
        if alias and alias.split()[-1].lower() not in keywords:
            return f"{path}{alias}"
        return f"{path} AS {table}{alias or ''}"
    tables = rf"\b({'|'.join(TABLES)})\b((?:\s+as)?\s+[a-z]\w*)?"
    # Columns may have the names of tables: only lists of tables count.
    lists = r"\bfrom\b[^()]*?(?=\bwhere\b|\bgroup\b|\border\b|[()]|$)"
    return re.sub(lists, lambda it: re.sub(tables, file, it.group(0)), sql)


def measured(work):
    proxy("reset")
    begin = time.perf_counter()
    rows = work()
    seconds = time.perf_counter() - begin
    counts = json.loads(proxy("counts"))
    return rows, counts["requests"], counts["bytes"], seconds


def volley(binary, sql):
    command = [binary, "-c", sql, "--format", "csv"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{sql}\n{result.stderr}")
    return list(csv.reader(io.StringIO(result.stdout)))[1:]


def duckdb_connection():
    import duckdb
    import duckdb_extension_httpfs as httpfs
    folder = pathlib.Path(httpfs.__file__).parent
    extension, = folder.rglob("httpfs.duckdb_extension")
    connection = duckdb.connect(config={"allow_unsigned_extensions": True})
    connection.execute(f"LOAD '{extension}'")
    host = PROXY.removeprefix("http://")
    connection.execute(
        f"CREATE SECRET (TYPE s3, KEY_ID '{os.environ['AWS_ACCESS_KEY_ID']}', "
        f"SECRET '{os.environ['AWS_SECRET_ACCESS_KEY']}', REGION 'us-east-1', ENDPOINT '{host}', "
        "URL_STYLE 'path', USE_SSL false)")
    return connection


def optimum(sql, footers):
    requests = 0
    for table in TABLES:
        if not re.search(rf"\b{table}\b", sql):
            continue
        requests += 1
        words = set(re.findall(r"\w+", sql))
        for group in footers[table]:
            ranges = sorted((start, end) for name, start, end in group if name in words)
            begin = last = None
            for start, end in ranges:
                if last is not None and start - last <= GAP:
                    last = end
                    continue
                requests += -(-(last - begin) // PART) if last is not None else 0
                begin, last = start, end
            requests += -(-(last - begin) // PART) if last is not None else 0
    return requests


def read_footers(binary):
    footers = {}
    for table in TABLES:
        sql = ("SELECT row_group_id, path_in_schema, coalesce(dictionary_page_offset, data_page_offset), "
               f"total_compressed_size FROM parquet_metadata('{BUCKET}/{table}.parquet')")
        groups = {}
        for group, name, start, size in volley(binary, sql):
            groups.setdefault(group, []).append((name, int(start), int(start) + int(size)))
        footers[table] = list(groups.values())
    return footers


def same(left, right):
    def cell(it):
        try:
            return f"{float(it):.6g}"
        except (TypeError, ValueError):
            return str(it).strip('"')
    return [[cell(it) for it in row] for row in left] == [[cell(it) for it in row] for row in right]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("volley")
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--only", help="numbers of queries, with commas")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([arguments.volley, "tpch", "generate", "--scale", arguments.scale,
                        "--out", folder], check=True, capture_output=True)
        for table in TABLES:
            source, = list(pathlib.Path(folder).glob(f"{table}.parquet")) or [pathlib.Path(folder, table)]
            volley(arguments.volley, f"COPY (FROM '{source}') TO '{BUCKET}/{table}.parquet'; SELECT 1")
    footers = read_footers(arguments.volley)
    only = [int(it) for it in arguments.only.split(",")] if arguments.only else range(1, 23)
    sums = [0.0] * 8
    print("query  volley  duckdb  optimum   MB volley  MB duckdb   s volley  s duckdb  warm requests")
    wrong = 0
    with tempfile.TemporaryDirectory() as cache:
        for number in only:
            sql = (ROOT / f"crates/tpch/queries/q{number:02}.sql").read_text().strip().rstrip(";")
            files = over_files(re.sub(r"--.*", "", sql))
            connection = duckdb_connection()
            expected = measured(lambda: connection.execute(files).fetchall())
            connection.close()
            found = measured(lambda: volley(arguments.volley, files))
            wrong += not same(found[0], expected[0])
            best = optimum(sql, footers)
            warm = 0
            if arguments.warm:
                cached = f"SET cache_directory = '{cache}'; {files}"
                volley(arguments.volley, cached)
                warm = measured(lambda: volley(arguments.volley, cached))
                if warm[2] > 0:
                    print(f"q{number}: {warm[2]} bytes after a restart")
                warm = warm[1]
            row = [found[1], expected[1], best, found[2] / 1e6, expected[2] / 1e6, found[3], expected[3], warm]
            sums = [a + b for a, b in zip(sums, row)]
            mark = "" if same(found[0], expected[0]) else "  OTHER ROWS"
            print("q{:<4} {:7} {:7} {:8} {:11.2f} {:10.2f} {:10.2f} {:9.2f} {:8}{}".format(number, *row, mark))
    print("sum   {:7} {:7} {:8} {:11.2f} {:10.2f} {:10.2f} {:9.2f} {:8}".format(*map(lambda it: round(it, 2), sums)))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
