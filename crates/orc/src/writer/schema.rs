//! The tree of types of a file that is written.

use crate::writer::proto::MessageBuilder;
use volley_error::{Error, Result};
use volley_types::{Schema, Type, custom::TimestampTz};

/// A column, or a part of one.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// Its position among the types.
    pub column: usize,
    pub data_type: Type,
    pub children: Vec<Tree>,
}

/// The columns of a schema; the root is column 0.
pub(crate) fn trees_of(schema: &Schema) -> Result<Vec<Tree>> {
    let mut next = 1;
    let tree = |field: &volley_types::Field| {
        tree_of(&field.data_type, &mut next).map_err(|it| it.at("column", &field.name))
    };
    schema.fields.iter().map(tree).collect()
}

fn tree_of(data_type: &Type, next: &mut usize) -> Result<Tree> {
    let column = *next;
    *next += 1;
    let mut child = |it: &Type| tree_of(it, next);
    let children = match data_type {
        Type::Array(element) => vec![child(element)?],
        Type::FixedArray(array) => vec![child(&array.0)?],
        Type::Map(entry) => vec![child(&entry.0)?, child(&entry.1)?],
        Type::Row(fields) => fields.iter().map(|it| child(&it.data_type)).collect::<Result<_>>()?,
        other => {
            kind_of(other)?;
            Vec::new()
        }
    };
    Ok(Tree { column, data_type: data_type.clone(), children })
}

/// The number of a type's kind; see [`crate::schema`].
fn kind_of(data_type: &Type) -> Result<u64> {
    Ok(match data_type {
        Type::Boolean | Type::Unknown => 0,
        Type::TinyInt => 1,
        Type::SmallInt => 2,
        Type::Integer => 3,
        Type::BigInt => 4,
        Type::Real => 5,
        Type::Double => 6,
        Type::Varchar => 7,
        Type::Varbinary => 8,
        Type::Timestamp => 9,
        Type::Array(_) | Type::FixedArray(_) => 10,
        Type::Map(_) => 11,
        Type::Row(_) => 12,
        Type::Decimal { .. } => 14,
        Type::Date => 15,
        other if TimestampTz::is(other) => 18,
        Type::Custom(custom) if *custom.storage() == Type::Varchar => 7,
        other => {
            let error = Error::unsupported(format!("ORC files do not hold {other}"));
            return Err(error.hint("cast it to VARCHAR"));
        }
    })
}

/// The messages of all types, the root's first.
pub(crate) fn type_messages(schema: &Schema, trees: &[Tree]) -> Result<Vec<MessageBuilder>> {
    let mut messages = Vec::new();
    let children: Vec<u64> = trees.iter().map(|it| it.column as u64).collect();
    let root = MessageBuilder::default().integer(1, 12).packed(2, &children);
    let name = |message: MessageBuilder, field: &volley_types::Field| {
        message.bytes(3, field.name.as_bytes())
    };
    messages.push(schema.fields.iter().fold(root, name));
    trees.iter().try_for_each(|it| push_messages(it, &mut messages))?;
    Ok(messages)
}

fn push_messages(tree: &Tree, messages: &mut Vec<MessageBuilder>) -> Result<()> {
    let children: Vec<u64> = tree.children.iter().map(|it| it.column as u64).collect();
    let mut message = MessageBuilder::default();
    message = message.integer(1, kind_of(&tree.data_type)?).packed(2, &children);
    match &tree.data_type {
        Type::Row(fields) => {
            for (place, field) in fields.iter().enumerate() {
                let name = volley_types::row_field_name(field, place);
                message = message.bytes(3, name.as_bytes());
            }
        }
        Type::Decimal { precision, scale } => {
            message = message.integer(5, (*precision).into()).integer(6, (*scale).into());
        }
        _ => {}
    }
    messages.push(message);
    tree.children.iter().try_for_each(|it| push_messages(it, messages))
}
