//! Results that are larger than the query's memory.

use super::*;
use std::sync::Arc;
use volley_error::{ErrorKind, Wanted, while_wanted};
use volley_memory::Pool;

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

struct Never;

impl Wanted for Never {
    fn check(&self) -> Result<()> {
        Err(Error::cancelled())
    }
}

/// What a call with one row of `count` is refused, where nobody wants its result.
fn unwanted<M>(function: impl IntoSimple<M>, count: i64) -> ErrorKind {
    let bound = scalar(function).bind(&[Type::BigInt]).unwrap();
    let args = [ints(&[Some(count)])];
    let mut ctx = EvalContext::default();
    let evaluate = || bound.function.evaluate(&Rows::all(1), &args, &bound.result, &mut ctx);
    let result = while_wanted(Arc::new(Never), evaluate);
    result.unwrap_err().kind()
}

#[test]
fn a_long_row_ends_when_nobody_wants_it() {
    let write = |count: i64, out: &mut StringWriter| (0..count).for_each(|_| out.push('x'));
    assert_eq!(unwanted(write, MANY), ErrorKind::Cancelled);
    let collect = |count: i64, out: &mut ArrayWriter<i64>| push_sorted(count, 0..count, out);
    assert_eq!(unwanted(collect, MANY), ErrorKind::Cancelled);
    // Collecting these takes no look, sorting does.
    let sort = |count: i64, out: &mut ArrayWriter<i64>| {
        push_sorted(count, (0..count).map(|it| it * 7919 % 10_007), out);
    };
    assert_eq!(unwanted(sort, 10_000), ErrorKind::Cancelled);
}

fn push_sorted(count: i64, values: impl Iterator<Item = i64>, out: &mut ArrayWriter<i64>) {
    if let Some(mut values) = sorted(count as usize, values, Ord::cmp) {
        out.extend(values.drain(..));
    }
}

#[test]
fn sorted_values_take_the_memory_of_the_query() {
    check(|count: i64, out: &mut ArrayWriter<i64>| push_sorted(count, 0..count, out));
    check(|count: i64, out: &mut ArrayWriter<i64>| {
        let values = sorted_unstable(count as usize, 0..count, Ord::cmp);
        out.extend(values.iter().map(|it| it.len() as i64));
    });
}
