//! The operator against the definition: which rows are in a frame is asked of every pair of rows.

mod memory;
mod oracle;
mod segments;
mod row_number;

use super::{operator::WindowOperator, segments::PiecePlan, spec::WindowSpec};
use crate::test_kit::{Harness, registry};
use oracle::Oracle;
use std::{collections::HashSet, sync::Arc};
use volley_error::Result;
use volley_exec::{OperatorContext, OperatorMetrics};
use volley_function::Exclusion;
use volley_memory::Pool;
use volley_plan::{
    Frame, FrameBound, FrameOffset, FrameUnits, PlanNode, PlanNodeId, SortKey, ValuesNode,
    WindowCall, WindowLimit, WindowNode,
};
use volley_state::StateSizes;
use volley_testkit::{Random, RowValues};
use volley_types::{Field, Schema, Type, Value};
use volley_vector::Batch;

/// Columns of the test's input.
const ID: usize = 0;
const PARTITION: usize = 1;
const KEY: usize = 2;
const SECOND_KEY: usize = 3;
const X: usize = 4;
const TEXT: usize = 5;
const FILTER: usize = 6;
const COUNT: usize = 7;
const LOWER: usize = 8;
const UPPER: usize = 9;
const SEPARATOR: usize = 10;

/// The functions under test, and the columns of their arguments.
const FUNCTIONS: [(&str, &[usize]); 23] = [
    ("row_number", &[]),
    ("rank", &[]),
    ("dense_rank", &[]),
    ("percent_rank", &[]),
    ("cume_dist", &[]),
    ("ntile", &[ID]),
    ("lag", &[X]),
    ("lead", &[TEXT, COUNT]),
    ("lag", &[X, COUNT, ID]),
    ("first_value", &[TEXT]),
    ("last_value", &[X]),
    ("nth_value", &[X, ID]),
    ("count", &[]),
    ("count", &[X]),
    ("sum", &[X]),
    ("sum", &[X]),
    ("avg", &[X]),
    ("min", &[TEXT]),
    ("max", &[X]),
    ("bool_and", &[FILTER]),
    ("string_agg", &[TEXT, SEPARATOR]),
    ("array_agg", &[X]),
    ("last", &[TEXT]),
];

fn seeds(default: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("VOLLEY_FUZZ_SEEDS") else { return default };
    let (start, end) = text.split_once("..").expect("VOLLEY_FUZZ_SEEDS is start..end");
    start.parse().expect("a number")..end.parse().expect("a number")
}

#[test]
fn random_windows_are_what_the_definition_says() {
    let mut taken = HashSet::new();
    for seed in seeds(0..400) {
        check(seed, node, &mut taken);
    }
    // Every way to answer was taken.
    for counter in [
        "running frames",
        "tree frames",
        "listed frames",
        "rows cut",
        "sorts",
        "spilled rows",
        "spilled partitions",
        "spilled runs",
        "window parts",
    ] {
        assert!(taken.contains(counter), "{counter}: {taken:?}");
    }
}

#[test]
fn random_windows_in_pieces_are_what_the_definition_says() {
    let mut taken = HashSet::new();
    for seed in seeds(0..400) {
        check(seed, node_in_pieces, &mut taken);
    }
    for counter in [
        "running frames",
        "tree frames",
        "listed frames",
        "rows cut",
        "window pieces",
        "window pieces again",
        "rows sorted before",
    ] {
        assert!(taken.contains(counter), "{counter}: {taken:?}");
    }
}

type MakeNode = fn(&mut Random, &[Type], bool) -> WindowNode;

fn check(seed: u64, node: MakeNode, taken: &mut HashSet<&'static str>) {
    let mut random = Random(seed);
    let key_types = [Type::BigInt, Type::Double, Type::Date, Type::Timestamp, Type::decimal(12, 2)];
    let key = key_types[random.below(key_types.len())].clone();
    let partition = [Type::Varchar, Type::Integer, Type::Double][random.below(3)].clone();
    let descending = random.below(2) == 0;
    let types = types(&key, &partition);
    let rows = rows(&mut random, &types, descending);
    let node = node(&mut random, &types, descending);
    let expected = Oracle::new(&types, &rows, &node).results();
    let in_order = in_order(&node, &types, &rows);
    let sorted = WindowNode { sorted: true, ..node.clone() };
    let ordered = WindowNode { keeps_order: true, ..node.clone() };
    let setups = [(1, None), (3, None), (1024, None), (1, Some(7)), (3, Some(1)), (1024, Some(2))];
    let setups = setups
        .into_iter()
        .flat_map(|it| [(it, &node, &rows), (it, &ordered, &rows), (it, &sorted, &in_order)]);
    for ((batch_rows, spill_every), node, rows) in setups {
        let mut cx = Harness::context(batch_rows);
        let metrics = Arc::new(OperatorMetrics::default());
        cx.metrics = Arc::clone(&metrics);
        let found = run(node, &types, rows, &cx, spill_every);
        assert_eq!(found.len(), expected.len(), "seed {seed}, batches of {batch_rows}, {node:?}");
        for row in &found {
            let Value::BigInt(id) = row[ID] else { panic!("id of {row:?}") };
            let wanted = &expected[&id];
            assert_eq!(
                &row[types.len()..],
                wanted.as_slice(),
                "seed {seed}, batches of {batch_rows}, row {id} of\n{rows:?}\n{}",
                PlanNode::Window(node.clone()).label(),
            );
        }
        if node.keeps_order && node.limit.is_none() {
            let order = |rows: &RowValues| -> Vec<Value> {
                rows.iter().map(|it| it[PARTITION].clone()).collect()
            };
            let (found, wanted) = (order(&found), order(&in_order));
            assert!(node.partition_by.is_empty() || found == wanted, "seed {seed}: {found:?}");
        }
        let is_sorted_here = metrics.counts().named.iter().any(|it| it.0 == "sorts" && it.1 > 0);
        assert!(!(node.sorted && is_sorted_here), "seed {seed}: sorted again");
        taken.extend(metrics.counts().named.iter().filter(|it| it.1 > 0).map(|it| it.0));
    }
}

/// The rows by partition and order.
fn in_order(node: &WindowNode, types: &[Type], rows: &RowValues) -> RowValues {
    let node = WindowNode { calls: Vec::new(), limit: None, keeps_order: true, ..node.clone() };
    let mut rows = run(&node, types, rows, &Harness::context(1024), None);
    rows.iter_mut().for_each(|it| it.truncate(types.len()));
    rows
}

fn run(
    node: &WindowNode,
    types: &[Type],
    rows: &RowValues,
    cx: &OperatorContext,
    spill_every: Option<usize>,
) -> RowValues {
    let result = feed(node, types, rows, cx, spill_every).unwrap();
    assert_eq!(cx.pool.stats().bytes, 0, "memory still held");
    assert_eq!(cx.task.spill.stats().bytes, 0, "files are left");
    result
}

fn feed(
    node: &WindowNode,
    types: &[Type],
    rows: &RowValues,
    cx: &OperatorContext,
    spill_every: Option<usize>,
) -> Result<RowValues> {
    let spec = Arc::new(WindowSpec::new(node, &registry(), StateSizes::SMALL).unwrap());
    let batches = batches(types, rows, cx.task.batch_rows.min(7));
    let operator = WindowOperator::new(&spec, cx);
    Harness::new(operator).spilling(spill_every).feed(batches)
}

/// The rows of columns of `types`, with this number per batch.
fn batches(types: &[Type], rows: &RowValues, batch_rows: usize) -> Vec<Batch> {
    let column = |rows: &[Vec<Value>], index: usize| {
        let values: Vec<Value> = rows.iter().map(|it| it[index].clone()).collect();
        volley_vector::Vector::from_values(types[index].clone(), &values)
    };
    let batch = |rows: &[Vec<Value>]| {
        let columns = (0..types.len()).map(|index| column(rows, index)).collect();
        Batch::new(columns, rows.len())
    };
    rows.chunks(batch_rows).map(batch).collect()
}

fn types(key: &Type, partition: &Type) -> Vec<Type> {
    let mut types = vec![Type::BigInt; 11];
    types[PARTITION] = partition.clone();
    types[KEY] = key.clone();
    types[LOWER] = key.clone();
    types[UPPER] = key.clone();
    types[TEXT] = Type::Varchar;
    types[SEPARATOR] = Type::Varchar;
    types[FILTER] = Type::Boolean;
    types
}

fn rows(random: &mut Random, types: &[Type], descending: bool) -> RowValues {
    let count = [0, 1, 5, 20, 60, 150][random.below(6)];
    let partitions = [1, 2, 10, 100][random.below(4)];
    let keys = [1, 4, 12, 1000][random.below(4)];
    let (below, above) = (random.below(4) as i64, random.below(4) as i64);
    let is_at_end = random.below(4) == 0;
    let row = |id: usize| {
        let partition = random.below(partitions) as i64;
        let key = random.below(keys) as i64 - 2;
        let (lower, upper) =
            if descending { (key + below, key - above) } else { (key - below, key + above) };
        let [key, lower, upper] = match random.below(8) {
            0 => [Value::Null, Value::Null, Value::Null],
            1 if types[KEY] == Type::Double => [const { Value::Double(f64::NAN) }; 3],
            // Beyond the ends of the type.
            _ if is_at_end && key == -2 && !descending => {
                [typed(&types[KEY], key), Value::Null, typed(&types[KEY], upper)]
            }
            _ => [key, lower, upper].map(|it| typed(&types[KEY], it)),
        };
        let long = "abcdefghijklmnopq".repeat(1 + random.below(2));
        let text = Value::text(&long[random.below(5)..]);
        vec![
            Value::BigInt(id as i64),
            if partition == 0 { Value::Null } else { typed(&types[PARTITION], partition) },
            key,
            Value::BigInt(random.below(3) as i64),
            if random.below(3) == 0 {
                Value::Null
            } else {
                Value::BigInt(random.below(20) as i64 - 5)
            },
            if random.below(4) == 0 { Value::Null } else { text },
            [Value::Boolean(true), Value::Boolean(false), Value::Null][random.below(3)].clone(),
            Value::BigInt(random.below(5) as i64),
            lower,
            upper,
            Value::text("-"),
        ]
    };
    let mut rows: RowValues = (0..count).map(row).collect();
    // nth_value counts from 1.
    rows.iter_mut().enumerate().for_each(|(id, row)| row[ID] = Value::BigInt(id as i64 + 1));
    rows
}

fn typed(data_type: &Type, number: i64) -> Value {
    match data_type {
        Type::BigInt => Value::BigInt(number),
        Type::Integer => Value::Integer(number as i32),
        Type::Double => Value::Double(number as f64 / 2.0),
        Type::Date => Value::Date(number as i32),
        Type::Timestamp => Value::Timestamp(number * 1_000_000),
        Type::Decimal { .. } => Value::Decimal(number.into()),
        _ => Value::text(format!("text of many bytes {number}")),
    }
}

fn node(random: &mut Random, types: &[Type], descending: bool) -> WindowNode {
    let nulls_first = random.below(2) == 0;
    let first = SortKey { column: KEY, descending, nulls_first };
    let second = SortKey { column: SECOND_KEY, descending: false, nulls_first: false };
    let order_by = vec![first, second][..random.below(3)].to_vec();
    let has_partitions = random.below(4) > 0;
    let mut calls: Vec<WindowCall> =
        (0..1 + random.below(4)).map(|_| call(random, types, order_by.len())).collect();
    let limit = (random.below(4) == 0).then(|| {
        let function = ["row_number", "rank", "dense_rank"][random.below(3)];
        calls.push(WindowCall {
            function: function.into(),
            args: Vec::new(),
            arg_types: Vec::new(),
            distinct: false,
            filter: None,
            order_by: Vec::new(),
            ignore_nulls: false,
            order_keys: order_by.len(),
            frame: Frame::up_to_peers(),
            place: volley_expression::SourceSpan::default(),
        });
        WindowLimit { call: calls.len() - 1, rows: random.below(5) as u64 }
    });
    let field = |(index, it): (usize, &Type)| Field::new(format!("c{index}"), it.clone());
    let schema: Schema = types.iter().enumerate().map(field).collect();
    let input = Arc::new(PlanNode::Values(ValuesNode {
        node_id: PlanNodeId::UNASSIGNED,
        rows: Vec::new(),
        schema: schema.clone(),
    }));
    let partition_by = if has_partitions { vec![PARTITION] } else { Vec::new() };
    let output = (0..types.len()).collect();
    let (sorted, keeps_order) = (false, false);
    WindowNode {
        node_id: PlanNodeId::UNASSIGNED,
        input,
        partition_by,
        order_by,
        calls,
        limit,
        sorted,
        keeps_order,
        output,
        schema,
    }
}

/// As [`node`], of calls that are answered piece by piece.
fn node_in_pieces(random: &mut Random, types: &[Type], descending: bool) -> WindowNode {
    loop {
        let mut node = node(random, types, descending);
        let calls = std::mem::take(&mut node.calls);
        let mut kept = Vec::new();
        for (index, call) in calls.into_iter().enumerate() {
            node.calls = vec![call.clone()];
            let is_limited = node.limit.is_some_and(|it| it.call == index);
            if is_limited || refused(&node).is_none() {
                kept.push(call);
            }
        }
        if let Some(limit) = &mut node.limit {
            limit.call = kept.len() - 1;
        }
        if !kept.is_empty() {
            node.calls = kept;
            return node;
        }
    }
}

/// Why the calls of a node are not answered piece by piece.
fn refused(node: &WindowNode) -> Option<&'static str> {
    let spec = WindowSpec::new(node, &registry(), StateSizes::SMALL).unwrap();
    let plan = PiecePlan::new(&spec, &Pool::root("test", None)).unwrap();
    plan.refused().map(|it| it.1)
}

fn call(random: &mut Random, types: &[Type], order_keys: usize) -> WindowCall {
    let (function, args) = FUNCTIONS[random.below(FUNCTIONS.len())];
    let is_aggregate = registry().is_aggregate(function);
    let order_keys = random.below(order_keys + 1);
    let of_frame = ["first_value", "last_value", "nth_value"].contains(&function);
    let takes_nulls = of_frame || ["lag", "lead"].contains(&function);
    let own_order = SortKey {
        column: [SECOND_KEY, X, ID, TEXT][random.below(4)],
        descending: random.below(2) == 0,
        nulls_first: random.below(2) == 0,
    };
    WindowCall {
        function: function.into(),
        args: args.to_vec(),
        arg_types: args.iter().map(|it| types[*it].clone()).collect(),
        distinct: is_aggregate && args.len() == 1 && random.below(4) == 0,
        filter: (is_aggregate && random.below(4) == 0).then_some(FILTER),
        order_by: if of_frame && random.below(3) == 0 { vec![own_order] } else { Vec::new() },
        ignore_nulls: takes_nulls && random.below(2) == 0,
        order_keys,
        frame: frame(random, order_keys),
        place: volley_expression::SourceSpan::default(),
    }
}

fn frame(random: &mut Random, order_keys: usize) -> Frame {
    let units = [FrameUnits::Rows, FrameUnits::Range, FrameUnits::Groups][random.below(3)];
    let mut offset = |column: usize| match units {
        FrameUnits::Range => FrameOffset::Value { key: KEY, bound: column, is_monotone: true },
        _ if random.below(3) == 0 => FrameOffset::Column(COUNT),
        _ => FrameOffset::Count([0, 1, 2, 5, 40, u64::MAX][random.below(6)]),
    };
    let (lower, other_lower) = (offset(LOWER), offset(LOWER));
    let (upper, other_upper) = (offset(UPPER), offset(UPPER));
    // RANGE with offsets needs exactly one key.
    let has_offsets = units != FrameUnits::Range || order_keys == 1;
    let start = match random.below(if has_offsets { 6 } else { 3 }) {
        0 | 1 => FrameBound::UnboundedPreceding,
        2 => FrameBound::CurrentRow,
        3 => FrameBound::Following(upper),
        _ => FrameBound::Preceding(lower),
    };
    let end = match random.below(if has_offsets { 6 } else { 3 }) {
        0 => FrameBound::UnboundedFollowing,
        1 | 2 => FrameBound::CurrentRow,
        3 => FrameBound::Preceding(other_lower),
        _ => FrameBound::Following(other_upper),
    };
    let exclusions = [Exclusion::CurrentRow, Exclusion::Group, Exclusion::Ties];
    let exclusion = exclusions.get(random.below(6)).copied().unwrap_or_default();
    Frame { units, start, end, exclusion }
}
