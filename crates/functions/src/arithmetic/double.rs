//! Operators on DOUBLE for blocks of rows: one, or a few in one loop.
//!
//! What lies between operators stays in registers then. A loop takes up to three terms, and a term
//! is a column or a constant, or the sum or difference of a column and a constant: `c - x` is
//! `-x + c`, and `x` is `x + -0.0`. Floats are computed in the order that is written and each
//! operator rounds: results are those of one loop per operator.

use super::Operator;
use std::{any::Any, cmp::Ordering, sync::Arc};
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

/// A sum, difference or product.
#[derive(Clone, Copy)]
pub(super) struct DoubleOperator(pub(super) Operator);

impl BlockFunction for DoubleOperator {
    fn run(&self, args: &[BlockArg<'_>], out: &mut [u8]) -> bool {
        match self.0 {
            Operator::Plus => alone::<Sum>(args, out),
            Operator::Minus => alone::<Difference>(args, out),
            Operator::Multiply => alone::<Product>(args, out),
            Operator::Divide => false,
        }
    }

    fn over(
        &self,
        arg: usize,
        inner: &dyn BlockFunction,
        is_constant: &[bool],
    ) -> Option<Arc<dyn BlockFunction>> {
        self.tree().over(arg, inner, is_constant)
    }
}

fn alone<O: Operation>(args: &[BlockArg<'_>], out: &mut [u8]) -> bool {
    block_binary(|a: f64, b: f64| (O::apply(a, b), false)).run(args, out)
}

impl DoubleOperator {
    /// The operator on its two arguments.
    fn tree(self) -> Tree {
        Tree::Operation(self.0, Box::new([Tree::Argument(0), Tree::Argument(1)]))
    }
}

/// Operators over each other.
#[derive(Clone)]
enum Tree {
    /// The argument of this number.
    Argument(usize),
    Operation(Operator, Box<[Tree; 2]>),
}

impl Tree {
    /// How many arguments are in it.
    fn arguments(&self) -> usize {
        match self {
            Tree::Argument(_) => 1,
            Tree::Operation(_, sides) => sides.iter().map(Tree::arguments).sum(),
        }
    }

    /// The same with `inner` in place of argument number `arg`.
    fn with(&self, arg: usize, inner: &Tree) -> Tree {
        let added = inner.arguments() - 1;
        self.map(&|number| match number.cmp(&arg) {
            Ordering::Less => Tree::Argument(number),
            Ordering::Equal => inner.map(&|it| Tree::Argument(it + arg)),
            Ordering::Greater => Tree::Argument(number + added),
        })
    }

    /// The same with what `f` makes of the number of each argument.
    fn map(&self, f: &dyn Fn(usize) -> Tree) -> Tree {
        match self {
            Tree::Argument(number) => f(*number),
            Tree::Operation(operator, sides) => {
                Tree::Operation(*operator, Box::new(sides.each_ref().map(|it| it.map(f))))
            }
        }
    }

    /// Both in one loop, if there is one.
    fn over(
        &self,
        arg: usize,
        inner: &dyn BlockFunction,
        is_constant: &[bool],
    ) -> Option<Arc<dyn BlockFunction>> {
        let inner: &dyn Any = inner;
        let tree = match (inner.downcast_ref::<Operators>(), inner.downcast_ref()) {
            (Some(Operators { tree, .. }), _) => self.with(arg, tree),
            (_, Some(operator @ DoubleOperator(_))) => self.with(arg, &operator.tree()),
            _ => return None,
        };
        let form = Form::of(&tree, is_constant)?;
        Some(Arc::new(Operators { tree, form }))
    }
}

/// A term of a loop, by numbers of arguments.
#[derive(Clone, Copy)]
enum TermOf {
    Argument(usize),
    /// `argument + constant`, or `argument - constant`.
    Moved {
        argument: usize,
        constant: usize,
        is_minus: bool,
    },
    /// `constant - argument`.
    Reflected {
        argument: usize,
        constant: usize,
    },
}

impl TermOf {
    fn of(tree: &Tree, is_constant: &[bool]) -> Option<TermOf> {
        let (operator, left, right) = match tree {
            Tree::Argument(number) => return Some(TermOf::Argument(*number)),
            Tree::Operation(operator, sides) => match **sides {
                [Tree::Argument(left), Tree::Argument(right)] => (operator, left, right),
                _ => return None,
            },
        };
        let is_constant = |number: usize| is_constant.get(number) == Some(&true);
        let is_minus = matches!(operator, Operator::Minus);
        match (operator, is_constant(left), is_constant(right)) {
            (Operator::Plus | Operator::Minus, false, true) => {
                Some(TermOf::Moved { argument: left, constant: right, is_minus })
            }
            (Operator::Plus, true, false) => {
                Some(TermOf::Moved { argument: right, constant: left, is_minus })
            }
            (Operator::Minus, true, false) => {
                Some(TermOf::Reflected { argument: right, constant: left })
            }
            _ => None,
        }
    }

    /// The term of a block; `None` when an argument is of another length.
    fn term<'a>(self, args: &[BlockArg<'a>], len: usize) -> Option<Term<'a>> {
        let values = |number: usize| args.get(number).map(|it| native_slice::<f64>(it.0));
        let constant = |number| match values(number)? {
            &[value] => Some(value),
            _ => None,
        };
        let (argument, flip, add) = match self {
            TermOf::Argument(argument) => (argument, 0, -0.0),
            TermOf::Moved { argument, constant: number, is_minus } => {
                let added = constant(number)?;
                (argument, 0, if is_minus { -added } else { added })
            }
            TermOf::Reflected { argument, constant: number } => {
                (argument, 1 << 63, constant(number)?)
            }
        };
        let values = values(argument)?;
        let is_column = values.len() == len;
        let tile = [*values.first()?; LANES];
        (is_column || values.len() == 1).then_some(Term { values, is_column, tile, flip, add })
    }
}

/// The loop that computes a tree.
#[derive(Clone, Copy)]
struct Form {
    shape: Shape,
    outer: Operator,
    inner: Operator,
    terms: [TermOf; 3],
}

#[derive(Clone, Copy)]
enum Shape {
    /// `a outer b`
    One,
    /// `(a inner b) outer c`
    Left,
    /// `a outer (b inner c)`
    Right,
}

impl Form {
    fn of(tree: &Tree, is_constant: &[bool]) -> Option<Form> {
        let Tree::Operation(outer, sides) = tree else { return None };
        let [left, right] = &**sides;
        let term = |it: &Tree| TermOf::of(it, is_constant);
        let both = |[a, b]: &[Tree; 2]| Some([term(a)?, term(b)?]);
        let (shape, inner, terms) = match (term(left), term(right), left, right) {
            (Some(a), Some(b), ..) => (Shape::One, *outer, [a, b, b]),
            (None, Some(c), Tree::Operation(inner, sides), _) => {
                let [a, b] = both(sides)?;
                (Shape::Left, *inner, [a, b, c])
            }
            (Some(a), None, _, Tree::Operation(inner, sides)) => {
                let [b, c] = both(sides)?;
                (Shape::Right, *inner, [a, b, c])
            }
            _ => return None,
        };
        Some(Form { shape, outer: *outer, inner, terms })
    }

    fn run(&self, args: &[BlockArg<'_>], out: &mut [f64]) -> bool {
        match self.outer {
            Operator::Plus => self.with_outer::<Sum>(args, out),
            Operator::Minus => self.with_outer::<Difference>(args, out),
            Operator::Multiply => self.with_outer::<Product>(args, out),
            Operator::Divide => false,
        }
    }

    fn with_outer<Outer: Operation>(&self, args: &[BlockArg<'_>], out: &mut [f64]) -> bool {
        match (self.shape, self.inner) {
            (Shape::One, _) => each(self.terms, args, out, |a, b, _| Outer::apply(a, b)),
            (_, Operator::Plus) => self.with_both::<Outer, Sum>(args, out),
            (_, Operator::Minus) => self.with_both::<Outer, Difference>(args, out),
            (_, Operator::Multiply) => self.with_both::<Outer, Product>(args, out),
            (_, Operator::Divide) => false,
        }
    }

    fn with_both<Outer: Operation, Inner: Operation>(
        &self,
        args: &[BlockArg<'_>],
        out: &mut [f64],
    ) -> bool {
        match self.shape {
            Shape::Right => {
                each(self.terms, args, out, |a, b, c| Outer::apply(a, Inner::apply(b, c)))
            }
            Shape::One | Shape::Left => {
                each(self.terms, args, out, |a, b, c| Outer::apply(Inner::apply(a, b), c))
            }
        }
    }
}

/// A tree of operators in one loop.
struct Operators {
    tree: Tree,
    form: Form,
}

impl BlockFunction for Operators {
    fn run(&self, args: &[BlockArg<'_>], out: &mut [u8]) -> bool {
        self.form.run(args, native_slice_mut::<f64>(out))
    }

    fn over(
        &self,
        arg: usize,
        inner: &dyn BlockFunction,
        is_constant: &[bool],
    ) -> Option<Arc<dyn BlockFunction>> {
        self.tree.over(arg, inner, is_constant)
    }
}

/// Rows per turn of a loop.
const LANES: usize = 32;

/// A term over a block: `±value + add`.
#[derive(Clone, Copy)]
struct Term<'a> {
    values: &'a [f64],
    /// Whether there is a value for each row, or one for all.
    is_column: bool,
    /// The first value, repeated.
    tile: [f64; LANES],
    /// Bits of values to change: the sign, or none.
    flip: u64,
    add: f64,
}

impl Term<'_> {
    #[inline(always)]
    fn values<const N: usize>(&self, start: usize) -> &[f64; N] {
        let values = if self.is_column { &self.values[start..] } else { &self.tile };
        values.first_chunk().unwrap_or(&[0.0; N])
    }

    #[inline(always)]
    fn of(&self, value: f64) -> f64 {
        f64::from_bits(value.to_bits() ^ self.flip) + self.add
    }
}

/// Sets each element of `out`; false when an argument is of another length.
fn each(
    terms: [TermOf; 3],
    args: &[BlockArg<'_>],
    out: &mut [f64],
    f: impl Fn(f64, f64, f64) -> f64 + Copy,
) -> bool {
    let [a, b, c] = terms.map(|it| it.term(args, out.len()));
    let (Some(a), Some(b), Some(c)) = (a, b, c) else { return out.is_empty() };
    cpu::dispatch(Loop { terms: [&a, &b, &c], out, f });
    true
}

struct Loop<'a, F> {
    terms: [&'a Term<'a>; 3],
    out: &'a mut [f64],
    f: F,
}

impl<F: Fn(f64, f64, f64) -> f64> Loop<'_, F> {
    /// `N` rows from `start` on.
    #[inline(always)]
    fn rows<const N: usize>(terms: [&Term; 3], start: usize, out: &mut [f64; N], f: &F) {
        let [a, b, c] = terms;
        let (a_values, b_values, c_values) =
            (a.values::<N>(start), b.values::<N>(start), c.values::<N>(start));
        for lane in 0..N {
            out[lane] = f(a.of(a_values[lane]), b.of(b_values[lane]), c.of(c_values[lane]));
        }
    }
}

impl<F: Fn(f64, f64, f64) -> f64> Kernel for Loop<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Loop { terms, out, f } = self;
        let (chunks, rest) = out.as_chunks_mut::<LANES>();
        let done = chunks.len() * LANES;
        for (chunk, out) in chunks.iter_mut().enumerate() {
            Self::rows(terms, chunk * LANES, out, &f);
        }
        for (row, out) in rest.iter_mut().enumerate() {
            Self::rows(terms, done + row, std::array::from_mut(out), &f);
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

    /// More than two turns of a loop, and a rest.
    const ROWS: usize = 81;

    fn run(function: &dyn BlockFunction, args: &[Vec<f64>], rows: usize) -> Option<Vec<f64>> {
        let args: Vec<Buffer> = args.iter().map(Buffer::from_slice_ref).collect();
        let args: Vec<BlockArg<'_>> = args.iter().map(|it| BlockArg(it)).collect();
        let mut out = MutableBuffer::from_len_zeroed(rows * 8);
        let is_valid = function.run(&args, &mut out);
        is_valid.then(|| out.typed_data::<f64>().to_vec())
    }

    /// The bits of values; which NaN comes out depends on the order of an operator's registers.
    fn bits(values: &[f64]) -> Vec<u64> {
        let canonical = |it: &f64| if it.is_nan() { f64::NAN } else { *it };
        values.iter().map(|it| canonical(it).to_bits()).collect()
    }

    /// One operator after the other.
    fn by_steps(tree: &Tree, args: &[Vec<f64>]) -> Vec<f64> {
        match tree {
            Tree::Argument(number) => args[*number].clone(),
            Tree::Operation(operator, sides) => {
                let sides = sides.each_ref().map(|it| by_steps(it, args));
                let rows = sides[0].len().max(sides[1].len());
                run(&DoubleOperator(*operator), &sides, rows).unwrap()
            }
        }
    }

    /// A random tree fused from its leaves up as far as there are loops, and what it computes.
    fn fused(random: &mut fastrand::Rng) -> (Tree, Vec<bool>, Option<Arc<dyn BlockFunction>>) {
        let mut operator = || DoubleOperator(OPERATORS[random.usize(0..3)]);
        let operators = [operator(), operator(), operator(), operator()];
        let is_constant: Vec<bool> = (0..5).map(|_| random.u8(0..3) == 0).collect();
        let mut tree = operators[0].tree();
        let mut function: Option<Arc<dyn BlockFunction>> = None;
        for inner in &operators[1..random.usize(2..5)] {
            let arg = random.usize(0..tree.arguments());
            let outer = function.clone().unwrap_or_else(|| Arc::new(operators[0]));
            let Some(next) = outer.over(arg, inner, &is_constant) else { break };
            tree = tree.with(arg, &inner.tree());
            function = Some(next);
        }
        (tree, is_constant, function)
    }

    #[test]
    fn operators_in_one_loop_give_what_one_after_the_other_gives() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut loops = [0; 6];
        for _ in 0..5000 {
            let (tree, is_constant, function) = fused(&mut random);
            let Some(function) = function else { continue };
            loops[tree.arguments()] += 1;
            let mut value = || VALUES[random.usize(0..VALUES.len())];
            let mut args: Vec<Vec<f64>> = Vec::new();
            for is_constant in &is_constant[..tree.arguments()] {
                let rows = if *is_constant { 1 } else { ROWS };
                args.push((0..rows).map(|_| value()).collect());
            }
            if random.u8(0..4) == 0 {
                // A column whose rows are all the same.
                args[random.usize(0..tree.arguments())].truncate(1);
            }
            let mut expected = by_steps(&tree, &args);
            if expected.len() == 1 {
                expected = vec![expected[0]; ROWS];
            }
            let found = run(&*function, &args, ROWS).unwrap();
            assert_eq!(bits(&found), bits(&expected), "{args:?}");
        }
        assert!(loops[3..].iter().all(|it| *it > 20), "{loops:?}");
    }

    #[test]
    fn a_projection_of_three_columns_is_one_loop() {
        // x * (1 - y) * (1 + z)
        let product = DoubleOperator(Operator::Multiply);
        let first = product.over(1, &DoubleOperator(Operator::Minus), &[false, true, false]);
        let outer = product.over(0, &*first.unwrap(), &[false, true, false, false]).unwrap();
        let constants = [false, true, false, true, false];
        let all = outer.over(3, &DoubleOperator(Operator::Plus), &constants).unwrap();
        let args = [vec![2.0; 5], vec![1.0], vec![0.25; 5], vec![1.0], vec![0.5; 5]];
        assert_eq!(run(&*all, &args, 5), Some(vec![2.25; 5]));
        assert!(all.over(2, &product, &[false; 6]).is_none());
    }

    #[test]
    fn arguments_of_other_lengths_are_refused() {
        let plus = DoubleOperator(Operator::Plus);
        let fused = plus.over(0, &plus, &[false; 3]).unwrap();
        let (long, short) = (vec![1.0; 9], vec![1.0; 2]);
        assert_eq!(run(&*fused, &[long.clone(), short, long.clone()], 9), None);
        assert_eq!(run(&*fused, &[long.clone(), long], 9), None);
    }
}
