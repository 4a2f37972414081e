//! Text functions with and without the fast path for ASCII (figures 2 and 3 of the Velox paper).

use crate::{
    measure::Comparison,
    setup::{registry, strings, texts},
};
use memchr::memmem;
use volley_error::{Error, Result};
use volley_function::{
    Argument, BindScalar, BoundScalar, EvalContext, Registry,
    simple::{BigInt, Varchar, function1, text_ternary},
};
use volley_types::{Type, Value};
use volley_vector::{Rows, Vector};

const ROWS: usize = 8192;

/// The time with the ASCII way may be this much of the time without.
const LIMIT: f64 = 0.5;

pub fn run() -> Result<bool> {
    let registry = registry();
    let texts = texts(ROWS, 8..60);
    let column = strings(texts.iter().map(String::as_str));
    let int = |value| Vector::constant(Type::BigInt, &Value::BigInt(value), ROWS);
    let part = Vector::constant(Type::Varchar, &Value::text("e t"), ROWS);
    let cases = [
        ("length", vec![column.clone()]),
        ("upper", vec![column.clone()]),
        ("lower", vec![column.clone()]),
        ("reverse", vec![column.clone()]),
        ("substr", vec![column.clone(), int(4), int(20)]),
    ];
    let mut all_kept = true;
    for (name, args) in cases {
        let bound = registry.resolve_scalar(name, &types_of(&args))?;
        let comparison = Comparison::new(name, ROWS, "any text", || call(&bound, &args, true))
            .with("ASCII", Some(LIMIT), || call(&bound, &args, false));
        all_kept &= comparison.print();
    }
    all_kept &= strpos(&registry, &[column.clone(), part])?;
    let args = [column, int(4), int(20)];
    Ok(substr_in_steps(&args, &registry.resolve_scalar("substr", &types_of(&args))?)? & all_kept)
}

/// Text of any kind is searched as ASCII is, neighbors together, so that both are compared with a
/// function of one text.
fn strpos(registry: &Registry, args: &[Vector]) -> Result<bool> {
    let mut engine = registry.resolve_scalar("strpos", &types_of(args))?;
    // As the engine does: constants are prepared once.
    if let Some(prepared) = engine.function.specialize(&known(args)?)? {
        engine.function = prepared;
    }
    let Value::Varchar(part) = args[1].value(0)? else {
        return Err(Error::internal("strpos of another type"));
    };
    let finder = memmem::Finder::new(part.as_bytes()).into_owned();
    let by_text = function1::<Varchar, BigInt, _>(move |text: &str| {
        let at = finder.find(text.as_bytes());
        at.map_or(0, |at| text[..at].chars().count() as i64 + 1)
    });
    let by_text = BoundScalar { function: by_text, ..engine.clone() };
    let comparison =
        Comparison::new("strpos", ROWS, "text by text", || call(&by_text, &args[..1], true))
            .with("any text", None, || call(&engine, args, true))
            .with("ASCII", Some(LIMIT), || call(&engine, args, false));
    Ok(comparison.print())
}

/// substr that copies, that counts bytes and copies, and the engine's, which counts bytes and
/// shares the text of its argument.
fn substr_in_steps(args: &[Vector], engine: &BoundScalar) -> Result<bool> {
    let any =
        bound(text_ternary::<Varchar, BigInt, BigInt, Varchar, _>(|text, from, len, out| {
            let code_points = text.chars().skip(from as usize - 1).take(len as usize);
            code_points.for_each(|it| out.push(it));
        }))?;
    let ascii =
        bound(text_ternary::<Varchar, BigInt, BigInt, Varchar, _>(|text, from, len, out| {
            let start = text.len().min(from as usize - 1);
            out.push_bytes(&text.as_bytes()[start..text.len().min(start + len as usize)]);
        }))?;
    let faster = 0.95;
    let counting =
        Comparison::new("substr, step 1", ROWS, "any text, copied", || call(&any, args, true))
            .with("ASCII, copied", Some(faster), || call(&ascii, args, false));
    let sharing =
        Comparison::new("substr, step 2", ROWS, "ASCII, copied", || call(&ascii, args, false))
            .with("ASCII, shared with the argument", Some(faster), || call(engine, args, false));
    Ok(counting.print() & sharing.print())
}

fn known(args: &[Vector]) -> Result<Vec<Argument>> {
    let argument = |it: &Vector| {
        let constant = if it.is_constant() { Some(it.value(0)?) } else { None };
        Ok(Argument { data_type: it.data_type().clone(), constant })
    };
    args.iter().map(argument).collect()
}

fn types_of(args: &[Vector]) -> Vec<Type> {
    args.iter().map(|it| it.data_type().clone()).collect()
}

fn bound(bind: BindScalar) -> Result<BoundScalar> {
    let bound = bind(&[Type::Varchar, Type::BigInt, Type::BigInt]);
    bound.ok_or_else(|| Error::internal("substr with other types"))
}

fn call(function: &BoundScalar, args: &[Vector], general_text: bool) -> Result<Vector> {
    let mut ctx = EvalContext { general_text, ..EvalContext::default() };
    function.function.evaluate(&Rows::all(ROWS), args, &function.result, &mut ctx)
}
