#!/usr/bin/env python3
"""Runs SQL over an object store in the shell and checks the rows.

    cargo build -p volley-cli --features cloud
    tests/cloud/run.py -- python tests/cloud/shell.py target/debug/volley
"""

import json
import os
import subprocess
import sys
import tempfile
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
        print(f"WRONG: {sql}\n  expected {expected!r}\n  found    {found[:500]!r}")


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
check("FROM 's3://no-such-bucket/a.parquet'", "bucket does not exist")
check(f"FROM '{BUCKET}/a.parquet'", "permission denied", AWS_SECRET_ACCESS_KEY="wrong")
direct = os.environ["VOLLEY_S3_DIRECT"]
# A statement that fails leaves no object.
check(f"COPY (SELECT (CASE i WHEN 5000000 THEN 'bad' ELSE '1' END)::INTEGER AS x, i FROM range(6000000) AS t(i)) "
      f"TO '{BUCKET}/bad.csv'", "'bad'")
check(f"FROM '{BUCKET}/bad.csv'", "no such file")
log = requests(f"SELECT sum(i) FROM '{BUCKET}/a.parquet'")
if len(log) > 2:
    failures += 1
    print("WRONG: more requests than the end and the column", log)

# Credentials of a secret, and none in the environment.
nothing = {name: "" for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"]}
endpoint = os.environ["VOLLEY_S3_PROXY"]
secret = (f"CREATE SECRET lake (TYPE s3, KEY_ID '{os.environ['AWS_ACCESS_KEY_ID']}', "
          f"SECRET '{os.environ['AWS_SECRET_ACCESS_KEY']}', REGION 'us-east-1', ENDPOINT '{endpoint}', "
          f"URL_STYLE 'path', SCOPE '{BUCKET}'); ")
check(f"{secret} SELECT count(*) FROM '{BUCKET}/a.parquet'", "100000", **nothing)
check(f"{secret.replace(BUCKET, BUCKET + '/other')} SELECT count(*) FROM '{BUCKET}/a.parquet'", "", **nothing)
check(f"{secret} SHOW SECRETS", 'lake,s3,config,' + BUCKET + ',"endpoint, key_id, region, secret, url_style"')
check(f"SET allow_network = off; FROM '{BUCKET}/a.parquet'", "access is denied")
check(f"SET allowed_paths = ['{BUCKET}/t']; SELECT count(*) FROM '{BUCKET}/t'", "60")
check(f"SET allowed_paths = ['{BUCKET}/t']; FROM '{BUCKET}/a.parquet'", "access is denied")

# Folders of files.
for format in ["parquet", "orc", "csv"]:
    path = f"{BUCKET}/folders/{format}"
    copy = f"COPY ({numbers}) TO '{path}' (FORMAT {format}, PARTITION_BY (k)"
    check(f"{copy}); SELECT k, count(*), sum(i) FROM '{path}/*/*.{format}' WHERE k <> 1 GROUP BY k ORDER BY k",
          "0,33334,1666683333\n2,33333,1666650000")
    check(f"{copy})", "the folder is not empty")
    check(f"{copy}, OVERWRITE); SELECT count(*) FROM '{path}'", "100000")
    check(f"{copy}, APPEND); SELECT count(*) FROM '{path}'", "200000")
    bad = "SELECT i % 3 AS k, (CASE i WHEN 90000 THEN 'bad' ELSE '1' END)::INTEGER AS x FROM range(100000) AS t(i)"
    check(f"COPY ({bad}) TO '{path}' (FORMAT {format}, PARTITION_BY (k), OVERWRITE)", "'bad'")
    check(f"SELECT count(*) FROM '{path}'", "200000")
sized = f"COPY (SELECT hash(i) AS h FROM range(200000) AS t(i)) TO '{BUCKET}/sized' (FORMAT parquet, FILE_SIZE_BYTES '500kb')"
check(f"{sized}; SELECT count(*), count(DISTINCT filename) > 2 FROM read_parquet('{BUCKET}/sized', filename = true)", "200000,true")

# Views and --data.
check(f"CREATE VIEW v AS FROM '{BUCKET}/t/**/*.parquet'; SELECT max(year) FROM v", "2024")
result = subprocess.run([VOLLEY, "--data", f"{BUCKET}/t/year=2024", "-c", "SELECT 1"], capture_output=True, text=True)
if result.returncode:
    failures += 1
    print("WRONG: --data", result.stderr)

# A cache on disk: the second process asks for versions only.
with tempfile.TemporaryDirectory() as cache:
    query = f"SET cache_directory = '{cache}'; SELECT sum(i), max(s) FROM '{BUCKET}/a.parquet'; SET cache_directory = ''; SELECT 1"
    run(query)
    requests(query)
    counts = json.loads(urllib.request.urlopen(f"{os.environ['VOLLEY_S3_PROXY']}/__proxy/counts").read())
    if counts["bytes"] > 0 or counts["requests"] > 1:
        failures += 1
        print("WRONG: bytes after a restart", counts)
check(f"SELECT sum(i) FROM '{BUCKET}/a.parquet'; SELECT sum(i) FROM '{BUCKET}/a.parquet'",
      "4999950000\nsum(i)\n4999950000")
print(f"{failures} wrong")
sys.exit(failures > 0)
