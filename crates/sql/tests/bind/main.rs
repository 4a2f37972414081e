//! Tests of the binder on tables without rows.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use volley_connector::{
    Scan, ScanRequest, StoredTable, Table, TableDefinition, TableId, TableStatistics,
};
use volley_error::{Error, Result};
use volley_logical::{ColumnIds, ExternalTables, NamedTable, RowIds, TableRef};
use volley_plan::TableHandle;
use volley_sql::{
    BindSettings, Catalog, Dialect, Home, MacroDefinition, Relation, Statement, bind, parse,
};
use volley_types::{Field, Schema, Type};

mod aggregates;
mod commands;
mod corpus;
mod errors;
mod expressions;
mod joins;
mod names;
mod queries;
mod scale;
mod standard;
mod stubs;
mod subqueries;

#[derive(Clone, Debug)]
struct Empty {
    name: String,
    schema: Schema,
    definition: Arc<TableDefinition>,
}

impl Empty {
    fn new(name: &str, schema: Schema) -> Empty {
        Empty { name: name.to_owned(), schema, definition: Arc::default() }
    }
}

impl Table for Empty {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: "test".to_owned(), table: self.name.clone() }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        Ok(Arc::default())
    }

    fn scan(&self, _: ScanRequest) -> Result<Box<dyn Scan>> {
        Err(Error::unsupported("scan of a test table"))
    }

    fn as_stored(&self) -> Option<StoredTable> {
        let mut with_row_ids = self.clone();
        with_row_ids.schema.fields.push(Field::new("row id", Type::BigInt));
        let definition = Arc::clone(&self.definition);
        Some(StoredTable { definition, with_row_ids: Arc::new(with_row_ids) })
    }
}

/// Tables, views and files.
#[derive(Default)]
struct Tables(RefCell<BTreeMap<String, Relation>>, RefCell<Defined>, ExternalTables);

/// What else has a name.
#[derive(Default)]
struct Defined {
    /// How many tables there were.
    tables: u64,
    macros: BTreeMap<String, Arc<MacroDefinition>>,
    sequences: BTreeSet<String>,
    types: BTreeMap<String, Type>,
}

impl Tables {
    fn small() -> Tables {
        let tables = Tables::default();
        tables.add("t", "a INTEGER, b VARCHAR, d DECIMAL(15,2), day DATE");
        tables.add("u", "a BIGINT, c DOUBLE, Flag BOOLEAN");
        tables.add(
            "s",
            "tiny TINYINT, list INTEGER[], r STRUCT(x INTEGER, Y VARCHAR), m MAP(VARCHAR, INTEGER)",
        );
        tables.view("v", "select a, b as \"B b\" from t where a > 1", &[]);
        tables.view("w", "select * from v", &["first"]);
        tables.view("loop", "select * from loop", &[]);
        tables.view("broken", "select nothing from t", &[]);
        tables
    }

    fn add(&self, name: &str, columns: &str) {
        let sql = format!("create table {name} ({columns})");
        let Statement::CreateTable { columns: schema, .. } = statement(self, &sql).unwrap() else {
            panic!("not a table");
        };
        let relation = self.relation(Empty::new(name, schema));
        self.0.borrow_mut().insert(name.to_owned(), relation);
    }

    /// A table, which no other one is taken for.
    fn relation(&self, table: Empty) -> Relation {
        let mut tables = self.1.borrow_mut();
        tables.tables += 1;
        let (database, table_id) = ("memory".to_owned(), TableId(tables.tables));
        let row_ids = RowIds::Without;
        let reference = TableRef::Stored { database, table: table_id, row_ids };
        Relation::Table(NamedTable { reference, table: Arc::new(table) })
    }

    fn view(&self, name: &str, sql: &str, columns: &[&str]) {
        let columns = columns.iter().map(|it| (*it).to_owned()).collect();
        let (sql, dialect, home) = (sql.to_owned(), Dialect::default(), Home::default());
        let view = Relation::View { sql, columns, dialect, home };
        self.0.borrow_mut().insert(name.to_owned(), view);
    }
}

impl Catalog for Tables {
    fn table(&self, name: &str) -> Result<Option<Relation>> {
        Ok(self.0.borrow().get(&unqualified(name)).cloned())
    }

    fn file(&self, path: &str) -> Result<Arc<dyn Table>> {
        if path.contains("missing") {
            return Err(Error::invalid_query(format!("no such file: {path}")));
        }
        let schema = Schema::new(vec![Field::new("x", Type::BigInt)]);
        Ok(Arc::new(Empty::new(path, schema)))
    }

    fn add_external(&self, table: Arc<dyn Table>) -> TableRef {
        self.2.add(table)
    }

    fn resolve(&self, reference: &TableRef) -> Result<Arc<dyn Table>> {
        match reference {
            TableRef::External(number) => self.2.get(*number),
            TableRef::Stored { .. } => {
                let relations = self.0.borrow();
                let mut tables = relations.values().filter_map(|it| match it {
                    Relation::Table(it) if it.reference == *reference => Some(&it.table),
                    _ => None,
                });
                tables.next().cloned().ok_or_else(|| Error::internal("no such table"))
            }
        }
    }

    fn setting(&self, _name: &str) -> Result<String> {
        Ok("on".to_owned())
    }

    fn names(&self) -> Vec<String> {
        self.0.borrow().keys().cloned().collect()
    }

    fn macro_called(&self, name: &str) -> Option<Arc<MacroDefinition>> {
        self.1.borrow().macros.get(&unqualified(name)).cloned()
    }

    fn type_called(&self, name: &str) -> Option<Type> {
        self.1.borrow().types.get(&unqualified(name)).cloned()
    }

    fn sequence_called(&self, name: &str) -> Option<String> {
        let is_there = self.1.borrow().sequences.contains(&unqualified(name));
        is_there.then(|| name.to_owned())
    }
}

fn unqualified(name: &str) -> String {
    let name = name.to_lowercase();
    name.strip_prefix("main.").unwrap_or(&name).to_owned()
}

/// The meaning of the only statement of `sql`.
fn statement(tables: &Tables, sql: &str) -> Result<Statement> {
    statement_in(Dialect::default(), tables, sql)
}

fn statement_in(dialect: Dialect, tables: &Tables, sql: &str) -> Result<Statement> {
    let statements = parse(sql)?;
    let registry = stubs::registry();
    let settings = BindSettings { dialect, ..BindSettings::default() };
    bind(&statements[0], tables, &registry, &ColumnIds::new(), &settings)
}

/// The plan of a query, after the names and types of its columns.
fn plan(sql: &str) -> String {
    let query = match statement(&Tables::small(), sql) {
        Ok(Statement::Query(query)) => query,
        Ok(other) => return format!("{other:?}\n"),
        Err(error) => return describe(sql, &error),
    };
    let fields = query.schema().fields;
    let columns: Vec<String> =
        fields.iter().map(|it| format!("{} {}", it.name, it.data_type)).collect();
    format!("{}\n{}\n", columns.join(", "), query.plan.to_string().trim_end())
}

/// The only expression of `SELECT expr FROM t, s`.
fn expr(text: &str) -> String {
    let sql = format!("select {text} from t, s");
    match statement(&Tables::small(), &sql) {
        Ok(Statement::Query(query)) => match query.plan {
            volley_logical::Plan::Project { exprs, .. } => {
                let expr = &exprs[0].1;
                format!("{expr} : {}", expr.data_type)
            }
            other => format!("{other}"),
        },
        Ok(other) => format!("{other:?}"),
        Err(error) => describe(&sql, &error),
    }
}

/// An error as people see it: the text it points at in brackets.
fn describe(sql: &str, error: &Error) -> String {
    let hint = error.hint_text().map_or(String::new(), |it| format!(" ({it})"));
    let place = match error.text_span() {
        Some(span) => format!("[{}] ", &sql[span.start as usize..span.end as usize]),
        None => String::new(),
    };
    format!("{place}{error}{hint}")
}

/// The error of a statement.
fn error(sql: &str) -> String {
    match statement(&Tables::small(), sql) {
        Ok(_) => "no error".to_owned(),
        Err(error) => describe(sql, &error),
    }
}
