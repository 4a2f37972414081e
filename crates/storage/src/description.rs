//! What chunk files say of the tables whose rows they have.
//!
//! ```text
//! a block of kind 4, before the first block of a table in a file
//!   number   salt of the database, with which the checksum of this block is right
//!   list     numbers of segments whose place those in this file take, and of those before them
//!   list     columns of the segment with blocks of another one: number column, number segment
//!   block    catalog with the table alone, without keys, foreign keys and indexes
//! ```
//!
//! Nothing but [`Storage::open_without_manifest`](crate::Storage::open_without_manifest) needs it.

use crate::Segment;
use std::{collections::BTreeSet, sync::Arc};
use volley_connector::{
    CatalogSnapshot, RelationEntry, SchemaSnapshot, TableDefinition, TableEntry, TableId,
};
use volley_error::{Error, Result};
use volley_pdt::bytes::{Input, Output};
use volley_types::{Type, TypeRegistry};

/// The most numbers of replaced segments in a description: the newest.
const REPLACED_MAX: usize = 4096;

/// A table as the chunk files of its rows describe it.
#[derive(Clone, Debug)]
pub struct TableDescription {
    schema: String,
    table: TableEntry,
    /// Segments that were written again.
    pub(crate) replaced: Vec<u32>,
    /// Columns of the only segment in the file with blocks of another segment.
    pub(crate) origins: Vec<(u32, u32)>,
}

impl TableDescription {
    /// Describes a table of a schema. Keys, foreign keys and indexes are left out.
    pub fn new(schema: &str, table: &TableEntry) -> TableDescription {
        let definition = TableDefinition {
            keys: Vec::new(),
            foreign_keys: Vec::new(),
            indexes: Vec::new(),
            ..(*table.definition).clone()
        };
        let table = TableEntry { definition: Arc::new(definition), ..table.clone() };
        let (replaced, origins) = (Vec::new(), Vec::new());
        TableDescription { schema: schema.to_owned(), table, replaced, origins }
    }

    /// Describes a table of a catalog.
    pub fn of(catalog: &CatalogSnapshot, table: TableId) -> Option<TableDescription> {
        let (schema, entry) = catalog.table(table)?;
        Some(TableDescription::new(&schema.name, entry))
    }

    /// With the segments whose place those in the file take, and those whose place these took:
    /// their blocks may be in files that are still in use.
    pub(crate) fn replacing(self, old: &[&Segment]) -> TableDescription {
        let mut all = BTreeSet::new();
        for segment in old {
            all.insert(segment.id());
            all.extend(segment.origins().map(|it| it.1));
            // Without them, a salvage may find rows twice.
            all.extend(replaced_by(segment).unwrap_or_default());
        }
        let replaced = all.into_iter().rev().take(REPLACED_MAX).collect();
        TableDescription { replaced, ..self }
    }

    /// With the columns of a segment that are in blocks of other segments.
    pub(crate) fn with_origins_of(self, segment: &Segment) -> TableDescription {
        TableDescription { origins: segment.origins().collect(), ..self }
    }

    /// The name of its schema.
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// The table.
    pub(crate) fn table(&self) -> &TableEntry {
        &self.table
    }

    /// The types of its columns.
    pub(crate) fn types(&self) -> Arc<[Type]> {
        self.table.columns.types().cloned().collect()
    }

    /// The payload of the block.
    pub(crate) fn to_bytes(&self, salt: u64) -> Result<Vec<u8>> {
        let mut catalog = CatalogSnapshot::default();
        let name = self.schema.clone();
        let mut schema = SchemaSnapshot { name, ..SchemaSnapshot::default() };
        let table = RelationEntry::Table(Arc::new(self.table.clone()));
        schema.relations.insert(self.table.name.to_lowercase(), table);
        catalog.schemas.insert(self.schema.to_lowercase(), Arc::new(schema));
        let mut output = Output::default();
        output.number(salt);
        output.count(self.replaced.len());
        self.replaced.iter().for_each(|it| output.number((*it).into()));
        output.count(self.origins.len());
        for (column, segment) in &self.origins {
            output.number((*column).into());
            output.number((*segment).into());
        }
        output.block(&catalog.to_bytes()?);
        Ok(output.bytes)
    }

    /// The salt, and the description of [`TableDescription::to_bytes`].
    ///
    /// # Errors
    ///
    /// Corruption: other bytes. Invalid query: unknown types.
    pub(crate) fn from_bytes(
        bytes: &[u8],
        types: &TypeRegistry,
    ) -> Result<(u64, TableDescription)> {
        let mut input = Input::new(bytes, "description of a table");
        let salt = input.number()?;
        let replaced = input.all(Input::u32)?;
        let origins = input.all(|it| Ok((it.u32()?, it.u32()?)))?;
        let catalog = CatalogSnapshot::from_bytes(input.block()?, types)?;
        input.finish()?;
        let mut tables = catalog.schemas.values().flat_map(|schema| {
            let tables = schema.relations.values().filter_map(RelationEntry::as_table);
            tables.map(|it| (schema.name.clone(), TableEntry::clone(it)))
        });
        let (schema, table) =
            tables.next().ok_or_else(|| Error::corruption("a description without a table"))?;
        Ok((salt, TableDescription { schema, table, replaced, origins }))
    }
}

/// The segments whose place a segment took, as its file says.
fn replaced_by(segment: &Segment) -> Result<Vec<u32>> {
    let Some(file) = segment.own_file() else { return Ok(Vec::new()) };
    let Some(bytes) = file.first_description()? else { return Ok(Vec::new()) };
    let mut input = Input::new(&bytes, "description of a table");
    input.number()?;
    input.all(Input::u32)
}
