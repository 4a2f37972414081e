//! What objects a database has, as data.

mod difference;
mod edit;
mod merge;
mod references;
mod save;
#[cfg(test)]
mod tests;

pub use difference::CatalogDifference;
pub use edit::RemovedObjects;
pub use merge::{keys_of_either, set_or_remove};
pub use references::{Reference, ReferencedName};

use crate::TableDefinition;
use std::{collections::BTreeMap, sync::Arc};
use volley_types::{Schema, Type};

/// The objects of a database at one moment. It holds no rows, and can be saved and read again:
/// [`CatalogSnapshot::to_bytes`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogSnapshot {
    /// By lower-case name.
    pub schemas: BTreeMap<String, Arc<SchemaSnapshot>>,
}

/// The objects of a schema. Keys are lower-case names. Tables and views share one set of names,
/// each other kind has its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaSnapshot {
    /// Its name as written.
    pub name: String,
    /// Tables and views.
    pub relations: BTreeMap<String, RelationEntry>,
    /// Sequences.
    pub sequences: BTreeMap<String, Arc<SequenceEntry>>,
    /// Types made by CREATE TYPE.
    pub types: BTreeMap<String, Arc<TypeEntry>>,
    /// Macros.
    pub macros: BTreeMap<String, Arc<MacroEntry>>,
}

/// Identifies a table within its database, whatever its name becomes; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(
    /// The number.
    pub u64,
);

/// Identifies a sequence within its database; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceId(
    /// The number.
    pub u64,
);

/// A table or view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelationEntry {
    /// A table.
    Table(Arc<TableEntry>),
    /// A view.
    View(Arc<ViewEntry>),
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// Its identity.
    pub id: TableId,
    /// Its name as written.
    pub name: String,
    /// Its columns.
    pub columns: Schema,
    /// What holds for its rows.
    pub definition: Arc<TableDefinition>,
}

/// A query under a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewEntry {
    /// Its name as written.
    pub name: String,
    /// The query's text.
    pub sql: String,
    /// Names that replace the query's own, from the first on; empty to keep them.
    pub columns: Vec<String>,
    /// The name of the dialect that the text is written in.
    pub dialect: String,
    /// The schemas of its database that names without a schema were looked up in when it was made,
    /// in order.
    pub search_path: Vec<String>,
    /// What COMMENT ON says of it.
    pub comment: Option<String>,
    /// What COMMENT ON says of its columns, by lower-case name.
    pub column_comments: BTreeMap<String, String>,
}

/// The numbers of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceEntry {
    /// Its identity. A sequence that is put into a database gets a new one.
    pub id: SequenceId,
    /// Its name as written.
    pub name: String,
    /// The first number.
    pub start: i64,
    /// What is added to get the next one; not 0.
    pub increment: i64,
    /// None is less.
    pub least: i64,
    /// None is greater.
    pub greatest: i64,
    /// Whether it begins again at the other end when it has reached one.
    pub cycles: bool,
}

/// A type under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeEntry {
    /// Its name as written.
    pub name: String,
    /// The type.
    pub data_type: Type,
    /// The types made by CREATE TYPE that it was written with.
    pub named_types: Vec<String>,
}

/// An expression or query with parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MacroEntry {
    /// Its name as written.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<MacroParameterEntry>,
    /// The text of the expression or query.
    pub body: String,
    /// Whether it is a query.
    pub is_table: bool,
}

/// A parameter of a macro.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MacroParameterEntry {
    /// Its name as written.
    pub name: String,
    /// The text of the type that arguments are cast to.
    pub data_type: Option<String>,
    /// The text of the argument of calls without it.
    pub default: Option<String>,
}

/// An object that is put into a schema as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinedObject {
    /// A view.
    View(ViewEntry),
    /// A sequence, which begins at its start.
    Sequence(SequenceEntry),
    /// A type.
    Type(TypeEntry),
    /// A macro.
    Macro(MacroEntry),
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// Rows.
    Table,
    /// A query.
    View,
    /// Numbers.
    Sequence,
    /// A type.
    Type,
    /// A macro.
    Macro,
}

impl ObjectKind {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Table => "table",
            ObjectKind::View => "view",
            ObjectKind::Sequence => "sequence",
            ObjectKind::Type => "type",
            ObjectKind::Macro => "macro",
        }
    }
}

impl DefinedObject {
    /// What it is.
    pub fn kind(&self) -> ObjectKind {
        match self {
            DefinedObject::View(_) => ObjectKind::View,
            DefinedObject::Sequence(_) => ObjectKind::Sequence,
            DefinedObject::Type(_) => ObjectKind::Type,
            DefinedObject::Macro(_) => ObjectKind::Macro,
        }
    }

    /// Its name as written.
    pub fn name(&self) -> &str {
        match self {
            DefinedObject::View(it) => &it.name,
            DefinedObject::Sequence(it) => &it.name,
            DefinedObject::Type(it) => &it.name,
            DefinedObject::Macro(it) => &it.name,
        }
    }
}

impl RelationEntry {
    /// Its name as written.
    pub fn name(&self) -> &str {
        match self {
            RelationEntry::Table(it) => &it.name,
            RelationEntry::View(it) => &it.name,
        }
    }

    /// What it is.
    pub fn kind(&self) -> ObjectKind {
        match self {
            RelationEntry::Table(_) => ObjectKind::Table,
            RelationEntry::View(_) => ObjectKind::View,
        }
    }

    /// The table, if it is one.
    pub fn as_table(&self) -> Option<&Arc<TableEntry>> {
        match self {
            RelationEntry::Table(it) => Some(it),
            RelationEntry::View(_) => None,
        }
    }
}

impl CatalogSnapshot {
    /// A schema, ignoring case.
    pub fn schema(&self, name: &str) -> Option<&Arc<SchemaSnapshot>> {
        self.schemas.get(&name.to_lowercase())
    }

    /// A table or view, ignoring case.
    pub fn relation(&self, schema: &str, name: &str) -> Option<&RelationEntry> {
        self.schema(schema)?.relations.get(&name.to_lowercase())
    }

    /// The schema of a table and the table.
    pub fn table(&self, id: TableId) -> Option<(&Arc<SchemaSnapshot>, &Arc<TableEntry>)> {
        let tables = |schema| {
            let schema: &Arc<SchemaSnapshot> = schema;
            schema.relations.values().filter_map(move |it| Some((schema, it.as_table()?)))
        };
        self.schemas.values().flat_map(tables).find(|it| it.1.id == id)
    }
}

impl SchemaSnapshot {
    /// Whether it has no object.
    pub fn is_empty(&self) -> bool {
        self.relations.is_empty()
            && self.sequences.is_empty()
            && self.types.is_empty()
            && self.macros.is_empty()
    }
}

impl SequenceEntry {
    /// The number that follows `number`; `None` at the end.
    pub fn after(&self, number: i64) -> Option<i64> {
        let next = number.checked_add(self.increment);
        let next = next.filter(|it| (self.least..=self.greatest).contains(it));
        let again = if self.increment > 0 { self.least } else { self.greatest };
        next.or_else(|| self.cycles.then_some(again))
    }
}
