//! What every database must do with its objects.

use crate::check::{added, begin, columns, create, define, done, id, make, refused, rows_of};
use std::collections::BTreeSet;
use std::thread;
use volley_connector::{
    CatalogSnapshot, ColumnDefinition, Database, DefinedObject, Definition, MacroEntry, ObjectKind,
    RowUpdates, SequenceEntry, SequenceId, Snapshot, TableChange, TableDefinition, TableId,
    TypeEntry, ViewEntry,
};
use volley_error::ErrorKind;
use volley_types::{Field, Schema, Type, TypeRegistry, Value};
use volley_vector::{Batch, Vector};

pub(crate) struct Definitions<'d> {
    pub(crate) database: &'d dyn Database,
}

fn view(name: &str, sql: &str) -> Definition {
    let view = ViewEntry { name: name.into(), sql: sql.into(), ..ViewEntry::default() };
    Definition::Put { schema: "main".to_owned(), object: DefinedObject::View(view) }
}

fn sequence(name: &str, greatest: i64) -> Definition {
    let (id, name, start, increment, least) = (SequenceId(0), name.to_owned(), 1, 1, 1);
    let sequence = SequenceEntry { id, name, start, increment, least, greatest, cycles: false };
    Definition::Put { schema: "main".to_owned(), object: DefinedObject::Sequence(sequence) }
}

fn drop_of(kind: ObjectKind, name: &str) -> Definition {
    Definition::Drop { schema: "main".to_owned(), kind, name: name.to_owned() }
}

/// A value per row, in the order of a scan.
fn values(snapshot: &dyn Snapshot, table: TableId, data_type: &Type, value: &Value) -> RowUpdates {
    let stored = done(snapshot.table(table)).as_stored().expect("the rows can be changed");
    let rows = rows_of(&stored.with_row_ids);
    let id = |it: &Vec<Value>| it.last().and_then(Value::as_i128).map(|it| it as i64);
    let ids: Vec<i64> = rows.iter().filter_map(id).collect();
    let column = Vector::constant(data_type.clone(), value, ids.len());
    RowUpdates { values: Batch::new(vec![column], ids.len()), ids }
}

impl Definitions<'_> {
    fn snapshot(&self) -> std::sync::Arc<dyn Snapshot> {
        let snapshot = done(self.database.snapshot());
        // Whatever there is can be saved and read again.
        let bytes = done(snapshot.catalog().to_bytes());
        let again = done(CatalogSnapshot::from_bytes(&bytes, &TypeRegistry::default()));
        assert_eq!(again, **snapshot.catalog());
        snapshot
    }

    #[track_caller]
    fn refuses(&self, change: Definition, message: &str) {
        let mut transaction = begin(self.database);
        refused(transaction.define(change), ErrorKind::InvalidQuery, message);
    }

    pub(crate) fn change_schemas(&self) {
        let create_schema = |name: &str| Definition::CreateSchema { name: name.to_owned() };
        let drop_schema = |name: &str| Definition::DropSchema { name: name.to_owned() };
        define(self.database, create_schema("Sales"));
        self.refuses(create_schema("sales"), "already a schema");
        self.refuses(drop_schema("none"), "no such schema: none");
        self.refuses(drop_schema("main"), "main");
        let in_schema = |schema: &str| {
            let (schema, name, columns) = (schema.to_owned(), "t".to_owned(), columns());
            let definition = TableDefinition::default();
            Definition::CreateTable { schema, name, columns, definition }
        };
        self.refuses(in_schema("none"), "no such schema: none");
        define(self.database, in_schema("SALES"));
        define(self.database, in_schema("main"));
        let snapshot = self.snapshot();
        let table = |schema: &str| {
            let relation = snapshot.catalog().relation(schema, "T");
            relation.and_then(|it| it.as_table()).expect("the table exists").id
        };
        assert_ne!(table("main"), table("sales"));
        assert_eq!(snapshot.catalog().schema("sales").map(|it| it.name.as_str()), Some("Sales"));
        define(self.database, drop_schema("sales"));
        refused(self.snapshot().table(table("sales")), ErrorKind::InvalidQuery, "table");
        assert!(self.snapshot().table(table("main")).is_ok());
        define(self.database, drop_of(ObjectKind::Table, "t"));
    }

    pub(crate) fn change_tables(&self) {
        let table = make(self.database, "t", &[(1, Some(1)), (2, None)]);
        self.refuses(create("T", TableDefinition::default()), "already a table called t");
        self.refuses(drop_of(ObjectKind::View, "t"), "no such view: t");
        self.refuses(view("t", "SELECT 1"), "already a table called t");
        let alter = |change: TableChange| Definition::AlterTable { table, change };
        let mut transaction = begin(self.database);
        let text = Value::text("x");
        let added_column = TableChange::AddColumn {
            field: Field::new("c", Type::Varchar),
            definition: ColumnDefinition { is_not_null: true, ..ColumnDefinition::default() },
            values: vec![values(&*transaction.snapshot(), table, &Type::Varchar, &text)],
        };
        done(transaction.define(alter(added_column)));
        let retyped = TableChange::RetypeColumn {
            index: 1,
            data_type: Type::Varchar,
            named_types: vec!["word".to_owned()],
            values: vec![values(&*transaction.snapshot(), table, &Type::Varchar, &text)],
        };
        done(transaction.define(alter(retyped)));
        done(transaction.define(alter(TableChange::DropColumn { index: 0 })));
        let renamed = TableChange::RenameColumn { index: 0, name: "b".to_owned() };
        done(transaction.define(alter(renamed)));
        let (schema, name) = ("main".to_owned(), "U".to_owned());
        done(transaction.define(alter(TableChange::Rename { schema, name })));
        done(transaction.commit());
        let snapshot = self.snapshot();
        let (_, entry) = snapshot.catalog().table(table).expect("the table exists");
        let fields = vec![Field::new("b", Type::Varchar), Field::new("c", Type::Varchar)];
        assert_eq!((entry.name.as_str(), &entry.columns), ("U", &Schema::new(fields)));
        assert!(entry.definition.is_not_null(1) && !entry.definition.is_not_null(0));
        assert_eq!(entry.definition.columns[0].named_types, ["word"]);
        assert_eq!(rows_of(&done(snapshot.table(table))), vec![vec![text.clone(), text]; 2]);
        assert_eq!(id(&*snapshot, "u"), table);
        assert!(snapshot.catalog().relation("main", "t").is_none());
        let mut definition = (*entry.definition).clone();
        definition.comment = Some("said of it".to_owned());
        define(self.database, alter(TableChange::Comment { definition }));
        let snapshot = self.snapshot();
        let (_, entry) = snapshot.catalog().table(table).expect("the table exists");
        assert_eq!(entry.definition.comment.as_deref(), Some("said of it"));
        for change in [
            TableChange::DropColumn { index: 2 },
            TableChange::RenameColumn { index: 2, name: String::new() },
        ] {
            refused(begin(self.database).define(alter(change)), ErrorKind::Internal, "column");
        }
        define(self.database, drop_of(ObjectKind::Table, "u"));
        self.refuses(drop_of(ObjectKind::Table, "u"), "no such table: u");
        let again = alter(TableChange::DropColumn { index: 0 });
        refused(begin(self.database).define(again), ErrorKind::InvalidQuery, "table");
    }

    pub(crate) fn change_objects(&self) {
        define(self.database, view("v", "SELECT 1"));
        define(self.database, view("V", "SELECT 2"));
        let snapshot = self.snapshot();
        let volley_connector::RelationEntry::View(found) =
            snapshot.catalog().relation("main", "v").expect("the view exists")
        else {
            panic!("a view became a table");
        };
        assert_eq!((found.name.as_str(), found.sql.as_str()), ("V", "SELECT 2"));
        self.refuses(create("v", TableDefinition::default()), "already a view called V");
        let put = |object| Definition::Put { schema: "main".to_owned(), object };
        let (name, named_types) = ("v".to_owned(), Vec::new());
        let named = TypeEntry { name, data_type: Type::BigInt, named_types };
        define(self.database, put(DefinedObject::Type(named)));
        let made = MacroEntry { name: "v".to_owned(), body: "1".to_owned(), ..Default::default() };
        define(self.database, put(DefinedObject::Macro(made)));
        self.sequences();
        let snapshot = self.snapshot();
        let main = snapshot.catalog().schema("main").expect("the schema exists");
        assert_eq!(
            (main.types["v"].data_type.clone(), main.macros["v"].body.as_str()),
            (Type::BigInt, "1")
        );
        for kind in [ObjectKind::View, ObjectKind::Type, ObjectKind::Macro] {
            define(self.database, drop_of(kind, "V"));
            self.refuses(drop_of(kind, "v"), &format!("no such {}: v", kind.name()));
        }
    }

    /// Numbers are given out once: by several threads, and by transactions that are rolled back.
    fn sequences(&self) {
        let mut transaction = begin(self.database);
        done(transaction.define(sequence("s", 1000)));
        let found = |snapshot: &dyn Snapshot| {
            let main = snapshot.catalog().schema("main").expect("the schema exists");
            main.sequences.get("s").expect("the sequence exists").id
        };
        let take = |snapshot: &dyn Snapshot, count: usize| {
            let mut numbers = vec![0; count];
            let taken = done(snapshot.take_numbers(found(snapshot), &mut numbers));
            numbers.truncate(taken);
            numbers
        };
        let next = |snapshot: &dyn Snapshot| done(snapshot.next_number(found(snapshot)));
        assert_eq!(next(&*transaction.snapshot()), Some(1));
        assert_eq!(take(&*transaction.snapshot(), 2), [1, 2]);
        done(transaction.commit());
        let transaction = begin(self.database);
        assert_eq!(take(&*transaction.snapshot(), 1), [3]);
        drop(transaction);
        let numbers = thread::scope(|scope| {
            let snapshot = || done(self.database.snapshot());
            let taken = |_| {
                scope.spawn(move || (0..50).flat_map(|_| take(&*snapshot(), 3)).collect::<Vec<_>>())
            };
            let threads: Vec<_> = (0..4).map(taken).collect();
            threads.into_iter().flat_map(|it| it.join().expect("no panic")).collect::<Vec<_>>()
        });
        let distinct: BTreeSet<i64> = numbers.iter().copied().collect();
        assert_eq!(
            (distinct.len(), distinct.first(), distinct.last()),
            (600, Some(&4), Some(&603))
        );
        let old = found(&*self.snapshot());
        assert_eq!(take(&*self.snapshot(), 1000).len(), 397);
        assert!(take(&*self.snapshot(), 1).is_empty());
        assert_eq!(next(&*self.snapshot()), None);
        // Another one of the same name begins at its start.
        define(self.database, sequence("S", 9));
        assert_ne!(found(&*self.snapshot()), old);
        assert_eq!(take(&*self.snapshot(), 1), [1]);
        refused(self.snapshot().take_numbers(old, &mut [0]), ErrorKind::InvalidQuery, "sequence");
        refused(self.snapshot().next_number(old), ErrorKind::InvalidQuery, "sequence");
        define(self.database, drop_of(ObjectKind::Sequence, "s"));
        self.refuses(drop_of(ObjectKind::Sequence, "s"), "no such sequence: s");
    }

    pub(crate) fn conflict(&self) {
        let (mut first, mut second) = (begin(self.database), begin(self.database));
        done(first.define(view("same", "SELECT 1")));
        done(second.define(view("same", "SELECT 2")));
        done(second.define(view("other", "SELECT 2")));
        done(first.commit());
        refused(second.commit(), ErrorKind::InvalidQuery, "same");
        assert!(self.snapshot().catalog().relation("main", "other").is_none());
        // Different objects of one schema are no conflict.
        let (mut first, mut second) = (begin(self.database), begin(self.database));
        done(first.define(view("one", "SELECT 1")));
        done(second.define(create("two", TableDefinition::default())));
        let two = id(&*second.snapshot(), "two");
        done(second.change(two, added(&[(1, None)])));
        done(first.commit());
        done(second.commit());
        // A schema is dropped while something is put into it.
        define(self.database, Definition::CreateSchema { name: "s".to_owned() });
        let (mut first, mut second) = (begin(self.database), begin(self.database));
        done(first.define(Definition::DropSchema { name: "s".to_owned() }));
        let (schema, name, columns) = ("s".to_owned(), "t".to_owned(), columns());
        let definition = TableDefinition::default();
        done(second.define(Definition::CreateTable { schema, name, columns, definition }));
        done(first.commit());
        refused(second.commit(), ErrorKind::InvalidQuery, "s");
        for (kind, name) in
            [(ObjectKind::View, "same"), (ObjectKind::View, "one"), (ObjectKind::Table, "two")]
        {
            define(self.database, drop_of(kind, name));
        }
    }
}
