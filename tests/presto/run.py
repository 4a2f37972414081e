#!/usr/bin/env python3
"""Runs TPC-H on Volley's workers under a real Presto coordinator.

    tests/presto/run.py --volley target/debug/volley [--queries 1,6,13] [--modes single,one]

Fetches the coordinator with Maven once (about 125 MB, then 123 MB on disk), starts it and
`volley presto-worker` on loopback, runs queries, compares the answers with those in
crates/tpch/answers, and ends all by their process ids. Needs JDK 17, Maven and Python 3.

Modes: `single` runs each query as one fragment on one worker (0.296); `one` as several fragments on
one worker; `two` on two workers; `load` runs 50 queries at once on two; `hive` on two workers that read Parquet files of a hive catalog
(`--version 0.287`: later releases have no hive connector on Maven Central; 300 MB more); `pressure`
passes 1.2 GB through buffers of 64 MB with a client that stops reading, and compares what memory is
reported; `faults` cancels a query and kills a worker while queries run; `drain` shuts a worker down
while a query runs.

Presto's JMX and Thrift sockets listen on all addresses. Where the kernel permits it, everything
runs in a network namespace of its own, which has only a loopback device.
"""

import argparse
import concurrent.futures
import csv
import itertools
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TPCH = ROOT / "crates" / "tpch"

COORDINATOR_PORT = 18080
WORKER_PORTS = [18082, 18092]
MODES = ["single", "one", "two", "load", "hive", "pressure", "drain", "faults"]
DEFAULT_MODES = {
    "0.287": ["one", "two", "load", "pressure", "drain", "faults"],
    "0.296": ["single", "one", "two", "load", "pressure", "drain", "faults"],
}
QUERIES_AT_ONCE = 50
# Also on a machine that is busy.
READY_SECONDS = 300
TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]
INSIDE_NAMESPACE = "VOLLEY_PRESTO_NAMESPACE"

POM = """<project>
 <modelVersion>4.0.0</modelVersion>
 <groupId>local</groupId><artifactId>presto-{name}</artifactId><version>1</version><packaging>pom</packaging>
 <dependencyManagement><dependencies>{managed}</dependencies></dependencyManagement>
 <dependencies><dependency>
  <groupId>com.facebook.presto</groupId><artifactId>{name}</artifactId><version>{version}</version>
 </dependency></dependencies>
</project>
"""

# The ASM of 0.287 cannot read classes of Java 17.
ASM = "".join(
    f"<dependency><groupId>org.ow2.asm</groupId><artifactId>{name}</artifactId>"
    "<version>9.7</version></dependency>" for name in ["asm", "asm-tree", "asm-util", "asm-analysis"])

# What all coordinators have in common.
SHARED_CONFIG = f"""coordinator=true
http-server.http.port={COORDINATOR_PORT}
discovery-server.enabled=true
discovery.uri=http://127.0.0.1:{COORDINATOR_PORT}
plugin.dir=plugin
catalog.config-dir=etc/catalog
presto.version=testversion
query.max-memory=2GB
query.max-memory-per-node=200MB
query.max-total-memory-per-node=300MB
query.max-history=20
query.min-expire-age=5s
regex-library=RE2J
offset-clause-enabled=true
"""

COORDINATOR_CONFIG = SHARED_CONFIG + """node-scheduler.include-coordinator=false
native-execution-enabled=true
optimizer.optimize-hash-generation=false
inline-sql-functions=false
use-alternative-function-signatures=true
query-manager.required-workers=1
query-manager.required-workers-max-wait=60s
"""

# A coordinator that runs queries itself, with the flags of Java workers: the reference.
JAVA_CONFIG = SHARED_CONFIG + "node-scheduler.include-coordinator=true\n"

# 0.287 writes tables with a further operator otherwise; 0.296 does not know the property.
FURTHER_CONFIG = {
    "0.287": "experimental.table-writer-merge-operator-enabled=false\n",
    "0.296": "",
}

JVM_OPTIONS = [
    "-server", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError", "-Djdk.attach.allowAttachSelf=true", "-Duser.timezone=UTC",
]

# Statements that must fail with this error, and leave the worker alive.
FAILURES = [
    ("SELECT 1 / (l_linenumber - l_linenumber) FROM lineitem", "DIVISION_BY_ZERO"),
    ("SELECT json_presto_query_plan_ids(CAST(l_comment AS JSON)) FROM lineitem",
     "FUNCTION_NOT_FOUND"),
    ("SELECT st_point(l_tax, l_tax) IS NULL FROM lineitem", "NOT_SUPPORTED"),
    ("SELECT (SELECT r_name FROM region WHERE r_regionkey <= n_regionkey) FROM nation",
     "SUBQUERY_MULTIPLE_ROWS"),
]

# A query that runs for minutes, with an exchange between the workers.
LONG_QUERY = ("SELECT l_suppkey, sum(l_extendedprice) FROM tpch.sf100.lineitem GROUP BY l_suppkey "
              "ORDER BY 2 LIMIT 1")

# What the output buffers of a task may hold.
BUFFER_BYTES = 64 << 20

# What else a task may hold in mode `pressure`: pages that are being made, one per driver, and
# columns of tpch. The peak of one that held all of its rows would be 600 MB.
FURTHER_BYTES = 96 << 20

# 1.2 GB in 60175 rows, and 300 MB.
WIDE_QUERY = "SELECT rpad(l_comment, 20000, 'x') FROM lineitem"
SHORTER_QUERY = "SELECT rpad(l_comment, 5000, 'x') FROM lineitem"

# Further statements and their answers.
STATEMENTS = [
    ("SELECT count(*) FROM lineitem", [[60175]]),
    ("SELECT l_orderkey FROM lineitem WHERE l_orderkey = 7 LIMIT 2", [[7], [7]]),
    ("SELECT n_name FROM nation ORDER BY n_name DESC LIMIT 1", [["VIETNAM"]]),
    ("SELECT 1 + 1, 'ü', DATE '2020-02-29', ARRAY[1, NULL], MAP(ARRAY['a'], ARRAY[1.5])",
     [[2, "ü", "2020-02-29", [1, None], {"a": "1.5"}]]),
    ("SELECT r_regionkey, count(*) FROM region JOIN nation ON r_regionkey = n_regionkey "
     "GROUP BY ROLLUP (r_regionkey) ORDER BY 1",
     [[0, 5], [1, 5], [2, 5], [3, 5], [4, 5], [None, 25]]),
    ("SELECT count(*), sum(n_nationkey) FROM nation WHERE n_nationkey < 0", [[0, None]]),
    ("SELECT n_nationkey, row_number() OVER (PARTITION BY n_regionkey ORDER BY n_name) FROM nation "
     "WHERE n_regionkey = 1 ORDER BY 2", [[1, 1], [2, 2], [3, 3], [17, 4], [24, 5]]),
    ("SELECT x, i FROM UNNEST(ARRAY['a', 'b']) WITH ORDINALITY AS t (x, i) ORDER BY i",
     [["a", 1], ["b", 2]]),
    ("SELECT transform(ARRAY[n_nationkey, 2], x -> x * 10) FROM nation WHERE n_nationkey = 1",
     [[[10, 20]]]),
    # Each task sorts its rows, and one merges them.
    ("SELECT l_orderkey FROM lineitem WHERE l_orderkey < 8 ORDER BY l_orderkey DESC",
     [[7]] * 7 + [[6]] + [[5]] * 3 + [[4]] + [[3]] * 6 + [[2]] + [[1]] * 6),
    ("SELECT IF(n_nationkey > 1, n_name), n_nationkey FROM nation WHERE n_nationkey < 4 "
     "ORDER BY 1 NULLS FIRST, 2 DESC", [[None, 1], [None, 0], ["BRAZIL", 2], ["CANADA", 3]]),
    ("SELECT o_orderkey % 2, o_totalprice < 0 FROM orders WHERE o_orderkey < 0 ORDER BY 1, 2", []),
    ("SELECT count(DISTINCT n_regionkey), count(DISTINCT n_name) FROM nation", [[5, 25]]),
]


def fetch(folder, version, has_hive):
    """Fills `folder` with the coordinator's jars, unless it is complete."""
    done = folder / f"complete-{version}"
    if not done.exists():
        fetch_artifact(folder, version, "presto-main", "lib")
        fetch_artifact(folder, version, "presto-tpch", "plugin/tpch")
        remove_web_interface(folder / "lib" / f"presto-main-{version}.jar")
        done.touch()
    done = folder / f"complete-{version}-hive"
    if has_hive and not done.exists():
        fetch_artifact(folder, version, "presto-hive-hadoop2", "plugin/hive-hadoop2")
        done.touch()


def fetch_artifact(folder, version, artifact, target):
    pom = folder / f"pom-{artifact}.xml"
    (folder / target).mkdir(parents=True, exist_ok=True)
    managed = ASM if version == "0.287" else ""
    pom.write_text(POM.format(name=artifact, version=version, managed=managed))
    subprocess.run(
        ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies",
         "-DincludeScope=runtime", f"-DoutputDirectory={folder / target}"], check=True)


def remove_web_interface(jar):
    """Presto's main jar has 80 MB of sources of the web interface."""
    smaller = jar.with_suffix(".new")
    with zipfile.ZipFile(jar) as source, zipfile.ZipFile(smaller, "w", zipfile.ZIP_DEFLATED) as out:
        for entry in source.infolist():
            if not entry.filename.startswith("webapp/"):
                out.writestr(entry, source.read(entry.filename))
    smaller.replace(jar)


def write_files(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def node_properties(name, folder):
    return (f"node.environment=testing\nnode.id={name}\nnode.internal-address=127.0.0.1\n"
            f"node.bind-ip=127.0.0.1\nnode.data-dir={folder / 'data'}\n")


TPCH_CATALOG = ("connector.name=tpch\ntpch.column-naming=STANDARD\n"
                "tpch.partitioning-enabled=false\n")


def hive_catalog(folder):
    return (f"connector.name=hive-hadoop2\nhive.metastore=file\n"
            f"hive.metastore.catalog.dir=file://{folder / 'hive'}\n"
            "hive.storage-format=PARQUET\nhive.allow-drop-table=true\n")


def catalogs(folder, has_hive):
    files = {"catalog/tpch.properties": TPCH_CATALOG}
    if has_hive:
        files["catalog/hive.properties"] = hive_catalog(folder)
    return files


def start_coordinator(folder, version, has_hive):
    """A coordinator of native workers."""
    return start_java(folder, COORDINATOR_CONFIG + FURTHER_CONFIG[version], has_hive)


def start_java(folder, config, has_hive):
    """A process of Presto in its own folder, without data and tables of earlier runs."""
    for name in ["data", "etc", "hive"]:
        shutil.rmtree(folder / name, ignore_errors=True)
    return java_process(folder, folder, "coordinator", config, JVM_OPTIONS, has_hive)


def java_process(folder, home, name, config, options, has_hive):
    """A process with the jars of `folder` and its files in `home`; tables are in `folder`/hive."""
    shutil.rmtree(home / "data", ignore_errors=True)
    (home / "data").mkdir(parents=True)
    node = node_properties(name, home)
    write_files(home, {
        "etc/config.properties": config,
        "etc/node.properties": node,
        **{f"etc/{file}": text for file, text in catalogs(folder, has_hive).items()},
    })
    properties = [f"-D{line}" for line in node.splitlines()]
    opened = ["java.lang", "java.lang.reflect", "java.net", "java.nio", "java.util"]
    opens = [f"--add-opens=java.base/{it}=ALL-UNNAMED" for it in opened]
    command = ["java", *options, *opens, "-Dconfig=etc/config.properties", *properties, "-cp",
               f"{folder / 'lib'}/*", "com.facebook.presto.server.PrestoServer"]
    log = open(home / f"{name}.log", "w")
    return subprocess.Popen(command, cwd=home, stdout=log, stderr=log)


def start_worker(volley, folder, port, further):
    shutil.rmtree(folder, ignore_errors=True)
    write_files(folder, {
        "config.properties":
            f"coordinator=false\nhttp-server.http.port={port}\n"
            f"discovery.uri=http://127.0.0.1:{COORDINATOR_PORT}\npresto.version=testversion\n"
            "query.max-memory-per-node=1GB\nexchange.max-error-duration=5s\n"
            f"sink.max-buffer-size={BUFFER_BYTES}B\n",
        "node.properties": node_properties(f"volley-{port}", folder),
        **further,
    })
    log = open(folder / "worker.log", "w")
    command = [*volley, str(folder)]
    return subprocess.Popen(command, stdout=log, stderr=log)


def parsed(value):
    """Arrays, maps and rows come as JSON in a text."""
    is_nested = isinstance(value, str) and value[:1] in ("[", "{") and value[-1:] in ("]", "}")
    return json.loads(value) if is_nested else value


class QueryFailed(Exception):
    def __init__(self, error):
        super().__init__(f"{error.get('errorName')}: {error.get('message')}")
        self.name = error.get("errorName")


def headers_of(mode, schema, zone="UTC", session=None):
    catalog = "hive" if mode == "hive" else "tpch"
    headers = {"X-Presto-User": "test", "X-Presto-Catalog": catalog, "X-Presto-Schema": schema,
               "X-Presto-Time-Zone": zone}
    if mode == "single":
        headers["X-Presto-Session"] = "single_node_execution_enabled=true"
    if session:
        headers["X-Presto-Session"] = session
    return headers


def get_json(url, headers=None, method="GET", body=None):
    request = urllib.request.Request(url, data=body, headers=headers or {}, method=method)
    with urllib.request.urlopen(request, timeout=120) as response:
        text = response.read()
    return json.loads(text) if text else None


def run_query(sql, schema, mode, zone="UTC", session=None):
    """The rows of a statement, in a session in this time zone with these properties."""
    headers = headers_of(mode, schema, zone, session)
    url = f"http://127.0.0.1:{COORDINATOR_PORT}/v1/statement"
    answer = get_json(url, headers, "POST", sql.encode())
    rows = []
    while True:
        rows += [list(map(parsed, row)) for row in answer.get("data", [])]
        if "error" in answer:
            raise QueryFailed(answer["error"])
        if "nextUri" not in answer:
            return rows
        answer = get_json(answer["nextUri"], headers)


def wait_until(condition, what, seconds=120):
    deadline = time.time() + seconds
    while time.time() < deadline:
        if condition():
            return
        time.sleep(0.2)
    raise SystemExit(f"{what} not after {seconds} s")


def active_workers():
    return get_json(f"http://127.0.0.1:{COORDINATOR_PORT}/v1/cluster")["activeWorkers"]


def fill_hive(volley, folder, scale="0.01"):
    """Tables of the catalog hive with the rows of TPC-H: Presto declares them, Volley writes them."""
    rows = folder / f"tpch-{scale}"
    subprocess.run([volley, "tpch", "generate", "--scale", scale, "--out", str(rows)], check=True,
                   stdout=subprocess.DEVNULL)
    run_query("CREATE SCHEMA hive.tiny", "tiny", "two")
    for table in TABLES:
        columns = run_query(f"DESCRIBE tpch.tiny.{table}", "tiny", "two")
        declared = ", ".join(f"{name} {kind}" for name, kind, *_ in columns)
        run_query(f"CREATE TABLE hive.tiny.{table} ({declared})", "tiny", "two")
        selected = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind, *_ in columns)
        target = folder / "hive" / "tiny" / table / "0.parquet"
        sql = (f"COPY (SELECT {selected} FROM '{rows / table}.parquet') "
               f"TO '{target}' (FORMAT parquet)")
        subprocess.run([volley, "-c", sql], check=True, stdout=subprocess.DEVNULL)


def wait_until_ready(processes, mode):
    deadline = time.time() + READY_SECONDS
    while time.time() < deadline:
        for process in processes:
            if process.poll() is not None:
                raise SystemExit(f"a server ended with status {process.returncode}")
        try:
            if run_query("SELECT count(*) FROM nation", "tiny", mode) == [[25]]:
                return
        except (OSError, QueryFailed):
            time.sleep(0.5)
    raise SystemExit(f"the servers are not ready after {READY_SECONDS} s")


def expected_rows(number):
    with open(TPCH / "answers" / "sf0.01" / f"q{number:02}.csv", newline="") as file:
        return list(csv.reader(file))[1:]


def is_equal(found, expected):
    if found is None or expected == "NULL":
        return found is None and expected == "NULL"
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        return math.isclose(found, float(expected), rel_tol=1e-9, abs_tol=1e-9)
    return str(found) == expected


def same_rows(found, expected):
    """Whether the rows are equal; rows that the order leaves open may be exchanged."""
    if len(found) != len(expected):
        return False
    rest = list(expected)
    for row in found:
        match = next((it for it in rest if len(it) == len(row) and all(map(is_equal, row, it))), None)
        if match is None:
            return False
        rest.remove(match)
    return True


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check_queries(numbers, workers, mode):
    wrong = []
    cpu_of_all = lambda: sum(cpu_seconds(it.pid) for it in workers)
    for number in numbers:
        sql = (TPCH / "queries" / f"q{number:02}.sql").read_text().strip().rstrip(";")
        start, cpu = time.time(), cpu_of_all()
        try:
            is_right = same_rows(run_query(sql, "tiny", mode), expected_rows(number))
            outcome = "right" if is_right else "WRONG"
        except QueryFailed as error:
            is_right, outcome = False, f"FAILED {error}"
        if not is_right:
            wrong.append(f"Q{number} {mode}")
        cpu = cpu_of_all() - cpu
        print(f"{mode:6} Q{number:<3} {time.time() - start:6.2f} s  workers {cpu:5.2f} s CPU  "
              f"{outcome}", flush=True)
    return wrong


def check_load(numbers):
    """Runs many queries at once."""
    def is_right(number):
        sql = (TPCH / "queries" / f"q{number:02}.sql").read_text().strip().rstrip(";")
        try:
            return same_rows(run_query(sql, "tiny", "two"), expected_rows(number))
        except QueryFailed as error:
            return str(error)

    start = time.time()
    chosen = list(itertools.islice(itertools.cycle(numbers), QUERIES_AT_ONCE))
    with concurrent.futures.ThreadPoolExecutor(QUERIES_AT_ONCE) as threads:
        outcomes = list(threads.map(is_right, chosen))
    wrong = [f"Q{number} load: {it}" for number, it in zip(chosen, outcomes) if it is not True]
    print(f"load   {QUERIES_AT_ONCE} queries at once: {time.time() - start:.2f} s, "
          f"{QUERIES_AT_ONCE - len(wrong)} right", flush=True)
    return wrong


def check_statements(mode):
    wrong = []
    for sql, expected in STATEMENTS:
        try:
            found = run_query(sql, "tiny", mode)
        except QueryFailed as error:
            found = str(error)
        if found != expected:
            wrong.append(sql)
            print(f"WRONG {mode} {sql}\n  expected {expected}\n  found    {found}")
    for sql, expected in FAILURES:
        try:
            found = run_query(sql, "tiny", mode)
        except QueryFailed as error:
            found = error.name
        if found != expected:
            wrong.append(sql)
            print(f"WRONG {mode} {sql}\n  expected {expected}\n  found    {found}")
    return wrong


def running_tasks(port):
    tasks = get_json(f"http://127.0.0.1:{port}/v1/task")
    return [it for it in tasks if it["taskStatus"]["state"] in ("PLANNED", "RUNNING")]


# Statements that write tables of the catalog hive, and what the next statements return; where it is
# not UTC, the time zone of the session.
LOS_ANGELES = "America/Los_Angeles"
WRITES = [
    ("CREATE TABLE copy AS SELECT * FROM tpch.tiny.lineitem", [[60175]]),
    ("SELECT count(*), sum(l_orderkey), min(l_comment), max(l_shipdate) FROM copy",
     "SELECT count(*), sum(l_orderkey), min(l_comment), max(l_shipdate) FROM tpch.tiny.lineitem"),
    ("INSERT INTO copy SELECT * FROM tpch.tiny.lineitem WHERE l_orderkey < 100", [[105]]),
    ("SELECT count(*) FROM copy", [[60280]]),
    ("CREATE TABLE none AS SELECT * FROM tpch.tiny.nation WHERE n_nationkey < 0", [[0]]),
    ("SELECT count(*) FROM none", [[0]]),
    ("CREATE TABLE kinds WITH (format = 'ORC') AS SELECT CAST(1.50 AS DECIMAL(12, 2)) AS d, "
     "CAST(-12345678901234567890.5 AS DECIMAL(38, 4)) AS e, true AS b, DATE '2020-02-29' AS f, "
     "CAST(7 AS SMALLINT) AS s, 'ü' AS t, ARRAY[1, NULL] AS a, CAST(NULL AS VARCHAR) AS n", [[1]]),
    ("SELECT * FROM kinds",
     [["1.50", "-12345678901234567890.5000", True, "2020-02-29", 7, "ü", [1, None], None]]),
    ("CREATE TABLE parts WITH (partitioned_by = ARRAY['r', 's']) AS SELECT n_nationkey AS n, "
     "n_regionkey AS r, IF(n_nationkey > 1, 'a/' || CAST(n_nationkey % 2 AS VARCHAR)) AS s "
     "FROM tpch.tiny.nation", [[25]]),
    ("SELECT r, s, count(*), min(n) FROM parts GROUP BY r, s ORDER BY r, s",
     "SELECT n_regionkey, IF(n_nationkey > 1, 'a/' || CAST(n_nationkey % 2 AS VARCHAR)), count(*), "
     "min(n_nationkey) FROM tpch.tiny.nation GROUP BY 1, 2 ORDER BY 1, 2"),
    ("INSERT INTO parts SELECT n_nationkey + 100, n_regionkey + 4, 'a/0' FROM tpch.tiny.nation "
     "WHERE n_regionkey < 2", [[10]]),
    ("SELECT r, count(*) FROM parts WHERE s = 'a/0' AND r > 3 GROUP BY r ORDER BY r",
     "SELECT r, sum(c) FROM (SELECT n_regionkey + 4 AS r, 1 AS c FROM tpch.tiny.nation WHERE "
     "n_regionkey < 2 UNION ALL SELECT n_regionkey, 1 FROM tpch.tiny.nation WHERE n_regionkey > 3 "
     "AND n_nationkey % 2 = 0) GROUP BY r ORDER BY r"),
    ("SELECT count(*) FROM \"parts$partitions\" WHERE r = 5", [[1]]),
    ("SELECT count(*) FROM copy WHERE \"$path\" LIKE '%copy%' AND \"$file_size\" > 1000 AND "
     "\"$file_modified_time\" > 1600000000000 AND l_orderkey = 7", [[14]]),
    # Partitions without rows after pruning, keys from a join, null keys, all types of keys.
    ("SELECT count(*) FROM parts WHERE r = 77", [[0]]),
    ("SELECT sum(n) FROM parts JOIN tpch.tiny.region ON r = r_regionkey WHERE r_name = 'ASIA'",
     "SELECT sum(n_nationkey) FROM tpch.tiny.nation WHERE n_regionkey = 2"),
    ("SELECT r, count(*) FROM parts WHERE s IS NULL GROUP BY r ORDER BY r", [[0, 1], [1, 1]]),
    ("CREATE TABLE kept WITH (partitioned_by = ARRAY['d', 'b', 'i', 'c']) AS SELECT n_name, "
     "DATE '2020-02-28' + n_regionkey * INTERVAL '1' DAY AS d, n_regionkey > 2 AS b, "
     "CAST(n_regionkey AS SMALLINT) AS i, CAST(n_regionkey + 0.5 AS DECIMAL(5, 2)) AS c "
     "FROM tpch.tiny.nation", [[25]]),
    ("SELECT d, b, i, c, count(*) FROM kept WHERE d > DATE '2020-02-29' AND c < DECIMAL '4.00' "
     "GROUP BY 1, 2, 3, 4 ORDER BY 1",
     [["2020-03-01", False, 2, "2.50", 5], ["2020-03-02", True, 3, "3.50", 5]]),
    # Timestamps of files are instants.
    ("CREATE TABLE times AS SELECT n_nationkey AS k, TIMESTAMP '2020-07-01 12:00:00.123' + "
     "n_nationkey * INTERVAL '7' HOUR AS t FROM tpch.tiny.nation", [[25]]),
    ("SELECT k, t FROM times WHERE k < 2 ORDER BY k",
     [[0, "2020-07-01 05:00:00.123"], [1, "2020-07-01 12:00:00.123"]], LOS_ANGELES),
    ("SELECT k FROM times WHERE t BETWEEN TIMESTAMP '2020-07-01 05:00:00' AND "
     "TIMESTAMP '2020-07-01 15:00:00' ORDER BY k", [[0], [1]], LOS_ANGELES),
    ("CREATE TABLE changed AS SELECT k, TIMESTAMP '2020-03-08 01:30:00' + k * INTERVAL '1' HOUR "
     "AS t FROM times", [[25]], LOS_ANGELES),
    ("SELECT k, t FROM changed WHERE k < 2 ORDER BY k",
     [[0, "2020-03-08 09:30:00.000"], [1, "2020-03-08 10:30:00.000"]]),
    ("SELECT k, t FROM changed WHERE k < 2 ORDER BY k",
     [[0, "2020-03-08 15:00:00.000"], [1, "2020-03-08 16:00:00.000"]], "+05:30"),
]
WRITTEN_TABLES = ["copy", "none", "kinds", "parts", "kept", "times", "changed"]
# INSERT into the partition r=0/s=null, which exists, and into one that does not; then the rows.
REPLACING = [
    ("APPEND", "INSERT INTO parts VALUES (1000, 0, NULL), (1001, 0, 'new')", [[2]], [[1000, 2]]),
    ("OVERWRITE", "INSERT INTO parts VALUES (1002, 0, NULL)", [[1]], [[1002, 1]]),
    ("ERROR", "INSERT INTO parts VALUES (1003, 0, NULL)", "HIVE_PARTITION_READ_ONLY", [[1002, 1]]),
]


def check_writes(folder, form):
    """Writes and reads tables of files of this format."""
    ran = lambda sql, zone="UTC", setting=None: answer_of(in_format(sql, form), zone, setting)
    wrong = []

    def check(sql, found, expected):
        if found != expected:
            wrong.append(sql)
            print(f"WRONG {form} {sql}\n  expected {expected}\n  found    {found}")

    for sql, expected, *zone in WRITES:
        check(sql, ran(sql, *zone), ran(expected) if isinstance(expected, str) else expected)
    for behavior, sql, expected, rows in REPLACING:
        setting = f"hive.insert_existing_partitions_behavior={behavior}"
        check(f"{behavior}: {sql}", ran(sql, setting=setting), expected)
        check(behavior, ran("SELECT max(n), count(*) FROM parts WHERE r = 0 AND s IS NULL"), rows)
    found = ran("CREATE TABLE bad AS SELECT 1 / (l_linenumber - l_linenumber) AS x "
                "FROM tpch.tiny.lineitem")
    check("a table that fails", found, "DIVISION_BY_ZERO")
    check("its folder", (folder / "hive" / "tiny" / "bad").exists(), False)
    files = next((folder / "hive" / "tiny" / "copy").glob("2*")).read_bytes()
    check("the format of files", files[:3], b"ORC" if form == "ORC" else b"PAR")
    for table in WRITTEN_TABLES:
        check(f"DROP TABLE {table}", ran(f"DROP TABLE {table}"), [[True]])
    print(f"hive   wrote tables of {form}: {len(wrong)} wrong", flush=True)
    return wrong


def in_format(sql, form):
    """The statement, with the format if it creates a table without one."""
    if not sql.startswith("CREATE TABLE") or "format" in sql:
        return sql
    if " WITH (" in sql:
        return sql.replace(" WITH (", f" WITH (format = '{form}', ", 1)
    return sql.replace(" AS ", f" WITH (format = '{form}') AS ", 1)


def answer_of(sql, zone, session):
    """The rows of a statement in the catalog hive, or the name of its error."""
    try:
        return run_query(sql, "tiny", "hive", zone, session)
    except QueryFailed as error:
        return error.name


def check_stages(mode, ports):
    """Whether queries ran as the mode says: several fragments on each of the workers, or one."""
    wrong = []
    for port in ports:
        tasks = get_json(f"http://127.0.0.1:{port}/v1/task")
        stages = {it["taskId"].split(".")[1] for it in tasks}
        if mode == "single" and stages != {"0"} or mode != "single" and len(stages) < 3:
            wrong.append(f"stages {sorted(stages)} on worker {port} in mode {mode}")
    return wrong


def reserved_bytes(port):
    memory = get_json(f"http://127.0.0.1:{port}/v1/memory", {}, "POST", b"{}")
    return memory["pools"]["general"]["reservedBytes"]


def wait_until_idle(port):
    wait_until(lambda: not running_tasks(port), f"worker {port} without tasks")
    wait_until(lambda: reserved_bytes(port) == 0, f"worker {port} without memory")


def start_query(sql):
    """Starts a statement and waits until both workers run tasks of it; the address of its answer."""
    headers = headers_of("two", "tiny")
    url = f"http://127.0.0.1:{COORDINATOR_PORT}/v1/statement"
    answer = get_json(url, headers, "POST", sql.encode())
    while not all(running_tasks(port) for port in WORKER_PORTS):
        if "error" in answer:
            raise QueryFailed(answer["error"])
        answer = get_json(answer["nextUri"], headers)
    return answer["nextUri"]


def check_faults(workers):
    """Cancels a query; kills the second worker while a query runs."""
    wrong = []
    next_uri = start_query(LONG_QUERY)
    urllib.request.urlopen(urllib.request.Request(next_uri, method="DELETE"), timeout=60).close()
    for port in WORKER_PORTS:
        wait_until_idle(port)
    print("cancelled: no tasks and no memory are left", flush=True)

    next_uri, start = start_query(LONG_QUERY), time.time()
    workers[1].kill()
    workers[1].wait()
    answer = {"nextUri": next_uri}
    while "nextUri" in answer:
        answer = get_json(answer["nextUri"], headers_of("two", "tiny"))
    error = answer.get("error")
    if error is None or error["errorType"] not in ("INTERNAL_ERROR", "INSUFFICIENT_RESOURCES"):
        wrong.append(f"killed worker: {error}")
    else:
        print(f"killed: after {time.time() - start:.1f} s {error['errorName']}: "
              f"{error['message'].splitlines()[0]}", flush=True)
    wait_until_idle(WORKER_PORTS[0])
    wait_until(lambda: active_workers() == 1, "the coordinator without the killed worker")
    if run_query("SELECT count(*) FROM lineitem", "tiny", "one") != [[60175]]:
        wrong.append("a query after a worker was killed")
    return wrong


class Reader:
    """A client that reads a result page by page, when it is told to."""

    def __init__(self, sql):
        self.headers = headers_of("two", "tiny")
        url = f"http://127.0.0.1:{COORDINATOR_PORT}/v1/statement"
        self.answer = get_json(url, self.headers, "POST", sql.encode())
        self.rows = self.bytes = 0

    def read(self):
        """Reads the next page; whether there are more."""
        if "error" in self.answer:
            raise QueryFailed(self.answer["error"])
        for row in self.answer.get("data", []):
            self.rows += 1
            self.bytes += sum(map(len, row))
        if "nextUri" not in self.answer:
            return False
        self.answer = get_json(self.answer["nextUri"], self.headers)
        return True

    def read_until_rows(self):
        while self.rows == 0 and self.read():
            pass

    def read_all(self):
        while self.read():
            pass
        return self.rows


def tasks_of(port):
    return get_json(f"http://127.0.0.1:{port}/v1/task")


def buffered_bytes(port):
    return sum(it["outputBuffers"]["totalBufferedBytes"] for it in tasks_of(port))


def memory_of(port):
    """The bytes of the pool, of its queries and of its tasks, as a worker reports them."""
    pool = get_json(f"http://127.0.0.1:{port}/v1/memory", {}, "POST", b"{}")["pools"]["general"]
    tasks = sum(it["taskStatus"]["memoryReservationInBytes"] for it in tasks_of(port))
    return pool["reservedBytes"], sum(pool["queryMemoryReservations"].values()), tasks


def check_pressure(workers):
    """Passes 1.2 GB through buffers of 64 MB; a client that does not read stops the tasks."""
    wrong = []
    start, reader = time.time(), Reader(WIDE_QUERY)
    reader.read_until_rows()

    # Producers are blocked once the buffers of both workers are full.
    def are_full():
        return all(buffered_bytes(port) >= BUFFER_BYTES * 3 // 4 for port in WORKER_PORTS)

    wait_until(are_full, "full buffers")
    for port in WORKER_PORTS:
        def is_agreed():
            reserved, by_query, by_task = memory_of(port)
            return reserved > 0 and reserved == by_query == by_task

        wait_until(is_agreed, f"memory reports of worker {port} that agree: {memory_of(port)}")
    rows = reader.read_all()
    if rows != 60175 or reader.bytes != 60175 * 20000:
        wrong.append(f"{rows} rows of {reader.bytes} bytes")
    peaks = [task["stats"]["peakUserMemoryInBytes"] for port in WORKER_PORTS
             for task in tasks_of(port)]
    if max(peaks) > BUFFER_BYTES + FURTHER_BYTES:
        wrong.append(f"a task that held {max(peaks) >> 20} MB")
    resident = [peak_resident_bytes(it.pid) >> 20 for it in workers]
    print(f"pressure: {reader.bytes / 1e9:.2f} GB in {time.time() - start:.0f} s, peak of a task "
          f"{max(peaks) >> 20} MB, of processes {resident} MB", flush=True)
    for port in WORKER_PORTS:
        wait_until_idle(port)
    return wrong


def peak_resident_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


def check_drain(processes, restart):
    """Shuts the second worker down while a query runs; `restart` starts it again."""
    wrong, draining = [], WORKER_PORTS[1]
    reader = Reader(SHORTER_QUERY)
    reader.read_until_rows()
    wait_until(lambda: all(running_tasks(it) for it in WORKER_PORTS), "tasks on both workers")
    get_json(f"http://127.0.0.1:{draining}/v1/info/state", {"Content-Type": "application/json"},
             "PUT", b'"SHUTTING_DOWN"')
    if get_json(f"http://127.0.0.1:{draining}/v1/info/state") != "SHUTTING_DOWN":
        wrong.append("the state of a worker that shuts down")
    wait_until(lambda: active_workers() == 1, "the coordinator without the worker that shuts down")
    before = {it["taskId"] for it in tasks_of(draining)}
    if run_query("SELECT count(*) FROM lineitem", "tiny", "two") != [[60175]]:
        wrong.append("a query while a worker shuts down")
    if {it["taskId"] for it in tasks_of(draining)} != before:
        wrong.append("a worker that shuts down got a task")
    if processes[-1].poll() is not None:
        wrong.append("a worker that shuts down ended before its tasks")
    rows = reader.read_all()
    if rows != 60175:
        wrong.append(f"a query on a worker that shuts down has {rows} rows")
    wait_until(lambda: processes[-1].poll() is not None, "the end of a worker without tasks")
    if processes[-1].returncode != 0:
        wrong.append(f"a worker that shut down has status {processes[-1].returncode}")
    print(f"drained: {rows} rows, then the worker ended", flush=True)
    processes[-1] = restart()
    wait_until(lambda: active_workers() == 2, "two workers again")
    return wrong


def end(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def enter_namespace(script=HERE / "run.py"):
    """Starts the script again in a network namespace, if that is possible."""
    if os.environ.get(INSIDE_NAMESPACE):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    can_unshare = shutil.which("unshare") and shutil.which("ip") and subprocess.run(
        ["unshare", "-rn", "true"], capture_output=True).returncode == 0
    if not can_unshare:
        print("no network namespace: Presto's JMX sockets listen on all addresses")
        return
    os.environ[INSIDE_NAMESPACE] = "1"
    os.execvp("unshare", ["unshare", "-rn", sys.executable, str(script), *sys.argv[1:]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--volley", default=str(ROOT / "target" / "debug" / "volley"),
                        help="the volley command, built with --features presto")
    parser.add_argument("--queries", default="all", help="numbers of TPC-H queries, or all")
    parser.add_argument("--modes", help=f"of {', '.join(MODES)}; all but hive if not given")
    parser.add_argument("--version", default="0.296", help="the version of the coordinator")
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    parser.add_argument("--cache", type=pathlib.Path, default=cache / "volley" / "presto",
                        help="where the coordinator is kept")
    args = parser.parse_args()
    folder = args.cache.resolve() / args.version
    folder.mkdir(parents=True, exist_ok=True)
    if args.version not in DEFAULT_MODES:
        raise SystemExit(f"versions: {', '.join(DEFAULT_MODES)}")
    modes = args.modes.split(",") if args.modes else DEFAULT_MODES[args.version]
    if not set(modes) <= set(MODES):
        raise SystemExit(f"unknown modes: {args.modes}")
    has_hive = "hive" in modes
    fetch(folder, args.version, has_hive)
    enter_namespace()
    numbers = range(1, 23) if args.queries == "all" else list(map(int, args.queries.split(",")))
    volley = [args.volley, "presto-worker", "--etc"]
    processes, wrong = [], []
    try:
        processes.append(start_coordinator(folder, args.version, has_hive))
        further = catalogs(folder, has_hive)
        processes.append(start_worker(volley, folder / "worker", WORKER_PORTS[0], further))
        start = time.time()
        wait_until_ready(processes, "single" if "single" in modes else "one")
        print(f"ready after {time.time() - start:.1f} s", flush=True)
        for mode in [it for it in MODES if it in modes]:
            second = lambda: start_worker(volley, folder / "worker-2", WORKER_PORTS[1], further)
            if mode not in ("single", "one") and len(processes) == 2:
                processes.append(second())
                wait_until(lambda: active_workers() == 2, "two workers")
            if mode == "hive":
                fill_hive(args.volley, folder)
            if mode == "faults":
                wrong += check_faults(processes[1:])
                continue
            if mode == "pressure":
                wrong += check_pressure(processes[1:])
                continue
            if mode == "drain":
                wrong += check_drain(processes, second)
                continue
            ports = WORKER_PORTS[:len(processes) - 1]
            if mode == "load":
                wrong += check_load(numbers)
            else:
                wrong += check_queries(numbers, processes[1:], mode) + check_statements(mode)
                wrong += check_stages(mode, ports)
            if mode == "hive":
                for form in ("PARQUET", "ORC"):
                    wrong += check_writes(folder, form)
            for port in ports:
                wait_until_idle(port)
    finally:
        for process in processes:
            end(process)
    if wrong:
        raise SystemExit(f"wrong: {', '.join(wrong)}; logs are in {folder}")
    print("all answers are right")


if __name__ == "__main__":
    main()
