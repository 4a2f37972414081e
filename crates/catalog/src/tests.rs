use crate::*;
use std::sync::Arc;
use volley_connector::{Access, Definition, Table, TableArguments, TableDefinition, WriteAccess};
use volley_connector_memory::MemoryDatabase;
use volley_error::{Error, Result};
use volley_logical::TableResolver;
use volley_memory::Pool;
use volley_sql::{Catalog, Dialect, Home, Relation};
use volley_types::{Field, Schema, Type};

struct NoFiles;

impl Host for NoFiles {
    fn file(&self, path: &str, _format: Option<&str>) -> Result<Arc<dyn Table>> {
        Err(Error::unsupported(path))
    }

    fn information(&self, _: &StatementCatalog, _: &str) -> Option<Result<Arc<dyn Table>>> {
        None
    }

    fn has_table_function(&self, _name: &str) -> bool {
        false
    }

    fn table_function(
        &self,
        _: &StatementCatalog,
        name: &str,
        _: &TableArguments,
        _: &dyn Fn(&str) -> Result<Type>,
    ) -> Result<Arc<dyn Table>> {
        Err(Error::unsupported(name))
    }
}

fn memory(name: &str) -> Arc<MemoryDatabase> {
    Arc::new(MemoryDatabase::named(name, &Pool::root("test", None)))
}

fn session() -> SessionCatalog {
    SessionCatalog::new(Arc::new(Databases::new(memory("memory"))), memory("temp"))
}

fn attach(session: &SessionCatalog, name: &str, access: WriteAccess) -> Arc<MemoryDatabase> {
    let database = memory(name);
    let (name, path) = (name.to_owned(), ":memory:".to_owned());
    let attached = Attached { name, database: Arc::clone(&database) as _, access, path };
    session.databases().attach(attached).unwrap();
    database
}

fn statement(session: &SessionCatalog) -> StatementCatalog {
    session.statement(None, Arc::new(NoFiles), Dialect::default())
}

fn create(session: &SessionCatalog, name: &str, column: &str) -> Result<()> {
    let columns = Schema::new(vec![Field::new(column, Type::BigInt)]);
    let (name, definition) = (name.to_owned(), TableDefinition::default());
    let table = NewTable { name, replaces: Replaces::Nothing, columns, definition };
    session.create_table(&statement(session), &table, |_, _| Ok(()))
}

/// The first column of the table that a name means.
fn column(catalog: &dyn Catalog, name: &str) -> Option<String> {
    match catalog.table(name).unwrap()? {
        Relation::Table(it) => Some(it.table.schema().fields[0].name.clone()),
        Relation::View { .. } => None,
    }
}

fn message<T>(result: Result<T>) -> String {
    result.err().map_or_else(String::new, |it| it.message().to_owned())
}

#[test]
fn names_are_looked_up_in_order() {
    let session = session();
    attach(&session, "a", WriteAccess::ReadWrite);
    session.create_schema(&statement(&session), "a.s", false).unwrap();
    for (name, column) in [("t", "m"), ("a.t", "am"), ("a.s.t", "as"), ("a.s.u", "au")] {
        create(&session, name, column).unwrap();
    }
    let found = |name: &str| column(&statement(&session), name);
    for (name, expected) in [
        ("t", Some("m")),
        ("T", Some("m")),
        ("main.t", Some("m")),
        ("memory.main.t", Some("m")),
        ("memory.t", Some("m")),
        ("a.t", Some("am")),
        ("A.Main.T", Some("am")),
        ("a.s.t", Some("as")),
        ("s.t", None),
        ("u", None),
        ("b.t", None),
        ("a.b.t", None),
        ("x.a.main.t", None),
        ("", None),
    ] {
        assert_eq!(found(name).as_deref(), expected, "{name}");
    }
    let place = statement(&session).find_schema("a.s").unwrap();
    session.set_path(SearchPath::default().after(vec![place]));
    assert_eq!((found("t").as_deref(), found("s.u").as_deref()), (Some("as"), Some("au")));
    create(&session, "temp.t", "tt").unwrap();
    assert_eq!((found("t").as_deref(), found("main.t").as_deref()), (Some("tt"), Some("am")));
    create(&session, "new", "n").unwrap();
    assert_eq!(found("a.s.new").as_deref(), Some("n"));
    assert_eq!(message(create(&session, "b.t", "x")), "no such schema: b");
    assert_eq!(message(create(&session, "a.b.t", "x")), "no such schema: a.b");
    assert_eq!(message(create(&session, "a.b.c.t", "x")), "a name of too many parts: a.b.c.t");
    // A text that was stored in the other database.
    let home = Home { database: "memory".to_owned(), schemas: vec!["main".to_owned()] };
    let catalog = statement(&session);
    let within = catalog.within(&home).unwrap();
    assert_eq!(column(&within, "main.t").as_deref(), Some("m"));
    assert!(within.within(&home).is_none());
}

#[test]
fn a_schema_and_a_database_of_one_name_are_ambiguous() {
    let session = session();
    attach(&session, "a", WriteAccess::ReadWrite);
    session.create_schema(&statement(&session), "a", false).unwrap();
    let error = statement(&session).find_table("a.t").unwrap_err();
    assert_eq!(error.message(), "a is a database, and a schema of memory");
    create(&session, "memory.a.t", "x").unwrap();
    assert_eq!(column(&statement(&session), "memory.a.t").as_deref(), Some("x"));
}

#[test]
fn databases_are_attached_once_and_detached() {
    let session = session();
    let names = ["memory", "TEMP", "a"];
    attach(&session, "a", WriteAccess::ReadOnly);
    for name in names {
        assert!(session.databases().is_attached(name));
        let attached = Attached {
            name: name.to_owned(),
            database: memory(name),
            access: WriteAccess::ReadWrite,
            path: String::new(),
        };
        let refused = message(session.databases().attach(attached));
        assert_eq!(refused, format!("there is already a database called {name}"));
    }
    assert_eq!(message(create(&session, "a.t", "x")), "the database a is attached read only");
    let before = statement(&session);
    session.databases().detach("A").unwrap();
    assert!(before.find_table("a.t").unwrap().is_none());
    assert_eq!(message(session.databases().detach("a")), "no such database: a");
    for name in ["memory", "temp"] {
        let refused = message(session.databases().detach(name));
        assert_eq!(refused, format!("the database {name} cannot be detached"));
    }
}

#[test]
fn a_transaction_sees_all_databases_as_they_were_and_changes_one() {
    let session = session();
    let other = SessionCatalog::new(Arc::clone(session.databases()), memory("temp"));
    attach(&session, "a", WriteAccess::ReadWrite);
    session.begin(0).unwrap();
    create(&other, "a.t", "x").unwrap();
    create(&other, "t", "x").unwrap();
    for name in ["a.t", "t"] {
        assert_eq!(column(&statement(&session), name), None);
        assert_eq!(column(&statement(&other), name).as_deref(), Some("x"));
    }
    session.save("none").unwrap();
    create(&session, "w", "y").unwrap();
    session.roll_back_to("none").unwrap();
    create(&session, "a.u", "y").unwrap();
    session.save("one").unwrap();
    create(&session, "temp.v", "y").unwrap();
    let refused = message(create(&session, "w", "y"));
    assert_eq!(refused, "a transaction that changed a changes memory");
    session.roll_back_to("one").unwrap();
    assert_eq!(column(&statement(&session), "v"), None);
    // What fails leaves the transaction as it was.
    assert!(create(&session, "a.u", "z").is_err());
    assert_eq!(column(&statement(&other), "a.u"), None);
    session.commit().unwrap();
    assert_eq!(column(&statement(&other), "a.u").as_deref(), Some("y"));
    session.begin(0).unwrap();
    session.roll_back().unwrap();
    assert_eq!(message(session.commit()), "there is no transaction");
}

#[test]
fn a_definition_runs_again_after_a_conflict() {
    let session = session();
    create(&session, "t", "x").unwrap();
    let database = Arc::clone(&statement(&session).attached("memory").unwrap().database);
    let rename = || {
        let mut transaction = database.begin(Access::Any).unwrap();
        let snapshot = transaction.snapshot();
        let schema = snapshot.catalog().schema("main").unwrap();
        let table = schema.relations.values().find_map(|it| it.as_table()).unwrap().id;
        let (schema, name) = ("main".to_owned(), format!("t{}", table.0));
        let change = volley_connector::TableChange::Rename { schema, name };
        transaction.define(Definition::AlterTable { table, change }).unwrap();
        transaction.commit().unwrap();
    };
    let mut attempts = 0;
    session
        .change("memory", None, |transaction| {
            attempts += 1;
            let snapshot = transaction.snapshot();
            let schema = snapshot.catalog().schema("main").unwrap();
            let name = schema.relations.values().next().unwrap().name().to_owned();
            if attempts == 1 {
                rename();
            }
            let (schema, kind) = ("main".to_owned(), volley_connector::ObjectKind::Table);
            transaction.define(Definition::Drop { schema, kind, name })
        })
        .unwrap();
    assert_eq!((attempts, statement(&session).objects().unwrap().len()), (2, 0));
}

#[test]
fn references_resolve_to_the_snapshot_of_the_statement() {
    let session = session();
    create(&session, "t", "x").unwrap();
    let catalog = statement(&session);
    let Some(Relation::Table(named)) = catalog.table("t").unwrap() else { unreachable!() };
    session.deregister(&statement(&session), "t").unwrap();
    assert_eq!(column(&statement(&session), "t"), None);
    let table = TableResolver::resolve(&catalog, &named.reference).unwrap();
    assert_eq!(table.schema().fields[0].name, "x");
    let with_ids = named.with_row_ids().unwrap();
    assert_ne!(with_ids.reference, named.reference);
    let table = TableResolver::resolve(&catalog, &with_ids.reference).unwrap();
    assert_eq!(table.schema().len(), 2);
    assert!(TableResolver::resolve(&statement(&session), &named.reference).is_err());
}
