//! What a statement means.

use volley_logical::Plan;
use volley_types::{Schema, Type};

/// A bound statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Returns rows.
    Query(Query),
    /// Shows the plan of a statement; with `analyze`, runs it.
    Explain {
        /// Whether to run it and show what happened.
        analyze: bool,
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
        /// Its rows, in the order and of the types of `columns`; without, it starts empty.
        query: Option<Query>,
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
    },
    /// Removes tables or views.
    Drop {
        /// Which of them.
        kind: DropKind,
        /// The names as written.
        names: Vec<String>,
        /// Missing ones are no error.
        if_exists: bool,
    },
    /// Adds rows to a table.
    Insert {
        /// The table's name as written.
        table: String,
        /// The rows, in the order and of the types of the table's columns.
        query: Query,
    },
    /// Writes rows to a file.
    Copy {
        /// The rows.
        query: Query,
        /// The file.
        path: String,
        /// From FORMAT or else the path's ending, lower case: `parquet`, `csv`, `json`.
        format: String,
        /// The other options: name in lower case, and value.
        options: Vec<(String, String)>,
    },
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
    ShowFunctions,
    /// Shows what there is to know about a function.
    DescribeFunction {
        /// Its name in lower case.
        name: String,
    },
    /// Shows the columns of a table or query.
    Describe {
        /// Names and types.
        columns: Vec<(String, Type)>,
    },
}

/// A bound query.
#[derive(Clone, Debug)]
pub struct Query {
    /// What it means.
    pub plan: Plan,
    /// The names of the columns put out, one per column of the plan; names may repeat.
    pub names: Vec<String>,
}

/// What DROP removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropKind {
    /// DROP TABLE.
    Table,
    /// DROP VIEW.
    View,
}

impl Query {
    /// The names and types of the columns put out.
    pub fn schema(&self) -> Schema {
        let types = self.plan.columns().into_iter().map(|it| it.data_type);
        let fields = self.names.iter().zip(types);
        fields.map(|(name, data_type)| volley_types::Field::new(name, data_type)).collect()
    }
}
