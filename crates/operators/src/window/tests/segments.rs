//! Which calls come in pieces, and what is said of those that do not.

use super::{COUNT, FILTER, ID, KEY, LOWER, SEPARATOR, TEXT, UPPER, X, feed, refused, types};
use crate::test_kit::Harness;
use std::sync::Arc;
use volley_error::ErrorKind;
use volley_function::Exclusion;
use volley_memory::Pool;
use volley_plan::{
    Frame, FrameBound, FrameOffset, FrameUnits, PlanNode, PlanNodeId, SortKey, ValuesNode,
    WindowCall, WindowNode,
};
use volley_testkit::RowValues;
use volley_types::{Field, Schema, Type, Value};

pub(super) fn node(
    function: &str,
    args: &[usize],
    frame: Frame,
    change: fn(&mut WindowCall),
) -> WindowNode {
    let types = types(&Type::BigInt, &Type::BigInt);
    let mut call = WindowCall {
        function: function.into(),
        args: args.to_vec(),
        arg_types: args.iter().map(|it| types[*it].clone()).collect(),
        distinct: false,
        filter: None,
        order_by: Vec::new(),
        ignore_nulls: false,
        order_keys: 1,
        frame,
        place: volley_expression::SourceSpan::default(),
    };
    change(&mut call);
    let field = |(index, it): (usize, &Type)| Field::new(format!("c{index}"), it.clone());
    let schema: Schema = types.iter().enumerate().map(field).collect();
    WindowNode {
        node_id: PlanNodeId::UNASSIGNED,
        input: Arc::new(PlanNode::Values(ValuesNode {
            node_id: PlanNodeId::UNASSIGNED,
            rows: Vec::new(),
            schema: schema.clone(),
        })),
        partition_by: Vec::new(),
        order_by: vec![SortKey { column: KEY, descending: false, nulls_first: false }],
        calls: vec![call],
        limit: None,
        sorted: false,
        keeps_order: false,
        output: vec![ID],
        schema,
    }
}

pub(super) fn frame(units: FrameUnits, start: FrameBound, end: FrameBound) -> Frame {
    Frame { units, start, end, exclusion: Exclusion::NoOthers }
}

fn same(_: &mut WindowCall) {}

/// Groups that differ from row to row.
const COUNTED: FrameOffset = FrameOffset::Column(COUNT);

const FIRST: FrameBound = FrameBound::UnboundedPreceding;
const LAST: FrameBound = FrameBound::UnboundedFollowing;
const HERE: FrameBound = FrameBound::CurrentRow;

fn before(rows: u64) -> FrameBound {
    FrameBound::Preceding(FrameOffset::Count(rows))
}

fn after(rows: u64) -> FrameBound {
    FrameBound::Following(FrameOffset::Count(rows))
}

#[test]
fn calls_that_look_no_further_than_they_say_come_in_pieces() {
    use FrameUnits::{Groups, Range, Rows};
    let check = |function: &str, args: &[usize], frame: Frame, change: fn(&mut WindowCall)| {
        let node = node(function, args, frame, change);
        assert_eq!(refused(&node), None, "{:?}", node.calls);
    };
    for ranking in ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist"] {
        check(ranking, &[], Frame::up_to_peers(), same);
    }
    check("ntile", &[ID], Frame::up_to_peers(), same);
    check("lag", &[X, COUNT, ID], Frame::up_to_peers(), same);
    check("lag", &[X], Frame::up_to_peers(), |it| it.ignore_nulls = true);
    check("lead", &[X, COUNT], Frame::up_to_peers(), same);
    for (function, args) in [("sum", &[X][..]), ("count", &[]), ("min", &[TEXT]), ("avg", &[X])] {
        check(function, args, Frame::up_to_peers(), |it| it.filter = None);
        check(function, args, frame(Groups, FIRST, HERE), |it| it.filter = Some(FILTER));
        check(function, args, frame(Rows, FIRST, before(7)), same);
        check(function, args, frame(Rows, FIRST, after(7)), same);
        check(function, args, frame(Rows, before(10), after(5)), same);
        check(function, args, frame(Range, FIRST, LAST), same);
    }
    check("array_agg", &[X], frame(Rows, before(2), HERE), |it| it.distinct = true);
    for function in ["first_value", "last_value"] {
        check(function, &[X], Frame::up_to_peers(), same);
        check(function, &[X], frame(Rows, FIRST, LAST), same);
        check(function, &[X], frame(Rows, FIRST, HERE), |it| it.ignore_nulls = true);
        check(function, &[X], frame(Rows, before(1), after(1)), |it| it.ignore_nulls = true);
    }
    check("last_value", &[X], frame(Rows, HERE, LAST), same);
    check("first_value", &[X], Frame::up_to_peers(), |it| it.ignore_nulls = true);
    check("nth_value", &[X, ID], frame(Rows, FIRST, LAST), same);
}

#[test]
fn frames_by_value_come_in_pieces() {
    use FrameUnits::{Groups, Range, Rows};
    let value = |column: usize| FrameOffset::Value { key: KEY, bound: column, is_monotone: true };
    let (lower, upper) = (FrameBound::Preceding(value(LOWER)), FrameBound::Following(value(UPPER)));
    let bounded = [
        frame(Range, lower.clone(), HERE),
        frame(Range, lower.clone(), upper.clone()),
        frame(Range, upper.clone(), upper.clone()),
        frame(Range, HERE, HERE),
        frame(Groups, before(1), HERE),
        frame(Groups, before(1 << 20), after(1 << 20)),
        frame(Groups, FrameBound::Preceding(COUNTED), HERE),
        frame(Rows, before(1), after(1)),
    ];
    let is_allowed = |function: &str, frame: &Frame, change: fn(&mut WindowCall)| {
        let node = node(function, &[X], frame.clone(), change);
        assert_eq!(refused(&node), None, "{:?}", node.calls);
    };
    for frame in &bounded {
        for exclusion in [Exclusion::NoOthers, Exclusion::CurrentRow, Exclusion::Ties] {
            let frame = Frame { exclusion, ..frame.clone() };
            is_allowed("sum", &frame, same);
            is_allowed("array_agg", &frame, |it| it.distinct = true);
            is_allowed("first_value", &frame, same);
            is_allowed("last_value", &frame, |it| it.ignore_nulls = true);
        }
    }
    let ends = [(Range, lower), (Range, upper), (Groups, before(1)), (Groups, after(1))];
    for (units, end) in ends {
        is_allowed("sum", &frame(units, FIRST, end.clone()), same);
        is_allowed("last_value", &frame(units, FIRST, end), |it| it.ignore_nulls = true);
    }
}

#[test]
fn calls_that_look_further_need_their_partition() {
    use FrameUnits::{Groups, Range, Rows};
    let check = |function: &str, args: &[usize], frame: Frame, change: fn(&mut WindowCall)| {
        let node = node(function, args, frame, change);
        assert!(refused(&node).is_some(), "{:?}", node.calls);
    };
    check("lead", &[X], Frame::up_to_peers(), |it| it.ignore_nulls = true);
    check("first_value", &[X], frame(Rows, FIRST, LAST), |it| it.ignore_nulls = true);
    check("sum", &[X], frame(Rows, HERE, LAST), same);
    check("sum", &[X], frame(Groups, before(1), LAST), same);
    check("last_value", &[X], frame(Groups, after(1), LAST), same);
    check("sum", &[X], frame(Groups, FIRST, FrameBound::Following(COUNTED)), same);
    check("array_agg", &[X], frame(Groups, FIRST, before(1)), same);
    check("sum", &[X], frame(Rows, before(1 << 20), HERE), same);
    check("sum", &[X], Frame::up_to_peers(), |it| it.distinct = true);
    check("array_agg", &[X], Frame::up_to_peers(), same);
    check("sum", &[X], Frame::up_to_peers(), |it| it.frame.exclusion = Exclusion::CurrentRow);
    let value = FrameOffset::Value { key: KEY, bound: LOWER, is_monotone: false };
    check("sum", &[X], frame(Range, FrameBound::Preceding(value), HERE), same);
}

#[test]
fn the_call_that_needs_its_partition_is_named() {
    let types = types(&Type::BigInt, &Type::BigInt);
    let row = |id: i64| {
        let mut row = vec![Value::BigInt(id); types.len()];
        row[FILTER] = Value::Boolean(true);
        (row[TEXT], row[SEPARATOR]) = (Value::text("some text"), Value::text("-"));
        row
    };
    let rows: RowValues = (0..60_000).map(row).collect();
    let results = |frame: Frame| {
        let node = node("sum", &[X], frame, same);
        let mut cx = Harness::context(100);
        cx.pool = Pool::root("test", Some(4 << 20));
        feed(&node, &types, &rows, &cx, Some(300))
    };
    let check = |frame: Frame, needed: &str| {
        let error = results(frame).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        let text = format!("{error} {error:?}");
        assert!(text.contains(&format!("sum needs {needed} in memory")), "{text}");
    };
    let excluding = Frame { exclusion: Exclusion::CurrentRow, ..Frame::up_to_peers() };
    assert_eq!(results(Frame::up_to_peers()).unwrap().len(), rows.len());
    check(excluding, "whole partitions");
    let near = frame(FrameUnits::Groups, before(100), after(1000));
    assert_eq!(results(near).unwrap().len(), rows.len());
    check(frame(FrameUnits::Groups, before(1 << 20), HERE), "the rows of its frames");
}
