//! Which columns a table of several files has, and where each file has them.

use crate::{
    config::FileOptions,
    part::{Part, PartColumn, PartFile},
    partition::Partitions,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_types::{
    Field, Schema, Type, Value, common_type, custom::TimestampUnit, implicit_cast_cost,
};

/// The table's columns, and its files. The columns are those of the files, then the position of the
/// row, the name of the file, and what folders give; one of a folder takes the place of one of the
/// same name in the files.
pub(crate) fn arrange(
    files: Vec<PartFile>,
    partitions: Partitions,
    options: &FileOptions,
) -> Result<(Schema, Arc<[Part]>)> {
    let mut stored = if options.union_by_name { union_of(&files)? } else { first_of(&files) };
    stored.fields.retain(|it| !partitions.has(&it.name));
    let mut schema = stored.clone();
    let added = [(&options.file_row_number, Type::BigInt), (&options.filename, Type::Varchar)];
    for (name, data_type) in added {
        let Some(name) = name else { continue };
        if schema.index_of(name).is_some() || partitions.has(name) {
            let message = format!("there is a column \"{name}\" in the files");
            let error = Error::invalid_query(message);
            return Err(error.hint("filename = 'other' gives the added column another name"));
        }
        schema.fields.push(Field::new(name, data_type));
    }
    schema.fields.extend(partitions.fields.iter().cloned());
    let parts = files.into_iter().zip(partitions.values).map(|(file, folders)| {
        let file = file.with_types(&stored);
        let columns = stored.fields.iter().enumerate();
        let columns = columns.map(|(index, it)| stored_column(it, index, &file, options));
        let mut columns = columns.collect::<Result<Vec<_>>>()?;
        if options.file_row_number.is_some() {
            columns.push(row_number(&file)?);
        }
        if options.filename.is_some() {
            columns.push(PartColumn::Constant(Value::text(file.path())));
        }
        columns.extend(folders.into_iter().map(PartColumn::Constant));
        Ok(Part { file, columns: columns.into() })
    });
    let parts = parts.collect::<Result<Arc<[Part]>>>()?;
    Ok((schema, parts))
}

/// The columns of the first file; of CSV files, whose types are found out, with types that hold
/// those of all files.
fn first_of(files: &[PartFile]) -> Schema {
    let mut schema = files.first().map(|it| it.schema().clone()).unwrap_or_default();
    for file in files.iter().filter(|it| matches!(it, PartFile::Csv(_))) {
        let own = file.schema();
        for (place, field) in schema.fields.iter_mut().enumerate() {
            let own = own.index_near(&field.name, place).and_then(|it| own.fields.get(it));
            if let Some(own) = own {
                field.data_type = wide_type(&field.data_type, &own.data_type)
                    .unwrap_or_else(|| field.data_type.clone());
            }
        }
    }
    schema
}

/// The columns of all files, in the order in which they appear.
fn union_of(files: &[PartFile]) -> Result<Schema> {
    let mut schema = files.first().map(|it| it.schema().clone()).unwrap_or_default();
    for file in files.iter().skip(1) {
        for field in &file.schema().fields {
            let known = schema.index_of(&field.name).and_then(|it| schema.fields.get_mut(it));
            let Some(known) = known else {
                schema.fields.push(field.clone());
                continue;
            };
            let wide = wide_type(&known.data_type, &field.data_type);
            known.data_type = wide.ok_or_else(|| misfit(known, field, file, "files before it"))?;
        }
    }
    Ok(schema)
}

/// The type that holds values of both; texts hold all that is not nested.
fn wide_type(left: &Type, right: &Type) -> Option<Type> {
    if left == right {
        return Some(left.clone());
    }
    common_type(left, right).or_else(|| {
        let is_nested = |it: &Type| {
            matches!(it, Type::Array(_) | Type::FixedArray(_) | Type::Map(_) | Type::Row(_))
        };
        (!is_nested(left) && !is_nested(right)).then_some(Type::Varchar)
    })
}

/// Where a file has column `index` of the table.
fn stored_column(
    field: &Field,
    index: usize,
    file: &PartFile,
    options: &FileOptions,
) -> Result<PartColumn> {
    // Names may be there twice; then places tell them apart.
    let Some(place) = file.schema().index_near(&field.name, index) else {
        if options.union_by_name {
            return Ok(PartColumn::Constant(Value::Null));
        }
        let message = format!("column \"{}\" is missing in {}", field.name, file.path());
        return Err(Error::invalid_query(message).hint(
            "all files have the columns of the first one, or union_by_name = true makes them null",
        ));
    };
    let own = file.schema().fields.get(place);
    let (Some(own), Some(read_type)) = (own, file.read_type(place)) else {
        return Err(Error::internal("no such column"));
    };
    if *read_type == field.data_type || file.reads_as(place, &field.data_type) {
        return Ok(PartColumn::Stored(place));
    }
    let can_cast = options.union_by_name
        || own.data_type == field.data_type
        || implicit_cast_cost(&own.data_type, &field.data_type).is_some()
        || TimestampUnit::of(&own.data_type).is_some() && field.data_type == Type::Timestamp;
    match can_cast {
        true => Ok(PartColumn::Cast(place)),
        false => Err(misfit(field, own, file, "the first file")),
    }
}

fn misfit(known: &Field, own: &Field, file: &PartFile, others: &str) -> Error {
    Error::invalid_query(format!(
        "column \"{}\" is {} in {} and {} in {others}",
        known.name,
        own.data_type,
        file.path(),
        known.data_type
    ))
}

fn row_number(file: &PartFile) -> Result<PartColumn> {
    match file {
        PartFile::Parquet(_) | PartFile::Orc(_) => Ok(PartColumn::RowNumber),
        _ => Err(Error::unsupported(format!("numbers of rows in {}", file.path()))
            .hint("file_row_number is for Parquet and ORC files")),
    }
}
