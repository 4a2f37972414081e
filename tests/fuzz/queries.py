"""Random queries: joins, LATERAL, UNNEST, series, subqueries, aggregates, set operations, WITH
(RECURSIVE), ASOF and range joins, DISTINCT, ORDER BY, LIMIT."""

import re

from expressions import COMPARABLE, COMPARISONS, TYPES, Expressions, Scope, type_of
from tree import Listing, Node

JOINS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "SEMI JOIN", "ANTI JOIN"]
AGGREGATES = [
    ("big", "count(*)", None), ("big", "count({})", "any"), ("big", "count(DISTINCT {})", "any"),
    ("sum", "sum({})", "int"), ("sum", "sum({})", "big"), ("sum", "sum({})", "edge"), ("sum", "sum(DISTINCT {})", "int"), ("sum", "sum({})", "decimal"), ("double", "sum({})", "double"),
    ("double", "avg({})", "int"), ("double", "avg({})", "decimal"), ("double", "var_pop({})", "int"), ("double", "stddev({})", "int"),
    ("same", "min({})", "any"), ("same", "max({})", "any"), ("bool", "bool_and({})", "bool"), ("bool", "bool_or({})", "bool"),
    ("int", "mode({0} ORDER BY {0})", "int"), ("text", "mode({0} ORDER BY {0} DESC)", "text"), ("int", "mode() WITHIN GROUP (ORDER BY {0} DESC)", "int"),
    ("double", "quantile_cont({0}, 0.25 ORDER BY {0} DESC)", "int"), ("int", "quantile_disc({0}, 0.75 ORDER BY {0} DESC)", "int"), ("text", "quantile_disc({0}, 0.25 ORDER BY {0})", "text"),
    ("int", "arg_max({0}, 1 ORDER BY {0} DESC)", "int"), ("text", "arg_min({0}, 1, 2 ORDER BY {0})::VARCHAR", "int"), ("int", "first({0} ORDER BY {0} DESC)", "int"),
    ("text", "string_agg({0}, ',' ORDER BY {0})", "text"), ("text", "string_agg(DISTINCT {0}, ',' ORDER BY {0} DESC)", "text"),
]


def last(text):
    """The name of a column without its table."""
    return text.rpartition(".")[2]


class Queries:
    def __init__(self, rng, tables):
        self.rng, self.tables, self.names = rng, tables, 0
        self.expressions = Expressions(rng, self.subquery)

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def query(self, types, depth, outer=None):
        """A query with one column, c0 and on, of each of the types."""
        roll = self.rng.random()
        if depth > 1 and roll < 0.15:
            operator = self.rng.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
            left, right = self.query(types, depth - 1, outer), self.query(types, depth - 1, outer)
            return Node("query", "(", left, f") {operator} (", right, ")")
        if depth > 1 and roll < 0.22 and outer is None:
            name = self.name("w")
            inner_types = self.rng.choices(TYPES, k=3)
            inner = self.query(inner_types, depth - 1)
            columns = ", ".join(f"c{at}" for at in range(3))
            self.tables.append((name, [(f"c{at}", kind) for at, kind in enumerate(inner_types)]))
            body = self.select(types, depth - 1, None)
            self.tables.pop()
            return Node("query", f"WITH {name}({columns}) AS (", inner, ") ", body)
        if depth > 1 and roll < 0.27 and outer is None:
            return self.recursive(types, depth)
        return self.select(types, depth, outer)

    def recursive(self, types, depth):
        """A query over a recursion of a few steps; types are cast, as DuckDB casts the step's to the anchor's."""
        name, union = self.name("r"), self.rng.choice(["UNION", "UNION ALL"])
        table, columns = self.rng.choice(self.tables)
        anchor = Expressions(self.rng, lambda *_: None)
        scope = Scope([(f"{table}.{column}", type_of(kind)) for column, kind in columns])
        kinds = ["int", self.rng.choice(["text", "date", "bool", "int"])]
        casts = {"int": "INTEGER", "text": "VARCHAR", "date": "DATE", "bool": "BOOLEAN"}
        make = lambda kind, scope: Node("item", "CAST(", anchor.make(kind, scope, 1), f" AS {casts[kind]})")
        own = [(f"{name}.c{at}", kind) for at, kind in enumerate(kinds)]
        join, seen, other = "", Scope(own), self.name("x")
        sides = [(f"{other}.{column}", type_of(kind)) for column, kind in columns]
        equal = [text for text, kind in sides if kind == "int"]
        if equal and self.rng.random() < 0.5:
            kind = self.rng.choice(["JOIN", "LEFT JOIN", "SEMI JOIN", "ANTI JOIN"])
            join = f" {kind} (SELECT DISTINCT * FROM {table}) AS {other} ON {name}.c0 = {equal[0]}"
            seen = Scope(own + sides) if kind in ("JOIN", "LEFT JOIN") else seen
        step = ["SELECT ", make(kinds[0], seen), " AS c0, ", make(kinds[1], seen), f" AS c1, depth + 1 FROM {name}{join} WHERE depth < {self.rng.randint(1, 3)} AND {name}.c0 IS NOT NULL"]
        start = ["SELECT ", make(kinds[0], scope), " AS c0, ", make(kinds[1], scope), f" AS c1, 0 AS depth FROM {table}"]
        self.tables.append((name, [("c0", "int"), ("c1", kinds[1]), ("depth", "int")]))
        body = self.select(types, depth - 1, None)
        self.tables.pop()
        return Node("query", f"WITH RECURSIVE {name}(c0, c1, depth) AS (", *start, f" {union} ", *step, ") ", body)

    def asof(self, left):
        """An ASOF join with distinct rows of a table, of which no two are equally near; None without columns to compare."""
        table, columns = self.rng.choice(self.tables)
        by_type = {}
        for column, kind in columns:
            by_type.setdefault(type_of(kind), []).append(column)
        ordered = [(text, kind) for text, kind in left if kind in ("int", "date", "time", "decimal") and kind in by_type]
        if not ordered:
            return None
        text, kind = self.rng.choice(ordered)
        near = self.rng.choice(by_type[kind])
        keys = [(key, other) for key, other in left if other in ("int", "text", "bool") and other in by_type]
        alias, chosen, conditions = self.name("x"), [near], []
        if keys and self.rng.random() < 0.6:
            key, other = self.rng.choice(keys)
            equal = self.rng.choice(by_type[other])
            if equal != near:
                chosen.append(equal)
                conditions.append(f"{key} = {alias}.{equal}")
        conditions.append(f"{text} {self.rng.choice(['<', '<=', '>', '>='])} {alias}.{near}")
        join = self.rng.choice(["ASOF JOIN", "ASOF LEFT JOIN"])
        node = Node("join", f" {join} (SELECT DISTINCT {', '.join(chosen)} FROM {table}) AS {alias} ON {' AND '.join(conditions)}", optional=True)
        kinds = dict((column, type_of(kind)) for column, kind in columns)
        return node, [(f"{alias}.{column}", kinds[column]) for column in chosen]

    def sources(self, depth, outer):
        """FROM: returns (node, scope)."""
        count = self.rng.choice([1, 1, 2, 2, 3]) if depth > 0 else 1
        node, columns = self.source(depth)
        parts = [node]
        for at in range(1, count):
            if self.rng.random() < 0.2:
                right, more = self.lateral(columns, depth, outer)
                kind, condition = self.rng.choice([("CROSS JOIN", ""), ("LEFT JOIN", " ON TRUE"), ("LEFT JOIN", None), ("JOIN", None)])
                if condition is None:
                    condition = Node("on", " ON ", self.condition(columns, more, depth))
                parts.append(Node("join", f" {kind} ", right, condition, optional=True))
                columns = columns + more
                continue
            near = self.asof(columns) if self.rng.random() < 0.08 else None
            if near and all("." in text for text, _ in columns):
                parts.append(near[0])
                columns = columns + near[1]
                continue
            right, more = self.source(depth)
            join = self.rng.choice(JOINS)
            shared, common = self.shared(columns, more), self.common(columns, more)
            merged = any("." not in text for text, _ in columns)
            if merged and shared != common:
                # A merged column beside another one of its name could not be named.
                break
            if shared and (merged or self.rng.random() < 0.3):
                join = join if join != "CROSS JOIN" else "JOIN"
                names = ", ".join(sorted(shared))
                natural = self.rng.random() < 0.3 and join not in ("SEMI JOIN", "ANTI JOIN") and shared == common
                text = (f" NATURAL {join} ", right, "") if natural else (f" {join} ", right, f" USING ({names})")
                parts.append(Node("join", *text, optional=True))
                columns = self.using(join, columns, more, shared)
                continue
            condition = Node("on", "") if join == "CROSS JOIN" else Node("on", " ON ", self.condition(columns, more, depth))
            parts.append(Node("join", f" {join} ", right, condition, optional=True))
            columns = columns if join in ("SEMI JOIN", "ANTI JOIN") else columns + more
        return Node("from", *parts), Scope(columns, outer)

    def common(self, left, right):
        """Names that both sides have."""
        return {last(text) for text, _ in left} & {last(text) for text, _ in right}

    def shared(self, left, right):
        """Names for USING: each once on both sides, with one type."""
        names = set()
        for name in self.common(left, right):
            here = [kind for text, kind in left if last(text) == name]
            there = [kind for text, kind in right if last(text) == name]
            if len(here) == len(there) == 1 and here == there:
                names.add(name)
        return names

    def using(self, join, left, right, shared):
        """The columns after USING: merged ones have no qualifier, and those of both sides stay in sight."""
        if join in ("SEMI JOIN", "ANTI JOIN"):
            return left
        merged = [(last(text), kind) for text, kind in left if last(text) in shared]
        rest = [(text, kind) for text, kind in left + right if last(text) not in shared]
        return merged + rest

    def source(self, depth):
        """A table or a derived table: returns (node, columns)."""
        alias = self.name("x")
        if depth > 1 and self.rng.random() < 0.2:
            types = self.rng.choices(TYPES, k=self.rng.randint(1, 3))
            names = ", ".join(f"c{at}" for at in range(len(types)))
            node = Node("source", "(", self.query(types, depth - 1), f") AS {alias}({names})")
            return node, [(f"{alias}.c{at}", kind) for at, kind in enumerate(types)]
        name, columns = self.rng.choice(self.tables)
        return Node("source", f"{name} AS {alias}"), [(f"{alias}.{column}", type_of(kind)) for column, kind in columns]

    def lateral(self, columns, depth, outer):
        """What is made of each row to its left: returns (node, columns)."""
        alias, plain = self.name("x"), Expressions(self.rng, lambda *_: None)
        scope = Scope(columns)
        roll = self.rng.random()
        if roll < 0.3:
            kind = self.rng.choice(TYPES)
            return Node("lateral", "UNNEST(", self.elements(kind, plain, scope), f") AS {alias}(c0)"), [(f"{alias}.c0", kind)]
        if roll < 0.45:
            end = Node("item", "(abs(", plain.make("int", scope, 0), ") % 5)")
            call = self.rng.choice(["range(", "generate_series(1, ", "generate_series(2, "])
            return Node("lateral", call, end, f") AS {alias}(c0)"), [(f"{alias}.c0", "big")]
        if roll < 0.75:
            # The first rows of each group.
            inner = self.name("x")
            name, own = self.rng.choice(self.tables)
            own = [(f"{inner}.{column}", type_of(kind)) for column, kind in own]
            order = ", ".join(f"{text}{self.rng.choice(['', ' DESC', ' NULLS FIRST'])}" for text, _ in own)
            names = ", ".join(f"c{at}" for at in range(len(own)))
            where = Node("where", " WHERE ", self.condition(own, columns, depth), optional=True)
            offset = self.rng.choice(["", "", " OFFSET 1"])
            limit = f" ORDER BY {order} LIMIT {self.rng.choice([1, 1, 2, 3])}{offset}"
            items = ", ".join(text for text, _ in own)
            node = Node("lateral", f"LATERAL (SELECT {items} FROM {name} AS {inner}", where, limit, f") AS {alias}({names})")
            return node, [(f"{alias}.c{at}", kind) for at, (_, kind) in enumerate(own)]
        types = self.rng.choices(TYPES, k=self.rng.randint(1, 2))
        names = ", ".join(f"c{at}" for at in range(len(types)))
        query = self.query(types, depth - 1, Scope(columns, outer))
        return Node("lateral", "LATERAL (", query, f") AS {alias}({names})"), [(f"{alias}.c{at}", kind) for at, kind in enumerate(types)]

    def elements(self, kind, plain, scope):
        """A list of values of a type, or none."""
        values = [plain.make(kind, scope, self.rng.choice([0, 0, 1])) for _ in range(self.rng.choice([1, 2, 3]))]
        listed = Node("list", "[", Listing("items", values), "]")
        if self.rng.random() < 0.3:
            return Node("list", "CASE WHEN ", plain.make("bool", scope, 1), " THEN ", listed, " END")
        return listed

    def condition(self, left, right, depth):
        """What a join asks: mostly an equality of two columns, and sometimes more."""
        pairs = [(a, b, kind) for a, kind in left for b, other in right if kind == other]
        both = Scope(left + right)
        plain = Expressions(self.rng, lambda *_: None)
        if not pairs or self.rng.random() < 0.1:
            return plain.make("bool", both, 2)
        a, b, _ = self.rng.choice(pairs)
        if self.rng.random() < 0.12:
            # A range: by sorted rows instead of pairs.
            c, d, _ = self.rng.choice(pairs)
            first, second = (self.rng.choice(["<", "<=", ">", ">="]) for _ in range(2))
            return Node("bool", f"({a} {first} {b} AND {c} {second} {d})")
        comparison = "=" if self.rng.random() < 0.8 else self.rng.choice(COMPARISONS)
        equality = Node("bool", f"({a} {comparison} {b})")
        if self.rng.random() < 0.7:
            return equality
        return Node("bool", "(", equality, self.rng.choice([" AND ", " AND ", " OR "]), plain.make("bool", both, 2), ")")

    def select(self, types, depth, outer):
        source, scope = self.sources(depth - 1, outer)
        where = Node("where", "")
        if self.rng.random() < 0.6:
            where = Node("where", " WHERE ", self.expressions.make("bool", scope, min(depth, 3)), optional=True)
        if self.rng.random() < 0.35:
            return self.grouped(types, depth, source, scope, where)
        items = [Node("item", self.expressions.make(kind, scope, min(depth, 3)), f" AS c{at}") for at, kind in enumerate(types)]
        if self.rng.random() < 0.05:
            at = self.rng.randrange(len(types))
            plain = Expressions(self.rng, lambda *_: None)
            items[at] = Node("item", "unnest(", self.elements(types[at], plain, Scope(scope.columns)), f") AS c{at}")
        if self.rng.random() < 0.06:
            # The order is by all columns, so that the first row of each value is determined.
            order = ", ".join(str(at + 1) for at in range(len(types)))
            return Node("query", "SELECT DISTINCT ON (1) ", Listing("items", items), " FROM ", source, where, f" ORDER BY {order}")
        distinct = Node("distinct", "DISTINCT ", optional=True) if self.rng.random() < 0.15 else Node("distinct", "")
        parts = ["SELECT ", distinct, Listing("items", items), " FROM ", source, where]
        return Node("query", *parts, self.limit(len(types)))

    def limit(self, columns):
        """ORDER BY all columns and LIMIT, so that the rows are determined."""
        if self.rng.random() > 0.12:
            return Node("limit", "")
        order = ", ".join(f"{at + 1}{self.rng.choice(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'])}" for at in range(columns))
        offset = self.rng.choice(["", " OFFSET 1"])
        return Node("limit", f" ORDER BY {order} LIMIT {self.rng.choice([0, 1, 3, 10])}{offset}", optional=True)

    def grouped(self, types, depth, source, scope, where):
        plain = Expressions(self.rng, lambda *_: None)
        inner = Scope(scope.columns)
        keys = [plain.make(self.rng.choice(TYPES), inner, self.rng.choice([0, 0, 1])) for _ in range(self.rng.choice([0, 1, 1, 2]))]
        names = {text for text, _ in scope.columns}
        keys = [key for key in keys if "." in str(key) or str(key) in names]
        group = Node("group", " GROUP BY ", ", ".join(map(str, keys))) if keys else Node("group", "")
        key_scope = Scope([(str(key), key.tag) for key in keys], scope.outer)
        items = []
        for at, kind in enumerate(types):
            if self.rng.random() < 0.4 and key_scope.of_type(kind):
                item = Node(kind, self.rng.choice(key_scope.of_type(kind)))
            else:
                item = self.aggregate(kind, plain, inner)
            items.append(Node("item", item, f" AS c{at}"))
        if keys and self.rng.random() < 0.2:
            # All that is not an aggregate is a key then, unless another key is not in the list.
            # DuckDB does not group by constants alone.
            texts = {str(item) for item in items}
            has_column = any(re.search(r"\bx\d+\.", str(key)) for key in keys)
            if has_column and all(f"{key} AS c{at}" in texts for at, key in enumerate(keys)):
                group = Node("group", " GROUP BY ALL")
        if keys and self.rng.random() < 0.35:
            group = self.grouping_sets([str(key) for key in keys])
            levels = [at for at, kind in enumerate(types) if kind == "big"]
            for at in levels[:1]:
                arguments = ", ".join(self.rng.sample([str(key) for key in keys], self.rng.randint(1, len(keys))))
                items[at] = Node("item", Node("big", f"grouping({arguments})"), f" AS c{at}")
        having = Node("having", "")
        if self.rng.random() < 0.3:
            having = Node("having", " HAVING ", "(", self.aggregate("big", plain, inner), " > 1)", optional=True)
        return Node("query", "SELECT ", Listing("items", items), " FROM ", source, where, group, having, self.limit(len(types)))

    def grouping_sets(self, keys):
        """GROUP BY with several grouping sets of all of these keys."""
        both, first = ", ".join(keys), keys[0]
        forms = [f"ROLLUP ({both})", f"CUBE ({both})", f"GROUPING SETS (({both}), ())", f"GROUPING SETS (({both}), ({first}), ({first}))"]
        forms += [f"{first}, ROLLUP ({both})", f"GROUPING SETS (ROLLUP ({both}), ({first}))", f"ROLLUP (({both}))"]
        return Node("group", f" GROUP BY {self.rng.choice(forms)}")

    def aggregate(self, wanted, plain, scope):
        """An aggregate of a type that is, or casts without loss to, the wanted one."""
        fitting = [it for it in AGGREGATES if it[0] == wanted or it[0] == "same" or (it[0] == "sum" and it[2] == wanted)]
        kind, template, argument = self.rng.choice(fitting)
        if argument == "any":
            argument = wanted if kind == "same" else self.rng.choice(COMPARABLE)
        node = plain.make(argument, scope, self.rng.choice([0, 0, 1])) if argument else ""
        if argument == "text" and str(node).startswith("'"):
            # DuckDB rejects ORDER BY of a literal.
            node = f"concat({node}, '')"
        if template.startswith("mode") and "." not in str(node):
            # DuckDB does not order texts that are constant.
            template = "max({})"
        if argument == "int" and "ORDER BY" in template:
            node = f"({node} + 0)"
        text = template.replace("{0}", str(node)).replace("{}", str(node))
        if self.rng.random() < 0.2:
            text += f" FILTER (WHERE {plain.make('bool', scope, 1)})"
        return Node(wanted, text)

    def subquery(self, wanted, scope, depth):
        """An expression with a subquery that may use the columns around it."""
        if depth < 1:
            return None
        outer = Scope(scope.columns, scope.outer) if self.rng.random() < 0.7 else None
        if wanted != "bool" or self.rng.random() < 0.2:
            source, inner = self.sources(depth - 1, outer)
            where = Node("where", " WHERE ", self.expressions.make("bool", inner, depth - 1), optional=True)
            plain = Expressions(self.rng, lambda *_: None)
            item = self.aggregate(wanted, plain, Scope(inner.columns))
            return Node(wanted, "(SELECT ", item, " FROM ", source, where, ")")
        negation = self.rng.choice(["", "", "NOT "])
        if self.rng.random() < 0.5:
            query = self.query(self.rng.choices(TYPES, k=1), depth - 1, outer)
            # EXISTS over aggregates, and with an offset, is where patterns go wrong.
            offset = self.rng.choice(["", "", "", " OFFSET 1", " LIMIT 1 OFFSET 1", " LIMIT 0"])
            if offset and " LIMIT " not in str(query)[-60:]:
                query = Node("query", "SELECT * FROM (", query, f") AS {self.name('x')}(c0){offset}")
            return Node("bool", f"{negation}EXISTS (", query, ")")
        kind = self.rng.choice(TYPES)
        if self.rng.random() < 0.15:
            # DuckDB does not correlate rows.
            other = self.rng.choice(TYPES)
            left = [self.expressions.make(it, scope, 1) for it in (kind, other)]
            return Node("bool", "((", left[0], ", ", left[1], f") {negation}IN (", self.query([kind, other], depth - 1), "))")
        if self.rng.random() < 0.2:
            operator = self.rng.choice(["= ANY", "<> ALL", "<> ANY", "= ALL", "< ANY", ">= ALL"])
            # In parentheses of its own, a set operation after ANY is not understood yet.
            query = Node("query", "SELECT * FROM (", self.query([kind], depth - 1, outer), f") AS {self.name('x')}(c0)")
            return Node("bool", "(", self.expressions.make(kind, scope, 1), f" {operator} (", query, "))")
        return Node("bool", "(", self.expressions.make(kind, scope, 1), f" {negation}IN (", self.query([kind], depth - 1, outer), "))")
