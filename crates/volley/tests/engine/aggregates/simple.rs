//! Simple aggregates of several shapes: two arguments, null arguments, no argument, states outside
//! the row, errors.

use super::query;
use std::{borrow::Cow, collections::BTreeMap};
use volley::{ErrorKind, Registry, Result, Session, Settings, Value};
use volley_function::{
    FunctionDoc,
    aggregate::simple::{self, SimpleAggregate, Write},
    simple::{
        Array, ArrayWriter, BigInt, Double, Map, MapView, MapWriter, Nullable, Row, RowWriter,
        Varbinary, Varchar,
    },
};

/// Adds `weighted_mean`, `null_counts`, `rows_in_all`, `longest`, `checked_total`,
/// `last_digits`, `length_counts` and `least_and_longest`.
pub fn register(registry: &mut Registry) {
    let doc = FunctionDoc::default;
    registry.add_aggregate("weighted_mean", doc(), simple::bind(WeightedMean));
    registry.add_aggregate("null_counts", doc(), simple::bind(NullCounts));
    registry.add_aggregate("rows_in_all", doc(), simple::bind(RowsInAll));
    registry.add_aggregate("longest", doc(), simple::bind(Longest));
    registry.add_aggregate("checked_total", doc(), simple::bind(CheckedTotal));
    registry.add_aggregate("last_digits", doc(), simple::bind(LastDigits));
    registry.add_aggregate("length_counts", doc(), simple::bind(LengthCounts));
    registry.add_aggregate("least_and_longest", doc(), simple::bind(LeastAndLongest));
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

    fn external_state_bytes(&self, state: &Option<Vec<u8>>) -> usize {
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
        // No random total is so large.
        if *state == 1_000_000 {
            return Err(volley::Error::invalid_value("the total is a million"));
        }
        Ok(Some(*state))
    }
}

/// The last digits that occur, in order, as an array; null without rows.
struct LastDigits;

impl SimpleAggregate for LastDigits {
    /// A bit for each digit.
    type State = u16;
    type Args = BigInt;
    type Partial = BigInt;
    type Result = Array<BigInt>;

    fn add(&self, state: &mut u16, value: i64) -> Result<()> {
        *state |= 1 << (value % 10).unsigned_abs();
        Ok(())
    }

    fn merge(&self, state: &mut u16, bits: i64) -> Result<()> {
        *state |= bits as u16;
        Ok(())
    }

    fn partial(&self, state: &u16) -> Result<Option<i64>> {
        Ok((*state != 0).then_some(i64::from(*state)))
    }

    fn result<'s>(&self, state: &'s u16) -> Result<Option<Write<'s, ArrayWriter<BigInt>>>> {
        if *state == 0 {
            return Ok(None);
        }
        let digits = (0..10_i64).filter(move |it| *state >> it & 1 == 1);
        Ok(Some(Box::new(|out| out.extend(digits))))
    }
}

/// How many texts of each length there are, as a map; also between steps.
struct LengthCounts;

type CountsWriter = MapWriter<BigInt, BigInt>;

impl SimpleAggregate for LengthCounts {
    type State = BTreeMap<i64, i64>;
    type Args = Varchar;
    type Partial = Map<BigInt, BigInt>;
    type Result = Map<BigInt, BigInt>;

    fn add(&self, state: &mut Self::State, text: &str) -> Result<()> {
        *state.entry(text.len() as i64).or_default() += 1;
        Ok(())
    }

    fn merge(&self, state: &mut Self::State, counts: MapView<'_, BigInt, BigInt>) -> Result<()> {
        for (length, count) in counts.iter() {
            *state.entry(length).or_default() += count.unwrap_or_default();
        }
        Ok(())
    }

    fn partial<'s>(&self, state: &'s Self::State) -> Result<Option<Write<'s, CountsWriter>>> {
        if state.is_empty() { Ok(None) } else { self.result(state) }
    }

    fn result<'s>(&self, state: &'s Self::State) -> Result<Option<Write<'s, CountsWriter>>> {
        Ok(Some(Box::new(|out| state.iter().for_each(|(length, count)| out.push(*length, *count)))))
    }

    fn external_state_bytes(&self, state: &Self::State) -> usize {
        state.len() * 2 * size_of::<i64>()
    }
}

/// The least number and the longest text (the least of those), as a row.
struct LeastAndLongest;

type PairWriter = RowWriter<(BigInt, Varchar)>;

impl SimpleAggregate for LeastAndLongest {
    type State = Option<(i64, String)>;
    type Args = (BigInt, Varchar);
    type Partial = (BigInt, Varchar);
    type Result = Row<(BigInt, Varchar)>;

    fn add(&self, state: &mut Self::State, (number, text): (i64, &str)) -> Result<()> {
        let (least, longest) = state.get_or_insert_with(|| (number, text.to_owned()));
        *least = number.min(*least);
        if text.len() > longest.len() || text.len() == longest.len() && text < longest.as_str() {
            *longest = text.to_owned();
        }
        Ok(())
    }

    fn merge(&self, state: &mut Self::State, partial: (i64, &str)) -> Result<()> {
        self.add(state, partial)
    }

    fn partial<'s>(&self, state: &'s Self::State) -> Result<Option<(i64, Cow<'s, str>)>> {
        Ok(state.as_ref().map(|(least, longest)| (*least, longest.as_str().into())))
    }

    fn result<'s>(&self, state: &'s Self::State) -> Result<Option<Write<'s, PairWriter>>> {
        let Some((least, longest)) = state else { return Ok(None) };
        Ok(Some(Box::new(|out| out.set((*least, longest.as_str())))))
    }

    fn external_state_bytes(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, |it| it.1.capacity())
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
    let ten =
        |name: &str| format!("(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) {name}(x)");
    let thousand = [ten("a"), ten("b"), ten("c")].join(", ");
    let sql = format!("SELECT checked_total(1000) FROM {thousand}");
    let error = session().sql(&sql).and_then(|it| it.collect_values());
    assert!(error.unwrap_err().to_string().contains("the total is a million"));
}

#[test]
fn results_can_be_arrays_maps_and_rows() {
    let sql = "SELECT g, last_digits(x)::VARCHAR, length_counts(t)::VARCHAR, \
                   least_and_longest(x, t)::VARCHAR \
               FROM (VALUES (1, 23, 'a'), (1, 4, 'bb'), (1, 13, 'cc'), (2, NULL, NULL), (3, -7, '')) \
                   v(g, x, t) GROUP BY g ORDER BY g";
    let expected = [
        "Integer(1) | Varchar(\"[3, 4]\") | Varchar(\"{1=1, 2=2}\") | Varchar(\"(4, bb)\")",
        "Integer(2) | Null | Varchar(\"{}\") | Null",
        "Integer(3) | Varchar(\"[7]\") | Varchar(\"{0=1}\") | Varchar(\"(-7, '')\")",
    ];
    assert_eq!(query(&session(), sql), expected);
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
