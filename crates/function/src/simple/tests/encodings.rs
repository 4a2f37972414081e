//! Every kind of simple function, over every encoding of its arguments, against the same closure
//! called with the values of one row at a time.

use super::{super::*, call};
use volley_error::Error;
use volley_types::{Field, Value};
use volley_vector::random::{Generator, Shape};

/// What a function should answer for the values of a row; `Err`: the row fails.
type Expected = fn(&[Value]) -> Result<Value, ()>;

/// Rows of the batches.
const BATCHES: [usize; 4] = [0, 1, 3, 1024];

/// Checks a function for arguments of these types.
fn check(simple: impl Fn() -> Simple, types: &[Type], expected: Expected) {
    for rows in BATCHES {
        for seed in 0..if rows == 1024 { 3 } else { 12 } {
            let mut random =
                Generator::new(seed).with_null_ratio([0.0, 0.2, 0.9][seed as usize % 3]);
            for shape in [Shape::Flat, Shape::Constant, Shape::Dictionary, Shape::RunLength] {
                let shaped: Vec<Vector> =
                    types.iter().map(|it| random.encoded(shape, it, rows)).collect();
                let any: Vec<Vector> = types.iter().map(|it| random.vector(it, rows)).collect();
                let any = any.iter().map(|it| it.loaded().unwrap()).collect::<Vec<_>>();
                let longer = types.iter().map(|it| random.encoded(shape, it, rows + 5));
                let sliced: Vec<Vector> = longer.map(|it| it.slice(2, rows)).collect();
                for args in [shaped, any, sliced] {
                    check_batch(&simple(), &args, rows, expected, &mut random);
                }
            }
        }
    }
}

fn check_batch(
    simple: &Simple,
    args: &[Vector],
    rows: usize,
    expected: Expected,
    random: &mut Generator,
) {
    let some: Vec<usize> = (0..rows).filter(|_| random.below(3) > 0).collect();
    for active in [Rows::all(rows), Rows::from_indices(rows, some)] {
        let types: Vec<Type> = args.iter().map(|it| it.data_type().clone()).collect();
        let bound = simple.bind(&types).unwrap();
        let mut ctx = EvalContext::default();
        let result = bound.function.evaluate(&active, args, &bound.result, &mut ctx).unwrap();
        assert_eq!((result.len(), result.data_type()), (rows, &bound.result));
        result.validate().unwrap();
        let values = result.to_values().unwrap();
        let columns: Vec<Vec<Value>> = args.iter().map(|it| it.to_values().unwrap()).collect();
        let mut failed: Vec<usize> = ctx.errors.rows().collect();
        failed.sort_unstable();
        failed.dedup();
        active.for_each(|row| {
            let row_values: Vec<Value> = columns.iter().map(|it| it[row].clone()).collect();
            let has_null = bound.traits.propagates_nulls && row_values.iter().any(Value::is_null);
            let wanted = if has_null { Ok(Value::Null) } else { expected(&row_values) };
            match wanted {
                Ok(wanted) => {
                    let (wanted, found) = (format!("{wanted:?}"), format!("{:?}", values[row]));
                    assert_eq!(wanted, found, "row {row} of {rows}: {row_values:?}");
                    assert!(!failed.contains(&row), "row {row} fails: {row_values:?}");
                }
                Err(()) => assert!(failed.contains(&row), "row {row} works: {row_values:?}"),
            }
        });
        assert!(failed.iter().all(|it| active.contains(*it)));
    }
}

fn int(value: &Value) -> Option<i64> {
    match value {
        Value::BigInt(value) => Some(*value),
        _ => None,
    }
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Varchar(value) => Some(value),
        _ => None,
    }
}

fn elements(value: &Value) -> &[Value] {
    match value {
        Value::Array(elements) => elements,
        _ => &[],
    }
}

fn entries(value: &Value) -> &[(Value, Value)] {
    match value {
        Value::Map(entries) => entries,
        _ => &[],
    }
}

fn overflow() -> Error {
    Error::invalid_value("overflow")
}

fn bigint(value: Option<i64>) -> Value {
    value.map_or(Value::Null, Value::BigInt)
}

const INTS: [Type; 2] = [Type::BigInt, Type::BigInt];

fn texts() -> Type {
    Type::array(Type::Varchar)
}

#[test]
fn values_are_returned() {
    check(
        || scalar(|a: i64, b: i64| a ^ b),
        &INTS,
        |row| Ok(Value::BigInt(int(&row[0]).unwrap() ^ int(&row[1]).unwrap())),
    );
    let plus: Expected = |row| {
        let sum = int(&row[0]).unwrap().checked_add(int(&row[1]).unwrap());
        sum.map(Value::BigInt).ok_or(())
    };
    check(|| scalar(|a: i64, b: i64| a.checked_add(b).ok_or(overflow)), &INTS, plus);
    check(|| scalar(|a: i64, b: i64| a.checked_add(b).ok_or_else(overflow)), &INTS, plus);
    check(
        || scalar(|a: i64, b: i64| (a > b).then_some(a)),
        &INTS,
        |row| {
            let (a, b) = (int(&row[0]).unwrap(), int(&row[1]).unwrap());
            Ok(bigint((a > b).then_some(a)))
        },
    );
    check(
        || {
            scalar(
                |a: i64, b: i64| {
                    if a == 0 { Ok(None) } else { b.checked_mul(a).map(Some).ok_or_else(overflow) }
                },
            )
        },
        &INTS,
        |row| {
            let (a, b) = (int(&row[0]).unwrap(), int(&row[1]).unwrap());
            if a == 0 { Ok(Value::Null) } else { b.checked_mul(a).map(Value::BigInt).ok_or(()) }
        },
    );
    check(
        || scalar(|a: Option<i64>, b: i64| a.unwrap_or(b)),
        &INTS,
        |row| Ok(bigint(int(&row[1]).map(|b| int(&row[0]).unwrap_or(b)))),
    );
    check(
        || scalar(|a: &str, b: Option<&str>| b.is_some_and(|b| a < b)),
        &[Type::Varchar, Type::Varchar],
        |row| {
            let Some(a) = text(&row[0]) else { return Ok(Value::Null) };
            Ok(Value::Boolean(text(&row[1]).is_some_and(|b| a < b)))
        },
    );
    check(
        || scalar(|a: &[u8], b: bool| if b { a.to_vec() } else { Vec::new() }),
        &[Type::Varbinary, Type::Boolean],
        |row| match (&row[0], &row[1]) {
            (bytes, Value::Boolean(true)) => Ok(bytes.clone()),
            _ => Ok(Value::Varbinary([].into())),
        },
    );
    check(
        || scalar(|a: DateDays, b: TimestampMicros| DateDays(a.0 ^ b.0 as i32)),
        &[Type::Date, Type::Timestamp],
        |row| match (&row[0], &row[1]) {
            (Value::Date(a), Value::Timestamp(b)) => Ok(Value::Date(a ^ *b as i32)),
            _ => Err(()),
        },
    );
}

#[test]
fn decimals_have_a_scale_and_declare_that_of_the_result() {
    let half = || {
        let simple = scalar(|a: Decimal| Decimal { unscaled: a.unscaled * 5, scale: a.scale + 1 });
        simple.returning(|args| {
            let (precision, scale) = args[0].decimal_shape()?;
            Some(Type::decimal(precision, scale + 1))
        })
    };
    fn expected<const PRECISION: u32>(row: &[Value]) -> Result<Value, ()> {
        let Value::Decimal(unscaled) = &row[0] else { return Err(()) };
        let fits = (unscaled * 5).unsigned_abs() < 10u128.pow(PRECISION);
        if fits { Ok(Value::Decimal(unscaled * 5)) } else { Err(()) }
    }
    check(half, &[Type::decimal(9, 2)], expected::<9>);
    check(half, &[Type::decimal(18, 3)], expected::<18>);
    check(half, &[Type::decimal(30, 10)], expected::<30>);
}

#[test]
fn arrays_maps_and_rows_are_seen() {
    let sum = || scalar(|a: ArrayView<i64>| a.iter().flatten().fold(0i64, i64::wrapping_add));
    check(sum, &[Type::array(Type::BigInt)], |row| {
        Ok(Value::BigInt(elements(&row[0]).iter().filter_map(int).fold(0, i64::wrapping_add)))
    });
    let indexed = || {
        scalar(|a: ArrayView<Varchar>, at: i64| {
            let at = usize::try_from(at & 3).unwrap();
            assert_eq!(a.iter().nth(at).flatten(), a.get(at));
            a.get(at).map(|it| it.len() as i64 + a.has_nulls() as i64)
        })
    };
    check(indexed, &[texts(), Type::BigInt], |row| {
        let at = usize::try_from(int(&row[1]).unwrap() & 3).unwrap();
        let all = elements(&row[0]);
        let has_nulls = i64::from(all.iter().any(Value::is_null));
        Ok(bigint(all.get(at).and_then(text).map(|it| it.len() as i64 + has_nulls)))
    });
    let depth = || {
        scalar(|a: ArrayView<Array<i64>>| -> i64 {
            a.iter()
                .flatten()
                .map(|it| it.iter().rev().flatten().fold(1, i64::wrapping_sub))
                .fold(0, i64::wrapping_add)
        })
    };
    check(depth, &[Type::array(Type::array(Type::BigInt))], |row| {
        let inner = elements(&row[0]).iter().filter(|it| !it.is_null());
        let folded =
            inner.map(|it| elements(it).iter().rev().filter_map(int).fold(1, i64::wrapping_sub));
        Ok(Value::BigInt(folded.fold(0, i64::wrapping_add)))
    });
    let lookup = || {
        scalar(|m: MapView<Varchar, f64>, key: &str| {
            assert_eq!(m.iter().count(), m.len());
            m.get(key)
        })
    };
    check(lookup, &[Type::map(Type::Varchar, Type::Double), Type::Varchar], |row| {
        let found = entries(&row[0]).iter().find(|it| it.0 == row[1]);
        Ok(found.map_or(Value::Null, |it| it.1.clone()))
    });
    let fields = || {
        scalar(|row: (Option<i64>, Option<&str>)| {
            row.0.map(|a| a ^ row.1.map_or(0, |b| b.len() as i64))
        })
    };
    let row = Type::row([Field::new("a", Type::BigInt), Field::new("b", Type::Varchar)]);
    check(fields, &[row], |row| {
        let Value::Row(fields) = &row[0] else { return Err(()) };
        Ok(bigint(int(&fields[0]).map(|a| a ^ text(&fields[1]).map_or(0, |b| b.len() as i64))))
    });
}

#[test]
fn variadic_arguments_are_counted_and_read() {
    let first = || scalar(|all: VariadicView<Nullable<i64>>| all.iter().flatten().next());
    check(first, &[Type::BigInt, Type::BigInt, Type::BigInt], |row| {
        Ok(bigint(row.iter().find_map(int)))
    });
    let joined = || {
        scalar(|by: &str, all: VariadicView<Varchar>, out: &mut StringWriter| {
            for index in 0..all.len() {
                if index > 0 {
                    out.push_str(by);
                }
                out.push_str(all.get(index).unwrap_or_default());
            }
        })
    };
    check(joined, &[Type::Varchar, Type::Varchar, Type::Varchar], |row| {
        let [by, rest @ ..] = row else { return Err(()) };
        let rest: Vec<&str> = rest.iter().filter_map(text).collect();
        Ok(Value::text(rest.join(text(by).unwrap())))
    });
}

#[test]
fn type_variables_hold_any_type() {
    for element in
        [Type::BigInt, Type::Varchar, Type::Double, Type::array(Type::Integer), Type::Boolean]
    {
        let contains = || {
            scalar(|a: ArrayView<Equatable<0>>, x: EquatableValue<0>| {
                a.iter().flatten().any(|it| it == x)
            })
        };
        check(contains, &[Type::array(element.clone()), element.clone()], |row| {
            let found = elements(&row[0]).iter().any(|it| !it.is_null() && same(it, &row[1]));
            Ok(Value::Boolean(found))
        });
        let append = || {
            scalar(|a: ArrayView<Any<0>>, x: Option<AnyValue<0>>, out: &mut ArrayWriter<Any<0>>| {
                out.extend(a.iter());
                out.push(x);
            })
        };
        check(append, &[Type::array(element.clone()), element.clone()], |row| {
            if row[0].is_null() {
                return Ok(Value::Null);
            }
            let mut all = elements(&row[0]).to_vec();
            all.push(row[1].clone());
            Ok(Value::Array(all.into()))
        });
        let last = || {
            scalar(|a: ArrayView<Any<0>>, out: &mut AnyWriter<0>| {
                if let Some(last) = a.iter().next_back().flatten() {
                    out.set(last);
                }
            })
        };
        check(last, &[Type::array(element.clone())], |row| {
            Ok(elements(&row[0]).last().cloned().unwrap_or(Value::Null))
        });
        let distinct = || {
            scalar(|a: ArrayView<Equatable<0>>| {
                a.iter().flatten().collect::<std::collections::HashSet<_>>().len() as i64
            })
        };
        check(distinct, &[Type::array(element.clone())], |row| {
            let all: Vec<&Value> = elements(&row[0]).iter().filter(|it| !it.is_null()).collect();
            let is_first = |at: &usize| !all[..*at].iter().any(|it| same(it, all[*at]));
            Ok(Value::BigInt((0..all.len()).filter(is_first).count() as i64))
        });
    }
}

/// Whether two values are equal, as the comparison of vectors has it.
fn same(a: &Value, b: &Value) -> bool {
    let numbers = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => numbers(*a, *b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b))
        }
        _ => a == b,
    }
}

#[test]
fn results_are_written() {
    let repeat = || {
        scalar(|text: &str, out: &mut StringWriter| {
            if text.is_empty() {
                return None;
            }
            out.push_str(text);
            out.push_str(text);
            Some(())
        })
    };
    check(repeat, &[Type::Varchar], |row| {
        let text = text(&row[0]).unwrap();
        Ok(if text.is_empty() { Value::Null } else { Value::text(text.repeat(2)) })
    });
    let numbers = || {
        scalar(|a: i64, out: &mut ArrayWriter<i64>| {
            (0..a & 3).for_each(|it| out.push(it));
            out.push_null();
            if a & 7 == 5 { Err(overflow()) } else { Ok(()) }
        })
    };
    check(numbers, &[Type::BigInt], |row| {
        let a = int(&row[0]).unwrap();
        if a & 7 == 5 {
            return Err(());
        }
        Ok(Value::Array((0..a & 3).map(Value::BigInt).chain([Value::Null]).collect()))
    });
    let nested = || {
        scalar(|a: ArrayView<Varchar>, out: &mut ArrayWriter<Array<Varchar>>| {
            for text in a.iter() {
                match text {
                    None => out.push_null(),
                    Some(text) => out.push_with(|out| {
                        out.push(text);
                        out.push_with(|out| out.push('x'));
                    }),
                }
            }
        })
    };
    check(nested, &[texts()], |row| {
        let pair = |it: &Value| match it {
            Value::Null => Value::Null,
            text => Value::Array([text.clone(), Value::text("x")].into()),
        };
        Ok(Value::Array(elements(&row[0]).iter().map(pair).collect()))
    });
    let lengths = || {
        scalar(|a: ArrayView<Varchar>, out: &mut MapWriter<Varchar, i64>| {
            a.iter().for_each(|it| out.push(it, it.map(|it| it.len() as i64)));
        })
    };
    check(lengths, &[texts()], |row| {
        let keys = elements(&row[0]);
        let twice = (0..keys.len()).any(|at| keys[..at].contains(&keys[at]));
        if twice || keys.iter().any(Value::is_null) {
            return Err(());
        }
        let entry = |it: &Value| (it.clone(), Value::BigInt(text(it).unwrap().len() as i64));
        Ok(Value::Map(keys.iter().map(entry).collect()))
    });
    let pair = || {
        scalar(|a: i64, b: &str, out: &mut RowWriter<(i64, Varchar)>| {
            if a & 1 == 0 {
                out.set((Some(a), b));
            }
        })
    };
    check(pair, &[Type::BigInt, Type::Varchar], |row| {
        let a = int(&row[0]).unwrap();
        Ok(if a & 1 == 0 { Value::Row(row.into()) } else { Value::Null })
    });
}

#[test]
fn parts_share_the_buffers_of_an_argument() {
    let words = || {
        scalar(|n: i64, text: &str, out: &mut ArrayWriter<PartOf<1>>| {
            out.extend(text.split(' '));
            if n & 1 == 0 {
                out.push("a string that is no part of the argument");
            }
        })
    };
    check(words, &[Type::BigInt, Type::Varchar], |row| {
        let mut all: Vec<Value> = text(&row[1]).unwrap().split(' ').map(Value::text).collect();
        if int(&row[0]).unwrap() & 1 == 0 {
            all.push(Value::text("a string that is no part of the argument"));
        }
        Ok(Value::Array(all.into()))
    });
    let tail = || {
        scalar(|text: &str, out: &mut PartWriter<0>| {
            if let Some(tail) = text.get(1..) {
                out.set(tail);
            }
        })
    };
    check(tail, &[Type::Varchar], |row| {
        Ok(text(&row[0]).unwrap().get(1..).map_or(Value::Null, Value::text))
    });
    let arg = super::texts(&["a first long word", "another rather long text"]);
    let bound = tail().bind(&[Type::Varchar]).unwrap();
    let args = [arg.clone()];
    let mut ctx = EvalContext::default();
    let result = bound.function.evaluate(&Rows::all(2), &args, &bound.result, &mut ctx).unwrap();
    let buffers = |vector: &Vector| match vector.flat_values() {
        Some(volley_vector::Values::View(strings)) => strings.buffers.clone(),
        _ => panic!("not flat"),
    };
    let (before, after) = (buffers(&arg), buffers(&result));
    assert_eq!(after.len(), before.len());
    assert!(after[0].ptr_eq(&before[0]));
}

#[test]
fn elements_of_any_type_are_not_copied() {
    let reversed = scalar(|a: ArrayView<Any<0>>, out: &mut ArrayWriter<Any<0>>| {
        out.extend(a.iter().rev());
    });
    let values = [Value::Array(["a", "b"].map(Value::text).into())];
    let arg = Vector::from_values(texts(), &values);
    let bound = reversed.bind(&[texts()]).unwrap();
    let args = [arg.clone()];
    let mut ctx = EvalContext::default();
    let result = bound.function.evaluate(&Rows::all(1), &args, &bound.result, &mut ctx).unwrap();
    let elements = |vector: &Vector| match vector.flat_values() {
        Some(volley_vector::Values::Array(nested)) => nested.elements.as_ref().clone(),
        _ => panic!("not an array"),
    };
    let elements_of_result = elements(&result);
    let volley_vector::Encoding::Dictionary { base, .. } = elements_of_result.encoding() else {
        panic!("elements are copied");
    };
    let address = |vector: &Vector| vector.flat_values().unwrap().fixed_buffer().unwrap().as_ptr();
    assert_eq!(address(base), address(&elements(&arg)));
}

#[test]
fn ascii_ways_and_declarations_are_kept() {
    let reverse = || {
        with_ascii_writing(
            |text: &str, out: &mut StringWriter| text.chars().rev().for_each(|it| out.push(it)),
            |text: &str, out: &mut StringWriter| out.push_each(text.bytes().rev()),
        )
        .preserving_ascii()
    };
    check(reverse, &[Type::Varchar], |row| {
        Ok(Value::text(text(&row[0]).unwrap().chars().rev().collect::<String>()))
    });
    let length =
        || with_ascii(|text: &str| text.chars().count() as i64, |text: &str| text.len() as i64);
    check(length, &[Type::Varchar], |row| {
        Ok(Value::BigInt(text(&row[0]).unwrap().chars().count() as i64))
    });
    let random = scalar(|a: i64| a).nondeterministic();
    assert!(!random.bind(&[Type::BigInt]).unwrap().traits.deterministic);
    let ascii = super::texts(&["abc", "x"]);
    let volley_vector::Values::View(strings) = ascii.flat_values().unwrap() else { panic!() };
    assert!(strings.is_ascii());
    let (values, _) = call(reverse().into_bind(), &Rows::all(2), &[ascii.clone()]);
    assert_eq!(values, ["cba", "x"].map(Value::text));
    let bound = reverse().bind(&[Type::Varchar]).unwrap();
    let mut ctx = EvalContext::default();
    let result = bound.function.evaluate(&Rows::all(2), &[ascii], &bound.result, &mut ctx).unwrap();
    let volley_vector::Values::View(strings) = result.flat_values().unwrap() else { panic!() };
    assert_eq!(strings.knows_ascii(), Some(true));
}
