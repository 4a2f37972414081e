//! `bit_and`, `bit_or`, `bit_xor`, and other folds of numbers: `count_if`, `product`,
//! `geomean`.

use crate::documentation::doc;
use std::{
    ops::{BitAnd, BitOr, BitXor},
    sync::Arc,
};
use volley_error::Result;
use volley_function::{
    BindAggregate, Registry,
    aggregate::simple::{self, SimpleAggregate},
    simple::{BigInt, Boolean, Double, Physical},
};
use volley_types::{Native, PhysicalType, Type};

/// Registers the folds.
pub(super) fn register(registry: &mut Registry) {
    let bits: [(&str, BitFold, &str); 3] =
        [("and", BitFold::And, "8"), ("or", BitFold::Or, "14"), ("xor", BitFold::Xor, "6")];
    for (word, fold, example) in bits {
        let name = format!("bit_{word}");
        let doc = doc(
            &format!("{name}(integer) -> as the argument"),
            &format!("The values that are not null, combined by {word} bit by bit."),
            "aggregate",
            &[(&format!("{name}(x) FROM (VALUES (12), (10), (NULL)) v(x)"), example)],
        );
        registry.add_aggregate(&name, doc, bind_bits(fold));
    }
    let count_if = doc(
        "count_if(boolean) -> bigint",
        "The number of rows where the condition is true.",
        "aggregate",
        &[("count_if(x > 1) FROM (VALUES (1), (2), (NULL)) v(x)", "1")],
    );
    registry.add_aggregate("count_if", count_if.clone(), simple::bind(CountIf));
    registry.add_aggregate("countif", count_if, simple::bind(CountIf));
    let product = doc(
        "product(number) -> double",
        "The product of the values that are not null; null if there is none.",
        "aggregate",
        &[("product(x) FROM (VALUES (2), (3), (NULL)) v(x)", "6.0")],
    );
    registry.add_aggregate("product", product, simple::bind(Product));
    let geometric = doc(
        "geomean(number) -> double",
        "The n-th root of the product of the n values that are not null; null if there is none.",
        "aggregate",
        &[("geomean(x) FROM (VALUES (4), (1), (NULL)) v(x)", "2.0")],
    );
    for name in ["geomean", "geometric_mean"] {
        registry.add_aggregate(name, geometric.clone(), simple::bind(GeometricMean));
    }
}

/// How the bits of two values become those of one.
#[derive(Clone, Copy)]
enum BitFold {
    And,
    Or,
    Xor,
}

fn bind_bits(fold: BitFold) -> BindAggregate {
    Arc::new(move |args: &[Type]| {
        let [arg] = args else { return None };
        let is_unsigned = arg.unsigned().is_some();
        if !arg.is_integer() && !is_unsigned {
            return None;
        }
        let types = || (vec![arg.clone()], arg.clone(), arg.clone());
        let (args, partial, result) = types();
        Some(match arg.physical() {
            PhysicalType::I8 => {
                let fold = Bits::new(fold, if is_unsigned { i8::MIN } else { 0 });
                simple::bound(args, partial, result, fold)
            }
            PhysicalType::I16 => {
                let fold = Bits::new(fold, if is_unsigned { i16::MIN } else { 0 });
                simple::bound(args, partial, result, fold)
            }
            PhysicalType::I32 => {
                let fold = Bits::new(fold, if is_unsigned { i32::MIN } else { 0 });
                simple::bound(args, partial, result, fold)
            }
            PhysicalType::I64 => {
                let fold = Bits::new(fold, if is_unsigned { i64::MIN } else { 0 });
                simple::bound(args, partial, result, fold)
            }
            _ => {
                let fold = Bits::new(fold, if is_unsigned { i128::MIN } else { 0 });
                simple::bound(args, partial, result, fold)
            }
        })
    })
}

struct Bits<T> {
    fold: BitFold,
    /// The bit that is stored flipped, of unsigned integers.
    flipped: T,
}

impl<T> Bits<T> {
    fn new(fold: BitFold, flipped: T) -> Bits<T> {
        Bits { fold, flipped }
    }
}

impl<T> SimpleAggregate for Bits<T>
where
    T: Native + BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T>,
{
    type State = Option<T>;
    type Args = Physical<T>;
    type Partial = Physical<T>;
    type Result = Physical<T>;

    #[inline(always)]
    fn add(&self, state: &mut Option<T>, value: T) -> Result<()> {
        *state = Some(match (*state, self.fold) {
            (None, _) => value,
            // By De Morgan's laws, the fold of flipped bits is the flipped other one.
            (Some(kept), BitFold::And) => {
                let (both, either) = (kept & value, kept | value);
                both ^ ((both ^ either) & self.flipped)
            }
            (Some(kept), BitFold::Or) => {
                let (both, either) = (kept & value, kept | value);
                either ^ ((both ^ either) & self.flipped)
            }
            (Some(kept), BitFold::Xor) => kept ^ value ^ self.flipped,
        });
        Ok(())
    }

    fn merge(&self, state: &mut Option<T>, partial: T) -> Result<()> {
        self.add(state, partial)
    }

    fn partial(&self, state: &Option<T>) -> Result<Option<T>> {
        Ok(*state)
    }

    fn result(&self, state: &Option<T>) -> Result<Option<T>> {
        Ok(*state)
    }
}

struct CountIf;

impl SimpleAggregate for CountIf {
    type State = i64;
    type Args = Boolean;
    type Partial = BigInt;
    type Result = BigInt;

    #[inline(always)]
    fn add(&self, state: &mut i64, holds: bool) -> Result<()> {
        *state += i64::from(holds);
        Ok(())
    }

    fn merge(&self, state: &mut i64, partial: i64) -> Result<()> {
        *state += partial;
        Ok(())
    }

    fn partial(&self, state: &i64) -> Result<Option<i64>> {
        Ok(Some(*state))
    }

    fn result(&self, state: &i64) -> Result<Option<i64>> {
        Ok(Some(*state))
    }
}

struct Product;

impl SimpleAggregate for Product {
    type State = Option<f64>;
    type Args = Double;
    type Partial = Double;
    type Result = Double;

    #[inline(always)]
    fn add(&self, state: &mut Option<f64>, value: f64) -> Result<()> {
        *state = Some(state.unwrap_or(1.0) * value);
        Ok(())
    }

    fn merge(&self, state: &mut Option<f64>, partial: f64) -> Result<()> {
        self.add(state, partial)
    }

    fn partial(&self, state: &Option<f64>) -> Result<Option<f64>> {
        Ok(*state)
    }

    fn result(&self, state: &Option<f64>) -> Result<Option<f64>> {
        Ok(*state)
    }
}

/// The number of values and the sum of their logarithms.
#[derive(Clone, Copy, Default)]
struct Logarithms {
    count: i64,
    sum: f64,
}

struct GeometricMean;

impl SimpleAggregate for GeometricMean {
    type State = Logarithms;
    type Args = Double;
    type Partial = (BigInt, Double);
    type Result = Double;

    #[inline(always)]
    fn add(&self, state: &mut Logarithms, value: f64) -> Result<()> {
        state.count += 1;
        state.sum += value.ln();
        Ok(())
    }

    fn merge(&self, state: &mut Logarithms, (count, sum): (i64, f64)) -> Result<()> {
        state.count += count;
        state.sum += sum;
        Ok(())
    }

    fn partial(&self, state: &Logarithms) -> Result<Option<(i64, f64)>> {
        Ok((state.count > 0).then_some((state.count, state.sum)))
    }

    fn result(&self, state: &Logarithms) -> Result<Option<f64>> {
        Ok((state.count > 0).then(|| (state.sum / state.count as f64).exp()))
    }
}
