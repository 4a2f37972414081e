//! Records of the log.
//!
//! ```text
//! record   u8 kind
//!   1 commit    stamp, difference of the catalog (optional), tables, sequences that were made
//!   2 replace   table, numbers of segments that follow each other, those that take their place
//!   3 numbers   sequence, where a recovery goes on
//!   4 columns   since 1.1: as 2, and after each segment the columns with blocks of other segments
//! ```

use crate::{ChunkFiles, Segment};
use std::sync::Arc;
use volley_connector::{CatalogDifference, CatalogSnapshot, ObjectKind, SequenceId, TableId};
use volley_error::Result;
use volley_pdt::{
    Stamp,
    bytes::{Input, Output},
};
use volley_types::{Type, TypeRegistry};

const COMMIT: u8 = 1;
const REPLACE: u8 = 2;
const NUMBERS: u8 = 3;
const COLUMNS: u8 = 4;

/// A record.
#[derive(Debug)]
pub(crate) enum Record {
    Commit(CommitRecord),
    /// Segments that follow each other were written again with their changes.
    Replace {
        table: TableId,
        old: Vec<u32>,
        new: Vec<Arc<Segment>>,
    },
    /// Numbers of a sequence were reserved.
    Numbers(SequenceId, Option<i64>),
}

/// What a transaction changed.
#[derive(Debug, Default)]
pub(crate) struct CommitRecord {
    pub(crate) stamp: Stamp,
    pub(crate) catalog: Option<CatalogDifference>,
    pub(crate) tables: Vec<TableRecord>,
    pub(crate) sequences: Vec<(SequenceId, Option<i64>)>,
}

/// What a transaction changed in a table.
#[derive(Debug)]
pub(crate) struct TableRecord {
    pub(crate) table: TableId,
    /// Whether `added` replaces all rows.
    pub(crate) replaces: bool,
    pub(crate) added: Vec<Arc<Segment>>,
    /// By number of the segment: what `volley_pdt::Pdt::to_bytes` wrote.
    pub(crate) changed: Vec<(u32, Vec<u8>)>,
}

/// What reading needs: the types of a table's columns, from the catalog that the commits before
/// have made.
pub(crate) struct RecordReader<'a> {
    pub(crate) files: &'a ChunkFiles,
    pub(crate) types: &'a TypeRegistry,
}

impl Record {
    pub(crate) fn write(&self, catalog: &CatalogSnapshot, output: &mut Output) -> Result<()> {
        match self {
            Record::Commit(commit) => {
                output.byte(COMMIT);
                commit.write(catalog, output)
            }
            Record::Replace { table, old, new } => {
                let is_whole = new.iter().all(|it| it.has_own_blocks());
                output.byte(if is_whole { REPLACE } else { COLUMNS });
                output.number(table.0);
                output.count(old.len());
                old.iter().for_each(|it| output.number((*it).into()));
                let types = types_of(catalog, *table);
                if is_whole {
                    return write_segments(new, &types, output);
                }
                output.count(new.len());
                new.iter().try_for_each(|it| {
                    it.write(&types, output)?;
                    it.write_origins(output);
                    Ok(())
                })
            }
            Record::Numbers(sequence, resume) => {
                output.byte(NUMBERS);
                write_resume(*sequence, *resume, output);
                Ok(())
            }
        }
    }
}

impl CommitRecord {
    /// `catalog` is that after the commit.
    fn write(&self, catalog: &CatalogSnapshot, output: &mut Output) -> Result<()> {
        output.number(self.stamp.0);
        output.byte(u8::from(self.catalog.is_some()));
        if let Some(difference) = &self.catalog {
            write_difference(difference, output)?;
        }
        output.count(self.tables.len());
        for table in &self.tables {
            output.number(table.table.0);
            output.byte(u8::from(table.replaces));
            write_segments(&table.added, &types_of(catalog, table.table), output)?;
            output.count(table.changed.len());
            for (segment, bytes) in &table.changed {
                output.number((*segment).into());
                output.block(bytes);
            }
        }
        output.count(self.sequences.len());
        self.sequences.iter().for_each(|it| write_resume(it.0, it.1, output));
        Ok(())
    }
}

impl RecordReader<'_> {
    /// The next record; `catalog` is that of the commits before.
    pub(crate) fn read(&self, input: &mut Input<'_>, catalog: &CatalogSnapshot) -> Result<Record> {
        Ok(match input.byte()? {
            COMMIT => Record::Commit(self.read_commit(input, catalog)?),
            REPLACE => {
                let (table, old) = (TableId(input.number()?), input.all(Input::u32)?);
                let new = self.read_segments(input, table, catalog)?;
                Record::Replace { table, old, new }
            }
            COLUMNS => {
                let (table, old) = (TableId(input.number()?), input.all(Input::u32)?);
                let types = types_of(catalog, table);
                let new = input.all(|it| {
                    Segment::read(it, table, &types, self.files)?.with_origins(it).map(Arc::new)
                })?;
                Record::Replace { table, old, new }
            }
            NUMBERS => {
                let (sequence, resume) = read_resume(input)?;
                Record::Numbers(sequence, resume)
            }
            _ => return Err(input.corrupt("an unknown kind of record")),
        })
    }

    fn read_commit(
        &self,
        input: &mut Input<'_>,
        catalog: &CatalogSnapshot,
    ) -> Result<CommitRecord> {
        let stamp = Stamp(input.number()?);
        let difference = input.optional(|it| read_difference(it, self.types))?;
        let after = difference.as_ref().map(|it| it.apply(catalog));
        let catalog = after.as_ref().unwrap_or(catalog);
        let tables = input.all(|input| {
            let table = TableId(input.number()?);
            let replaces = input.byte()? == 1;
            let added = self.read_segments(input, table, catalog)?;
            let changed = input.all(|input| Ok((input.u32()?, input.block()?.to_vec())))?;
            Ok(TableRecord { table, replaces, added, changed })
        })?;
        let sequences = input.all(read_resume)?;
        Ok(CommitRecord { stamp, catalog: difference, tables, sequences })
    }

    fn read_segments(
        &self,
        input: &mut Input<'_>,
        table: TableId,
        catalog: &CatalogSnapshot,
    ) -> Result<Vec<Arc<Segment>>> {
        let types = types_of(catalog, table);
        input.all(|it| Segment::read(it, table, &types, self.files).map(Arc::new))
    }
}

fn types_of(catalog: &CatalogSnapshot, table: TableId) -> Vec<Type> {
    let entry = catalog.table(table).map(|it| it.1);
    entry.map(|it| it.columns.types().cloned().collect()).unwrap_or_default()
}

fn write_segments(segments: &[Arc<Segment>], types: &[Type], output: &mut Output) -> Result<()> {
    output.count(segments.len());
    segments.iter().try_for_each(|it| it.write(types, output))
}

/// Writes a sequence and where a recovery goes on.
pub(crate) fn write_resume(sequence: SequenceId, resume: Option<i64>, output: &mut Output) {
    output.number(sequence.0);
    output.optional(resume, |it, output| output.signed(it));
}

/// Reads what [`write_resume`] wrote.
pub(crate) fn read_resume(input: &mut Input<'_>) -> Result<(SequenceId, Option<i64>)> {
    Ok((SequenceId(input.number()?), input.optional(Input::signed)?))
}

fn write_difference(difference: &CatalogDifference, output: &mut Output) -> Result<()> {
    output.block(&difference.put.to_bytes()?);
    output.count(difference.removed.len());
    for (schema, kind, key) in &difference.removed {
        output.block(schema.as_bytes());
        output.byte(match kind {
            ObjectKind::Table | ObjectKind::View => 0,
            ObjectKind::Sequence => 1,
            ObjectKind::Type => 2,
            ObjectKind::Macro => 3,
        });
        output.block(key.as_bytes());
    }
    output.count(difference.removed_schemas.len());
    difference.removed_schemas.iter().for_each(|it| output.block(it.as_bytes()));
    Ok(())
}

fn read_difference(input: &mut Input<'_>, types: &TypeRegistry) -> Result<CatalogDifference> {
    let put = CatalogSnapshot::from_bytes(input.block()?, types)?;
    let removed = input.all(|input| {
        let schema = read_text(input)?;
        let kind = match input.byte()? {
            0 => ObjectKind::Table,
            1 => ObjectKind::Sequence,
            2 => ObjectKind::Type,
            3 => ObjectKind::Macro,
            _ => return Err(input.corrupt("an unknown kind of object")),
        };
        Ok((schema, kind, read_text(input)?))
    })?;
    let removed_schemas = input.all(read_text)?;
    Ok(CatalogDifference { put, removed, removed_schemas })
}

fn read_text(input: &mut Input<'_>) -> Result<String> {
    let bytes = input.block()?.to_vec();
    String::from_utf8(bytes).map_err(|_| input.corrupt("a name that is not text"))
}
