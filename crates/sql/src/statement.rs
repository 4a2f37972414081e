//! Bound statements.

use crate::{Dialect, ParsedStatement, Write};
use std::{fmt, sync::Arc};
use volley_connector::{ColumnDefinition, IndexDefinition, TableDefinition, TableOption};
use volley_error::Span;
use volley_logical::Plan;
use volley_plan::TableHandle;
use volley_types::{Field, Schema, Type};

/// What EXPLAIN shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainForm {
    /// The plan.
    Plan,
    /// The plan cut into the fragments that tasks run.
    Distributed,
    /// The plan as sub-operators.
    SubOperators,
    /// The tables that are read and written.
    Io,
    /// The plan, after it ran, with what happened.
    Analyze,
}

/// How EXPLAIN shows a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExplainFormat {
    /// An indented tree.
    #[default]
    Text,
    /// A JSON document.
    Json,
    /// A page for a browser.
    Html,
    /// A graph in the language of Graphviz.
    Dot,
    /// A picture of the graph.
    Svg,
    /// Events for a viewer of Chrome traces.
    Trace,
}

/// The names that match a LIKE pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    /// The pattern.
    pub pattern: String,
    /// The character that makes the next one literal.
    pub escape: Option<char>,
}

/// A bound statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Returns rows.
    Query(Query),
    /// Shows the plan of a statement.
    Explain {
        /// What is shown of it.
        form: ExplainForm,
        /// How the plan is shown.
        format: ExplainFormat,
        /// What is explained.
        statement: Box<Statement>,
    },
    /// Makes a table.
    CreateTable {
        /// Its name as written, parts joined by dots.
        name: String,
        /// Replaces a table of that name.
        or_replace: bool,
        /// Does nothing when there is a table of that name.
        if_not_exists: bool,
        /// Its columns.
        columns: Schema,
        /// What holds for its rows.
        definition: TableDefinition,
        /// Its rows, in the order and of the types of `columns`; without, it starts empty.
        query: Option<Query>,
    },
    /// Makes an index of a table.
    CreateIndex {
        /// The table's name as written.
        table: String,
        /// Its definition.
        index: IndexDefinition,
        /// Does nothing when there is an index of that name.
        if_not_exists: bool,
    },
    /// Gives a query a name.
    CreateView {
        /// Its name as written.
        name: String,
        /// Replaces a view of that name.
        or_replace: bool,
        /// Does nothing when there is a view of that name.
        if_not_exists: bool,
        /// Names of the first columns.
        columns: Vec<String>,
        /// The text of the query; it was bound once and found right.
        sql: String,
        /// What the text is written in.
        dialect: Dialect,
    },
    /// Gives a view another name.
    RenameView {
        /// Its name as written.
        name: String,
        /// A missing one is no error.
        if_exists: bool,
        /// The other name as written.
        new: String,
    },
    /// Makes a sequence of numbers.
    CreateSequence {
        /// Its name as written.
        name: String,
        /// Replaces a sequence of that name.
        or_replace: bool,
        /// Does nothing when there is a sequence of that name.
        if_not_exists: bool,
        /// Its numbers.
        definition: SequenceDefinition,
    },
    /// Gives an expression or a query with parameters a name.
    CreateMacro {
        /// Its name as written.
        name: String,
        /// Replaces a macro of that name.
        or_replace: bool,
        /// Does nothing when there is a macro of that name.
        if_not_exists: bool,
        /// Its meaning.
        definition: MacroDefinition,
    },
    /// Gives a type a name.
    CreateType {
        /// Its name as written.
        name: String,
        /// Replaces a type of that name.
        or_replace: bool,
        /// Does nothing when there is a type of that name.
        if_not_exists: bool,
        /// Its meaning.
        definition: TypeDefinition,
    },
    /// Keeps credentials for files.
    CreateSecret(Box<SecretDefinition>),
    /// Forgets credentials.
    DropSecret {
        /// The name as written.
        name: String,
        /// A missing one is no error.
        if_exists: bool,
    },
    /// Shows secrets without their values.
    ShowSecrets,
    /// Shows what the cache has of each file.
    ShowCache,
    /// Reads all rows of a table, so that their bytes are in the cache.
    Prefetch(Query),
    /// Says something about a table, a view or a column, in place of what was said before.
    Comment {
        /// The name of the table or view as written.
        name: String,
        /// The name of the column; `None`: about all of it.
        column: Option<String>,
        /// `None`: nothing any more.
        text: Option<String>,
    },
    /// Removes tables, views, sequences, macros or types.
    Drop {
        /// Which of them.
        kind: DropKind,
        /// The names as written.
        names: Vec<String>,
        /// Missing ones are no error.
        if_exists: bool,
    },
    /// Adds, changes or removes rows of a table.
    Write(Box<Write>),
    /// Changes the columns of a table, its name or its promises.
    AlterTable {
        /// The table's name as written.
        table: String,
        /// What changes; `None` when there is nothing to do.
        alteration: Option<Alteration>,
    },
    /// USE: names without a schema mean those of another one.
    Use {
        /// The schema or database as written.
        name: String,
    },
    /// Adds a database.
    Attach {
        /// What is opened.
        path: String,
        /// Its name; from the path, if none is written.
        name: String,
        /// Does nothing when there is a database of that name.
        if_not_exists: bool,
        /// The options; values are texts.
        options: Vec<TableOption>,
        /// Where the path is written.
        span: Option<Span>,
    },
    /// Takes a database away.
    Detach {
        /// Its name as written.
        name: String,
        /// A missing one is no error.
        if_exists: bool,
    },
    /// Makes the next opening of a database fast.
    Checkpoint {
        /// Its name as written; `None`: the current one.
        database: Option<String>,
    },
    /// Writes tables again as compactly as possible.
    Vacuum {
        /// The table as written; `None`: all of the current database.
        table: Option<String>,
    },
    /// Collects statistics.
    Analyze {
        /// The table as written; `None`: all of the current database.
        table: Option<String>,
    },
    /// Writes the statements that make a database again, and its rows, to a folder.
    ExportDatabase {
        /// Its name as written; `None`: the current one.
        database: Option<String>,
        /// The folder.
        folder: String,
        /// The format of the files with rows, lower case.
        format: String,
        /// The other options of COPY, as written.
        options: Vec<(String, String)>,
    },
    /// Runs what EXPORT DATABASE wrote.
    ImportDatabase {
        /// The folder.
        folder: String,
    },
    /// Makes a schema.
    CreateSchema {
        /// Its name.
        name: String,
        /// Does nothing when there is a schema of that name.
        if_not_exists: bool,
    },
    /// Writes rows to a file.
    Copy {
        /// The rows.
        query: Query,
        /// The file.
        path: String,
        /// From FORMAT, or the path's ending, lower case: `parquet`, `csv`, `json`.
        format: String,
        /// The other options: name in lower case, and value.
        options: Vec<(String, String)>,
    },
    /// Adds the rows of a file to a table.
    CopyFrom(Box<CopyFrom>),
    /// Changes a setting.
    Set {
        /// Its name in lower case.
        name: String,
        /// The value as text.
        value: String,
    },
    /// Gives a setting its default.
    Reset {
        /// Its name in lower case.
        name: String,
    },
    /// Gives a variable a value.
    SetVariable {
        /// Its name as written.
        name: String,
        /// One row: the value.
        value: Query,
    },
    /// Takes a variable away.
    ResetVariable {
        /// Its name as written.
        name: String,
    },
    /// Shows a setting.
    ShowSetting {
        /// Its name in lower case.
        name: String,
    },
    /// Shows all settings.
    ShowAll,
    /// Shows tables and views.
    ShowTables,
    /// Shows functions.
    ShowFunctions {
        /// Those of these names.
        names: Option<NamePattern>,
    },
    /// Shows settings with their defaults and types, as Presto does.
    ShowSession {
        /// Those of these names.
        names: Option<NamePattern>,
    },
    /// Shows what there is to know about a function.
    DescribeFunction {
        /// Its name in lower case.
        name: String,
    },
    /// Keeps a statement for EXECUTE.
    Prepare {
        /// Its name as written.
        name: String,
        /// The statement.
        statement: Arc<ParsedStatement>,
    },
    /// Runs a statement that was kept.
    Execute {
        /// Its name as written.
        name: String,
        /// For each value the name of the parameter, if it is given by name.
        names: Vec<Option<String>>,
        /// One row: the values.
        values: Query,
        /// Where its name stands.
        span: Option<Span>,
    },
    /// Forgets a statement that was kept, or all.
    Deallocate {
        /// Its name as written; `None` for all.
        name: Option<String>,
    },
    /// Begins or ends a transaction.
    Transaction(TransactionStep),
    /// Shows the columns of a table or query.
    Describe {
        /// Names and types.
        columns: Vec<(String, Type)>,
    },
}

/// What CREATE SECRET says. Values are not shown.
#[derive(Clone, Default)]
pub struct SecretDefinition {
    /// The name as written, or one that is made of the type.
    pub name: String,
    /// Replaces a secret of that name.
    pub or_replace: bool,
    /// Does nothing when there is a secret of that name.
    pub if_not_exists: bool,
    /// The type as written.
    pub kind: String,
    /// Where values come from, as written.
    pub provider: Option<String>,
    /// Beginnings of locations; empty for all of the type.
    pub scopes: Vec<String>,
    /// The other parameters: name in lower case, and value.
    pub values: Vec<(String, String)>,
}

impl fmt::Debug for SecretDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretDefinition({}, {})", self.name, self.kind)
    }
}

/// What CREATE TYPE gives a name.
#[derive(Clone, Debug)]
pub enum TypeDefinition {
    /// A type.
    Type {
        /// The type.
        data_type: Type,
        /// The types made by CREATE TYPE that it was written with.
        named_types: Vec<String>,
    },
    /// An ENUM of the texts that a query gives in its one column, in the order of their first row;
    /// nulls are left out.
    Labels(Query),
}

/// The numbers of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceDefinition {
    /// The first one.
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

/// What CREATE MACRO gives a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacroDefinition {
    /// The placeholders of arguments in the body.
    pub parameters: Vec<MacroParameter>,
    /// The text of an expression, or of a query.
    pub body: String,
    /// Whether it is a query.
    pub is_table: bool,
}

/// A parameter of a macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacroParameter {
    /// Its name as written.
    pub name: String,
    /// The text of the type that arguments are cast to, if it has one.
    pub data_type: Option<String>,
    /// The text of the argument that calls need not give.
    pub default: Option<String>,
}

/// A bound query.
#[derive(Clone, Debug)]
pub struct Query {
    /// What it means.
    pub plan: Plan,
    /// The names of the output columns, one per column of the plan; names may repeat.
    pub names: Vec<String>,
}

/// A bound COPY FROM.
#[derive(Clone, Debug)]
pub struct CopyFrom {
    /// The file.
    pub path: String,
    /// From FORMAT, or the path's ending, lower case.
    pub format: String,
    /// The other options: name in lower case, and value.
    pub options: Vec<(String, String)>,
    /// Adds the rows.
    pub write: Write,
    /// Of CSV: the file's text, whose fields become the columns' types.
    pub text: Option<CopiedText>,
}

/// The text of a CSV file, as a table.
#[derive(Clone, Debug)]
pub struct CopiedText {
    /// What the plans scan in place of the text: to be replaced by it.
    pub handle: TableHandle,
    /// The number of each row's line, BIGINT, and the fields as VARCHAR.
    pub schema: Schema,
    /// For each field that has a type of its own: the column's name and type, and a query for the
    /// first line and text that is none of that type.
    pub misfits: Vec<(String, Type, Query)>,
}

/// What ALTER TABLE changes.
#[derive(Clone, Debug)]
pub enum Alteration {
    /// Adds a column after the last.
    AddColumn {
        /// The column.
        field: Field,
        /// What holds for it.
        definition: ColumnDefinition,
        /// The id of every row and its value.
        values: Query,
    },
    /// Takes a column away.
    DropColumn {
        /// Its position.
        index: usize,
    },
    /// Gives a column another name.
    RenameColumn {
        /// Its position.
        index: usize,
        /// The name.
        name: String,
    },
    /// Gives the table another name.
    RenameTable {
        /// As written.
        name: String,
    },
    /// Gives a column another type.
    Retype {
        /// Its position.
        index: usize,
        /// The type.
        data_type: Type,
        /// The types made by CREATE TYPE that it was written with.
        named_types: Vec<String>,
        /// The id of every row and its value of that type.
        values: Query,
    },
    /// Changes what holds for the rows; CHECK constraints stay as they are.
    Define {
        /// All that holds from now on.
        definition: TableDefinition,
    },
}

/// What a statement does with the session's transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionStep {
    /// BEGIN: changes that follow are seen by the session alone.
    Begin,
    /// COMMIT: others see them, too.
    Commit,
    /// ROLLBACK: they are gone.
    RollBack,
    /// SAVEPOINT: gives what was changed so far a name.
    Save(String),
    /// ROLLBACK TO: what was changed since is gone.
    RollBackTo(String),
    /// RELEASE: forgets the name, and those given since.
    Release(String),
}

/// What DROP removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropKind {
    /// DROP TABLE.
    Table,
    /// DROP VIEW.
    View,
    /// DROP SEQUENCE.
    Sequence,
    /// DROP INDEX.
    Index,
    /// DROP MACRO or DROP FUNCTION.
    Macro,
    /// DROP TYPE of a type that nothing uses.
    Type,
    /// DROP TYPE ... CASCADE: with the tables and types that use it.
    TypeAndUsers,
    /// DROP SCHEMA of an empty schema.
    Schema,
    /// DROP SCHEMA ... CASCADE: with the tables and views in it.
    SchemaAndAll,
}

impl SequenceDefinition {
    /// What follows a number; `None` at the end.
    pub fn after(&self, number: i64) -> Option<i64> {
        let following = number.checked_add(self.increment);
        let following = following.filter(|it| (self.least..=self.greatest).contains(it));
        let other_end = if self.increment > 0 { self.least } else { self.greatest };
        following.or_else(|| self.cycles.then_some(other_end))
    }

    /// The bound in its direction.
    pub fn last(&self) -> i64 {
        if self.increment > 0 { self.greatest } else { self.least }
    }
}

impl Query {
    /// The names and types of the output columns.
    pub fn schema(&self) -> Schema {
        let types = self.plan.columns().into_iter().map(|it| it.data_type);
        let fields = self.names.iter().zip(types);
        fields.map(|(name, data_type)| Field::new(name, data_type)).collect()
    }
}
