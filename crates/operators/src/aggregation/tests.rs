//! Aggregations against a naive twin.

use super::{
    AggregationSpec,
    accumulator::{AccumulatorSpec, state_of},
    operator::HashAggregation,
    runs::Runs,
};
use crate::test_kit::Harness;
use std::{collections::BTreeMap, sync::Arc, task::Waker};
use volley_error::Result;
use volley_exec::{Operator, OperatorContext, OperatorMetrics, Step, StepContext};
use volley_function::{
    AggregateFunction, AggregateKind, AggregateState, BoundAggregate, CollectingFunction, Expanded,
    StateLayout,
};
use volley_memory::{Pool, Slots};
use volley_plan::{AggregateStep, SortKey};
use volley_state::StateSizes;
use volley_testkit::RandomColumns;
use volley_types::{Type, Value};
use volley_vector::{Batch, Decoded, Rows, Vector};

/// The sum of a BIGINT, null without values.
struct Sum;

/// The values of a BIGINT in the order in which they came, as text: owns memory.
struct Listing;

impl AggregateState for Sum {
    fn state(&self) -> StateLayout {
        StateLayout::of::<Option<i128>>()
    }

    fn init(&self, slots: &mut Slots<'_>) {
        let mut states = slots.typed::<Option<i128>>();
        (0..states.len()).for_each(|it| states.write(it, None));
    }
}

impl AggregateFunction for Sum {
    fn add(&self, slots: &mut Slots<'_>, args: &[Vector], rows: &Rows) -> Result<()> {
        let (mut states, values) = (slots.typed::<Option<i128>>(), args[0].to_values()?);
        rows.for_each(|row| {
            if let Some(value) = values[row].as_i128() {
                *states.get(row).get_or_insert(0) += value;
            }
        });
        Ok(())
    }

    fn add_to_one(&self, slot: &mut Slots<'_>, args: &[Vector], rows: &Rows) -> Result<()> {
        let (mut states, values) = (slot.typed::<Option<i128>>(), args[0].to_values()?);
        rows.for_each(|row| {
            if let Some(value) = values[row].as_i128() {
                *states.get(0).get_or_insert(0) += value;
            }
        });
        Ok(())
    }

    fn merge(&self, slots: &mut Slots<'_>, intermediate: &Vector, rows: &Rows) -> Result<()> {
        self.add(slots, std::slice::from_ref(intermediate), rows)
    }

    fn extract_intermediate(&self, slots: &mut Slots<'_>) -> Result<Vector> {
        self.extract(slots)
    }

    fn extract(&self, slots: &mut Slots<'_>) -> Result<Vector> {
        let mut states = slots.typed::<Option<i128>>();
        let values = (0..states.len()).map(|it| states.get(it).map_or(Value::Null, Value::HugeInt));
        let values: Vec<Value> = values.collect();
        Ok(Vector::from_values(Type::HugeInt, &values))
    }
}

impl AggregateState for Listing {
    fn state(&self) -> StateLayout {
        StateLayout::of::<String>()
    }

    fn init(&self, slots: &mut Slots<'_>) {
        let mut states = slots.typed::<String>();
        (0..states.len()).for_each(|it| states.write(it, String::new()));
    }

    fn drop_states(&self, slots: &mut Slots<'_>) {
        let mut states = slots.typed::<String>();
        (0..states.len()).for_each(|it| drop(std::mem::take(states.get(it))));
    }

    fn external_state_bytes(&self, slots: &mut Slots<'_>) -> usize {
        let mut states = slots.typed::<String>();
        (0..states.len()).map(|it| states.get(it).capacity()).sum()
    }
}

impl AggregateFunction for Listing {
    fn add(&self, slots: &mut Slots<'_>, args: &[Vector], rows: &Rows) -> Result<()> {
        let (mut states, values) = (slots.typed::<String>(), args[0].to_values()?);
        rows.for_each(|row| *states.get(row) += &text_of(&values[row]));
        Ok(())
    }

    fn add_to_one(&self, slot: &mut Slots<'_>, args: &[Vector], rows: &Rows) -> Result<()> {
        let (mut states, values) = (slot.typed::<String>(), args[0].to_values()?);
        rows.for_each(|row| *states.get(0) += &text_of(&values[row]));
        Ok(())
    }

    fn merge(&self, slots: &mut Slots<'_>, intermediate: &Vector, rows: &Rows) -> Result<()> {
        let (mut states, values) = (slots.typed::<String>(), intermediate.to_values()?);
        rows.for_each(|row| *states.get(row) += values[row].as_str().unwrap_or(""));
        Ok(())
    }

    fn extract_intermediate(&self, slots: &mut Slots<'_>) -> Result<Vector> {
        self.extract(slots)
    }

    fn extract(&self, slots: &mut Slots<'_>) -> Result<Vector> {
        let mut states = slots.typed::<String>();
        let values: Vec<_> = (0..states.len()).map(|it| Value::text(states.get(it))).collect();
        Ok(Vector::from_values(Type::Varchar, &values))
    }
}

/// The twin of [`Listing`] that collects.
struct Collected;

impl CollectingFunction for Collected {
    fn results(&self, args: &[Vector], ends: &[u32]) -> Result<Vector> {
        let (values, mut start) = (args[0].to_values()?, 0);
        let texts = ends.iter().map(|end| {
            let rows = &values[std::mem::replace(&mut start, *end as usize)..*end as usize];
            Value::text(rows.iter().map(text_of).collect::<String>())
        });
        Ok(Vector::from_values(Type::Varchar, &texts.collect::<Vec<_>>()))
    }

    fn intermediate(&self, args: &[Vector], ends: &[u32]) -> Result<Vector> {
        self.results(args, ends)
    }

    fn expand(&self, intermediate: &Vector, rows: &Rows) -> Result<Expanded> {
        let texts = intermediate.to_values()?;
        let (mut values, mut sources) = (Vec::new(), Vec::new());
        rows.for_each(|row| {
            for text in texts[row].as_str().unwrap().split_terminator(';') {
                values.push(text.parse().map_or(Value::Null, Value::BigInt));
                sources.push(row as u32);
            }
        });
        Ok(Expanded { args: vec![Vector::from_values(Type::BigInt, &values)], sources })
    }
}

fn text_of(value: &Value) -> String {
    value.as_i128().map_or_else(|| "-;".to_owned(), |it| format!("{it};"))
}

pub(super) fn aggregate(
    function: Arc<dyn AggregateFunction>,
    result: Type,
    arg: usize,
) -> AccumulatorSpec {
    AccumulatorSpec {
        state: Arc::clone(&function) as Arc<dyn AggregateState>,
        bound: BoundAggregate {
            name: "test".to_owned(),
            args: vec![Type::BigInt],
            intermediate: result.clone(),
            result,
            order_sensitive: false,
            ignores_nulls: true,
            function: AggregateKind::Folding(function),
            over_rows: None,
        },
        args: vec![arg],
        arg_types: vec![Type::BigInt],
        distinct: false,
        merges: false,
        filter: None,
        order_by: Vec::new(),
        order_types: Vec::new(),
        place: volley_expression::SourceSpan::default(),
        sizes: StateSizes::SMALL,
    }
}

pub(super) fn sum(arg: usize) -> AccumulatorSpec {
    aggregate(Arc::new(Sum), Type::HugeInt, arg)
}

pub(super) fn listing(arg: usize) -> AccumulatorSpec {
    aggregate(Arc::new(Listing), Type::Varchar, arg)
}

pub(super) fn collected(arg: usize) -> AccumulatorSpec {
    let mut spec = listing(arg);
    spec.bound.function = AggregateKind::Collecting(Arc::new(Collected));
    spec.bound.ignores_nulls = false;
    spec.state = state_of(&spec.bound);
    spec
}

pub(super) fn spec(
    step: AggregateStep,
    key_types: &[Type],
    mut aggregates: Vec<AccumulatorSpec>,
) -> AggregationSpec {
    aggregates.iter_mut().for_each(|it| it.merges |= step.merges());
    let keys = (0..key_types.len()).collect();
    AggregationSpec { step, keys, key_types: key_types.to_vec(), aggregates }
}

/// Runs one aggregation over `batches`; checks that no memory is held after it.
fn run(spec: AggregationSpec, batches: Vec<Batch>, batch_rows: usize) -> Vec<Batch> {
    run_and_look(spec, batches, batch_rows).0
}

/// The same, and whether groups were spread.
pub(super) fn run_and_look(
    spec: AggregationSpec,
    batches: Vec<Batch>,
    batch_rows: usize,
) -> (Vec<Batch>, bool) {
    run_and_count(spec, batches, batch_rows, &Arc::default())
}

/// The same, with counters.
pub(super) fn run_and_count(
    spec: AggregationSpec,
    batches: Vec<Batch>,
    batch_rows: usize,
    metrics: &Arc<OperatorMetrics>,
) -> (Vec<Batch>, bool) {
    let mut is_spread = false;
    let cx = OperatorContext { metrics: Arc::clone(metrics), ..Harness::context(batch_rows) };
    let mut operator = HashAggregation::new("test", Arc::new(spec), &cx);
    let (mut batches, mut output) = (batches.into_iter(), Vec::new());
    loop {
        match operator.step(&mut StepContext { waker: Waker::noop() }).unwrap() {
            Step::Output(batch) => {
                assert!(batch.rows() > 0 && batch.rows() <= batch_rows.max(2048));
                output.push(batch);
            }
            Step::NeedInput => match batches.next() {
                Some(batch) => {
                    operator.accept(batch).unwrap();
                    is_spread |= operator.is_spread();
                }
                None => operator.finish_input().unwrap(),
            },
            Step::Yield | Step::EndOfSplit => {}
            Step::Finished => break,
            other => panic!("{other:?}"),
        }
    }
    drop(operator);
    assert_eq!(cx.pool.stats().bytes, 0);
    (output, is_spread)
}

/// All rows, sorted by their text.
pub(super) fn sorted(batches: &[Batch]) -> Vec<String> {
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch.columns().iter().map(|it| it.to_values().unwrap()).collect();
        for row in 0..batch.rows() {
            let values: Vec<&Value> = columns.iter().map(|it| &it[row]).collect();
            rows.push(format!("{values:?}"));
        }
    }
    rows.sort();
    rows
}

/// The naive twin: groups by the text of the keys, sums column `arg`.
fn naive_sums(batches: &[Batch], keys: usize, arg: usize) -> Vec<String> {
    let mut groups: BTreeMap<String, (Vec<Value>, Option<i128>)> = BTreeMap::new();
    for batch in batches {
        for row in 0..batch.rows() {
            let key: Vec<Value> =
                (0..keys).map(|it| batch.column(it).value(row).unwrap()).collect();
            let text = format!("{:?}", key.iter().map(canonical).collect::<Vec<_>>());
            let group = groups.entry(text).or_insert_with(|| (key, None));
            if let Some(value) = batch.column(arg).value(row).unwrap().as_i128() {
                *group.1.get_or_insert(0) += value;
            }
        }
    }
    let mut rows: Vec<String> = groups
        .into_values()
        .map(|(mut key, sum)| {
            key.push(sum.map_or(Value::Null, Value::HugeInt));
            format!("{:?}", key.iter().collect::<Vec<_>>())
        })
        .collect();
    rows.sort();
    rows
}

/// One representative of equal keys.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Double(value) => Value::Double(value + 0.0),
        other => other.clone(),
    }
}

fn check_sums(key_types: &[Type], rows: usize, seed: u64) {
    for batch_rows in [1, 3, 1024] {
        let mut random = RandomColumns::new(seed);
        let mut types = key_types.to_vec();
        types.push(Type::BigInt);
        let batches = random.batches(&types, rows.min(batch_rows * 300), batch_rows);
        let expected = naive_sums(&batches, key_types.len(), key_types.len());
        let arg = key_types.len();
        let single = spec(AggregateStep::Single, key_types, vec![sum(arg)]);
        assert_eq!(sorted(&run(single, batches.clone(), batch_rows)), expected, "{key_types:?}");
        let partial = spec(AggregateStep::Partial, key_types, vec![sum(arg)]);
        let partials = run(partial, batches.clone(), batch_rows);
        let last = spec(AggregateStep::Final, key_types, vec![sum(arg)]);
        assert_eq!(
            sorted(&run(last, partials, batch_rows)),
            expected,
            "{key_types:?} in two steps"
        );
        // Through groups by the argument as well, whose sums go along.
        let partial = spec(AggregateStep::Partial, &types, vec![sum(arg)]);
        let partials = run(partial, batches.clone(), batch_rows);
        let groups = spec(AggregateStep::Intermediate, &types, vec![sum(arg + 1)]);
        let groups = run(groups, partials, batch_rows);
        for steps in
            [vec![AggregateStep::Single], vec![AggregateStep::Partial, AggregateStep::Final]]
        {
            let mut rows = groups.clone();
            for step in steps {
                let merges = !step.merges();
                let sum = AccumulatorSpec { merges, ..sum(if merges { arg + 1 } else { arg }) };
                rows = run(spec(step, key_types, vec![sum]), rows, batch_rows);
            }
            assert_eq!(sorted(&rows), expected, "{key_types:?} in four steps");
        }
        let distinct = spec(AggregateStep::Single, key_types, vec![]);
        assert_eq!(sorted(&run(distinct, batches, batch_rows)).len(), expected.len());
    }
}

#[test]
fn groups_by_one_key_of_every_type() {
    for (seed, data_type) in RandomColumns::key_types().into_iter().enumerate() {
        check_sums(&[data_type], 5000, seed as u64);
    }
}

#[test]
fn groups_by_several_keys() {
    check_sums(&[Type::Integer, Type::Varchar], 5000, 1);
    check_sums(&[Type::Varchar, Type::Varchar, Type::Date], 5000, 2);
    check_sums(&[Type::Double, Type::BigInt, Type::Boolean], 5000, 3);
    check_sums(&[Type::array(Type::Integer), Type::SmallInt], 2000, 4);
}

#[test]
fn without_keys_there_is_one_group_even_without_rows() {
    let rows = sorted(&run(spec(AggregateStep::Single, &[], vec![sum(0)]), vec![], 10));
    assert_eq!(rows, ["[Null]"]);
    let rows = sorted(&run(spec(AggregateStep::Final, &[], vec![sum(0)]), vec![], 10));
    assert_eq!(rows, ["[Null]"]);
    assert!(run(spec(AggregateStep::Partial, &[], vec![sum(0)]), vec![], 10).is_empty());
    assert!(run(spec(AggregateStep::Single, &[Type::BigInt], vec![]), vec![], 10).is_empty());
    let batch = |values: &[i64]| {
        let values: Vec<Value> = values.iter().map(|it| Value::BigInt(*it)).collect();
        Batch::new(vec![Vector::from_values(Type::BigInt, &values)], values.len())
    };
    for step in [AggregateStep::Single, AggregateStep::Partial, AggregateStep::Final] {
        let batches = vec![batch(&[1, 2, 3]), batch(&[4])];
        assert_eq!(sorted(&run(spec(step, &[], vec![sum(0)]), batches, 10)), ["[HugeInt(10)]"]);
    }
}

/// Columns: group, value, filter.
fn grouped_rows(random: &mut RandomColumns) -> Vec<Batch> {
    random.batches(&[Type::TinyInt, Type::BigInt, Type::Boolean], 3000, 100)
}

#[test]
fn filters_choose_the_rows_of_one_aggregate() {
    let batches = grouped_rows(&mut RandomColumns::new(7));
    let mut filtered = sum(1);
    filtered.filter = Some(2);
    let kept: Vec<Batch> = batches
        .iter()
        .map(|it| {
            let rows: Vec<_> = (0..it.rows()).collect();
            let rows = rows.into_iter().map(|row| {
                let keep = it.column(2).value(row).unwrap() == Value::Boolean(true);
                if keep { it.column(1).value(row).unwrap() } else { Value::Null }
            });
            let values: Vec<Value> = rows.collect();
            let column = Vector::from_values(Type::BigInt, &values);
            Batch::new(vec![it.column(0).clone(), column], it.rows())
        })
        .collect();
    let rows =
        sorted(&run(spec(AggregateStep::Single, &[Type::TinyInt], vec![filtered]), batches, 50));
    assert_eq!(rows, naive_sums(&kept, 1, 1));
}

#[test]
fn distinct_arguments_count_once_per_group() {
    let batches = grouped_rows(&mut RandomColumns::new(8));
    let mut distinct = sum(1);
    distinct.distinct = true;
    distinct.filter = Some(2);
    let mut expected: BTreeMap<String, BTreeMap<String, i128>> = BTreeMap::new();
    for batch in &batches {
        for row in 0..batch.rows() {
            let value = |column: usize| batch.column(column).value(row).unwrap();
            let group = expected.entry(format!("{:?}", value(0))).or_default();
            if value(2) == Value::Boolean(true) && !value(1).is_null() {
                group.insert(format!("{:?}", value(1)), value(1).as_i128().unwrap());
            }
        }
    }
    let mut expected: Vec<String> = expected
        .into_iter()
        .map(|(key, values)| {
            let sum = values.values().copied().reduce(|a, b| a + b);
            format!("[{key}, {:?}]", sum.map_or(Value::Null, Value::HugeInt))
        })
        .collect();
    expected.sort();
    let rows =
        sorted(&run(spec(AggregateStep::Single, &[Type::TinyInt], vec![distinct]), batches, 50));
    assert_eq!(rows, expected);
}

#[test]
fn ordered_arguments_come_in_order_and_rows_of_owning_states_are_dropped() {
    for keys in [0, 1] {
        let batches = grouped_rows(&mut RandomColumns::new(9));
        let mut ordered = listing(1);
        ordered.order_by = vec![SortKey { column: 1, descending: true, nulls_first: false }];
        ordered.order_types = vec![Type::BigInt];
        let mut expected: BTreeMap<String, Vec<Option<i128>>> = BTreeMap::new();
        for batch in &batches {
            for row in 0..batch.rows() {
                let key = batch.column(0).value(row).unwrap();
                let key = if keys == 0 { String::new() } else { format!("{key:?}, ") };
                let group = expected.entry(key).or_default();
                group.push(batch.column(1).value(row).unwrap().as_i128());
            }
        }
        let mut expected: Vec<String> = expected
            .into_iter()
            .map(|(key, mut values)| {
                values.sort_by_key(|it| std::cmp::Reverse(it.unwrap_or(i128::MIN)));
                let text = |it: &Option<i128>| it.map_or("-;".to_owned(), |it| format!("{it};"));
                let text: String = values.iter().map(text).collect();
                format!("[{key}{:?}]", Value::text(text))
            })
            .collect();
        expected.sort();
        let spec = spec(AggregateStep::Single, &[Type::TinyInt][..keys], vec![ordered]);
        assert_eq!(sorted(&run(spec, batches, 50)), expected);
    }
}

#[test]
fn collected_rows_give_what_folded_rows_give() {
    let order = SortKey { column: 1, descending: true, nulls_first: false };
    for (seed, keys) in [(1, 0), (2, 1), (3, 2)] {
        let types = [Type::TinyInt, Type::BigInt, Type::Boolean];
        let key_types = &[Type::TinyInt, Type::BigInt][..keys];
        for batch_rows in [1, 3, 1024] {
            let batches = RandomColumns::new(seed).batches(&types, batch_rows * 300, batch_rows);
            let check = |change: &dyn Fn(&mut AccumulatorSpec)| {
                let results = [listing(1), collected(1)].map(|mut aggregate| {
                    change(&mut aggregate);
                    // Beside one that folds.
                    let aggregates = vec![sum(1), aggregate];
                    let spec = spec(AggregateStep::Single, key_types, aggregates);
                    sorted(&run(spec, batches.clone(), batch_rows))
                });
                assert_eq!(results[0], results[1], "{keys} keys, batches of {batch_rows}");
            };
            check(&|_| {});
            check(&|it| it.filter = Some(2));
            check(&|it| it.distinct = true);
            check(&|it| {
                it.order_by = vec![order];
                it.order_types = vec![Type::BigInt];
            });
            let results = [listing, collected].map(|aggregate| {
                let partial = spec(AggregateStep::Partial, key_types, vec![aggregate(1)]);
                let partials = run(partial, batches.clone(), batch_rows);
                let mut last = aggregate(keys);
                last.arg_types = vec![Type::Varchar];
                sorted(&run(
                    spec(AggregateStep::Final, key_types, vec![last]),
                    partials,
                    batch_rows,
                ))
            });
            assert_eq!(results[0], results[1], "{keys} keys, batches of {batch_rows}, two steps");
        }
    }
}

#[test]
fn a_partial_aggregation_that_does_not_reduce_passes_rows_on() {
    let rows = 300_000i64;
    let batch = |start: i64| {
        let values: Vec<i64> = (start..start + 1000).collect();
        let column = Vector::native::<i64>(Type::BigInt, values, None);
        Batch::new(vec![column.clone(), column], 1000)
    };
    let batches: Vec<_> = (0..rows / 1000).map(|it| batch(it * 1000)).collect();
    let aggregates = || vec![sum(1), listing(1), collected(1)];
    let partials = run(spec(AggregateStep::Partial, &[Type::BigInt], aggregates()), batches, 1024);
    assert!(partials.iter().filter(|it| it.rows() == 1000).count() > 200, "rows passed");
    let mut last = aggregates();
    last[1].args = vec![2];
    last[2].args = vec![3];
    let results = run(spec(AggregateStep::Final, &[Type::BigInt], last), partials, 1024);
    assert_eq!(results.iter().map(Batch::rows).sum::<usize>(), rows as usize);
    let batch = &results[17];
    let decoded = Decoded::new(batch.column(0)).unwrap();
    let key = decoded.native::<i64>()[3];
    assert_eq!(batch.column(1).value(3).unwrap(), Value::HugeInt(key.into()));
    assert_eq!(batch.column(2).value(3).unwrap(), Value::text(format!("{key};")));
    assert_eq!(batch.column(3).value(3).unwrap(), Value::text(format!("{key};")));
}

#[test]
fn a_partial_aggregation_joins_runs_where_the_table_does_not_reduce() {
    let rows = 300_000i64;
    let batch = |start: i64| {
        let keys: Vec<i64> = (start..start + 1000).map(|it| it / 4).collect();
        let values: Vec<i64> = (start..start + 1000).collect();
        let column = |it| Vector::native::<i64>(Type::BigInt, it, None);
        Batch::new(vec![column(keys), column(values)], 1000)
    };
    let batches: Vec<_> = (0..rows / 1000).map(|it| batch(it * 1000)).collect();
    let expected = naive_sums(&batches, 1, 1);
    let aggregates = || vec![sum(1), listing(1), collected(1)];
    let partials = run(spec(AggregateStep::Partial, &[Type::BigInt], aggregates()), batches, 1024);
    assert!(partials.iter().filter(|it| it.rows() == 250).count() > 200, "runs passed");
    let sums: Vec<_> = partials.iter().map(|it| it.project(&[0, 1])).collect();
    assert_eq!(sorted(&sums), expected, "every run is a group");
    let text = |it: i64| format!("{};{};{};{};", it * 4, it * 4 + 1, it * 4 + 2, it * 4 + 3);
    for batch in &partials {
        let key = batch.column(0).value(7).unwrap().as_i128().unwrap() as i64;
        assert_eq!(batch.column(2).value(7).unwrap(), Value::text(text(key)));
        assert_eq!(batch.column(3).value(7).unwrap(), Value::text(text(key)));
    }
}

#[test]
fn a_partial_aggregation_groups_again_once_that_reduces() {
    let batch = |start: i64, distinct: i64| {
        let keys: Vec<i64> = (start..start + 1000).map(|it| it % distinct).collect();
        let column = Vector::native::<i64>(Type::BigInt, keys, None);
        Batch::new(vec![column.clone(), column], 1000)
    };
    let batches = |count: i64, distinct| (0..count).map(move |it| batch(it * 1000, distinct));
    let batches: Vec<_> = batches(300, i64::MAX).chain(batches(4500, 100)).collect();
    let partial = spec(AggregateStep::Partial, &[Type::BigInt], vec![sum(1)]);
    let partials = run(partial, batches, 1024);
    let rows: usize = partials.iter().map(Batch::rows).sum();
    assert!((4_000_000..4_400_000).contains(&rows), "{rows} rows: some passed, some were grouped");
}

#[test]
fn runs_are_found_in_every_encoding() {
    let check = |keys: &[Vector], expected: &[u32]| {
        let runs = Runs::find(keys, keys[0].len()).unwrap().expect("comparable keys");
        assert_eq!(runs.starts, expected);
        let mut run = 0;
        for row in 0..keys[0].len() as u32 {
            run += usize::from(runs.starts.get(run + 1) == Some(&row));
            assert_eq!(runs.of_rows[row as usize] as usize, run);
        }
    };
    let integers = Vector::native::<i32>(Type::Integer, vec![1, 1, 2, 2, 1, 1], None);
    check(std::slice::from_ref(&integers), &[0, 2, 4]);
    let codes: Vec<u32> = vec![0, 1, 5, 4, 2, 3];
    let dictionary = Vector::dictionary(codes.into(), Arc::new(integers.clone()), None);
    check(&[dictionary], &[0, 4]);
    check(&[Vector::constant(Type::Integer, &Value::Integer(3), 6)], &[0]);
    let values = ["a", "a", "a", "b", "b", "b"].map(Value::text);
    let strings = Vector::from_values(Type::Varchar, &values);
    check(&[strings.clone()], &[0, 3]);
    check(&[integers, strings], &[0, 2, 3, 4]);
    let values = [Value::Null, Value::Null, Value::BigInt(0), Value::BigInt(0), Value::Null];
    check(&[Vector::from_values(Type::BigInt, &values)], &[0, 2, 4]);
    let values = [0.0, -0.0, f64::NAN, -f64::NAN].map(Value::Double);
    check(&[Vector::from_values(Type::Double, &values)], &[0, 2]);
}

#[test]
fn too_much_memory_is_an_error() {
    let pool = Pool::root("test", Some(1 << 20));
    let spec = spec(AggregateStep::Single, &[Type::BigInt], vec![listing(0)]);
    let cx = OperatorContext { pool: pool.clone(), ..Harness::context(1024) };
    let mut operator = HashAggregation::new("test", Arc::new(spec), &cx);
    let failed = (0..200i64).any(|batch| {
        let values: Vec<i64> = (batch * 1000..batch * 1000 + 1000).collect();
        let column = Vector::native::<i64>(Type::BigInt, values, None);
        operator.accept(Batch::new(vec![column], 1000)).is_err()
    });
    assert!(failed);
    drop(operator);
    assert_eq!(pool.stats().bytes, 0);
}
