//! A catalog as bytes.
//!
//! ```text
//! form of volley_vector::save, kind 5:
//!   version     one number: 1, or 2 if a table has foreign keys or indexes
//!   schemas     count, then each: name, relations, sequences, types, macros
//!   a list      count, then its elements
//!   optional    0, or 1 and the value
//! ```
//!
//! Keys are not saved: they are the names in lower case.

use super::{
    CatalogSnapshot, MacroEntry, MacroParameterEntry, RelationEntry, SchemaSnapshot, SequenceEntry,
    SequenceId, TableEntry, TableId, TypeEntry, ViewEntry,
};
use crate::{
    CheckDefinition, ColumnDefinition, ForeignKeyDefinition, IndexDefinition, IndexPart,
    KeyDefinition, OnCommit, TableDefinition,
};
use std::{collections::BTreeMap, sync::Arc};
use volley_error::Result;
use volley_types::{Field, Schema, TypeRegistry};
use volley_vector::save::{Reader, Writer, corruption};

/// What the bytes hold; others are in `volley_vector::save`, `volley_expression`, `volley_plan`.
const CATALOG: u8 = 5;

/// The version of catalogs without foreign keys and indexes.
const VERSION_PLAIN: usize = 1;

/// The version of the others: a definition of a table ends in them.
const VERSION: usize = 2;

impl CatalogSnapshot {
    /// The catalog as bytes.
    ///
    /// # Errors
    ///
    /// Unsupported: opaque types; types of more than [`volley_vector::save::DEPTH_MAX`] levels.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut to = Writer::new(CATALOG);
        let version = if self.has_references() { VERSION } else { VERSION_PLAIN };
        to.number(version);
        write_all(self.schemas.values(), &mut to, |it, to| write_schema(it, version, to))?;
        Ok(to.finish())
    }

    /// The catalog of [`CatalogSnapshot::to_bytes`]. `types` knows the custom types. It takes
    /// memory in proportion to the bytes.
    ///
    /// # Errors
    ///
    /// Corruption: the bytes are not those of a catalog of this version; two objects with the same
    /// name or identity; keys of columns that do not exist. Invalid query: unknown types.
    pub fn from_bytes(bytes: &[u8], types: &TypeRegistry) -> Result<CatalogSnapshot> {
        let mut from = Reader::new(bytes, CATALOG, types)?;
        let version = from.number()?;
        if ![VERSION_PLAIN, VERSION].contains(&version) {
            return Err(corruption(format_args!("a catalog of version {version}")));
        }
        let schemas = read_all(&mut from, |from| read_schema(from, version))?;
        let schemas = schemas.into_iter().map(Arc::new);
        let schemas = by_name(schemas, |it| &it.name)?;
        from.finish()?;
        let catalog = CatalogSnapshot { schemas };
        catalog.check_identities()?;
        Ok(catalog)
    }

    /// Whether a table has foreign keys or indexes.
    fn has_references(&self) -> bool {
        let relations = self.schemas.values().flat_map(|it| it.relations.values());
        let mut tables = relations.filter_map(RelationEntry::as_table);
        tables.any(|it| !it.definition.foreign_keys.is_empty() || !it.definition.indexes.is_empty())
    }

    fn check_identities(&self) -> Result<()> {
        let schemas = || self.schemas.values();
        let relations = schemas().flat_map(|it| it.relations.values());
        let mut tables: Vec<TableId> =
            relations.filter_map(RelationEntry::as_table).map(|it| it.id).collect();
        let sequences = schemas().flat_map(|it| it.sequences.values());
        let mut sequences: Vec<SequenceId> = sequences.map(|it| it.id).collect();
        tables.sort_unstable();
        sequences.sort_unstable();
        if tables.windows(2).any(|it| it.first() == it.last())
            || sequences.windows(2).any(|it| it.first() == it.last())
        {
            return Err(corruption("two objects with the same identity"));
        }
        Ok(())
    }
}

fn write_all<'a, T: 'a>(
    values: impl ExactSizeIterator<Item = &'a T>,
    to: &mut Writer,
    mut write: impl FnMut(&T, &mut Writer) -> Result<()>,
) -> Result<()> {
    to.number(values.len());
    values.into_iter().try_for_each(|it| write(it, to))
}

fn read_all<'r, T>(
    from: &mut Reader<'r>,
    mut read: impl FnMut(&mut Reader<'r>) -> Result<T>,
) -> Result<Vec<T>> {
    (0..from.count()?).map(|_| read(from)).collect()
}

/// Values by their names in lower case, which differ.
fn by_name<T>(
    values: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> &str,
) -> Result<BTreeMap<String, T>> {
    let mut named = BTreeMap::new();
    for value in values {
        let key = name(&value).to_lowercase();
        if named.contains_key(&key) {
            return Err(corruption(format_args!("two objects called {key}")));
        }
        named.insert(key, value);
    }
    Ok(named)
}

fn write_optional(text: Option<&str>, to: &mut Writer) {
    to.byte(u8::from(text.is_some()));
    if let Some(text) = text {
        to.text(text);
    }
}

fn read_optional(from: &mut Reader<'_>) -> Result<Option<String>> {
    Ok(if read_flag(from)? { Some(from.text()?.to_owned()) } else { None })
}

fn read_flag(from: &mut Reader<'_>) -> Result<bool> {
    match from.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(corruption(format_args!("neither 0 nor 1: {other}"))),
    }
}

fn read_u64(from: &mut Reader<'_>) -> Result<u64> {
    from.fixed().map(u64::from_le_bytes)
}

fn read_i64(from: &mut Reader<'_>) -> Result<i64> {
    from.fixed().map(i64::from_le_bytes)
}

fn write_texts(texts: &[String], to: &mut Writer) -> Result<()> {
    write_all(texts.iter(), to, |it, to| {
        to.text(it);
        Ok(())
    })
}

fn read_texts(from: &mut Reader<'_>) -> Result<Vec<String>> {
    read_all(from, |from| from.text().map(str::to_owned))
}

fn write_schema(schema: &SchemaSnapshot, version: usize, to: &mut Writer) -> Result<()> {
    to.text(&schema.name);
    write_all(schema.relations.values(), to, |it, to| write_relation(it, version, to))?;
    write_all(schema.sequences.values(), to, |it, to| write_sequence(it, to))?;
    write_all(schema.types.values(), to, |it, to| {
        to.text(&it.name);
        to.data_type(&it.data_type)?;
        write_texts(&it.named_types, to)
    })?;
    write_all(schema.macros.values(), to, |it, to| write_macro(it, to))
}

fn read_schema(from: &mut Reader<'_>, version: usize) -> Result<SchemaSnapshot> {
    let name = from.text()?.to_owned();
    let relations = read_all(from, |from| read_relation(from, version))?;
    let relations = by_name(relations, RelationEntry::name)?;
    let sequences = read_all(from, read_sequence)?.into_iter().map(Arc::new);
    let sequences = by_name(sequences, |it| &it.name)?;
    let types = read_all(from, |from| {
        let name = from.text()?.to_owned();
        let data_type = from.data_type()?;
        Ok(Arc::new(TypeEntry { name, data_type, named_types: read_texts(from)? }))
    })?;
    let macros = read_all(from, read_macro)?.into_iter().map(Arc::new);
    Ok(SchemaSnapshot {
        name,
        relations,
        sequences,
        types: by_name(types, |it| &it.name)?,
        macros: by_name(macros, |it| &it.name)?,
    })
}

fn write_relation(relation: &RelationEntry, version: usize, to: &mut Writer) -> Result<()> {
    match relation {
        RelationEntry::Table(table) => {
            to.byte(0);
            to.raw(&table.id.0.to_le_bytes());
            to.text(&table.name);
            write_all(table.columns.fields.iter(), to, |it, to| {
                to.text(&it.name);
                to.data_type(&it.data_type)
            })?;
            write_definition(&table.definition, to)?;
            if version == VERSION { write_references(&table.definition, to) } else { Ok(()) }
        }
        RelationEntry::View(view) => {
            to.byte(1);
            to.text(&view.name);
            to.text(&view.sql);
            write_texts(&view.columns, to)?;
            to.text(&view.dialect);
            write_texts(&view.search_path, to)?;
            write_optional(view.comment.as_deref(), to);
            to.number(view.column_comments.len());
            for (column, comment) in &view.column_comments {
                to.text(column);
                to.text(comment);
            }
            Ok(())
        }
    }
}

fn read_relation(from: &mut Reader<'_>, version: usize) -> Result<RelationEntry> {
    if read_flag(from)? {
        let mut view = ViewEntry {
            name: from.text()?.to_owned(),
            sql: from.text()?.to_owned(),
            columns: read_texts(from)?,
            dialect: from.text()?.to_owned(),
            search_path: read_texts(from)?,
            comment: read_optional(from)?,
            column_comments: BTreeMap::new(),
        };
        for _ in 0..from.count()? {
            let column = from.text()?.to_owned();
            view.column_comments.insert(column, from.text()?.to_owned());
        }
        return Ok(RelationEntry::View(Arc::new(view)));
    }
    let id = TableId(read_u64(from)?);
    let name = from.text()?.to_owned();
    let fields = read_all(from, |from| {
        let name = from.text()?;
        Ok(Field::new(name, from.data_type()?))
    })?;
    let columns = Schema::new(fields);
    let mut definition = read_definition(from, columns.len())?;
    if version == VERSION {
        read_references(from, columns.len(), &mut definition)?;
    }
    let definition = Arc::new(definition);
    Ok(RelationEntry::Table(Arc::new(TableEntry { id, name, columns, definition })))
}

fn write_definition(definition: &TableDefinition, to: &mut Writer) -> Result<()> {
    write_all(definition.columns.iter(), to, |it, to| {
        to.byte(u8::from(it.is_not_null));
        write_optional(it.default.as_deref(), to);
        write_optional(it.generated.as_deref(), to);
        write_texts(&it.named_types, to)?;
        write_optional(it.comment.as_deref(), to);
        Ok(())
    })?;
    write_all(definition.checks.iter(), to, |it, to| {
        write_optional(it.name.as_deref(), to);
        to.text(&it.condition);
        Ok(())
    })?;
    write_all(definition.keys.iter(), to, |it, to| {
        to.byte(u8::from(it.is_primary));
        to.number(it.columns.len());
        it.columns.iter().for_each(|it| to.number(*it));
        Ok(())
    })?;
    write_optional(definition.comment.as_deref(), to);
    to.byte(match definition.on_commit {
        OnCommit::PreserveRows => 0,
        OnCommit::DeleteRows => 1,
        OnCommit::Drop => 2,
    });
    Ok(())
}

/// The definition of a table with `width` columns.
fn read_definition(from: &mut Reader<'_>, width: usize) -> Result<TableDefinition> {
    let columns = read_all(from, |from| {
        Ok(ColumnDefinition {
            is_not_null: read_flag(from)?,
            default: read_optional(from)?,
            generated: read_optional(from)?,
            named_types: read_texts(from)?,
            comment: read_optional(from)?,
        })
    })?;
    let checks = read_all(from, |from| {
        Ok(CheckDefinition { name: read_optional(from)?, condition: from.text()?.to_owned() })
    })?;
    let keys = read_all(from, |from| {
        let is_primary = read_flag(from)?;
        let columns = read_all(from, Reader::number)?;
        Ok(KeyDefinition { columns, is_primary, index: None })
    })?;
    let used = keys.iter().flat_map(|it| &it.columns).max();
    if columns.len() > width || used.is_some_and(|it| *it >= width) {
        return Err(corruption("a definition of columns that do not exist"));
    }
    let comment = read_optional(from)?;
    let on_commit = match from.byte()? {
        0 => OnCommit::PreserveRows,
        1 => OnCommit::DeleteRows,
        2 => OnCommit::Drop,
        other => return Err(corruption(format_args!("no action of a commit: {other}"))),
    };
    Ok(TableDefinition { columns, checks, keys, comment, on_commit, ..TableDefinition::default() })
}

/// Foreign keys, indexes, and which keys are those of indexes.
fn write_references(definition: &TableDefinition, to: &mut Writer) -> Result<()> {
    write_all(definition.foreign_keys.iter(), to, |it, to| {
        write_optional(it.name.as_deref(), to);
        to.byte(u8::from(it.table.is_some()));
        if let Some(table) = it.table {
            to.raw(&table.0.to_le_bytes());
        }
        to.number(it.columns.len());
        it.columns.iter().chain(&it.referenced).for_each(|it| to.number(*it));
        Ok(())
    })?;
    write_all(definition.indexes.iter(), to, |it, to| {
        to.text(&it.name);
        to.byte(u8::from(it.is_unique));
        write_all(it.parts.iter(), to, |it, to| {
            match it {
                IndexPart::Column(column) => {
                    to.byte(0);
                    to.number(*column);
                }
                IndexPart::Expression(text) => {
                    to.byte(1);
                    to.text(text);
                }
            }
            Ok(())
        })
    })?;
    for key in &definition.keys {
        write_optional(key.index.as_deref(), to);
    }
    Ok(())
}

/// What [`write_references`] wrote, of a table with `width` columns.
fn read_references(
    from: &mut Reader<'_>,
    width: usize,
    definition: &mut TableDefinition,
) -> Result<()> {
    definition.foreign_keys = read_all(from, |from| {
        let name = read_optional(from)?;
        let table = if read_flag(from)? { Some(TableId(read_u64(from)?)) } else { None };
        let columns = read_all(from, Reader::number)?;
        let referenced = columns.iter().map(|_| from.number()).collect::<Result<_>>()?;
        Ok(ForeignKeyDefinition { name, columns, table, referenced })
    })?;
    definition.indexes = read_all(from, |from| {
        let (name, is_unique) = (from.text()?.to_owned(), read_flag(from)?);
        let parts = read_all(from, |from| {
            Ok(match read_flag(from)? {
                false => IndexPart::Column(from.number()?),
                true => IndexPart::Expression(from.text()?.to_owned()),
            })
        })?;
        Ok(IndexDefinition { name, is_unique, parts })
    })?;
    for key in &mut definition.keys {
        key.index = read_optional(from)?;
    }
    let foreign = definition.foreign_keys.iter().flat_map(|it| match it.table {
        Some(_) => vec![&it.columns],
        None => vec![&it.columns, &it.referenced],
    });
    let parts = definition.indexes.iter().flat_map(|it| &it.parts);
    let parts = parts.filter_map(|it| match it {
        IndexPart::Column(column) => Some(column),
        IndexPart::Expression(_) => None,
    });
    match foreign.flatten().chain(parts).all(|it| *it < width) {
        true => Ok(()),
        false => Err(corruption("a constraint or index of columns that do not exist")),
    }
}

fn write_sequence(sequence: &SequenceEntry, to: &mut Writer) -> Result<()> {
    to.raw(&sequence.id.0.to_le_bytes());
    to.text(&sequence.name);
    for number in [sequence.start, sequence.increment, sequence.least, sequence.greatest] {
        to.raw(&number.to_le_bytes());
    }
    to.byte(u8::from(sequence.cycles));
    Ok(())
}

fn read_sequence(from: &mut Reader<'_>) -> Result<SequenceEntry> {
    let sequence = SequenceEntry {
        id: SequenceId(read_u64(from)?),
        name: from.text()?.to_owned(),
        start: read_i64(from)?,
        increment: read_i64(from)?,
        least: read_i64(from)?,
        greatest: read_i64(from)?,
        cycles: read_flag(from)?,
    };
    let has_start = (sequence.least..=sequence.greatest).contains(&sequence.start);
    if sequence.increment == 0 || !has_start {
        return Err(corruption(format_args!("a sequence without numbers: {}", sequence.name)));
    }
    Ok(sequence)
}

fn write_macro(entry: &MacroEntry, to: &mut Writer) -> Result<()> {
    to.text(&entry.name);
    write_all(entry.parameters.iter(), to, |it, to| {
        to.text(&it.name);
        write_optional(it.data_type.as_deref(), to);
        write_optional(it.default.as_deref(), to);
        Ok(())
    })?;
    to.text(&entry.body);
    to.byte(u8::from(entry.is_table));
    Ok(())
}

fn read_macro(from: &mut Reader<'_>) -> Result<MacroEntry> {
    let name = from.text()?.to_owned();
    let parameters = read_all(from, |from| {
        Ok(MacroParameterEntry {
            name: from.text()?.to_owned(),
            data_type: read_optional(from)?,
            default: read_optional(from)?,
        })
    })?;
    Ok(MacroEntry { name, parameters, body: from.text()?.to_owned(), is_table: read_flag(from)? })
}
