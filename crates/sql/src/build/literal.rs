//! Literals of every type.

use super::writer::Writer;
use std::fmt::Write;
use volley_types::{Field, Type, Value};

/// Writes a value so that it has exactly the type.
pub(super) fn write(value: &Value, data_type: &Type, writer: &mut Writer) {
    match (value, data_type) {
        (Value::Null, Type::Unknown) => writer.push("NULL"),
        (Value::Null, _) => cast(writer, data_type, |it| it.push("NULL")),
        (Value::Boolean(it), Type::Boolean) => writer.push(if *it { "TRUE" } else { "FALSE" }),
        (Value::Integer(it), Type::Integer) => number(writer, i128::from(*it)),
        // A literal has the smallest type from INTEGER on that holds it.
        (Value::BigInt(it), Type::BigInt) if i32::try_from(*it).is_err() && *it != i64::MIN => {
            number(writer, i128::from(*it));
        }
        (Value::Varchar(text), Type::Varchar) => writer.string(text),
        (Value::Varbinary(bytes), Type::Varbinary) => {
            writer.push("X'");
            bytes.iter().for_each(|it| {
                // Writing to a text does not fail.
                let _ = write!(writer.text, "{it:02X}");
            });
            writer.push("'");
        }
        (Value::Array(items), Type::Array(element)) => {
            let list = |writer: &mut Writer| {
                writer.push("[");
                writer.list(items.iter(), |writer, it| write(it, element, writer));
                writer.push("]");
            };
            if items.is_empty() { cast(writer, data_type, list) } else { list(writer) }
        }
        (Value::Row(items), Type::Row(fields)) if has_names(fields) => {
            writer.push("{");
            writer.list(items.iter().zip(fields.iter()), |writer, (it, field)| {
                writer.string(&field.name);
                writer.push(": ");
                write(it, &field.data_type, writer);
            });
            writer.push("}");
        }
        _ => {
            let text = value.display(data_type).to_string();
            cast(writer, data_type, |it| it.string(&text));
        }
    }
}

fn has_names(fields: &[Field]) -> bool {
    !fields.is_empty() && fields.iter().all(|it| !it.name.is_empty())
}

fn number(writer: &mut Writer, number: i128) {
    // Parentheses, since a minus binds less than a subscript or a cast.
    match number < 0 {
        true => writer.push(&format!("({number})")),
        false => writer.push(&number.to_string()),
    }
}

fn cast(writer: &mut Writer, data_type: &Type, write: impl FnOnce(&mut Writer)) {
    writer.push("CAST(");
    write(writer);
    writer.push(&format!(" AS {data_type})"));
}
