"""Statements about operators, casts, types and time zones, in groups: pairs of SQL and time zone."""

from signatures import VALUES, ROWS

UTC = "UTC"
LOS_ANGELES = "America/Los_Angeles"

GROUPS = {}

# Types whose values are shown as they are.
PLAIN = {
    "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "integer": "INTEGER",
    "bigint": "BIGINT", "real": "REAL", "double": "DOUBLE", "decimal": "DECIMAL(4, 2)",
    "long decimal": "DECIMAL(24, 2)", "varchar": "VARCHAR", "char": "CHAR(5)",
    "varbinary": "VARBINARY", "date": "DATE", "time": "TIME",
    "time with time zone": "TIME WITH TIME ZONE", "timestamp": "TIMESTAMP",
    "timestamp with time zone": "TIMESTAMP WITH TIME ZONE",
    "interval day to second": "INTERVAL DAY TO SECOND",
    "interval year to month": "INTERVAL YEAR TO MONTH", "json": "JSON", "ipaddress": "IPADDRESS",
    "ipprefix": "IPPREFIX", "uuid": "UUID",
}


def column(kind, shift=0):
    values = VALUES[kind]
    cases = " ".join(f"WHEN {it} THEN {values[(it + shift) % len(values)]}" for it in range(ROWS)
                     if values[(it + shift) % len(values)] != "NULL")
    return f"CASE n_nationkey {cases} END"


def rows(select, *columns):
    listed = ", ".join(f"{it} AS a{at}" for at, it in enumerate(columns))
    return (f"SELECT {select} FROM (SELECT n_nationkey, {listed} FROM nation "
            f"WHERE n_nationkey < {ROWS}) ORDER BY n_nationkey")


for _kind in PLAIN:
    _first, _second = column(_kind), column(_kind, 1)
    _made = [
        (rows("a0, typeof(a0), a0 IS NULL", _first), UTC),
        (rows("a0", f"ARRAY[{_first}, {_second}]"), UTC),
        (f"SELECT a0, count(*) FROM (SELECT {_first} AS a0 FROM nation) GROUP BY a0 ORDER BY 2, "
         "CAST(a0 AS VARCHAR)", UTC),
        (f"SELECT a0, row_number() OVER (ORDER BY a0, n_nationkey) FROM (SELECT n_nationkey, "
         f"{_first} AS a0 FROM nation) ORDER BY 2", UTC),
        # In Java a null is not distinct from a TIME WITH TIME ZONE.
        (rows("a0 = a1, a0 <> a1" + ("" if _kind == "time with time zone" else
                                     ", a0 IS DISTINCT FROM a1"), _first, _second), UTC),
        (rows("a0 < a1, a0 <= a1, a0 > a1, a0 >= a1, a0 BETWEEN a1 AND a0", _first, _second), UTC),
        (f"SELECT count(*) FROM (SELECT {_first} AS a FROM nation WHERE n_nationkey < 5) x JOIN "
         f"(SELECT {_second} AS b FROM nation WHERE n_nationkey < 4) y ON a = b", UTC),
    ]
    GROUPS[f"type {_kind}"] = _made

for _kind in PLAIN:
    for _other, _sql in PLAIN.items():
        if _kind != _other:
            GROUPS[f"cast {_kind} to {_other}"] = [
                (rows(f"TRY_CAST(a0 AS {_sql})", column(_kind)), UTC)]

_NUMBERS = ["tinyint", "smallint", "integer", "bigint", "real", "double", "decimal", "long decimal"]
for _kind in _NUMBERS:
    for _operator in ["+", "-", "*", "/", "%"]:
        GROUPS[f"operator {_kind} {_operator}"] = [
            (rows(f"a0 {_operator} a1, typeof(a0 {_operator} a1)", column(_kind),
                  column(_kind, 3)), UTC)]
    GROUPS[f"operator - {_kind}"] = [(rows("-a0", column(_kind)), UTC)]

GROUPS["literals"] = [
    (rows("a0 + 100, typeof(a0 + 100), a0 * 1000, a0 = 3", column(kind)), UTC)
    for kind in ["tinyint", "smallint", "integer", "bigint", "decimal"]]

for _kind in ["date", "time", "timestamp", "time with time zone", "timestamp with time zone"]:
    for _interval in ["INTERVAL '1' HOUR", "INTERVAL '1' DAY", "INTERVAL '1' MONTH"]:
        GROUPS[f"operator {_kind} + {_interval}"] = [
            (rows(f"a0 + {_interval}, a0 - {_interval}", column(_kind)), zone)
            for zone in [UTC, LOS_ANGELES]]

_CHANGE = ["TIMESTAMP '2020-03-08 01:30:00'", "TIMESTAMP '2020-11-01 00:30:00'",
           "TIMESTAMP '2020-07-01 12:00:00'"]
_TIMES = "CASE n_nationkey " + " ".join(
    f"WHEN {at} THEN {it}" for at, it in enumerate(_CHANGE)) + " END"
GROUPS["zones"] = [
    (rows(select, _TIMES), zone)
    for zone in [UTC, LOS_ANGELES, "Europe/Berlin"]
    for select in [
        "a0, a0 + INTERVAL '1' HOUR, a0 + INTERVAL '1' DAY, a0 - INTERVAL '90' MINUTE",
        "date_add('hour', 1, a0), date_add('day', 1, a0), date_add('month', 5, a0)",
        "date_diff('hour', a0, a0 + INTERVAL '12' HOUR), date_diff('day', a0, a0 + INTERVAL '25' HOUR)",
        "CAST(a0 AS TIMESTAMP WITH TIME ZONE), CAST(a0 AS DATE), CAST(a0 AS VARCHAR)",
        "to_unixtime(a0), hour(a0), date_trunc('day', a0)",
        "a0 AT TIME ZONE 'Asia/Tokyo', timezone_hour(a0 AT TIME ZONE 'Asia/Tokyo')",
        "from_unixtime(to_unixtime(a0)), format_datetime(a0, 'yyyy-MM-dd HH:mm ZZ')",
        "CAST(CAST(a0 AS DATE) AS TIMESTAMP), current_timezone()",
    ]]

GROUPS["zones that are offsets"] = [
    (rows("a0, hour(a0), CAST(a0 AS TIMESTAMP WITH TIME ZONE)", _TIMES), "+05:30")]

GROUPS["try"] = [
    (rows("TRY(10 / (a0 - 3)), TRY_CAST('x' || CAST(a0 AS VARCHAR) AS BIGINT)", column("bigint")), UTC),
    (rows("COALESCE(a0, 7), NULLIF(a0, 3), IF(a0 > 2, 'y', 'n')", column("bigint")), UTC),
    (rows("a0 LIKE '%l%', a0 LIKE 'h_llo%' , a0 || 'x'", column("varchar")), UTC),
    (rows("a0 IN (3, 12, NULL), a0 NOT IN (3)", column("bigint")), UTC),
]

GROUPS["errors"] = [
    (rows(select, column(kind)), UTC) for kind, select in [
        ("bigint", "10 / (a0 - 3)"), ("bigint", "10 % (a0 - 3)"), ("double", "10 / (a0 - 0.25)"),
        ("bigint", "a0 * 9223372036854775807"), ("tinyint", "CAST(a0 + 200 AS TINYINT)"),
        ("varchar", "CAST(a0 AS BIGINT)"), ("varchar", "CAST(a0 AS DATE)"),
        ("bigint", "ARRAY[1, 2][a0]"), ("bigint", "MAP(ARRAY[1], ARRAY[2])[a0]"),
        ("varchar", "json_parse(a0)"), ("varchar", "from_hex(a0)"), ("varchar", "date_parse(a0, '%Y')"),
        ("bigint", "repeat(1, CAST(a0 * 100000 AS INTEGER))"), ("bigint", "chr(a0 - 100)"),
        ("varchar", "regexp_extract(a0, 'l', 7)"), ("double", "CAST(a0 * 1e300 AS BIGINT)"),
        ("bigint", "fail('sorry')"), ("decimal", "CAST(a0 AS DECIMAL(2, 2))"),
        ("long decimal", "a0 * a0 * a0"), ("varchar", "bar(0.5, -1)"),
        ("bigint", "MAP(ARRAY[a0, a0], ARRAY[1, 2])"), ("bigint", "(SELECT n_name FROM nation)"),
        ("bigint", "width_bucket(a0, 1, 2, 0)"), ("bigint", "from_base('z', 10)"),
        ("varchar", "split_part(a0, ',', 0)"), ("bigint", "sequence(1, 10000000)"),
    ]]

# More values than sketches hold as they are.
GROUPS["sketches of many values"] = [(f"SELECT {it} FROM lineitem", UTC) for it in [
    "to_hex(sketch_theta(l_orderkey)), sketch_theta_summary(sketch_theta(l_orderkey))",
    "sketch_theta_summary(sketch_theta(l_comment)), to_hex(sketch_theta(l_shipdate))",
    "to_hex(CAST(noisy_approx_set_sfm(l_orderkey, infinity()) AS VARBINARY))",
    "noisy_approx_distinct_sfm(l_orderkey, infinity()), "
    "noisy_approx_distinct_sfm(l_comment, infinity(), 1024, 32)",
    "abs(noisy_approx_distinct_sfm(l_orderkey, 4) - 15000) < 1500",
]]
