//! Functions, columns and random choices for tests.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use volley_error::{Error, Result};
use volley_expression::{Expr, ExprSet, SpecialForm};
use volley_function::{
    BindScalar, BoundScalar, EvalContext, FunctionDoc, QueryConstants, Registry, ScalarTraits,
    block_binary, simple::*,
};
use volley_types::{Type, Value};
use volley_vector::{Batch, Loader, Rows, ScalarBuffer, Vector};

/// A few functions of each behavior: total, failing, null-making, null-seeing, writing strings.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    let mut add = |name: &str, bind| registry.add_scalar(name, FunctionDoc::default(), bind);
    let overflow = || Error::invalid_value("overflow");
    add(
        "plus",
        on_blocks(
            checked_binary::<BigInt, BigInt, BigInt, _>(
                |a, b| a.overflowing_add(b),
                move |_, _| overflow(),
            ),
            i64::overflowing_add,
        ),
    );
    add(
        "divide",
        binary::<BigInt, BigInt, BigInt, _>(|a, b| {
            a.checked_div(b).ok_or_else(|| Error::invalid_value("division by zero"))
        }),
    );
    let xor = binary::<BigInt, BigInt, BigInt, _>(|a, b| a ^ b);
    add("xor", on_blocks(xor, |a, b| (a ^ b, false)));
    add("even", unary::<BigInt, BigInt, _>(|a| (a % 2 == 0).then_some(a)));
    add("lt", binary::<BigInt, BigInt, Boolean, _>(|a, b| a < b));
    add("eq", binary::<BigInt, BigInt, Boolean, _>(|a, b| a == b));
    add("not", unary::<Boolean, Boolean, _>(|a| !a));
    add("length", unary::<Varchar, BigInt, _>(|text| text.len() as i64));
    add("tail", slice_unary(|text| text.get(1..).unwrap_or("")));
    add(
        "concat",
        text_binary::<Varchar, Varchar, Varchar, _>(|a, b, out| {
            if a.len() + b.len() > 60 {
                return Err(Error::invalid_value("string too long"));
            }
            out.push_str(a);
            out.push_str(b);
            Ok(())
        }),
    );
    add(
        "first_or",
        binary::<Nullable<BigInt>, Nullable<BigInt>, BigInt, _>(|a, b| a.or(b).or(Some(-1))),
    );
    add("join", Arc::new(bind_join));
    add("now", nullary::<Timestamp, _>(|query| query.now_micros));
    registry.add_casts(Arc::new(|from, to| {
        let bind = match (from, to) {
            (Type::BigInt, Type::Varchar) => unary::<BigInt, Varchar, _>(|value| value.to_string()),
            (Type::Varchar, Type::BigInt) => unary::<Varchar, BigInt, _>(|text| {
                text.parse::<i64>().map_err(|_| Error::invalid_value("not a number"))
            }),
            _ => return None,
        };
        bind(std::slice::from_ref(from))
    }));
    registry
}

/// All texts, one after the other, by single rows.
fn bind_join(args: &[Type]) -> Option<BoundScalar> {
    let is_text = args.len() >= 2 && args.iter().all(|it| *it == Type::Varchar);
    let function = vectorized(|rows: &Rows, args: &[Vector], _: &Type, _: &mut EvalContext| {
        let text = |row| -> Result<Value> {
            let mut text = String::new();
            for arg in args {
                if let Value::Varchar(part) = arg.value(row)? {
                    text.push_str(&part);
                }
            }
            Ok(Value::text(text))
        };
        let texts = (0..rows.len()).map(text).collect::<Result<Vec<Value>>>()?;
        Ok(Vector::from_values(Type::Varchar, &texts))
    });
    is_text.then(|| BoundScalar {
        name: String::new(),
        args: args.to_vec(),
        result: Type::Varchar,
        traits: ScalarTraits { associative: true, ..ScalarTraits::INFALLIBLE },
        function,
    })
}

/// The same function, which also works on blocks.
fn on_blocks(bind: BindScalar, f: fn(i64, i64) -> (i64, bool)) -> BindScalar {
    Arc::new(move |types: &[Type]| {
        let bound = bind(types)?;
        let function = with_block(Arc::clone(&bound.function), block_binary(f));
        Some(BoundScalar { function, ..bound })
    })
}

pub fn query() -> Arc<QueryConstants> {
    Arc::new(QueryConstants { now_micros: 42, ..QueryConstants::default() })
}

pub fn compile(exprs: &[Expr]) -> Result<ExprSet> {
    ExprSet::compile(exprs, &registry(), query())
}

/// Column `index` of type BIGINT.
pub fn int(index: usize) -> Expr {
    Expr::column(index, Type::BigInt)
}

pub fn lit(value: i64) -> Expr {
    Expr::constant(Value::BigInt(value), Type::BigInt)
}

pub fn null(data_type: Type) -> Expr {
    Expr::constant(Value::Null, data_type)
}

pub fn call(name: &str, args: Vec<Expr>) -> Expr {
    let types: Vec<Type> = args.iter().map(|it| it.data_type.clone()).collect();
    let result = registry().resolve_scalar(name, &types).unwrap().result;
    Expr::call(name, args, result)
}

pub fn special(form: SpecialForm, args: Vec<Expr>) -> Expr {
    let data_type = match form {
        SpecialForm::Switch => args[1].data_type.clone(),
        SpecialForm::Coalesce | SpecialForm::Try => args[0].data_type.clone(),
        _ => Type::Boolean,
    };
    Expr::special(form, args, data_type)
}

/// A BIGINT vector.
pub fn ints(values: &[Option<i64>]) -> Vector {
    let values: Vec<Value> =
        values.iter().map(|it| it.map_or(Value::Null, Value::BigInt)).collect();
    Vector::from_values(Type::BigInt, &values)
}

/// Values of the single expression `expr` for all rows.
pub fn values(expr: &Expr, input: &Batch) -> Result<Vec<Value>> {
    let mut set = compile(std::slice::from_ref(expr))?;
    let rows = Rows::all(input.rows());
    set.begin(input).evaluate(0, &rows)?.to_values()
}

/// A lazy vector, and how often it was loaded.
pub fn lazy(vector: Vector) -> (Vector, Arc<AtomicUsize>) {
    struct Counting(Vector, Arc<AtomicUsize>);
    impl Loader for Counting {
        fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
            self.1.fetch_add(1, Ordering::Relaxed);
            match rows {
                Some(rows) => self.0.gather(rows),
                None => Ok(self.0.clone()),
            }
        }
    }
    let count = Arc::new(AtomicUsize::new(0));
    let (data_type, len) = (vector.data_type().clone(), vector.len());
    let loader = Counting(vector, Arc::clone(&count));
    (Vector::lazy(data_type, len, Box::new(loader)), count)
}

pub fn dictionary(codes: &[u32], base: &Arc<Vector>) -> Vector {
    Vector::dictionary(ScalarBuffer::from(codes.to_vec()), Arc::clone(base), None)
}

/// Small reproducible random numbers (xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
