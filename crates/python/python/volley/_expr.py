"""Expressions, named as in Polars. They become SQL, and mean what it means."""

from __future__ import annotations

from . import _volley

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from ._func import Call
    from .selectors import Selector

    IntoExpr = "Expr | str | int | float | bool | bytes | None | Any"

_Tree = _volley.Expr

#: Stands for the column in an expression over several columns.
_EACH = "\x00each"

#: Names of types as in Polars, in SQL.
_TYPES = {
    "Boolean": "BOOLEAN",
    "Int8": "TINYINT",
    "Int16": "SMALLINT",
    "Int32": "INTEGER",
    "Int64": "BIGINT",
    "Int128": "HUGEINT",
    "Float32": "REAL",
    "Float64": "DOUBLE",
    "String": "VARCHAR",
    "Utf8": "VARCHAR",
    "Binary": "VARBINARY",
    "Date": "DATE",
    "Time": "TIME",
    "Datetime": "TIMESTAMP",
    "Duration": "INTERVAL",
    "bool": "BOOLEAN",
    "int": "BIGINT",
    "float": "DOUBLE",
    "str": "VARCHAR",
    "bytes": "VARBINARY",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "time": "TIME",
    "timedelta": "INTERVAL",
}


def _sql_type(data_type: Any) -> str:
    """The name in SQL of a type: SQL's name, or a class of Python or Polars."""
    if isinstance(data_type, str):
        return _TYPES.get(data_type, data_type)
    name = getattr(data_type, "__name__", None) or type(data_type).__name__
    found = _TYPES.get(name)
    if found is None:
        raise TypeError(f"no type of SQL for {data_type!r}; give its name in SQL, such as 'BIGINT'")
    return found


class Expr:
    """An expression over the columns of a frame.

    >>> import volley as vl
    >>> vl.frame({"a": [1, 2, 3]}).select(vl.col("a") * 2 + 1).fetchall()
    [(3,), (5,), (7,)]
    """

    __slots__ = ("_tree", "_name", "_selector", "_affixes", "_running", "_call_of")

    def __init__(
        self,
        tree: _volley.Expr,
        name: str | None = None,
        selector: Selector | None = None,
        affixes: tuple[str, str] = ("", ""),
        running: tuple[_volley.Expr, tuple[str, int | None, int | None]] | None = None,
    ) -> None:
        self._tree = tree
        self._name = name
        self._selector = selector
        self._affixes = affixes
        self._running = running
        # The call of a compiled function that it is.
        self._call_of: Call | None = None

    def __repr__(self) -> str:
        return f"<volley.Expr {self._tree.to_sql()}>"

    def __bool__(self) -> bool:
        raise TypeError(
            "an expression has no truth value; use & | ~ in place of and, or, not, "
            "and is_in in place of in"
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        """Pickles the expression as SQL. Calls of functions of Python are refused."""
        text = self._tree.to_sql()
        if "python_function(" in text:
            raise TypeError("an expression with a function of Python cannot be pickled")
        if self._selector is not None or self._running is not None:
            raise TypeError("an expression over several columns or rows cannot be pickled")
        name = self._name or _root(self)
        return _unpickled, (text, self._tree.column_name(), name, self._affixes)

    # Names

    def alias(self, name: str) -> Expr:
        """The same under another name.

        >>> import volley as vl
        >>> vl.frame({"a": [1]}).select(vl.col("a").alias("b")).columns
        ['b']
        """
        renamed = Expr(self._tree, name, self._selector, self._affixes, self._running)
        renamed._call_of = self._call_of
        return renamed

    @property
    def name(self) -> NameNamespace:
        """Names of the result: `name.suffix("_sum")`."""
        return NameNamespace(self)

    @property
    def str(self) -> StringNamespace:
        """Functions of texts."""
        return StringNamespace(self)

    @property
    def dt(self) -> DateTimeNamespace:
        """Functions of dates and times."""
        return DateTimeNamespace(self)

    @property
    def list(self) -> ListNamespace:
        """Functions of lists."""
        return ListNamespace(self)

    @property
    def struct(self) -> StructNamespace:
        """Fields of rows."""
        return StructNamespace(self)

    def _with(self, tree: _volley.Expr) -> Expr:
        return Expr(tree, self._name, self._selector, self._affixes)

    def _call(self, function: str_, *arguments: Any) -> Expr:
        others = [_tree(it) for it in arguments]
        return self._with(_Tree.call(function, [self._tree, *others]))

    def _binary(self, operator: str_, other: Any, swapped: bool = False) -> Expr:
        right = _literal(other)
        left = self
        if swapped:
            left, right = right, left
        tree = _Tree.binary(left._tree, operator, right._tree)
        selector = left._selector or right._selector
        if left._selector is not None and right._selector is not None:
            from ._errors import InvalidQuery

            raise InvalidQuery("an operator has several columns on both sides")
        name = left._name if not swapped else (right._name or left._name)
        return Expr(tree, name, selector)

    def _is(self, what: str_) -> Expr:
        return self._with(self._tree.test(what))

    # Operators

    def __add__(self, other: Any) -> Expr:
        return self._binary("+", other)

    def __radd__(self, other: Any) -> Expr:
        return self._binary("+", other, True)

    def __sub__(self, other: Any) -> Expr:
        return self._binary("-", other)

    def __rsub__(self, other: Any) -> Expr:
        return self._binary("-", other, True)

    def __mul__(self, other: Any) -> Expr:
        return self._binary("*", other)

    def __rmul__(self, other: Any) -> Expr:
        return self._binary("*", other, True)

    def __truediv__(self, other: Any) -> Expr:
        return self._binary("/", other)

    def __rtruediv__(self, other: Any) -> Expr:
        return self._binary("/", other, True)

    def __floordiv__(self, other: Any) -> Expr:
        return self._binary("//", other)

    def __rfloordiv__(self, other: Any) -> Expr:
        return self._binary("//", other, True)

    def __mod__(self, other: Any) -> Expr:
        return self._binary("%", other)

    def __rmod__(self, other: Any) -> Expr:
        return self._binary("%", other, True)

    def __pow__(self, other: Any) -> Expr:
        return self._call("pow", _literal(other))

    def __neg__(self) -> Expr:
        return self._with(_Tree.unary("-", self._tree))

    def __invert__(self) -> Expr:
        return self._with(_Tree.unary("NOT", self._tree))

    def __and__(self, other: Any) -> Expr:
        return self._binary("AND", other)

    def __rand__(self, other: Any) -> Expr:
        return self._binary("AND", other, True)

    def __or__(self, other: Any) -> Expr:
        return self._binary("OR", other)

    def __ror__(self, other: Any) -> Expr:
        return self._binary("OR", other, True)

    def __eq__(self, other: Any) -> Expr:  # type: ignore[override]
        return self._binary("=", other)

    def __ne__(self, other: Any) -> Expr:  # type: ignore[override]
        return self._binary("<>", other)

    def __lt__(self, other: Any) -> Expr:
        return self._binary("<", other)

    def __le__(self, other: Any) -> Expr:
        return self._binary("<=", other)

    def __gt__(self, other: Any) -> Expr:
        return self._binary(">", other)

    def __ge__(self, other: Any) -> Expr:
        return self._binary(">=", other)

    def __abs__(self) -> Expr:
        return self._call("abs")

    def eq_missing(self, other: Any) -> Expr:
        """Whether both are equal, or both are null."""
        return self._binary("IS NOT DISTINCT FROM", other)

    def ne_missing(self, other: Any) -> Expr:
        """Whether they differ, where null differs from every value."""
        return self._binary("IS DISTINCT FROM", other)

    def is_null(self) -> Expr:
        """Whether it is null."""
        return self._is("NULL")

    def is_not_null(self) -> Expr:
        """Whether it is not null."""
        return self._is("NOT NULL")

    def is_nan(self) -> Expr:
        """Whether it is no number, such as 0.0 / 0.0."""
        return self._call("isnan")

    def is_finite(self) -> Expr:
        """Whether it is neither infinite nor NaN."""
        return self._call("isfinite")

    def is_in(self, values: Iterable[Any]) -> Expr:
        """Whether it is one of some values.

        >>> import volley as vl
        >>> vl.frame({"a": [1, 2, 3]}).filter(vl.col("a").is_in([1, 3])).fetchall()
        [(1,), (3,)]
        """
        items = [_literal(it)._tree for it in values]
        if not items:
            return self._with(_Tree.binary(self._tree, "<>", self._tree))._call("coalesce", lit(False))
        return self._with(self._tree.in_list(items))

    def is_between(self, lower: Any, upper: Any) -> Expr:
        """Whether it is between two bounds, which are included."""
        return self._with(self._tree.between(_tree(lower), _tree(upper)))

    # Conversions and replacements

    def cast(self, data_type: Any, strict: bool = True) -> Expr:
        """The value as one of another type: SQL's name of it, or a class of Python or Polars.

        Where it cannot be cast it is an error, or null if `strict` is false.

        >>> import volley as vl
        >>> vl.frame({"a": ["1", "x"]}).select(vl.col("a").cast(int, strict=False)).fetchall()
        [(1,), (None,)]
        """
        return self._with(self._tree.cast(_sql_type(data_type), not strict))

    def fill_null(self, value: Any) -> Expr:
        """The value, or another one where it is null."""
        return self._call("coalesce", _literal(value))

    def fill_nan(self, value: Any) -> Expr:
        """The value, or another one where it is NaN."""
        return when(self.is_nan()).then(_literal(value)).otherwise(self)._named(self)

    def _named(self, other: Expr) -> Expr:
        return Expr(self._tree, other._name or _root(other), other._selector)

    def replace(self, old: Any, new: Any = None) -> Expr:
        """The value with others in place of some: two values, two lists, or a dictionary."""
        pairs = _pairs(old, new)
        branches = [(self.eq_missing(before)._tree, _tree_of(after)) for before, after in pairs]
        return self._with(_Tree.case(branches, self._tree))

    # Numbers

    def abs(self) -> Expr:
        """The value without its sign."""
        return self._call("abs")

    def round(self, decimals: int = 0) -> Expr:
        """Rounded to a number of decimals, halves away from zero."""
        return self._call("round", lit(decimals))

    def floor(self) -> Expr:
        """The greatest whole number that is not above it."""
        return self._call("floor")

    def ceil(self) -> Expr:
        """The smallest whole number that is not below it."""
        return self._call("ceil")

    def sqrt(self) -> Expr:
        """The square root."""
        return self._call("sqrt")

    def exp(self) -> Expr:
        """e to the power of it."""
        return self._call("exp")

    def log(self, base: float | None = None) -> Expr:
        """The logarithm: natural, or of a base."""
        if base is None:
            return self._call("ln")
        return self._call("ln")._binary("/", lit(float(base))._call("ln"))

    def log10(self) -> Expr:
        """The logarithm of base 10."""
        return self._call("log10")

    def sign(self) -> Expr:
        """-1, 0 or 1."""
        return self._call("sign")

    def sin(self) -> Expr:
        """The sine."""
        return self._call("sin")

    def cos(self) -> Expr:
        """The cosine."""
        return self._call("cos")

    def tan(self) -> Expr:
        """The tangent."""
        return self._call("tan")

    def clip(self, lower_bound: Any = None, upper_bound: Any = None) -> Expr:
        """The value, or a bound where it is beyond."""
        result = self
        if lower_bound is not None:
            result = when(result < lower_bound).then(_literal(lower_bound)).otherwise(result)
        if upper_bound is not None:
            result = when(result > upper_bound).then(_literal(upper_bound)).otherwise(result)
        return result._named(self)

    def hash(self) -> Expr:
        """A hash of the value."""
        return self._call("hash")

    # Aggregates

    def sum(self) -> Expr:
        """The sum; null if all values are null, as in SQL."""
        return self._call("sum")

    def mean(self) -> Expr:
        """The mean."""
        return self._call("avg")

    def min(self) -> Expr:
        """The smallest value."""
        return self._call("min")

    def max(self) -> Expr:
        """The greatest value."""
        return self._call("max")

    def count(self) -> Expr:
        """How many values are not null."""
        return self._call("count")

    def len(self) -> Expr:
        """How many rows there are."""
        return self._with(_Tree.call("count", [_Tree.star([])]))

    def null_count(self) -> Expr:
        """How many values are null."""
        return self._with(_Tree.call("count_if", [self._tree.test("NULL")]))

    def n_unique(self) -> Expr:
        """How many distinct values there are that are not null."""
        call = _Tree.call("count", [self._tree])
        return self._with(call.with_clauses(True, []))

    def approx_n_unique(self) -> Expr:
        """About how many distinct values there are."""
        return self._call("approx_count_distinct")

    def median(self) -> Expr:
        """The median."""
        return self._call("median")

    def quantile(self, quantile: float) -> Expr:
        """The value at a quantile between 0 and 1, interpolated."""
        return self._call("quantile_cont", lit(quantile))

    def std(self, ddof: int = 1) -> Expr:
        """The standard deviation: of a sample, or with `ddof=0` of the population."""
        return self._call("stddev_samp" if ddof else "stddev_pop")

    def var(self, ddof: int = 1) -> Expr:
        """The variance: of a sample, or with `ddof=0` of the population."""
        return self._call("var_samp" if ddof else "var_pop")

    def product(self) -> Expr:
        """The product."""
        return self._call("product")

    def mode(self) -> Expr:
        """A value that is most frequent."""
        return self._call("mode")

    def first(self) -> Expr:
        """The first value."""
        return self._call("first")

    def last(self) -> Expr:
        """The last value."""
        return self._call("last")

    def any(self) -> Expr:
        """Whether a value is true."""
        return self._call("bool_or")

    def all(self) -> Expr:
        """Whether all values are true."""
        return self._call("bool_and")

    def implode(self) -> Expr:
        """All values as a list."""
        return self._call("list")

    def filter(self, *predicates: Expr) -> Expr:
        """The aggregate of the rows that satisfy predicates.

        >>> import volley as vl
        >>> f = vl.frame({"a": [1, 2, 3]})
        >>> f.select(vl.col("a").sum().filter(vl.col("a") > 1)).fetchall()
        [(5,)]
        """
        return self._with(self._tree.with_clauses(False, [], _all(predicates)._tree))

    # Windows

    def over(
        self,
        *partition_by: Any,
        order_by: Any = None,
        descending: bool = False,
        nulls_last: bool = False,
    ) -> Expr:
        """The value of an aggregate or window function over the rows with equal values.

        An aggregate sees all rows of the partition, in the order of `order_by`.

        >>> import volley as vl
        >>> f = vl.frame({"k": ["a", "a", "b"], "v": [1, 2, 3]})
        >>> f.with_columns(total=vl.col("v").sum().over("k")).sort("v").fetchall()
        [('a', 1, 3), ('a', 2, 3), ('b', 3, 3)]
        """
        keys = [_column(it)._tree for it in _flat(partition_by)]
        order = [] if order_by is None else _order(order_by, descending, nulls_last)
        if self._running is not None:
            call, frame = self._running
            return self._with(call.over(keys, order, frame))
        # An aggregate over an ordered window would see the rows up to the current one.
        whole = ("rows", None, None) if order and not self._is_ranking() else None
        return self._with(self._tree.over(keys, order, whole))

    def _is_ranking(self) -> bool:
        text = self._tree.to_sql()
        names = ("row_number(", "rank(", "dense_rank(", "percent_rank(", "cume_dist(", "ntile(")
        return text.startswith((*names, "lag(", "lead("))

    def _window(self, function: str_, frame: tuple[str_, int | None, int | None]) -> Expr:
        call = _Tree.call(function, [self._tree])
        tree = call.over([], [], frame)
        return Expr(tree, self._name, self._selector, self._affixes, (call, frame))

    def cum_sum(self) -> Expr:
        """The sum of the values up to the row. Give the order with `over(order_by=...)`."""
        return self._window("sum", ("rows", None, 0))

    def cum_count(self) -> Expr:
        """How many values up to the row are not null."""
        return self._window("count", ("rows", None, 0))

    def cum_min(self) -> Expr:
        """The smallest value up to the row."""
        return self._window("min", ("rows", None, 0))

    def cum_max(self) -> Expr:
        """The greatest value up to the row."""
        return self._window("max", ("rows", None, 0))

    def rolling_sum(self, window_size: int) -> Expr:
        """The sum of the last values, the row's own among them."""
        return self._window("sum", ("rows", 1 - window_size, 0))

    def rolling_mean(self, window_size: int) -> Expr:
        """The mean of the last values, the row's own among them."""
        return self._window("avg", ("rows", 1 - window_size, 0))

    def rolling_min(self, window_size: int) -> Expr:
        """The smallest of the last values, the row's own among them."""
        return self._window("min", ("rows", 1 - window_size, 0))

    def rolling_max(self, window_size: int) -> Expr:
        """The greatest of the last values, the row's own among them."""
        return self._window("max", ("rows", 1 - window_size, 0))

    def shift(self, n: int = 1, fill_value: Any = None) -> Expr:
        """The value of an earlier row, or with a negative `n` of a later one."""
        arguments = [self._tree, lit(abs(n))._tree]
        if fill_value is not None:
            arguments.append(_literal(fill_value)._tree)
        return self._with(_Tree.call("lag" if n >= 0 else "lead", arguments))

    def diff(self, n: int = 1) -> Expr:
        """The difference to an earlier row."""
        return self - self.shift(n)

    def rank(self, method: str_ = "min", descending: bool = False) -> Expr:
        """The rank by this value: `min`, `dense` or `ordinal`."""
        names = {"min": "rank", "dense": "dense_rank", "ordinal": "row_number"}
        if method not in names:
            raise ValueError(f"no such method of ranks: {method}; there are min, dense, ordinal")
        call = _Tree.call(names[method], [])
        return self._with(call.over([], [(self._tree, descending, False)]))


def _unpickled(text: str, column: str | None, name: str | None, affixes: tuple[str, str]) -> Expr:
    tree = _Tree.sql(text) if column is None else _Tree.column(column)
    return Expr(tree, name, None, affixes)


str_ = str


class NameNamespace:
    """Names of results."""

    __slots__ = ("_expr",)

    def __init__(self, expr: Expr) -> None:
        self._expr = expr

    def suffix(self, suffix: str) -> Expr:
        """Appends to the name."""
        e = self._expr
        return Expr(e._tree, e._name, e._selector, (e._affixes[0], e._affixes[1] + suffix), e._running)

    def prefix(self, prefix: str) -> Expr:
        """Puts before the name."""
        e = self._expr
        return Expr(e._tree, e._name, e._selector, (prefix + e._affixes[0], e._affixes[1]), e._running)


class _Namespace:
    __slots__ = ("_expr",)

    def __init__(self, expr: Expr) -> None:
        self._expr = expr

    def _call(self, function: str, *arguments: Any) -> Expr:
        return self._expr._call(function, *arguments)


class StringNamespace(_Namespace):
    """Functions of texts."""

    __slots__ = ()

    def to_uppercase(self) -> Expr:
        """In upper case."""
        return self._call("upper")

    def to_lowercase(self) -> Expr:
        """In lower case."""
        return self._call("lower")

    def len_chars(self) -> Expr:
        """The number of characters."""
        return self._call("length")

    def len_bytes(self) -> Expr:
        """The number of bytes."""
        return self._call("strlen")

    def contains(self, pattern: str, literal: bool = False) -> Expr:
        """Whether a regular expression matches a part, or the text has a part."""
        return self._call("contains" if literal else "regexp_matches", lit(pattern))

    def starts_with(self, prefix: Any) -> Expr:
        """Whether it begins with a text."""
        return self._call("starts_with", _literal(prefix))

    def ends_with(self, suffix: Any) -> Expr:
        """Whether it ends with a text."""
        return self._call("ends_with", _literal(suffix))

    def replace(self, pattern: str, value: str, literal: bool = False) -> Expr:
        """With another text in place of the first match of a regular expression."""
        if literal:
            from ._errors import Unsupported

            raise Unsupported("str.replace with literal=True; use str.replace_all, or a pattern")
        return self._call("regexp_replace", lit(pattern), lit(value))

    def replace_all(self, pattern: str, value: str, literal: bool = False) -> Expr:
        """With another text in place of all matches of a regular expression, or of a text."""
        if literal:
            return self._call("replace", lit(pattern), lit(value))
        return self._call("regexp_replace", lit(pattern), lit(value), lit("g"))

    def extract(self, pattern: str, group_index: int = 1) -> Expr:
        """What a group of a regular expression matches."""
        return self._call("regexp_extract", lit(pattern), lit(group_index))

    def split(self, by: str) -> Expr:
        """The parts between separators, as a list."""
        return self._call("string_split", lit(by))

    def strip_chars(self, characters: str | None = None) -> Expr:
        """Without spaces, or some characters, at both ends."""
        return self._call("trim", *([] if characters is None else [lit(characters)]))

    def strip_chars_start(self, characters: str | None = None) -> Expr:
        """Without spaces, or some characters, at the start."""
        return self._call("ltrim", *([] if characters is None else [lit(characters)]))

    def strip_chars_end(self, characters: str | None = None) -> Expr:
        """Without spaces, or some characters, at the end."""
        return self._call("rtrim", *([] if characters is None else [lit(characters)]))

    def slice(self, offset: int, length: int | None = None) -> Expr:
        """Characters from an offset on, which counts from 0, or from the end if negative."""
        start = lit(offset + 1 if offset >= 0 else offset)
        return self._call("substring", start, *([] if length is None else [lit(length)]))

    def head(self, n: int) -> Expr:
        """The first characters."""
        return self._call("left", lit(n))

    def tail(self, n: int) -> Expr:
        """The last characters."""
        return self._call("right", lit(n))

    def pad_start(self, length: int, fill_char: str = " ") -> Expr:
        """Filled at the start up to a length."""
        padded = self._call("lpad", lit(length), lit(fill_char))
        longer = self.len_chars() >= length
        return when(longer).then(self._expr).otherwise(padded)._named(self._expr)

    def pad_end(self, length: int, fill_char: str = " ") -> Expr:
        """Filled at the end up to a length."""
        padded = self._call("rpad", lit(length), lit(fill_char))
        longer = self.len_chars() >= length
        return when(longer).then(self._expr).otherwise(padded)._named(self._expr)

    def zfill(self, length: int) -> Expr:
        """Filled with zeros at the start."""
        return self.pad_start(length, "0")

    def reverse(self) -> Expr:
        """Its characters from the last to the first."""
        return self._call("reverse")

    def like(self, pattern: str) -> Expr:
        """Whether it matches a pattern with `%` and `_`."""
        return self._expr._binary("LIKE", lit(pattern))

    def ilike(self, pattern: str) -> Expr:
        """Whether it matches a pattern with `%` and `_`, ignoring case."""
        return self._expr._binary("ILIKE", lit(pattern))

    def to_date(self, format: str | None = None) -> Expr:
        """The date that it is."""
        if format is None:
            return self._expr.cast("DATE")
        return self._call("strptime", lit(format)).cast("DATE")

    def to_datetime(self, format: str | None = None) -> Expr:
        """The timestamp that it is."""
        if format is None:
            return self._expr.cast("TIMESTAMP")
        return self._call("strptime", lit(format))

    def to_integer(self) -> Expr:
        """The whole number that it is."""
        return self._expr.cast("BIGINT")

    def join(self, delimiter: str = "") -> Expr:
        """All texts of a group, with a delimiter between them."""
        return self._call("string_agg", lit(delimiter))


class DateTimeNamespace(_Namespace):
    """Functions of dates and times."""

    __slots__ = ()

    def year(self) -> Expr:
        """The year."""
        return self._call("year")

    def month(self) -> Expr:
        """The month, from 1 on."""
        return self._call("month")

    def day(self) -> Expr:
        """The day of the month, from 1 on."""
        return self._call("day")

    def hour(self) -> Expr:
        """The hour."""
        return self._call("hour")

    def minute(self) -> Expr:
        """The minute."""
        return self._call("minute")

    def second(self) -> Expr:
        """The second."""
        return self._call("second")

    def quarter(self) -> Expr:
        """The quarter, from 1 on."""
        return self._call("quarter")

    def week(self) -> Expr:
        """The week of ISO 8601."""
        return self._call("week")

    def weekday(self) -> Expr:
        """The day of the week: Monday is 1, Sunday is 7."""
        return self._call("isodow")

    def ordinal_day(self) -> Expr:
        """The day of the year, from 1 on."""
        return self._call("dayofyear")

    def date(self) -> Expr:
        """The date."""
        return self._expr.cast("DATE")

    def time(self) -> Expr:
        """The time of day."""
        return self._expr.cast("TIME")

    def truncate(self, every: str) -> Expr:
        """The start of its `year`, `month`, `hour` and so on (or `1y`, `1mo`, `1h`)."""
        units = {
            "1y": "year", "1q": "quarter", "1mo": "month", "1w": "week", "1d": "day",
            "1h": "hour", "1m": "minute", "1s": "second",
        }
        call = _Tree.call("date_trunc", [lit(units.get(every, every))._tree, self._expr._tree])
        return self._expr._with(call)

    def strftime(self, format: str) -> Expr:
        """As text, by a format such as `%Y-%m-%d`."""
        return self._call("strftime", lit(format))

    def to_string(self, format: str) -> Expr:
        """As text, by a format such as `%Y-%m-%d`."""
        return self.strftime(format)

    def month_end(self) -> Expr:
        """The last day of the month."""
        return self._call("last_day")

    def epoch(self, time_unit: str = "us") -> Expr:
        """The time since 1970 in `s`, `ms`, `us` or `ns`."""
        names = {"s": "epoch", "ms": "epoch_ms", "us": "epoch_us", "ns": "epoch_ns"}
        return self._call(names[time_unit])


class ListNamespace(_Namespace):
    """Functions of lists."""

    __slots__ = ()

    def len(self) -> Expr:
        """The number of elements."""
        return self._call("len")

    def get(self, index: int) -> Expr:
        """The element at an index, which counts from 0, or from the end if negative."""
        position = index + 1 if index >= 0 else index
        return self._call("list_extract", lit(position))

    def first(self) -> Expr:
        """The first element."""
        return self.get(0)

    def last(self) -> Expr:
        """The last element."""
        return self.get(-1)

    def contains(self, item: Any) -> Expr:
        """Whether a value is an element."""
        return self._call("list_contains", _literal(item))

    def sum(self) -> Expr:
        """The sum of the elements."""
        return self._call("list_sum")

    def mean(self) -> Expr:
        """The mean of the elements."""
        return self._call("list_avg")

    def min(self) -> Expr:
        """The smallest element."""
        return self._call("list_min")

    def max(self) -> Expr:
        """The greatest element."""
        return self._call("list_max")

    def sort(self, descending: bool = False) -> Expr:
        """The elements in order."""
        return self._call("list_reverse_sort" if descending else "list_sort")

    def reverse(self) -> Expr:
        """The elements from the last to the first."""
        return self._call("list_reverse")

    def unique(self) -> Expr:
        """Each element once."""
        return self._call("list_distinct")

    def slice(self, offset: int, length: int | None = None) -> Expr:
        """Elements from an offset on, which counts from 0."""
        end = _Tree.call("len", [self._expr._tree]) if length is None else lit(offset + length)._tree
        call = _Tree.call("list_slice", [self._expr._tree, lit(offset + 1)._tree, end])
        return self._expr._with(call)

    def head(self, n: int = 5) -> Expr:
        """The first elements."""
        return self.slice(0, n)

    def join(self, separator: str) -> Expr:
        """The elements as one text."""
        return self._call("array_to_string", lit(separator))

    def eval(self, function: Callable[[Expr], Expr]) -> Expr:
        """The list of what an expression makes of each element.

        >>> import volley as vl
        >>> f = vl.frame({"a": [[1, 2], [3]]})
        >>> f.select(vl.col("a").list.eval(lambda x: x * 10)).fetchall()
        [([10, 20],), ([30],)]
        """
        return self._call("list_transform", _lambda(function))

    def filter(self, predicate: Callable[[Expr], Expr]) -> Expr:
        """The elements that satisfy a predicate."""
        return self._call("list_filter", _lambda(predicate))


class StructNamespace(_Namespace):
    """Fields of rows."""

    __slots__ = ()

    def field(self, name: str) -> Expr:
        """A field."""
        e = self._expr
        return Expr(e._tree.field(name), name, e._selector)


class When:
    """The start of a case: `when(condition).then(value).otherwise(value)`."""

    __slots__ = ("_branches", "_condition")

    def __init__(self, branches: list[tuple[_volley.Expr, _volley.Expr]], condition: Expr) -> None:
        self._branches = branches
        self._condition = condition

    def then(self, value: Any) -> Then:
        """The value where the condition is true."""
        result = _column(value)
        return Then([*self._branches, (self._condition._tree, result._tree)], result)


class Then(Expr):
    """A case, which may have more conditions."""

    __slots__ = ("_branches", "_first")

    def __init__(self, branches: list[tuple[_volley.Expr, _volley.Expr]], first: Expr) -> None:
        super().__init__(_Tree.case(branches, None), first._name or _root(first))
        self._branches = branches
        self._first = first

    def when(self, *predicates: Expr) -> When:
        """Another condition."""
        return When(self._branches, _all(predicates))

    def otherwise(self, value: Any) -> Expr:
        """The value where no condition is true."""
        tree = _Tree.case(self._branches, _column(value)._tree)
        return Expr(tree, self._name)


def col(name: str | Iterable[str], *more: str) -> Expr:
    """A column by its name; several names, or `*`, stand for each of the columns in turn.

    >>> import volley as vl
    >>> vl.frame({"a": [1, 2], "b": [3, 4]}).select(vl.col("a", "b").sum()).fetchall()
    [(3, 7)]
    """
    if more or not isinstance(name, str):
        names = [name, *more] if isinstance(name, str) else [*name, *more]
        from .selectors import by_name

        return _each(by_name(*names))
    if name == "*":
        return all()
    return Expr(_Tree.column(name))


def lit(value: Any) -> Expr:
    """A value.

    >>> import volley as vl
    >>> vl.frame({"a": [1]}).select(vl.lit("x").alias("b")).fetchall()
    [('x',)]
    """
    return Expr(_Tree.literal(value))


def all() -> Expr:
    """Each column in turn."""
    from .selectors import all as every

    return _each(every())


def exclude(*names: str) -> Expr:
    """Each column but some in turn."""
    from .selectors import all as every
    from .selectors import by_name

    return _each(every() - by_name(*names))


def len() -> Expr:
    """The number of rows.

    >>> import volley as vl
    >>> vl.frame({"a": [1, None]}).select(vl.len()).fetchall()
    [(2,)]
    """
    return Expr(_Tree.call("count", [_Tree.star([])]), "len")


def when(*predicates: Expr) -> When:
    """The start of a case.

    >>> import volley as vl
    >>> a = vl.col("a")
    >>> sign = vl.when(a > 0).then(1).when(a < 0).then(-1).otherwise(0)
    >>> vl.frame({"a": [5, -5, 0]}).select(sign).fetchall()
    [(1,), (-1,), (0,)]
    """
    return When([], _all(predicates))


def coalesce(*exprs: Any) -> Expr:
    """The first value that is not null."""
    first, *rest = [_column(it) for it in _flat(exprs)]
    return first._call("coalesce", *rest)


def struct(*exprs: Any, **named: Any) -> Expr:
    """A row of named fields."""
    fields = [(_output(it), it._tree) for it in map(_column, _flat(exprs))]
    fields += [(name, _column(it)._tree) for name, it in named.items()]
    return Expr(_Tree.row(fields), fields[0][0] if fields else None)


def concat_list(*exprs: Any) -> Expr:
    """A list of values."""
    items = [_column(it) for it in _flat(exprs)]
    return Expr(_Tree.array([it._tree for it in items]), _root(items[0]) if items else None)


def concat_str(*exprs: Any, separator: str = "") -> Expr:
    """One text of several."""
    items = [_column(it) for it in _flat(exprs)]
    call = _Tree.call("concat_ws", [lit(separator)._tree, *(it._tree for it in items)])
    return Expr(call, _root(items[0]) if items else None)


def row_number() -> Expr:
    """The number of the row in its partition, from 1 on; to be used with `over`."""
    return Expr(_Tree.call("row_number", []), "row_number")


def sql_expr(text: str) -> Expr:
    """An expression written in SQL.

    >>> import volley as vl
    >>> vl.frame({"a": [1]}).select(vl.sql_expr("a BETWEEN 0 AND 2").alias("b")).fetchall()
    [(True,)]
    """
    return Expr(_Tree.sql(text), text)


def _each(selector: Selector) -> Expr:
    return Expr(_Tree.column(_EACH), None, selector)


def _literal(value: Any) -> Expr:
    """An operand: a value that is no expression is a literal, a text too."""
    return value if isinstance(value, Expr) else lit(value)


def _column(value: Any) -> Expr:
    """An argument: a text is the name of a column."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, str):
        return col(value)
    from .selectors import Selector

    return _each(value) if isinstance(value, Selector) else lit(value)


def _tree(value: Any) -> _volley.Expr:
    return value if isinstance(value, _Tree) else _literal(value)._tree


def _tree_of(value: Any) -> _volley.Expr:
    return _literal(value)._tree


def _all(predicates: Sequence[Any]) -> Expr:
    result: Expr | None = None
    for it in _flat(predicates):
        result = _column(it) if result is None else result & _column(it)
    return lit(True) if result is None else result


def _flat(values: Iterable[Any]) -> list[Any]:
    flat: list[Any] = []
    for it in values:
        if isinstance(it, (list, tuple)):
            flat.extend(it)
        else:
            flat.append(it)
    return flat


def _pairs(old: Any, new: Any) -> list[tuple[Any, Any]]:
    if isinstance(old, dict):
        return list(old.items())
    if isinstance(old, (list, tuple)):
        return list(zip(old, new, strict=True))
    return [(old, new)]


def _order(keys: Any, descending: Any, nulls_last: Any) -> list[tuple[_volley.Expr, bool, bool]]:
    exprs = [_column(it) for it in _flat([keys])]

    def each(flag: Any) -> list[bool]:
        if isinstance(flag, bool):
            return [flag] * exprs.__len__()
        return list(flag)

    flags = zip(exprs, each(descending), each(nulls_last), strict=True)
    return [(it._tree, down, not last) for it, down, last in flags]


def _root(expr: Expr) -> str | None:
    columns = expr._tree.columns()
    return columns[0] if columns else None


def _output(expr: Expr) -> str:
    """The name of the result: that which was given, or that of the first column in it."""
    name = expr._name or _root(expr) or "literal"
    return f"{expr._affixes[0]}{name}{expr._affixes[1]}"


def _expand(exprs: Iterable[Expr], schema: Callable[[], dict[str, str]]) -> list[Expr]:
    """The expressions, with one for each column of those over several columns."""
    expanded: list[Expr] = []
    for it in exprs:
        if it._selector is None:
            expanded.append(it)
            continue
        for name in it._selector.expand(schema()):
            one = Expr(it._tree.renamed(_EACH, name), it._name or name, None, it._affixes)
            expanded.append(one)
    return expanded


def _lambda(function: Callable[[Expr], Expr]) -> _volley.Expr:
    body = _literal(function(Expr(_Tree.column("_x"))))
    return _Tree.function(["_x"], body._tree)
