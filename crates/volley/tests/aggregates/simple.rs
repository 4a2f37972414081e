//! Simple aggregates of several shapes: two arguments, null arguments, no argument, states outside
//! the row, errors.

use crate::query;
use std::borrow::Cow;
use volley::{ErrorKind, Registry, Result, Session, Settings, Value};
use volley_function::{
    FunctionDoc,
    aggregate::simple::{self, SimpleAggregate},
    simple::{BigInt, Double, Nullable, Varbinary, Varchar},
};

/// Adds `weighted_mean`, `null_counts`, `rows_in_all`, `longest` and `checked_total`.
pub fn register(registry: &mut Registry) {
    let doc = FunctionDoc::default;
    registry.add_aggregate("weighted_mean", doc(), simple::bind(WeightedMean));
    registry.add_aggregate("null_counts", doc(), simple::bind(NullCounts));
    registry.add_aggregate("rows_in_all", doc(), simple::bind(RowsInAll));
    registry.add_aggregate("longest", doc(), simple::bind(Longest));
    registry.add_aggregate("checked_total", doc(), simple::bind(CheckedTotal));
}

/// The mean of values with weights.
struct WeightedMean;

impl SimpleAggregate for WeightedMean {
    /// Sum of weighted values, sum of weights.
    type State = (f64, i64);
    type Args = (Double, BigInt);
    type Partial = (Double, BigInt);
    type Result = Double;

    fn add(&self, state: &mut (f64, i64), (value, weight): (f64, i64)) -> Result<()> {
        state.0 += value * (weight % 8) as f64;
        state.1 += weight % 8;
        Ok(())
    }

    fn merge(&self, state: &mut (f64, i64), (sum, weights): (f64, i64)) -> Result<()> {
        *state = (state.0 + sum, state.1 + weights);
        Ok(())
    }

    fn partial(&self, state: &(f64, i64)) -> Result<Option<(f64, i64)>> {
        Ok(Some(*state))
    }

    fn result(&self, state: &(f64, i64)) -> Result<Option<f64>> {
        Ok((state.1 != 0).then(|| state.0 / state.1 as f64))
    }
}

/// How many texts and how many nulls there are, as text.
struct NullCounts;

impl SimpleAggregate for NullCounts {
    /// `None` before the first null.
    type State = (i64, Option<i64>);
    type Args = Nullable<Varchar>;
    type Partial = (BigInt, Nullable<BigInt>);
    type Result = Varchar;

    fn add(&self, state: &mut (i64, Option<i64>), text: Option<&str>) -> Result<()> {
        match text {
            Some(_) => state.0 += 1,
            None => *state.1.get_or_insert(0) += 1,
        }
        Ok(())
    }

    fn merge(&self, state: &mut Self::State, (texts, nulls): (i64, Option<i64>)) -> Result<()> {
        state.0 += texts;
        if let Some(nulls) = nulls {
            *state.1.get_or_insert(0) += nulls;
        }
        Ok(())
    }

    fn partial(&self, state: &Self::State) -> Result<Option<(i64, Option<i64>)>> {
        Ok(Some(*state).filter(|it| *it != (0, None)))
    }

    fn result<'s>(&self, state: &'s Self::State) -> Result<Option<Cow<'s, str>>> {
        Ok(Some(format!("{} and {:?}", state.0, state.1).into()))
    }
}

/// `count(*)`.
struct RowsInAll;

impl SimpleAggregate for RowsInAll {
    type State = i64;
    type Args = ();
    type Partial = BigInt;
    type Result = BigInt;

    fn add(&self, state: &mut i64, (): ()) -> Result<()> {
        *state += 1;
        Ok(())
    }

    fn merge(&self, state: &mut i64, rows: i64) -> Result<()> {
        *state += rows;
        Ok(())
    }

    fn partial(&self, state: &i64) -> Result<Option<i64>> {
        Ok((*state > 0).then_some(*state))
    }

    fn result(&self, state: &i64) -> Result<Option<i64>> {
        Ok(Some(*state))
    }
}

/// The longest bytes, the least of several.
struct Longest;

impl SimpleAggregate for Longest {
    type State = Option<Vec<u8>>;
    type Args = Varbinary;
    type Partial = Varbinary;
    type Result = Varbinary;

    fn add(&self, state: &mut Option<Vec<u8>>, bytes: &[u8]) -> Result<()> {
        let rank = |it: &[u8]| (std::cmp::Reverse(it.len()), it.to_vec());
        if state.as_ref().is_none_or(|it| rank(bytes) < rank(it)) {
            *state = Some(bytes.to_owned());
        }
        Ok(())
    }

    fn merge(&self, state: &mut Option<Vec<u8>>, bytes: &[u8]) -> Result<()> {
        self.add(state, bytes)
    }

    fn partial<'s>(&self, state: &'s Option<Vec<u8>>) -> Result<Option<Cow<'s, [u8]>>> {
        self.result(state)
    }

    fn result<'s>(&self, state: &'s Option<Vec<u8>>) -> Result<Option<Cow<'s, [u8]>>> {
        Ok(state.as_deref().map(Cow::Borrowed))
    }

    fn outside_bytes(&self, state: &Option<Vec<u8>>) -> usize {
        state.as_ref().map_or(0, Vec::capacity)
    }
}

/// A sum of BIGINT that overflows. Values are cut, so that random ones do not.
struct CheckedTotal;

impl SimpleAggregate for CheckedTotal {
    type State = i64;
    type Args = BigInt;
    type Partial = BigInt;
    type Result = BigInt;

    fn add(&self, state: &mut i64, value: i64) -> Result<()> {
        *state += value % 1024;
        Ok(())
    }

    fn add_repeated(&self, state: &mut i64, value: i64, times: usize) -> Result<()> {
        *state += value % 1024 * times as i64;
        Ok(())
    }

    fn merge(&self, state: &mut i64, value: i64) -> Result<()> {
        *state += value;
        Ok(())
    }

    fn partial(&self, state: &i64) -> Result<Option<i64>> {
        Ok(Some(*state))
    }

    fn result(&self, state: &i64) -> Result<Option<i64>> {
        if *state == 1000 {
            return Err(volley::Error::invalid_value("the total is 1000"));
        }
        Ok(Some(*state))
    }
}

/// Fails for a negative value.
struct Fails;

impl SimpleAggregate for Fails {
    type State = i64;
    type Args = BigInt;
    type Partial = BigInt;
    type Result = BigInt;

    fn add(&self, _state: &mut i64, value: i64) -> Result<()> {
        if value < 0 {
            return Err(volley::Error::invalid_value(format!("a negative value: {value}")));
        }
        Ok(())
    }

    fn merge(&self, _state: &mut i64, _value: i64) -> Result<()> {
        Ok(())
    }

    fn partial(&self, _state: &i64) -> Result<Option<i64>> {
        Ok(None)
    }

    fn result(&self, _state: &i64) -> Result<Option<i64>> {
        Ok(None)
    }
}

fn session() -> Session {
    let fails = simple::bind(Fails);
    let builder = Session::builder().extend(register);
    builder.add_aggregate("fails", FunctionDoc::default(), fails).build().unwrap()
}

#[test]
fn rows_with_a_null_argument_do_not_count() {
    let sql =
        "SELECT weighted_mean(x, w) FROM (VALUES (1, 1), (4, 2), (NULL, 3), (9, NULL)) v(x, w)";
    let found = session().sql(sql).unwrap().collect_values().unwrap();
    assert_eq!(found, [[Value::Double(3.0)]]);
}

#[test]
fn markers_that_take_nulls_get_them() {
    let sql = "SELECT null_counts(x), rows_in_all() FROM (VALUES ('a'), (NULL), (NULL)) v(x)";
    assert_eq!(query(&session(), sql), ["Varchar(\"1 and Some(2)\") | BigInt(3)"]);
    let sql = "SELECT null_counts(NULL), longest(NULL) FROM (VALUES (1)) v(x)";
    assert_eq!(query(&session(), sql), ["Varchar(\"0 and Some(1)\") | Null"]);
    let sql = "SELECT null_counts(x), longest(x::VARBINARY) FROM (VALUES ('a')) v(x) WHERE x = 'b'";
    assert_eq!(query(&session(), sql), ["Varchar(\"0 and None\") | Null"]);
}

#[test]
fn errors_fail_the_query() {
    for sql in [
        "SELECT fails(x) FROM (VALUES (1), (-7)) v(x)",
        "SELECT g, fails(x) FROM (VALUES (1, 1), (2, -7)) v(g, x) GROUP BY g",
        "SELECT fails(-7)",
    ] {
        let error = session().sql(sql).and_then(|it| it.collect_values()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
        assert!(error.to_string().contains("a negative value: -7"), "{error}");
    }
    // Null rows are not added, those that FILTER drops neither.
    let sql = "SELECT fails(x) FILTER (WHERE x > 0) FROM (VALUES (1), (-7), (NULL)) v(x)";
    assert_eq!(query(&session(), sql), ["Null"]);
    let error = session().sql("SELECT checked_total(1000)").and_then(|it| it.collect_values());
    assert!(error.unwrap_err().to_string().contains("the total is 1000"));
}

#[test]
fn states_outside_the_row_are_charged() {
    let settings = Settings { memory_limit_bytes: Some(24 << 20), ..Settings::default() };
    let session = Session::builder().settings(settings).extend(register).build().unwrap();
    // 40 states of 1 MiB each, made of texts that are dropped again.
    let digits = "SELECT x::INTEGER AS x FROM (VALUES (0), (1), (2), (3), (4), (5), (6)) v(x)";
    let sql = format!(
        "SELECT count(b) FROM (
             SELECT g, longest(repeat('0123', (1 << 18) + g)::VARBINARY) AS b
             FROM (SELECT a.x * 7 + b.x AS g FROM ({digits}) a, ({digits}) b) t GROUP BY g) u"
    );
    let error = session.sql(&sql).and_then(|it| it.collect_values()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
    session.set("memory_limit", "1GiB").unwrap();
    assert_eq!(query(&session, &sql), ["BigInt(49)"]);
}
