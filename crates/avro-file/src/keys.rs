//! Names, and keys of maps, as Avro's writer takes them.

use arrow_array::{Array, ArrayRef, ListArray, MapArray, StringArray, StructArray, cast::AsArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use std::sync::Arc;
use volley_error::{Error, Result};

/// The schema with keys of maps as texts with offsets: the encoder takes no others.
///
/// # Errors
///
/// Unsupported: maps whose keys are no texts; names that Avro has not.
pub(crate) fn with_text_keys(schema: &Schema) -> Result<Schema> {
    let fields = schema.fields().iter().map(named_with_text_keys);
    Ok(Schema::new(fields.collect::<Result<Vec<_>>>()?))
}

fn named_with_text_keys(field: &FieldRef) -> Result<FieldRef> {
    let name = field.name();
    let is_letter = |it: char| it.is_ascii_alphabetic() || it == '_';
    if !name.starts_with(is_letter) || !name.chars().all(|it| is_letter(it) || it.is_ascii_digit())
    {
        let error =
            Error::unsupported(format!("unsupported in Avro files: a column called '{name}'"));
        return Err(error.hint("names are letters of English, digits and _; rename it with AS"));
    }
    field_with_text_keys(field)
}

fn field_with_text_keys(field: &FieldRef) -> Result<FieldRef> {
    let data_type = match field.data_type() {
        DataType::List(items) => DataType::List(field_with_text_keys(items)?),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(named_with_text_keys);
            DataType::Struct(fields.collect::<Result<_>>()?)
        }
        DataType::Map(entries, sorted) => {
            let DataType::Struct(parts) = entries.data_type() else {
                return Err(Error::internal("entries of a map are no structs"));
            };
            let (Some(key), Some(value)) = (parts.first(), parts.get(1)) else {
                return Err(Error::internal("a map without keys and values"));
            };
            if *key.data_type() != DataType::Utf8View {
                let error =
                    Error::unsupported("unsupported in Avro files: maps whose keys are no texts");
                return Err(error.hint("cast the map to MAP(VARCHAR, ...)"));
            }
            let key = Arc::new(Field::clone(key).with_data_type(DataType::Utf8));
            let parts = [key, field_with_text_keys(value)?];
            let entries = Field::clone(entries).with_data_type(DataType::Struct(parts.into()));
            DataType::Map(Arc::new(entries), *sorted)
        }
        _ => return Ok(Arc::clone(field)),
    };
    Ok(Arc::new(Field::clone(field).with_data_type(data_type)))
}

/// Values of a type of [`with_text_keys`].
pub(crate) fn array_with_text_keys(
    array: &ArrayRef,
    data_type: &DataType,
) -> std::result::Result<ArrayRef, ArrowError> {
    if array.data_type() == data_type {
        return Ok(Arc::clone(array));
    }
    Ok(match data_type {
        DataType::Utf8 => Arc::new(array.as_string_view().iter().collect::<StringArray>()),
        DataType::List(items) => {
            let list = array.as_list::<i32>();
            let values = array_with_text_keys(list.values(), items.data_type())?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Arc::new(ListArray::try_new(Arc::clone(items), offsets, values, nulls)?)
        }
        DataType::Struct(fields) => {
            let parts = array.as_struct();
            let columns = parts.columns().iter().zip(fields);
            let columns = columns.map(|(it, field)| array_with_text_keys(it, field.data_type()));
            let (columns, nulls) = (columns.collect::<Result<_, _>>()?, parts.nulls().cloned());
            Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, parts.len())?)
        }
        DataType::Map(field, sorted) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let entries = array_with_text_keys(&entries, field.data_type())?.as_struct().clone();
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?)
        }
        _ => Arc::clone(array),
    })
}
