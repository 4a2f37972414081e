//! Results that are larger than the query's memory.

use super::*;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use volley_error::ErrorKind;
use volley_memory::{CancellationToken, Pool, with_cancellation};

/// What the pool may hold; results need more.
const LIMIT: usize = 8 << 20;

/// Elements of results, each of at least one byte.
const MANY: i64 = 64 << 20;

fn limited() -> (Pool, EvalContext) {
    let pool = Pool::root("test", Some(LIMIT));
    let memory = Some(pool.reservation());
    (pool, EvalContext { memory, ..EvalContext::default() })
}

/// The error of a function of a number, which is to be out of memory, and nothing more is held.
fn check<M>(function: impl IntoSimple<M>) {
    let bound = scalar(function).bind(&[Type::BigInt]).unwrap();
    let (pool, mut ctx) = limited();
    let numbers = ints(&[Some(1), Some(MANY), Some(MANY)]);
    let result = bound.function.evaluate(&Rows::all(3), &[numbers], &bound.result, &mut ctx);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::OutOfMemory);
    assert!(ctx.errors.is_empty() && pool.stats().peak_bytes <= LIMIT);
    // Few rows are as they would be without a limit, and cost nothing.
    let (pool, mut ctx) = limited();
    let numbers = ints(&[Some(1), Some(2)]);
    let result = bound.function.evaluate(&Rows::all(2), &[numbers], &bound.result, &mut ctx);
    assert_eq!((result.unwrap().len(), ctx.charged(), pool.stats().peak_bytes), (2, 0, 0));
}

#[test]
fn one_row_ends_the_query_and_not_the_process() {
    check(|count: i64, out: &mut StringWriter| (0..count).for_each(|_| out.push_str("abc")));
    check(|count: i64, out: &mut StringWriter| (0..count).for_each(|_| out.push('x')));
    check(|count: i64, out: &mut StringWriter| out.push_each((0..count).map(|_| b'x')));
    check(|count: i64, out: &mut ArrayWriter<i64>| out.extend(0..count));
    check(|count: i64, out: &mut ArrayWriter<bool>| out.extend((0..count).map(|_| true)));
    check(|count: i64, out: &mut ArrayWriter<i64>| (0..count).for_each(|_| out.push_null()));
    check(|count: i64, out: &mut ArrayWriter<Varchar>| {
        (0..count).for_each(|_| out.push("a text that is stored elsewhere"));
    });
    check(|count: i64, out: &mut ArrayWriter<Array<i64>>| {
        (0..count).for_each(|it| out.push_with(|array| array.push(it)));
    });
    check(|count: i64, out: &mut MapWriter<i64, i64>| (0..count).for_each(|it| out.push(it, it)));
    check(|count: i64, out: &mut ArrayWriter<Row<(i64, i64)>>| {
        (0..count).for_each(|it| out.push((it, it)));
    });
}

#[test]
fn the_length_counts_what_was_dropped() {
    check(|count: i64, out: &mut StringWriter| {
        while out.len() < count as usize {
            out.push_str("abcd");
        }
    });
}

#[test]
fn references_to_arguments_are_charged() {
    let repeat = |count: i64, x: AnyValue<0>, out: &mut ArrayWriter<Any<0>>| {
        (0..count).for_each(|_| out.push(x));
    };
    let bound = scalar(repeat).bind(&[Type::BigInt, Type::Varchar]).unwrap();
    let (_, mut ctx) = limited();
    let args = [ints(&[Some(MANY)]), texts(&["x"])];
    let result = bound.function.evaluate(&Rows::all(1), &args, &bound.result, &mut ctx);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::OutOfMemory);
}

#[test]
fn sets_of_elements_are_charged_and_given_back_with_the_row() {
    let unique = |array: ArrayView<Equatable<0>>| array.iter().collect::<Seen<_>>().len() as i64;
    let bound = scalar(unique).bind(&[Type::array(Type::BigInt)]).unwrap();
    let array = |count: i64| {
        let elements = (0..count).map(Value::BigInt).collect();
        Vector::from_values(Type::array(Type::BigInt), &[Value::Array(elements)])
    };
    let evaluate = |count: i64| {
        let (pool, mut ctx) = limited();
        let rows = Rows::all(20);
        let args = [Vector::repeat(array(count), 20).flatten().unwrap()];
        let result = bound.function.evaluate(&rows, &args, &bound.result, &mut ctx);
        assert!(pool.stats().peak_bytes <= LIMIT);
        result.map(|it| it.value(19).unwrap())
    };
    assert_eq!(evaluate(10_000).unwrap(), Value::BigInt(10_000));
    assert_eq!(evaluate(400_000).unwrap_err().kind(), ErrorKind::OutOfMemory);
}

/// What a call with one row of `count` is refused, when the query is cancelled.
fn unwanted<M>(function: impl IntoSimple<M>, count: i64) -> ErrorKind {
    let bound = scalar(function).bind(&[Type::BigInt]).unwrap();
    let args = [ints(&[Some(count)])];
    let mut ctx = EvalContext::default();
    let evaluate = || bound.function.evaluate(&Rows::all(1), &args, &bound.result, &mut ctx);
    let result = with_cancellation(&CancellationToken::after_checks(0), evaluate);
    result.unwrap_err().kind()
}

#[test]
fn a_long_row_ends_when_nobody_wants_it() {
    let write = |count: i64, out: &mut StringWriter| (0..count).for_each(|_| out.push('x'));
    assert_eq!(unwanted(write, MANY), ErrorKind::Cancelled);
    let collect = |count: i64, out: &mut ArrayWriter<i64>| push_sorted(count, 0..count, out);
    assert_eq!(unwanted(collect, MANY), ErrorKind::Cancelled);
    // These are too few to ask for memory or to look before they are sorted.
    let sort = |count: i64, out: &mut ArrayWriter<i64>| {
        push_sorted(count, (0..count).map(|it| it * 7919 % 10_007), out);
    };
    assert_eq!(unwanted(sort, 1000), ErrorKind::Cancelled);
}

fn push_sorted(count: i64, values: impl Iterator<Item = i64>, out: &mut ArrayWriter<i64>) {
    if let Some(mut values) = sorted(count as usize, values, Ord::cmp) {
        out.extend(values.drain(..));
    }
}

#[test]
fn writers_of_arrays_look_while_there_is_room() {
    let counted = CancellationToken::after_checks(1000);
    let extend = |count: i64, out: &mut ArrayWriter<i64>| out.extend(0..count);
    let bound = scalar(extend).bind(&[Type::BigInt]).unwrap();
    let args = [ints(&[Some(4 << 20)])];
    let mut ctx = EvalContext::default();
    let evaluate = || bound.function.evaluate(&Rows::all(1), &args, &bound.result, &mut ctx);
    let array = with_cancellation(&counted, evaluate).unwrap();
    let looks = 1000 - counted.checks_left();
    assert!((64..150).contains(&looks), "{looks}");
    let Value::Array(elements) = array.value(0).unwrap() else { panic!("no array") };
    assert!(elements.iter().enumerate().all(|(at, it)| *it == Value::BigInt(at as i64)));
}

#[test]
fn elements_that_nobody_wants_are_not_made() {
    let made = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&made);
    let extend = move |count: i64, out: &mut ArrayWriter<i64>| {
        out.extend((0..count).inspect(|_| _ = counter.fetch_add(1, Ordering::Relaxed)));
    };
    assert_eq!(unwanted(extend, MANY), ErrorKind::Cancelled);
    let made = made.load(Ordering::Relaxed);
    assert!(made <= 4 << 16 && made < MANY as usize / 4, "{made}");
}

#[test]
fn rows_that_nobody_wants_are_left() {
    let write = |value: i64, out: &mut StringWriter| out.push_str(if value > 0 { "a" } else { "" });
    let bound = scalar(write).bind(&[Type::BigInt]).unwrap();
    for (count, is_left) in [(1000, false), (70_000, true)] {
        let args = [ints(&vec![Some(1); count])];
        let mut ctx = EvalContext::default();
        let rows = Rows::all(count);
        let evaluate = || bound.function.evaluate(&rows, &args, &bound.result, &mut ctx);
        let result = with_cancellation(&CancellationToken::after_checks(0), evaluate);
        let kind = result.err().map(|it| it.kind());
        assert_eq!(kind, is_left.then_some(ErrorKind::Cancelled));
    }
}

#[test]
fn a_long_array_ends_when_nobody_wants_it() {
    let elements = |count: i64| Value::Array((0..count).map(Value::BigInt).collect());
    let check = |bound: BoundScalar| {
        for count in [0, 1, 65_535, 65_537, 200_000] {
            let args = [Vector::from_values(Type::array(Type::BigInt), &[elements(count)])];
            let evaluate = || {
                let ctx = &mut EvalContext::default();
                bound.function.evaluate(&Rows::all(1), &args, &bound.result, ctx)
            };
            let sum = evaluate().unwrap().value(0).unwrap();
            assert_eq!(sum, Value::BigInt(count * (count - 1) / 2));
            let unwanted = with_cancellation(&CancellationToken::after_checks(0), evaluate);
            let kind = unwanted.err().map(|it| it.kind());
            assert_eq!(kind, (count > 65_536).then_some(ErrorKind::Cancelled), "{count}");
        }
    };
    let of_arrays = [Type::array(Type::BigInt)];
    let folded = scalar(|array: ArrayView<i64>| array.iter().flatten().sum::<i64>());
    check(folded.bind(&of_arrays).unwrap());
    let looped = scalar(|array: ArrayView<i64>| {
        let mut sum = 0;
        for element in array.iter() {
            sum += element.unwrap_or(0);
        }
        sum
    });
    check(looped.bind(&of_arrays).unwrap());
}

#[test]
fn sorted_values_take_the_memory_of_the_query() {
    check(|count: i64, out: &mut ArrayWriter<i64>| push_sorted(count, 0..count, out));
    check(|count: i64, out: &mut ArrayWriter<i64>| {
        let values = sorted_unstable(count as usize, 0..count, Ord::cmp);
        out.extend(values.iter().map(|it| it.len() as i64));
    });
}
