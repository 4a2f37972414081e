"""Random expressions of a given type over the columns in scope.

Types are `int`, `big`, `double`, `decimal`, `text`, `bool`, `date` and `time`; a column's kind
maps to one of them. Expressions avoid what may fail for some value (overflow, division by zero),
since then the answer depends on the order of evaluation.
"""

from tree import Node

TYPE_OF_KIND = {"tiny": "int", "edge": "edge", "real": "double"}
TYPES = ["int", "big", "double", "decimal", "text", "bool", "date", "time"]
COMPARABLE = [*TYPES, "edge"]
LITERALS = {
    "int": ["0", "1", "2", "3", "-1", "5"],
    "big": ["0::BIGINT", "10::BIGINT", "2::BIGINT"],
    "edge": ["9223372036854775807", "(-9223372036854775808)::BIGINT", "0"],
    "double": ["0.0::DOUBLE", "1.5::DOUBLE", "'nan'::DOUBLE", "-2.25::DOUBLE"],
    "decimal": ["1.00", "1.5", "0.01", "-2.25"],
    "text": ["'a'", "'b'", "''", "'ab'", "'日本'"],
    "bool": ["TRUE", "FALSE", "NULL::BOOLEAN"],
    "date": ["DATE '2020-01-01'", "DATE '2020-02-29'"],
    "time": ["TIMESTAMP '2020-01-01 00:00:00'", "TIMESTAMP '2020-01-31 12:30:00'"],
}
# Each shape is a template whose {type} holes are filled with expressions of that type.
SHAPES = {
    "int": [
        "({int} + {int})", "({int} - {int})", "({int} * 2)", "({int} // 3)", "({int} % 4)", "(- {int})", "abs({int})",
        "sign({double})", "length({text})", "year({date})", "month({date})", "extract(day FROM {date})::BIGINT",
        "date_diff('day', {date}, {date})", "({bool})::INTEGER", "greatest({int}, {int})", "least({int}, {int})",
        "nullif({int}, {int})", "coalesce({int}, {int})", "CASE WHEN {bool} THEN {int} ELSE {int} END",
        "CASE {int} WHEN {int} THEN {int} END", "position({text} IN {text})", "TRY_CAST({text} AS INTEGER)", "mod({int}, 3)", "date_diff('month', {date}, {date})", "extract(quarter FROM {time})::BIGINT", "extract(doy FROM {date})::BIGINT", "TRY_CAST({double} AS INTEGER)", "round({int}, -1)", "CASE WHEN {bool} THEN {int} WHEN {bool} THEN NULL ELSE {int} END", "len([x + 1 FOR x IN [{int}, {int}, {int}] IF x <> 2])",
    ],
    "big": ["({big} + {int})", "({int} + {big})", "({big} - {big})", "({big} * 3)", "coalesce({big}, {int})", "({int})::BIGINT", "CASE WHEN {bool} THEN {big} END", "({big} // 7)"],
    "double": [
        "({double} + {double})", "({double} - {double})", "({double} * 2)", "({double} * {double})", "({int} / 4)", "({double} / 2)", "(- {double})",
        "abs({double})", "floor({double})", "ceil({double})", "round({double})", "sqrt(abs({int}))", "({int})::DOUBLE", "({decimal})::DOUBLE",
        "coalesce({double}, {double})", "CASE WHEN {bool} THEN {double} ELSE {double} END", "greatest({double}, {double})", "nullif({double}, {double})", "({int} / {int})",
    ],
    "decimal": ["({decimal} + {decimal})", "({decimal} - {decimal})", "({decimal} * 0.5)", "(- {decimal})", "abs({decimal})", "round({decimal}, 1)", "coalesce({decimal}, {decimal})", "CASE WHEN {bool} THEN {decimal} ELSE {decimal} END", "({decimal} + {int})", "floor({decimal})", "({int})::DECIMAL(12,2)", "greatest({decimal}, {decimal})", "nullif({decimal}, {int})", "TRY_CAST({text} AS DECIMAL(12,2))", "({decimal} % 2)", "ceil({decimal})"],
    "text": [
        "upper({text})", "lower({text})", "({text} || {text})", "substring({text}, 1, 2)", "substring({text}, {int}::INTEGER, 2)", "trim({text})",
        "replace({text}, 'a', 'x')", "concat({text}, {text})", "concat({text}, {int})", "lpad({text}, 3, '*')", "rpad({text}, 4, 'ä')", "reverse({text})", "({int})::VARCHAR",
        "coalesce({text}, {text})", "nullif({text}, {text})", "CASE WHEN {bool} THEN {text} ELSE {text} END", "greatest({text}, {text})",
        "split_part({text}, ' ', 2)", "left({text}, 2)", "right({text}, {int}::INTEGER)", "concat_ws('-', {text}, {int}, {text})", "({text} || {int})", "trim({text}, 'aä')", "CASE {int} WHEN {int} THEN {text} WHEN NULL THEN 'n' ELSE {text} END", "({date})::VARCHAR", "({decimal})::VARCHAR", "({bool})::VARCHAR", "regexp_replace({text}, 'a+', '-')", "regexp_extract({text}, '[a-z]+')", "({text})[2]", "array_to_string(['b', {text}, {text}], '-')", "(('[' || {int} || ']') ->> 0)",
    ],
    "bool": [
        "({bool} AND {bool})", "({bool} OR {bool})", "(NOT {bool})", "({bool} IS NULL)", "({bool} IS NOT TRUE)", "({bool} IS FALSE)",
        "({text} LIKE 'a%')", "({text} LIKE '%!%%' ESCAPE '!')", "({text} LIKE '日_')", "({text} NOT ILIKE '%Ä%')", "({int} IN ({int}, {int}, {int}))", "({int} NOT IN ({int}, NULL, {int}))", "({bool} IS NOT FALSE)", "({date} BETWEEN {date} AND {time})", "({bool} <> {bool})", "({text} LIKE '%b%')", "({text} ILIKE '_B%')", "({text} NOT LIKE {text})", "starts_with({text}, {text})", "regexp_like({text}, '^a')", "({int} IN [{int}, {int}])",
        "CASE WHEN {bool} THEN {bool} ELSE {bool} END", "coalesce({bool}, {bool})", "({bool} = {bool})", "({int} = {double})", "({int} < {decimal})", "({decimal} >= {double})", "({big} = {int})", "({date} < {time})",
    ],
    "date": ["({date} + {int}::INTEGER)", "({date} - 30)", "({time})::DATE", "coalesce({date}, {date})", "CASE WHEN {bool} THEN {date} END", "greatest({date}, {date})", "least({date}, {date})"],
    "time": ["({date} + INTERVAL '1' MONTH)", "({time} - INTERVAL '36' HOUR)", "date_trunc('month', {time})", "date_trunc('hour', {time})", "({date})::TIMESTAMP", "coalesce({time}, {time})", "({date} - INTERVAL '1' YEAR)", "({time} + INTERVAL '1 month 3 days')", "({date} + {int} * INTERVAL '1' DAY)", "date_trunc('week', {date})::TIMESTAMP", "greatest({time}, {date}::TIMESTAMP)", "TRY_CAST({text} AS TIMESTAMP)"],
}
# Casts at the borders of types: numbers around the limits of the narrow ones.
for name, digits, factor in [("TINYINT", 3, 64), ("SMALLINT", 5, 16384), ("INTEGER", 10, 1073741824), ("BIGINT", 19, 4611686018427387904)]:
    SHAPES["int"].append(f"(TRY_CAST(TRY_CAST({{int}}::HUGEINT * {factor} AS DECIMAL({digits},0)) AS {name}) % 100)")
    SHAPES["int"].append(f"(TRY_CAST(TRY_CAST({{int}}::HUGEINT * {factor} + {{int}} AS DECIMAL({digits + 2},1)) AS {name}) % 100)")
# Slices with steps, and with ends that are left out.
for stop, step in [("{int}", "2"), ("{int}", "-2"), ("-", "-1"), ("{int}", "(CASE WHEN {bool} THEN 2 ELSE -1 END)"), ("-", "(CASE WHEN {bool} THEN 3 ELSE -2 END)")]:
    SHAPES["int"].append(f"len(([1, 2, 3, 4, 5])[:{stop}:{step}])")
    SHAPES["int"].append(f"list_sum(([1, 2, 3, 4, 5])[{{int}}:{stop}:{step}])::BIGINT")
# Intervals in all units.
for unit in ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "DECADE", "CENTURY"]:
    plural = "CENTURIES" if unit == "CENTURY" else unit + "S"
    SHAPES["time"] += [f"({{time}} + INTERVAL '2' {plural})", f"({{date}} + INTERVAL 1 {unit})", f"({{time}} + INTERVAL (1 + 1) {plural})"]
# A volatile operand has one value: the first is always true, the second never.
SHAPES["bool"] += ["((random() * 10)::INTEGER BETWEEN 0 AND 10)", "((random() * 10)::INTEGER BETWEEN 6 AND 5)"]
COMPARISONS = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]


def type_of(kind):
    return TYPE_OF_KIND.get(kind, kind)


class Scope:
    """The columns that an expression may use: (text, type); `outer` is the scope around."""

    def __init__(self, columns, outer=None):
        self.columns, self.outer = columns, outer

    def of_type(self, wanted):
        return [text for text, kind in self.columns if kind == wanted]


class Expressions:
    """`subquery(type, scope, depth)` gives an expression with a subquery, or None."""

    def __init__(self, rng, subquery):
        self.rng, self.subquery = rng, subquery

    def leaf(self, wanted, scope):
        choices = scope.of_type(wanted)
        outer = scope.outer
        if outer and (not choices or self.rng.random() < 0.25):
            choices = outer.of_type(wanted) or choices
        if choices and self.rng.random() < 0.85:
            return Node(wanted, self.rng.choice(choices))
        return Node(wanted, self.rng.choice(LITERALS[wanted]))

    def make(self, wanted, scope, depth):
        if depth <= 0 or wanted == "edge" or self.rng.random() < 0.25:
            return self.leaf(wanted, scope)
        if self.rng.random() < 0.12 and (node := self.subquery(wanted, scope, depth)):
            return node
        if wanted == "bool" and self.rng.random() < 0.6:
            return self.predicate(scope, depth)
        return self.fill(wanted, self.rng.choice(SHAPES[wanted]), scope, depth)

    def fill(self, tag, template, scope, depth):
        parts, rest = [], template
        while "{" in rest:
            before, _, rest = rest.partition("{")
            name, _, rest = rest.partition("}")
            parts += [before, self.make(name, scope, depth - 1)]
        return Node(tag, *parts, rest)

    def predicate(self, scope, depth):
        present = [kind for _, kind in scope.columns] or TYPES
        wanted = self.rng.choice(present)
        a, b, c = (self.make(wanted, scope, depth - 1) for _ in range(3))
        shape = self.rng.random()
        if shape < 0.6:
            return Node("bool", "(", a, f" {self.rng.choice(COMPARISONS)} ", b, ")")
        if shape < 0.7:
            return Node("bool", "(", a, self.rng.choice([" IS NULL", " IS NOT NULL"]), ")")
        negation = self.rng.choice(["", "NOT "])
        if shape < 0.75:
            return self.rows(wanted, a, scope, depth, negation)
        if shape < 0.85:
            items = ", ".join(self.rng.sample(LITERALS[wanted], 2)) + self.rng.choice(["", "", ", NULL"])
            return Node("bool", "(", a, f" {negation}IN ({items}, ", b, "))")
        return Node("bool", "(", a, f" {negation}BETWEEN ", b, " AND ", c, ")")

    def rows(self, wanted, left, scope, depth, negation):
        """Rows of two values in a list. DuckDB takes nulls in rows for equal, so there are none."""
        other = self.rng.choice(TYPES)
        right = self.make(other, scope, depth - 1)
        literals = [[text for text in LITERALS[kind] if "NULL" not in text] for kind in (wanted, other)]
        rows = ", ".join(f"({self.rng.choice(literals[0])}, {self.rng.choice(literals[1])})" for _ in range(self.rng.choice([1, 2, 3])))
        first, second = (f"coalesce({node}, {texts[0]})" for node, texts in zip((left, right), literals))
        return Node("bool", f"(({first}, {second}) {negation}IN ({rows}))")
