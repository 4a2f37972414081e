#!/usr/bin/env python3
"""Runs SQL over an object store in the shell and checks the rows.

    cargo build -p volley-cli --features cloud
    tests/cloud/run.py -- python tests/cloud/shell.py target/debug/volley
"""

import os
import subprocess
import sys
import urllib.request

VOLLEY = sys.argv[1]
BUCKET = "s3://" + os.environ["VOLLEY_S3_BUCKET"]
failures = 0


def run(sql, **environment):
    command = [VOLLEY, "-c", sql, "--format", "csv"]
    return subprocess.run(command, env=dict(os.environ, **environment), capture_output=True, text=True)


def check(sql, expected, **environment):
    """Compares the rows of the last statement, or finds `expected` in the error."""
    global failures
    result = run(sql, **environment)
    if result.returncode == 0:
        found = "\n".join(result.stdout.strip().split("\n")[1:])
        is_right = found == expected
    else:
        found = result.stderr.strip()
        is_right = expected in found
    if not is_right:
        failures += 1
        print(f"WRONG: {sql}\n  expected {expected!r}\n  found    {found!r}")


def requests(sql):
    proxy = os.environ["VOLLEY_S3_PROXY"]
    urllib.request.urlopen(f"{proxy}/__proxy/reset").read()
    run(sql)
    return urllib.request.urlopen(f"{proxy}/__proxy/log").read().decode().split("\n")


numbers = "SELECT i, i % 3 AS k, 'text ' || i AS s FROM range(100000) AS t(i)"
for format in ["parquet", "orc", "csv", "json"]:
    path = f"{BUCKET}/a.{format}"
    check(f"COPY ({numbers}) TO '{path}'; SELECT count(*), sum(i), max(s) FROM '{path}'",
          "100000,4999950000,text 99999")
for year in [2023, 2024]:
    for part in [1, 2]:
        path = f"{BUCKET}/t/year={year}/{part}.parquet"
        check(f"COPY (SELECT i FROM range({part * 10}) AS t(i)) TO '{path}'; SELECT 1", "1")
check(f"SELECT year, count(*) FROM '{BUCKET}/t/**/*.parquet' GROUP BY year ORDER BY year",
      "2023,30\n2024,30")
check(f"SELECT count(*) FROM '{BUCKET}/t/year=2024/*.parquet'", "30")
check(f"SELECT count(*) FROM '{BUCKET}/t'", "60")
check(f"FROM '{BUCKET}/none.parquet'", "no such file")
check(f"FROM '{BUCKET}/none*.parquet'", "no such file")
check("FROM 's3://no-such-bucket/a.parquet'", "no such file")
check(f"FROM '{BUCKET}/a.parquet'", "permission denied", AWS_SECRET_ACCESS_KEY="wrong")
direct = os.environ["VOLLEY_S3_DIRECT"]
# A statement that fails leaves no object.
check(f"COPY (SELECT 1 / (5000000 - i) AS x, i FROM range(6000000) AS t(i)) TO '{BUCKET}/bad.csv'", "division")
check(f"FROM '{BUCKET}/bad.csv'", "no such file")
log = requests(f"SELECT sum(i) FROM '{BUCKET}/a.parquet'")
if len(log) > 2:
    failures += 1
    print("WRONG: more requests than the end and the column", log)
print(f"{failures} wrong")
sys.exit(failures > 0)
