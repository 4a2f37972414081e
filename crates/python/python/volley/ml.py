"""Functions that prepare features for machine learning, by TorchArrow's names and meaning.

Arguments are expressions; a text is the name of a column. A null, also inside of a list, makes a null.

>>> import volley as vl
>>> from volley import ml
>>> f = vl.frame({"price": [0.5, 3.0, None], "ids": [[1], [14, 15, 16], []]})
>>> f.select(ml.bucketize("price", [1.0, 2.0]), ml.sigrid_hash("ids", 0, 100)).fetchall()
[(0, [60]), (2, [83, 66, 2]), (None, [])]
"""

from __future__ import annotations

from . import _volley
from ._errors import InvalidValue
from ._expr import Expr, _column, _lambda, _root, lit, when

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def _call(name: str, *arguments: Any) -> Expr:
    items = [_column(it) for it in arguments]
    tree = _volley.Expr.call(name, [it._tree for it in items])
    return Expr(tree, next((n for it in items if (n := it._name or _root(it))), name))


# Values and lists of values


def bucketize(values: Any, borders: Sequence[float]) -> Expr:
    """The number of borders that are less than the value, or than each value of a list.

    >>> import volley as vl
    >>> f = vl.frame({"v": [1.0, 2.0, 3.0, 4.0, 5.0]})
    >>> [it for (it,) in f.select(vl.ml.bucketize("v", [2.0, 5.0, 10.0])).fetchall()]
    [0, 0, 1, 1, 1]
    """
    if not borders:
        raise InvalidValue("bucketize needs a border")
    ordered = [float(it) for it in borders]
    if any(not before <= after for before, after in zip(ordered, ordered[1:], strict=False)):
        raise InvalidValue("the borders of bucketize must not decrease")
    if any(low == high for low, high in zip(ordered, ordered[2:], strict=False)):
        raise InvalidValue("the borders of bucketize must not have a value more than twice")
    return _call("bucketize", values, _list(ordered, "DOUBLE"))


def sigrid_hash(ids: Any, salt: int, max_value: int) -> Expr:
    """A hash of an id, or of each id of a list, from 0 to below `max_value`.

    >>> import volley as vl
    >>> vl.frame({"id": [1, 2, 4]}).select(vl.ml.sigrid_hash("id", 0, 100)).fetchall()
    [(60,), (54,), (9,)]
    """
    if max_value <= 0:
        raise InvalidValue("max_value of sigrid_hash must be greater than 0")
    return _call("sigrid_hash", ids, lit(salt), lit(max_value))


def firstx(values: Any, num: int) -> Expr:
    """The first elements of a list, at most `num`.

    >>> import volley as vl
    >>> vl.frame({"v": [[1, 2, 3], [4]]}).select(vl.ml.firstx("v", 2)).fetchall()
    [([1, 2],), ([4],)]
    """
    return _call("list_slice", values, lit(1), lit(max(0, num)))


def clamp(value: Any, min: float | None = None, max: float | None = None) -> Expr:
    """The value, or a bound where it is beyond.

    >>> import volley as vl
    >>> vl.frame({"v": [-5, 5, 50]}).select(vl.ml.clamp("v", 0, 10)).fetchall()
    [(0,), (5,), (10,)]
    """
    return _column(value).clip(min, max)


def clamp_list(values: Any, min: float, max: float) -> Expr:
    """The list with a bound in place of elements that are beyond.

    >>> import volley as vl
    >>> vl.frame({"v": [[-5, 5], [50]]}).select(vl.ml.clamp_list("v", 0, 10)).fetchall()
    [([0, 5],), ([10],)]
    """
    return _each(values, lambda it: it.clip(min, max))


def one_hot(value: Any, num_classes: int) -> Expr:
    """A list of `num_classes` numbers: 1 at the position that the value is, 0 elsewhere.

    >>> import volley as vl
    >>> vl.frame({"v": [0, 2, 5]}).select(vl.ml.one_hot("v", 3)).fetchall()
    [([1.0, 0.0, 0.0],), ([0.0, 0.0, 1.0],), ([0.0, 0.0, 0.0],)]
    """
    column = _column(value)
    items = [(column == it).cast("REAL")._tree for it in range(num_classes)]
    cases = _volley.Expr.array(items)
    known = when(column.is_not_null()).then(Expr(cases))
    return Expr(known._tree, column._name or _root(column))


def lookup_indices(value: Any, vocabulary: Sequence[Any], default: int = -1) -> Expr:
    """The position of the value in a list of values; `default` where it is not in it.

    >>> import volley as vl
    >>> f = vl.frame({"v": ["b", "x", None]})
    >>> f.select(vl.ml.lookup_indices("v", ["a", "b"])).fetchall()
    [(1,), (-1,), (None,)]
    """
    column = _column(value)
    words = _volley.Expr.array([lit(it)._tree for it in vocabulary])
    found = _volley.Expr.call("list_position", [words, column._tree])
    at = _volley.Expr.call("coalesce", [found, lit(0)._tree])
    place = _volley.Expr.binary(at, "-", lit(1)._tree)
    known = when(column.is_null()).then(None).when(Expr(at) > 0).then(Expr(place))
    return Expr(known.otherwise(default)._tree, column._name or _root(column)).cast("BIGINT")


def array_constructor(*values: Any) -> Expr:
    """A list of values."""
    items = [_column(it) for it in values]
    tree = _volley.Expr.array([it._tree for it in items])
    return Expr(tree, _root(items[0]) if items else "array_constructor")


def add_tokens(tokens: Any, before: Sequence[Any] = (), after: Sequence[Any] = ()) -> Expr:
    """The list with values before and after its own, such as marks of begin and end.

    >>> import volley as vl
    >>> vl.frame({"t": [[7, 8]]}).select(vl.ml.add_tokens("t", [1], [2])).fetchall()
    [([1, 7, 8, 2],)]
    """
    column = _column(tokens)
    tree = column._tree
    if before:
        tree = _volley.Expr.call("list_concat", [_items(before), tree])
    if after:
        tree = _volley.Expr.call("list_concat", [tree, _items(after)])
    known = when(column.is_not_null()).then(Expr(tree))
    return Expr(known._tree, column._name or _root(column))


# Numbers


def log(value: Any, offset: float = 0.0) -> Expr:
    """The natural logarithm of the value and an offset: `log(x + offset)`. The logarithm of what is
    not positive is null.

    >>> import volley as vl
    >>> vl.frame({"v": [0.0, -3.0]}).select(vl.ml.log("v", 1.0)).fetchall()
    [(0.0,), (None,)]
    """
    column = _column(value)
    shifted = column.cast("DOUBLE") + offset
    found = when(shifted > 0).then(shifted.log())
    return Expr(found._tree, column._name or _root(column))


def boxcox(value: Any, lmbda: float) -> Expr:
    """The transformation of Box and Cox: `(x ** lmbda - 1) / lmbda`, or `log(x)` if `lmbda` is 0. That
    of what is not positive is null.

    >>> import volley as vl
    >>> vl.frame({"v": [1.0, 3.0, 0.0]}).select(vl.ml.boxcox("v", 2.0)).fetchall()
    [(0.0,), (4.0,), (None,)]
    """
    column = _column(value)
    if lmbda == 0:
        return log(column)
    number = column.cast("DOUBLE")
    found = when(number > 0).then((number ** float(lmbda) - 1.0) / float(lmbda))
    return Expr(found._tree, column._name or _root(column))


def logit(value: Any, eps: float = 1e-6) -> Expr:
    """The logarithm of the odds of a probability, which is kept `eps` away from 0 and 1."""
    column = _column(value)
    inside = column.cast("DOUBLE").clip(eps, 1.0 - eps)
    return Expr((inside / (lit(1.0) - inside)).log()._tree, column._name or _root(column))


def scale_to_0_1(value: Any) -> Expr:
    """The value on a scale on which all values of the column are from 0 to 1. Of a column with one
    value, its sigmoid, as in TorchArrow.

    >>> import volley as vl
    >>> vl.frame({"v": [0.0, 5.0, 10.0]}).select(vl.ml.scale_to_0_1("v")).fetchall()
    [(0.0,), (0.5,), (1.0,)]
    """
    column = _column(value).cast("DOUBLE")
    low, high = column.min().over(), column.max().over()
    sigmoid = lit(1.0) / ((-column).exp() + 1.0)
    scaled = when(high > low).then((column - low) / (high - low)).otherwise(sigmoid)
    return Expr(scaled._tree, column._name or _root(column))


def scale_to_z_score(value: Any) -> Expr:
    """The distance of the value from the mean of the column, in standard deviations of the population.

    >>> import volley as vl
    >>> vl.frame({"v": [1.0, 3.0]}).select(vl.ml.scale_to_z_score("v")).fetchall()
    [(-1.0,), (1.0,)]
    """
    column = _column(value).cast("DOUBLE")
    mean, deviation = column.mean().over(), column.std(0).over()
    scaled = when(deviation > 0).then((column - mean) / deviation).otherwise(column - mean)
    return Expr(scaled._tree, column._name or _root(column))


# Lists of ids


def has_id_overlap(input_ids: Any, matching_ids: Any) -> Expr:
    """1.0 if the lists have a common id, 0.0 if not."""
    return _call("has_id_overlap", input_ids, matching_ids)


def get_id_overlap_count(input_ids: Any, matching_ids: Any) -> Expr:
    """How many ids are common, each as often as both lists have it."""
    return _call("id_overlap_count", input_ids, matching_ids)


id_overlap_count = get_id_overlap_count


def get_max_count(input_ids: Any, matching_ids: Any) -> Expr:
    """How often common ids occur, each in the list that has it more often."""
    return _call("get_max_count", input_ids, matching_ids)


def get_jaccard_similarity(input_ids: Any, matching_ids: Any) -> Expr:
    """The common ids as a share of the ids of both lists."""
    return _call("get_jaccard_similarity", input_ids, matching_ids)


def get_cosine_similarity(
    input_ids: Any, input_scores: Any, matching_ids: Any, matching_scores: Any
) -> Expr:
    """The cosine of the angle between both lists, whose scores are coordinates."""
    given, matching = _scores(input_scores), _scores(matching_scores)
    return _call("get_cosine_similarity", input_ids, given, matching_ids, matching)


def get_score_sum(
    input_ids: Any, input_scores: Any, matching_ids: Any, matching_scores: Any
) -> Expr:
    """The sum of the matching scores of common ids."""
    given, matching = _scores(input_scores), _scores(matching_scores)
    return _call("get_score_sum", input_ids, given, matching_ids, matching)


def get_score_min(input_ids: Any, matching_ids: Any, matching_scores: Any) -> Expr:
    """The least of the matching scores of common ids; 0.0 without any."""
    return _call("get_score_min", input_ids, matching_ids, _scores(matching_scores))


def get_score_max(input_ids: Any, matching_ids: Any, matching_scores: Any) -> Expr:
    """The greatest of the matching scores of common ids; 0.0 without any."""
    return _call("get_score_max", input_ids, matching_ids, _scores(matching_scores))


def add_score(scores: Any, score: float) -> Expr:
    """The list with a number added to each score.

    >>> import volley as vl
    >>> vl.frame({"s": [[1.0, 2.0]]}).select(vl.ml.add_score("s", 0.5)).fetchall()
    [([1.5, 2.5],)]
    """
    return _each(scores, lambda it: it + score)


def _each(values: Any, function: Callable[[Expr], Expr]) -> Expr:
    column = _column(values)
    tree = _volley.Expr.call("list_transform", [column._tree, _lambda(function)])
    return Expr(tree, column._name or _root(column))


def _scores(values: Any) -> Expr:
    return _column(values).cast("REAL[]")


def _items(values: Sequence[Any]) -> _volley.Expr:
    return _volley.Expr.array([lit(it)._tree for it in values])


def _list(values: Sequence[Any], of: str) -> Expr:
    return Expr(_items(values).cast(f"{of}[]", False))
