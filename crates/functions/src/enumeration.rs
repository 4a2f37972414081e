//! Functions of ENUMs: their values as text, as numbers, and as lists.

use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BindScalar, BoundScalar, FunctionDoc, Registry, ScalarTraits, simple};
use volley_types::{Type, Value};
use volley_vector::{Decoded, Rows, StringBuilder, Values, Vector};

/// Registers the functions.
pub(crate) fn register(registry: &mut Registry) {
    let docs = |signature: &str, description: &str, example: (&str, &str)| {
        doc(signature, description, "enum", &[example])
    };
    let range = docs(
        "enum_range(enum) -> array(varchar)",
        "All values of the type of the argument, whose value does not matter, in their order.",
        ("enum_range(NULL::ENUM('low', 'high'))", "[low, high]"),
    );
    let bind: BindScalar = Arc::new(|args| constant(args, Type::array(Type::Varchar), list));
    registry.add_scalar("enum_range", range, bind);
    let first = docs(
        "enum_first(enum) -> varchar",
        "The first value of the type of the argument, whose value does not matter.",
        ("enum_first(NULL::ENUM('low', 'high'))", "low"),
    );
    let bind: BindScalar = Arc::new(|args| constant(args, Type::Varchar, |it| text(it.first())));
    registry.add_scalar("enum_first", first, bind);
    let last = docs(
        "enum_last(enum) -> varchar",
        "The last value of the type of the argument, whose value does not matter.",
        ("enum_last(NULL::ENUM('low', 'high'))", "high"),
    );
    let bind: BindScalar = Arc::new(|args| constant(args, Type::Varchar, |it| text(it.last())));
    registry.add_scalar("enum_last", last, bind);
    let code = docs(
        "enum_code(enum) -> integer",
        "The position of a value in the list of its type, counted from 0.",
        ("enum_code('high'::ENUM('low', 'high'))", "1"),
    );
    registry.add_scalar("enum_code", code, Arc::new(bind_code));
    let key = docs(
        "enum_key(enum) -> varchar",
        "The text of a value, which is its key in Presto's enumerated types.",
        ("enum_key('high'::ENUM('low', 'high'))", "high"),
    );
    registry.add_scalar("enum_key", key, Arc::new(bind_key));
    registry.add_scalar("enum_range_boundary", boundary_doc(), Arc::new(bind_boundary));
}

fn boundary_doc() -> FunctionDoc {
    doc(
        "enum_range_boundary(from, to) -> array(varchar)",
        "The values from the first argument to the second one, in their order; NULL means the \
         first value of the type, or the last one. One argument at least is an ENUM.",
        "enum",
        &[
            ("enum_range_boundary('b'::ENUM('a', 'b', 'c'), NULL)", "[b, c]"),
            ("enum_range_boundary(NULL, 'b'::ENUM('a', 'b', 'c'))", "[a, b]"),
        ],
    )
}

/// The texts of the values of an ENUM as a vector.
pub(crate) struct LabelTexts(Arc<Vector>);

impl LabelTexts {
    /// Those of an ENUM; `None` for another type.
    pub(crate) fn of(data_type: &Type) -> Option<LabelTexts> {
        let labels = data_type.labels()?;
        let mut builder = StringBuilder::with_capacity(labels.len());
        labels.iter().for_each(|it| builder.push(it.as_bytes()));
        Some(LabelTexts(Vector::strings(Type::Varchar, builder.finish(), None).into()))
    }

    /// The texts of values as a dictionary.
    ///
    /// # Errors
    ///
    /// Internal: a value of `rows` that is none of the type.
    pub(crate) fn look_up(&self, rows: &Rows, values: &Vector) -> Result<Vector> {
        let decoded = Decoded::new(values)?;
        if self.0.is_empty() {
            return Ok(Vector::nulls(Type::Varchar, decoded.len()));
        }
        let position = positions(&decoded)?;
        let code = |row: usize| {
            if decoded.is_null(row) {
                return Ok(0);
            }
            let code = u32::try_from(position(decoded.index(row))).ok();
            match code.filter(|it| (*it as usize) < self.0.len()) {
                Some(code) => Ok(code),
                None if rows.contains(row) => {
                    Err(Error::internal("a value that is not in its ENUM"))
                }
                None => Ok(0),
            }
        };
        let codes = (0..decoded.len()).map(code).collect::<Result<Vec<u32>>>()?;
        Ok(Vector::checked_dictionary(codes.into(), Arc::clone(&self.0), decoded.nulls()))
    }
}

/// What is stored at an index of the base, whatever the width.
fn positions<'d>(decoded: &'d Decoded<'_>) -> Result<impl Fn(usize) -> i32 + 'd> {
    let values = decoded.values();
    if !matches!(values, Values::I8(_) | Values::I16(_) | Values::I32(_)) {
        return Err(Error::internal("an ENUM that is not stored as an integer"));
    }
    Ok(move |index: usize| match values {
        Values::I8(values) => values[index].into(),
        Values::I16(values) => values[index].into(),
        Values::I32(values) => values[index],
        _ => 0,
    })
}

/// A value that the type of the argument says, in every row.
fn constant(args: &[Type], result: Type, of: fn(&[String]) -> Value) -> Option<BoundScalar> {
    let [data_type] = args else { return None };
    let value = of(data_type.labels()?);
    let function = simple::vectorized(move |rows, _, to, _| {
        Ok(Vector::constant(to.clone(), &value, rows.len()))
    });
    Some(BoundScalar::new(args.to_vec(), result, NULLS_TOO, function))
}

/// How functions behave that take nulls.
const NULLS_TOO: ScalarTraits =
    ScalarTraits { propagates_nulls: false, ..ScalarTraits::INFALLIBLE };

fn text(label: Option<&String>) -> Value {
    label.map_or(Value::Null, Value::text)
}

fn list(labels: &[String]) -> Value {
    Value::Array(labels.iter().map(Value::text).collect())
}

fn bind_code(args: &[Type]) -> Option<BoundScalar> {
    let [data_type] = args else { return None };
    data_type.labels()?;
    let function = simple::vectorized(|_, args, to, _| {
        let decoded = Decoded::new(&args[0])?;
        let position = positions(&decoded)?;
        let positions: Vec<i32> =
            (0..decoded.len()).map(|row| position(decoded.index(row))).collect();
        Ok(Vector::native::<i32>(to.clone(), positions, decoded.nulls()))
    });
    Some(BoundScalar::new(args.to_vec(), Type::Integer, ScalarTraits::INFALLIBLE, function))
}

fn bind_key(args: &[Type]) -> Option<BoundScalar> {
    let [data_type] = args else { return None };
    let texts = LabelTexts::of(data_type)?;
    let function = simple::vectorized(move |rows, args, _, _| {
        let values =
            args.first().ok_or_else(|| Error::internal("enum_key without its argument"))?;
        texts.look_up(rows, values)
    });
    Some(BoundScalar::new(args.to_vec(), Type::Varchar, ScalarTraits::INFALLIBLE, function))
}

fn bind_boundary(args: &[Type]) -> Option<BoundScalar> {
    let data_type = match args {
        [Type::Unknown, other] | [other, Type::Unknown] => other,
        [from, to] if from == to => from,
        _ => return None,
    };
    let labels = data_type.labels()?.to_vec();
    let function = simple::vectorized(move |rows, args, to, _| {
        let [from, until] = args else { return Err(Error::internal("two boundaries")) };
        let (from, until) = (Decoded::new(from)?, Decoded::new(until)?);
        let (first, last) = (positions(&from)?, positions(&until)?);
        let bound = |decoded: &Decoded<'_>, row: usize, position: &dyn Fn(usize) -> i32| {
            let position = (!decoded.is_null(row)).then(|| position(decoded.index(row)));
            position.map(|it| usize::try_from(it).unwrap_or_default())
        };
        let mut lists = vec![Value::Null; rows.len()];
        rows.for_each(|row| {
            let begin = bound(&from, row, &first).unwrap_or(0);
            let end = bound(&until, row, &last).map_or(labels.len(), |it| it + 1);
            lists[row] = list(labels.get(begin..end).unwrap_or_default());
        });
        Ok(Vector::from_values(to.clone(), &lists))
    });
    let args = vec![data_type.clone(); 2];
    Some(BoundScalar::new(args, Type::array(Type::Varchar), NULLS_TOO, function))
}
