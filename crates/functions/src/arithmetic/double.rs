//! Operators on DOUBLE for blocks of rows, alone or two in one loop.
//!
//! What lies between two operators stays in a register then. Floats are computed in the order that
//! is written, with two roundings: results are those of two loops.

use super::Operator;
use std::{any::Any, sync::Arc};
use volley_function::{BlockArg, BlockFunction, block_binary};
use volley_kernels::cpu::{self, Kernel};
use volley_vector::{native_slice, native_slice_mut};

/// An operator that loops are compiled for.
trait Operation: Copy + Send + Sync + 'static {
    fn apply(a: f64, b: f64) -> f64;
}

#[derive(Clone, Copy)]
struct Sum;
#[derive(Clone, Copy)]
struct Difference;
#[derive(Clone, Copy)]
struct Product;

impl Operation for Sum {
    #[inline(always)]
    fn apply(a: f64, b: f64) -> f64 {
        a + b
    }
}

impl Operation for Difference {
    #[inline(always)]
    fn apply(a: f64, b: f64) -> f64 {
        a - b
    }
}

impl Operation for Product {
    #[inline(always)]
    fn apply(a: f64, b: f64) -> f64 {
        a * b
    }
}

/// `$body` with `$operation` as the type of an operator; false for others.
macro_rules! match_operation {
    ($operator:expr, $operation:ident => $body:expr) => {
        match $operator {
            Operator::Plus => {
                type $operation = Sum;
                $body
            }
            Operator::Minus => {
                type $operation = Difference;
                $body
            }
            Operator::Multiply => {
                type $operation = Product;
                $body
            }
            Operator::Divide => false,
        }
    };
}

/// A sum, difference or product.
pub(super) struct DoubleOperator(pub(super) Operator);

impl BlockFunction for DoubleOperator {
    fn run(&self, args: &[BlockArg<'_>], out: &mut [u8]) -> bool {
        match_operation!(self.0, O => {
            block_binary(|a: f64, b: f64| (O::apply(a, b), false)).run(args, out)
        })
    }

    fn over(&self, arg: usize, inner: &dyn BlockFunction) -> Option<Arc<dyn BlockFunction>> {
        let inner = (inner as &dyn Any).downcast_ref::<DoubleOperator>()?;
        Some(Arc::new(TwoOperators { outer: self.0, inner: inner.0, arg }))
    }
}

/// `outer` of the result of `inner`, which is its argument number `arg`, and another argument.
struct TwoOperators {
    outer: Operator,
    inner: Operator,
    arg: usize,
}

impl BlockFunction for TwoOperators {
    fn run(&self, args: &[BlockArg<'_>], out: &mut [u8]) -> bool {
        let [a, b, c] = args else { return false };
        let columns = [a, b, c].map(|it| native_slice::<f64>(it.0));
        let out = native_slice_mut::<f64>(out);
        match_operation!(self.outer, Outer => match_operation!(self.inner, Inner => match self.arg {
            0 => each(columns, out, |a, b, c| Outer::apply(Inner::apply(a, b), c)),
            _ => each(columns, out, |a, b, c| Outer::apply(a, Inner::apply(b, c))),
        }))
    }
}

/// An argument as a column or as one value for all rows.
trait Operand: Copy {
    /// Its first `len` rows.
    fn cut(self, len: usize) -> Self;
    fn at(self, row: usize) -> f64;
}

impl Operand for &[f64] {
    #[inline(always)]
    fn cut(self, len: usize) -> Self {
        &self[..len]
    }

    #[inline(always)]
    fn at(self, row: usize) -> f64 {
        self[row]
    }
}

impl Operand for f64 {
    #[inline(always)]
    fn cut(self, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn at(self, _: usize) -> f64 {
        self
    }
}

/// `$body` with `$operand`, a slice of `$len` values or of a single one, as what it is; false for
/// other lengths.
macro_rules! match_operand {
    ($operand:ident, $len:expr, $body:expr) => {
        if $operand.len() == $len {
            $body
        } else if let &[$operand] = $operand {
            $body
        } else {
            false
        }
    };
}

/// Sets each element of `out`; false when an argument is of another length.
fn each(columns: [&[f64]; 3], out: &mut [f64], f: impl Fn(f64, f64, f64) -> f64 + Copy) -> bool {
    let [a, b, c] = columns;
    let len = out.len();
    match_operand!(
        a,
        len,
        match_operand!(
            b,
            len,
            match_operand!(c, len, {
                cpu::dispatch(Loop { args: (a, b, c), out, f });
                true
            })
        )
    )
}

struct Loop<'a, A, F> {
    args: A,
    out: &'a mut [f64],
    f: F,
}

impl<A: Operand, B: Operand, C: Operand, F: Fn(f64, f64, f64) -> f64> Kernel
    for Loop<'_, (A, B, C), F>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Loop { args: (a, b, c), out, f } = self;
        // The compiler sees that all are of one length, and checks none in the loop.
        let (a, b, c) = (a.cut(out.len()), b.cut(out.len()), c.cut(out.len()));
        for (row, out) in out.iter_mut().enumerate() {
            *out = f(a.at(row), b.at(row), c.at(row));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_vector::{Buffer, MutableBuffer};

    const VALUES: [f64; 9] =
        [0.1, -0.0, 0.0, f64::NAN, f64::INFINITY, -1.5, 1e308, f64::NEG_INFINITY, 3.0];
    const OPERATORS: [Operator; 3] = [Operator::Plus, Operator::Minus, Operator::Multiply];

    fn run(function: &dyn BlockFunction, args: &[&[f64]], rows: usize) -> Option<Vec<u64>> {
        let args: Vec<Buffer> = args.iter().map(Buffer::from_slice_ref).collect();
        let args: Vec<BlockArg<'_>> = args.iter().map(|it| BlockArg(it)).collect();
        let mut out = MutableBuffer::from_len_zeroed(rows * 8);
        // Which NaN comes out depends on the order of an addition's registers.
        let bits = |it: &f64| if it.is_nan() { f64::NAN.to_bits() } else { it.to_bits() };
        let is_valid = function.run(&args, &mut out);
        is_valid.then(|| out.typed_data::<f64>().iter().map(bits).collect())
    }

    /// The arguments of each form: columns of all pairs of values, or a single value.
    fn forms(column: &[f64]) -> [Vec<f64>; 2] {
        [column.to_vec(), vec![column[3]]]
    }

    #[test]
    fn two_operators_in_one_loop_give_what_two_loops_give() {
        let rows = 81;
        let column = |step: usize| -> Vec<f64> {
            (0..rows).map(|row| VALUES[(row / step + row) % VALUES.len()]).collect()
        };
        let (a, b, c) = (column(1), column(9), column(4));
        for (outer, inner) in OPERATORS.iter().flat_map(|it| OPERATORS.map(|inner| (*it, inner))) {
            let (outer, inner) = (DoubleOperator(outer), DoubleOperator(inner));
            for mask in 0..7 {
                let [a, b, c] = [&a, &b, &c].map(|it| forms(it));
                let (a, b, c) = (&a[mask & 1], &b[mask >> 1 & 1], &c[mask >> 2]);
                let inner_rows = a.len().max(b.len());
                let first = run(&inner, &[a, b], inner_rows).unwrap();
                let first: Vec<f64> = first.into_iter().map(f64::from_bits).collect();
                let expected = run(&outer, &[&first, c], rows);
                let fused = outer.over(0, &inner).unwrap();
                assert_eq!(run(&*fused, &[a, b, c], rows), expected);
                let inner_rows = b.len().max(c.len());
                let second = run(&inner, &[b, c], inner_rows).unwrap();
                let second: Vec<f64> = second.into_iter().map(f64::from_bits).collect();
                let expected = run(&outer, &[a, &second], rows);
                let fused = outer.over(1, &inner).unwrap();
                assert_eq!(run(&*fused, &[a, b, c], rows), expected);
            }
        }
    }

    #[test]
    fn arguments_of_other_lengths_are_refused() {
        let fused =
            DoubleOperator(Operator::Plus).over(0, &DoubleOperator(Operator::Plus)).unwrap();
        assert_eq!(run(&*fused, &[&VALUES, &VALUES[..2], &VALUES], VALUES.len()), None);
        assert_eq!(run(&*fused, &[&VALUES, &VALUES], VALUES.len()), None);
    }
}
