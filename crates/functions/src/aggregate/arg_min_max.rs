//! The value of the row with the least or greatest other value, and the least or greatest values:
//! `min_by`, `max_by`, and `min` and `max` of several.
//!
//! Among rows with equal keys, the least value wins, so that the result does not depend on the
//! order of rows.

use super::arg_min_max_typed;
use crate::{
    documentation::doc,
    value_aggregate::{
        self, Choice, Keys, Top, ValueAggregate, ValueRow, compare_values, elements, value_bytes,
    },
};
use std::{cmp::Ordering, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, Registry};
use volley_types::{CustomOrder, Field, Type, Value, implicit_cast_cost};

/// Registers `min_by`, `max_by` and their other names, and `min` and `max` of several values.
pub(super) fn register(registry: &mut Registry) {
    for (choice, word, names) in [
        (Choice::Least, "least", ["min_by", "arg_min", "argmin"]),
        (Choice::Greatest, "greatest", ["max_by", "arg_max", "argmax"]),
    ] {
        let main = names[0];
        let one = doc(
            &format!("{main}(x, y) -> as x"),
            &format!("The x of the row with the {word} y, of rows where neither is null."),
            "aggregate",
            &[(
                &format!("{main}(x, y) FROM (VALUES ('a', 2), ('b', 2), ('c', NULL)) v(x, y)"),
                "a",
            )],
        );
        let several = doc(
            &format!("{main}(x, y, n) -> array(as x)"),
            &format!("The x of the n rows with the {word} y, in that order."),
            "aggregate",
            &[(&format!("{main}(x, y, 2) FROM (VALUES ('a', 2)) v(x, y)"), "[a]")],
        );
        for name in names {
            registry.add_aggregate(name, one.clone(), bind_arg_min_max::<true>(choice));
            registry.add_aggregate(name, several.clone(), bind_top_by::<true>(choice));
        }
        register_first(registry, choice, word);
        let name = if choice == Choice::Least { "arg_min_null" } else { "arg_max_null" };
        let with_null = doc(
            &format!("{name}(x, y) -> as x"),
            &format!("The x, which may be null, of the row with the {word} y that is not null."),
            "aggregate",
            &[(&format!("{name}(x, y) FROM (VALUES (NULL, 1)) v(x, y)"), "NULL")],
        );
        registry.add_aggregate(name, with_null, bind_arg_min_max::<false>(choice));
        let name = if choice == Choice::Least { "min" } else { "max" };
        let values = doc(
            &format!("{name}(x, n) -> array(as x)"),
            &format!("The n {word} values that are not null, in that order."),
            "aggregate",
            &[(&format!("{name}(x, 2) FROM (VALUES (3), (3), (NULL)) v(x)"), "[3, 3]")],
        );
        registry.add_aggregate(name, values, Arc::new(move |args| bind_top_values(args, choice)));
    }
}

/// Registers `min_by_first` or `max_by_first`.
fn register_first(registry: &mut Registry, choice: Choice, word: &str) {
    let main = if choice == Choice::Least { "min_by" } else { "max_by" };
    let name = format!("{main}_first");
    let one = doc(
        &format!("{name}(x, y) -> as x"),
        &format!(
            "The x of the first row with the {word} y, of rows where neither is null. \
             `{main}(x, y ORDER BY z)` is the same as `{name}(x, y ORDER BY z)`."
        ),
        "aggregate",
        &[(&format!("{name}(x, y ORDER BY x DESC) FROM (VALUES ('a', 2), ('b', 2)) v(x, y)"), "b")],
    );
    let several = doc(
        &format!("{name}(x, y, n) -> array(as x)"),
        &format!(
            "The x of the n first rows with the {word} y, in the order of y, and of rows with equal \
             y the last one first."
        ),
        "aggregate",
        &[(
            &format!("{name}(x, y, 2 ORDER BY x) FROM (VALUES ('a', 2), ('b', 2)) v(x, y)"),
            "[b, a]",
        )],
    );
    let sensitive = |bound: BoundAggregate| BoundAggregate { order_sensitive: true, ..bound };
    let bind_one = move |args: &[Type]| {
        let [shown, key] = args else { return None };
        if key.order() < CustomOrder::Ordered {
            return None;
        }
        let aggregate = ChoiceBy::<true>(Chooser::first(choice, shown, key));
        let partial = pair_type(shown, key);
        let bound = value_aggregate::bound(args.to_vec(), partial, shown.clone(), aggregate);
        Some(sensitive(bound))
    };
    registry.add_aggregate(&name, one, Arc::new(bind_one));
    let bind_several = move |args: &[Type]| {
        let [shown, key, _] = args else { return None };
        let chooser = Chooser::first(choice, shown, key);
        bind_top::<true>(args, chooser).map(sensitive)
    };
    registry.add_aggregate(&name, several, Arc::new(bind_several));
}

/// The binding of `min_by(x, y)` or `max_by(x, y)`; `IGNORES`: rows where x is null do not count.
pub fn bind_arg_min_max<const IGNORES: bool>(choice: Choice) -> volley_function::BindAggregate {
    Arc::new(move |args: &[Type]| {
        let [shown, key] = args else { return None };
        if key.order() < CustomOrder::Ordered {
            return None;
        }
        if let Some(typed) = arg_min_max_typed::bind::<IGNORES>(choice, shown, key) {
            return Some(typed);
        }
        let aggregate = ChoiceBy::<IGNORES>(Chooser::new(choice, shown, key));
        let partial = pair_type(shown, key);
        Some(value_aggregate::bound(args.to_vec(), partial, shown.clone(), aggregate))
    })
}

/// The binding of `min_by(x, y, n)` or `max_by(x, y, n)`, as [`bind_arg_min_max`].
pub fn bind_top_by<const IGNORES: bool>(choice: Choice) -> volley_function::BindAggregate {
    Arc::new(move |args: &[Type]| {
        let [shown, key, _] = args else { return None };
        bind_top::<IGNORES>(args, Chooser::new(choice, shown, key))
    })
}

fn bind_top<const IGNORES: bool>(args: &[Type], chooser: Chooser) -> Option<BoundAggregate> {
    let [shown, key, limit] = args else { return None };
    if key.order() < CustomOrder::Ordered {
        return None;
    }
    implicit_cast_cost(limit, &Type::BigInt)?;
    let aggregate = TopBy::<IGNORES>(chooser);
    let partial = limited(Type::array(pair_type(shown, key)));
    let types = vec![shown.clone(), key.clone(), Type::BigInt];
    Some(value_aggregate::bound(types, partial, Type::array(shown.clone()), aggregate))
}

fn bind_top_values(args: &[Type], choice: Choice) -> Option<BoundAggregate> {
    let [value, limit] = args else { return None };
    if value.order() < CustomOrder::Ordered {
        return None;
    }
    implicit_cast_cost(limit, &Type::BigInt)?;
    let array = Type::array(value.clone());
    let aggregate = TopValues { choice, keys: Keys::of(value) };
    let types = vec![value.clone(), Type::BigInt];
    Some(value_aggregate::bound(types, limited(array.clone()), array, aggregate))
}

pub(super) fn pair_type(shown: &Type, key: &Type) -> Type {
    Type::row([Field::new("value", shown.clone()), Field::new("key", key.clone())])
}

fn limited(kept: Type) -> Type {
    Type::row([Field::new("limit", Type::BigInt), Field::new("kept", kept)])
}

fn null_limit() -> Error {
    Error::invalid_value("the number of values must not be null")
}

/// The order in which pairs of a key and what is shown for it are wanted.
pub(super) struct Chooser {
    choice: Choice,
    ties: Ties,
    shown: Keys,
    keys: Keys,
}

/// Which of the rows with equal keys are wanted.
#[derive(Clone, Copy, PartialEq)]
enum Ties {
    Least,
    First,
}

impl Chooser {
    pub(super) fn new(choice: Choice, shown: &Type, key: &Type) -> Chooser {
        Chooser { choice, ties: Ties::Least, shown: Keys::of(shown), keys: Keys::of(key) }
    }

    fn first(choice: Choice, shown: &Type, key: &Type) -> Chooser {
        Chooser { ties: Ties::First, ..Chooser::new(choice, shown, key) }
    }

    fn compare(&self, left: &(Value, Value), right: &(Value, Value)) -> Ordering {
        let order = self.wanted_first(self.keys.compare(&left.0, &right.0));
        match self.ties {
            Ties::Least => order.then_with(|| self.compare_shown(&left.1, &right.1)),
            Ties::First => order,
        }
    }

    /// Less for the key that is wanted, by the order of two keys.
    pub(super) fn wanted_first(&self, order: Ordering) -> Ordering {
        self.choice.wanted_first(order)
    }

    /// Which of two rows with equal keys is wanted.
    pub(super) fn compare_shown(&self, left: &Value, right: &Value) -> Ordering {
        // The same value in several forms: the stored ones decide.
        self.shown.compare(left, right).then_with(|| compare_values(left, right))
    }
}

fn pair_of(row: &Value) -> (Value, Value) {
    match elements(row) {
        [shown, key] => (key.clone(), shown.clone()),
        _ => (Value::Null, Value::Null),
    }
}

fn pair_value((key, shown): &(Value, Value)) -> Value {
    Value::Row([shown.clone(), key.clone()].into())
}

struct ChoiceBy<const IGNORES: bool>(Chooser);

impl<const IGNORES: bool> ValueAggregate for ChoiceBy<IGNORES> {
    /// The key, and what is shown for it.
    type State = Option<(Value, Value)>;
    const IGNORES_NULLS: &'static [bool] = &[IGNORES, true];

    fn add(&self, state: &mut Self::State, row: ValueRow<'_>) -> Result<()> {
        let key = row.value(1);
        if let Some((kept, _)) = state
            && self.0.wanted_first(self.0.keys.compare(&key, kept)).is_gt()
        {
            return Ok(());
        }
        let new = (key, row.value(0));
        if state.as_ref().is_none_or(|kept| self.0.compare(&new, kept).is_lt()) {
            *state = Some(new);
        }
        Ok(())
    }

    fn merge(&self, state: &mut Self::State, partial: &Value) -> Result<()> {
        let new = pair_of(partial);
        if state.as_ref().is_none_or(|kept| self.0.compare(&new, kept).is_lt()) {
            *state = Some(new);
        }
        Ok(())
    }

    fn partial(&self, state: &Self::State) -> Result<Value> {
        Ok(state.as_ref().map_or(Value::Null, pair_value))
    }

    fn result(&self, state: &Self::State) -> Result<Value> {
        Ok(state.as_ref().map_or(Value::Null, |it| it.1.clone()))
    }

    fn external_state_bytes(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, |it| value_bytes(&it.0) + value_bytes(&it.1))
    }
}

struct TopBy<const IGNORES: bool>(Chooser);

impl<const IGNORES: bool> ValueAggregate for TopBy<IGNORES> {
    type State = Top;
    const IGNORES_NULLS: &'static [bool] = &[IGNORES, true, false];

    fn add(&self, state: &mut Top, row: ValueRow<'_>) -> Result<()> {
        state.set_limit(row.integer(2).ok_or_else(null_limit)?)?;
        state.add((row.value(1), row.value(0)), |left, right| self.0.compare(left, right));
        Ok(())
    }

    fn merge(&self, state: &mut Top, partial: &Value) -> Result<()> {
        let [limit, kept] = elements(partial) else { return Ok(()) };
        state.set_limit(limit.as_i128().unwrap_or(0) as i64)?;
        // Of equal keys the first stands last.
        for kept in elements(kept).iter().rev() {
            state.add(pair_of(kept), |left, right| self.0.compare(left, right));
        }
        Ok(())
    }

    fn partial(&self, state: &Top) -> Result<Value> {
        Ok(top_partial(state, pair_value))
    }

    fn result(&self, state: &Top) -> Result<Value> {
        Ok(top_result(state, |it| it.1.clone()))
    }

    fn external_state_bytes(&self, state: &Top) -> usize {
        state.bytes()
    }
}

struct TopValues {
    choice: Choice,
    keys: Keys,
}

impl ValueAggregate for TopValues {
    type State = Top;

    fn add(&self, state: &mut Top, row: ValueRow<'_>) -> Result<()> {
        state.set_limit(row.integer(1).ok_or_else(null_limit)?)?;
        state.add_plain(self.choice, &self.keys, row.value(0));
        Ok(())
    }

    fn merge(&self, state: &mut Top, partial: &Value) -> Result<()> {
        merge_top(state, partial, |state, kept| {
            state.add_plain(self.choice, &self.keys, kept.clone());
        })
    }

    fn partial(&self, state: &Top) -> Result<Value> {
        Ok(top_partial(state, |it| it.0.clone()))
    }

    fn result(&self, state: &Top) -> Result<Value> {
        Ok(top_result(state, |it| it.0.clone()))
    }

    fn external_state_bytes(&self, state: &Top) -> usize {
        state.bytes()
    }
}

fn merge_top(state: &mut Top, partial: &Value, add: impl Fn(&mut Top, &Value)) -> Result<()> {
    if let [limit, kept] = elements(partial) {
        state.set_limit(limit.as_i128().unwrap_or(0) as i64)?;
        elements(kept).iter().for_each(|it| add(state, it));
    }
    Ok(())
}

fn top_partial(state: &Top, kept: impl Fn(&(Value, Value)) -> Value) -> Value {
    match state.limit() {
        0 => Value::Null,
        limit => Value::Row([Value::BigInt(limit as i64), top_result(state, kept)].into()),
    }
}

fn top_result(state: &Top, kept: impl Fn(&(Value, Value)) -> Value) -> Value {
    match state.limit() {
        0 => Value::Null,
        _ => Value::Array(state.kept().iter().map(kept).collect()),
    }
}
