//! Simple functions against vectorized ones written by hand for the same work (figure 1 of the
//! Velox paper).

use crate::{
    measure::Comparison,
    setup::{integers, strings, texts},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, EvalContext, ScalarFunction,
    simple::{
        ArrayView, MapView, PartWriter, Simple, ascii_slice_ternary, scalar, vectorized,
        with_ascii_writing,
    },
};
use volley_kernels::cpu::{self, Kernel};
use volley_types::Type;
use volley_vector::{
    BooleanBuffer, Decoded, INLINE_BYTES, Nested, NullBuffer, Rows, StringView, Values, Vector,
};

const ROWS: usize = 16_384;

/// The simple function's time may be this much of the vectorized one's.
const LIMIT: f64 = 1.05;

/// Elements of arrays and entries of maps, at most.
const ELEMENTS_MAX: usize = 16;

pub fn run() -> Result<bool> {
    let mut all_kept = plus()?;
    all_kept &= substr()?;
    all_kept &= arrays()?;
    all_kept &= maps()?;
    Ok(all_kept)
}

fn overflow() -> Error {
    Error::invalid_value("overflow")
}

fn internal() -> Error {
    Error::internal("argument with an unexpected layout")
}

/// A function that can be called again and again.
struct Call<'a> {
    bound: BoundScalar,
    args: &'a [Vector],
    rows: Rows,
    ctx: EvalContext,
}

impl<'a> Call<'a> {
    fn new(bound: BoundScalar, args: &'a [Vector]) -> Call<'a> {
        Call { bound, args, rows: Rows::all(ROWS), ctx: EvalContext::default() }
    }

    fn run(&mut self) -> Result<Vector> {
        self.bound.function.evaluate(&self.rows, self.args, &self.bound.result, &mut self.ctx)
    }
}

/// Compares, after checking that both give the same.
fn compare(
    name: &str,
    args: &[Vector],
    by_hand: Arc<dyn ScalarFunction>,
    simple: Simple,
) -> Result<bool> {
    let types: Vec<Type> = args.iter().map(|it| it.data_type().clone()).collect();
    let bind = simple.into_bind();
    let bound = bind(&types).ok_or_else(|| Error::internal("simple function of other types"))?;
    let mut simple = Call::new(bound.clone(), args);
    let mut by_hand = Call::new(BoundScalar { function: by_hand, ..bound }, args);
    check_same(&simple.run()?, &by_hand.run()?)?;
    Ok(Comparison::new(name, ROWS, "vectorized", || by_hand.run())
        .with("simple", Some(LIMIT), || simple.run())
        .print())
}

fn check_same(simple: &Vector, by_hand: &Vector) -> Result<()> {
    let comparator = volley_vector::comparator(simple, by_hand)?;
    match (0..ROWS).find(|row| !comparator.is_equal(*row, *row)) {
        Some(row) => Err(Error::internal(format!("another result in row {row}"))),
        None => Ok(()),
    }
}

/// The sums of flat columns, and whether one overflowed.
struct AddLoop<'a> {
    a: &'a [i64],
    b: &'a [i64],
}

impl Kernel for AddLoop<'_> {
    type Output = (Vec<i64>, bool);

    #[inline(always)]
    fn run(self) -> (Vec<i64>, bool) {
        let AddLoop { a, b } = self;
        let b = &b[..a.len()];
        volley_vector::collect_checked(a.len(), |row| a[row].overflowing_add(b[row]))
    }
}

fn plus() -> Result<bool> {
    let by_hand = || {
        vectorized(|rows, args, to, ctx| {
            let (left, right) = (Decoded::new(&args[0])?, Decoded::new(&args[1])?);
            let (a, b) = (left.native::<i64>(), right.native::<i64>());
            let len = rows.len();
            let nulls = NullBuffer::union(left.nulls().as_ref(), right.nulls().as_ref());
            let is_flat = left.is_flat_without_nulls() && right.is_flat_without_nulls();
            let sums = if is_flat && rows.is_all() {
                let (sums, any) = cpu::dispatch(AddLoop { a: &a[..len], b: &b[..len] });
                if any {
                    rows.for_each(|row| {
                        if a[row].checked_add(b[row]).is_none() {
                            ctx.fail(row, overflow);
                        }
                    });
                }
                sums
            } else {
                let mut sums = vec![0; len];
                rows.for_each(|row| {
                    if nulls.as_ref().is_some_and(|it| it.is_null(row)) {
                        return;
                    }
                    match a[left.index(row)].checked_add(b[right.index(row)]) {
                        Some(sum) => sums[row] = sum,
                        None => ctx.fail(row, overflow),
                    }
                });
                sums
            };
            Ok(Vector::native::<i64>(to.clone(), sums, nulls))
        })
    };
    let column =
        || Vector::native::<i64>(Type::BigInt, integers(ROWS, -1_000_000..1_000_000), None);
    let simple = || scalar(|a: i64, b: i64| a.checked_add(b).ok_or(overflow));
    let flat = [column(), column()];
    let codes: Vec<u32> = integers(ROWS, 0..1000).iter().map(|it| *it as u32).collect();
    let dictionary = Vector::dictionary(codes.into(), column().into(), None);
    let mut kept = compare("plus, BIGINT", &flat, by_hand(), simple())?;
    kept &= compare("plus, a dictionary", &[dictionary, column()], by_hand(), simple())?;
    Ok(kept)
}

/// The bytes of `len` characters from the `start`-th on, of ASCII text of `count` bytes.
fn ascii_range(count: usize, start: i64, len: i64) -> std::ops::Range<usize> {
    let count = count as i64;
    let from = (start - 1).clamp(0, count);
    let to = (start - 1).saturating_add(len).clamp(from, count);
    from as usize..to as usize
}

/// The part of ASCII text that is [`ascii_range`].
fn ascii_part(text: &str, start: i64, len: i64) -> &str {
    &text[ascii_range(text.len(), start, len)]
}

/// Like [`ascii_part`], of any text.
fn part(text: &str, start: i64, len: i64) -> &str {
    let position = |count: i64| {
        let count = usize::try_from(count).unwrap_or(0);
        text.char_indices().nth(count).map_or(text.len(), |it| it.0)
    };
    let from = position(start - 1);
    &text[from..position((start - 1).saturating_add(len)).max(from)]
}

fn substr() -> Result<bool> {
    let texts = texts(ROWS, 10..60);
    let int = |value| Vector::constant(Type::BigInt, &volley_types::Value::BigInt(value), ROWS);
    let args = [strings(texts.iter().map(String::as_str)), int(3), int(20)];
    let by_hand = vectorized(|rows, args, to, _| {
        let decoded = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let Values::View(strings) = decoded[0].values() else { return Err(internal()) };
        let [starts, lens] = [decoded[1].native::<i64>(), decoded[2].native::<i64>()];
        let is_ascii = strings.is_ascii();
        let nulls = decoded.iter().fold(None, |all: Option<NullBuffer>, it| {
            NullBuffer::union(all.as_ref(), it.nulls().as_ref())
        });
        let mut views = vec![0u128; rows.len()];
        rows.for_each(|row| {
            if nulls.as_ref().is_some_and(|it| it.is_null(row)) {
                return;
            }
            let index = decoded[0].index(row);
            let text = strings.text(index);
            let (start, len) = (starts[decoded[1].index(row)], lens[decoded[2].index(row)]);
            let cut = if is_ascii { ascii_part } else { part };
            let part = cut(text, start, len).as_bytes();
            views[row] = if part.len() <= INLINE_BYTES {
                StringView::inline(part)
            } else {
                let (buffer, offset) = StringView::position(strings.views[index]);
                let start = part.as_ptr() as usize - text.as_ptr() as usize;
                StringView::new(part, buffer, offset + start as u32)
            };
        });
        Ok(Vector::strings(to.clone(), strings.with_views(views.into()), nulls))
    });
    let simple = with_ascii_writing(
        |text: &str, start: i64, len: i64, out: &mut PartWriter<0>| out.set(part(text, start, len)),
        |text: &str, start: i64, len: i64, out: &mut PartWriter<0>| {
            out.set(ascii_part(text, start, len));
        },
    );
    let mut kept = compare("substr, VARCHAR", &args, Arc::clone(&by_hand), simple)?;
    let types: Vec<Type> = args.iter().map(|it| it.data_type().clone()).collect();
    let marked = ascii_slice_ternary::<i64, i64>(part, ascii_range)(&types).ok_or_else(internal)?;
    let mut by_hand = Call::new(BoundScalar { function: by_hand, ..marked.clone() }, &args);
    let mut marked = Call::new(marked, &args);
    check_same(&marked.run()?, &by_hand.run()?)?;
    kept &= Comparison::new("substr, as the engine has it", ROWS, "vectorized", || by_hand.run())
        .with("simple, with markers", Some(LIMIT), || marked.run())
        .print();
    Ok(kept)
}

/// Rows of up to [`ELEMENTS_MAX`] elements of `elements`, one after the other.
fn nested(elements: impl FnOnce(usize) -> Vector) -> Nested {
    let sizes: Vec<i32> =
        integers(ROWS, 0..ELEMENTS_MAX as i64 + 1).iter().map(|it| *it as i32).collect();
    let offsets: Vec<i32> = sizes
        .iter()
        .scan(0, |end, size| {
            *end += size;
            Some(*end - size)
        })
        .collect();
    let count = sizes.iter().sum::<i32>() as usize;
    let elements = Arc::new(elements(count));
    Nested { offsets: offsets.into(), sizes: sizes.into(), elements }
}

/// The offsets, sizes and elements of a flat argument.
fn nested_of(flat: &Vector) -> Result<&Nested> {
    match flat.flat_values() {
        Some(Values::Array(nested) | Values::Map(nested)) => Ok(nested),
        _ => Err(internal()),
    }
}

fn arrays() -> Result<bool> {
    let nested = nested(|count| Vector::native::<i64>(Type::BigInt, integers(count, 0..100), None));
    let arrays = Vector::flat(Type::array(Type::BigInt), Values::Array(nested), None);
    let sum_by_hand = vectorized(|rows, args, to, _| {
        let flat = args[0].flatten()?;
        let nested = nested_of(&flat)?;
        let elements = nested.elements.flatten()?;
        let values = elements.flat_values().and_then(Values::native::<i64>).ok_or_else(internal)?;
        let mut sums = vec![0i64; rows.len()];
        let nulls = flat.null_buffer();
        rows.for_each(|row| {
            if nulls.is_some_and(|it| it.is_null(row)) {
                return;
            }
            let range = nested.range(row);
            sums[row] = match elements.null_buffer() {
                None => values[range].iter().fold(0, |sum, it| sum.wrapping_add(*it)),
                Some(nulls) => range
                    .filter(|at| nulls.is_valid(*at))
                    .fold(0, |sum: i64, at| sum.wrapping_add(values[at])),
            };
        });
        Ok(Vector::native::<i64>(to.clone(), sums, nulls.cloned()))
    });
    let sum = scalar(|array: ArrayView<i64>| array.iter().flatten().fold(0, i64::wrapping_add));
    let mut kept = compare("array_sum, ARRAY(BIGINT)", &[arrays.clone()], sum_by_hand, sum)?;
    let contains_by_hand = vectorized(|rows, args, _, _| {
        let flat = args[0].flatten()?;
        let nested = nested_of(&flat)?;
        let elements = nested.elements.flatten()?;
        let values = elements.flat_values().and_then(Values::native::<i64>).ok_or_else(internal)?;
        let wanted = Decoded::new(&args[1])?;
        let of_wanted = wanted.native::<i64>();
        let nulls = NullBuffer::union(flat.null_buffer(), wanted.nulls().as_ref());
        let mut words = vec![0u64; rows.len().div_ceil(64)];
        rows.for_each(|row| {
            if nulls.as_ref().is_some_and(|it| it.is_null(row)) {
                return;
            }
            let (range, wanted) = (nested.range(row), of_wanted[wanted.index(row)]);
            let found = match elements.null_buffer() {
                None => values[range].contains(&wanted),
                Some(nulls) => {
                    range.into_iter().any(|at| nulls.is_valid(at) && values[at] == wanted)
                }
            };
            words[row / 64] |= u64::from(found) << (row % 64);
        });
        let bits = BooleanBuffer::new(volley_vector::Buffer::from_vec(words), 0, rows.len());
        Ok(Vector::boolean(bits, nulls))
    });
    let contains = scalar(|array: ArrayView<i64>, x: i64| array.position(x).is_some());
    let wanted = Vector::native::<i64>(Type::BigInt, integers(ROWS, 0..100), None);
    let args = [arrays, wanted];
    kept &= compare("contains, ARRAY(BIGINT)", &args, contains_by_hand, contains)?;
    Ok(kept)
}

/// The keys and values after maps.
fn entries_of(nested: &Nested) -> Result<(Vector, Vector)> {
    let entries = nested.elements.flatten()?;
    match entries.flat_values() {
        Some(Values::Row { children, .. }) if children.len() == 2 => {
            Ok((children[0].flatten()?, children[1].flatten()?))
        }
        _ => Err(internal()),
    }
}

fn maps() -> Result<bool> {
    let map = Type::map(Type::BigInt, Type::Double);
    let nested = nested(|count| {
        let keys = (0..count as i64).map(|it| it % 97).collect::<Vec<_>>();
        let values = (0..count).map(|it| it as f64).collect::<Vec<_>>();
        let children = [
            Vector::native::<i64>(Type::BigInt, keys, None),
            Vector::native::<f64>(Type::Double, values, None),
        ];
        let entries = Values::Row { children: children.into(), len: count };
        Vector::flat(map.entry_type(), entries, None)
    });
    let args = [
        Vector::flat(map.clone(), Values::Map(nested), None),
        Vector::native::<i64>(Type::BigInt, integers(ROWS, 0..97), None),
    ];
    let by_hand = vectorized(|rows, args, to, _| {
        let flat = args[0].flatten()?;
        let nested = nested_of(&flat)?;
        let (keys, values) = entries_of(nested)?;
        let keys = keys.flat_values().and_then(Values::native::<i64>).ok_or_else(internal)?;
        let of_values =
            values.flat_values().and_then(Values::native::<f64>).ok_or_else(internal)?;
        let wanted = Decoded::new(&args[1])?;
        let of_wanted = wanted.native::<i64>();
        let nulls = NullBuffer::union(flat.null_buffer(), wanted.nulls().as_ref());
        let mut found = vec![0f64; rows.len()];
        let mut valid = vec![u64::MAX; rows.len().div_ceil(64)];
        rows.for_each(|row| {
            if nulls.as_ref().is_some_and(|it| it.is_null(row)) {
                return;
            }
            let (range, wanted) = (nested.range(row), of_wanted[wanted.index(row)]);
            let start = range.start;
            let at = keys[range].iter().position(|it| *it == wanted).map(|at| start + at);
            match at.filter(|at| values.null_buffer().is_none_or(|it| it.is_valid(*at))) {
                Some(at) => found[row] = of_values[at],
                None => valid[row / 64] &= !(1 << (row % 64)),
            }
        });
        let bits = BooleanBuffer::new(volley_vector::Buffer::from_vec(valid), 0, rows.len());
        let nulls = NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(bits)));
        Ok(Vector::native::<f64>(to.clone(), found, nulls))
    });
    let simple = scalar(|map: MapView<i64, f64>, key: i64| map.get(key));
    let mut kept = compare("element_at, MAP(BIGINT, DOUBLE)", &args, by_hand, simple)?;
    let length_by_hand = vectorized(|rows, args, to, _| {
        let flat = args[0].flatten()?;
        let nested = nested_of(&flat)?;
        let mut sizes = vec![0i64; rows.len()];
        rows.for_each(|row| sizes[row] = i64::from(nested.sizes[row]));
        Ok(Vector::native::<i64>(to.clone(), sizes, flat.null_buffer().cloned()))
    });
    let length = scalar(|map: MapView<i64, f64>| map.len() as i64);
    kept &= compare("cardinality, MAP(BIGINT, DOUBLE)", &args[..1], length_by_hand, length)?;
    Ok(kept)
}
