//! Foreign keys and unique indexes: what one transaction changes, and what two change at once.

use crate::check::{
    added, begin, committed, create, define, done, id, make, refused, removed, updated,
};
use volley_connector::{
    CatalogSnapshot, Database, Definition, ForeignKeyDefinition, IndexDefinition, IndexPart,
    KeyDefinition, ObjectKind, TableChange, TableDefinition, TableId, Transaction,
};
use volley_error::{ErrorKind, Result};

/// Checks references of a database that has no table.
pub(crate) fn refer(database: &dyn Database) {
    let references = References { database };
    references.are_enforced();
    references.hold_within_a_table();
    references.conflict();
    references.conflict_with_new_ones();
    references.are_added();
    references.indexes_are_unique();
}

struct References<'d> {
    database: &'d dyn Database,
}

fn primary_key() -> TableDefinition {
    let key = KeyDefinition { columns: vec![0], is_primary: true, index: None };
    TableDefinition { keys: vec![key], ..TableDefinition::default() }
}

/// A foreign key of the second column to the first one of `table`.
fn referencing(table: Option<TableId>) -> TableDefinition {
    let key = ForeignKeyDefinition { name: None, columns: vec![1], table, referenced: vec![0] };
    TableDefinition { foreign_keys: vec![key], ..primary_key() }
}

fn conflicts(result: Result<()>) {
    match result {
        Err(error) => assert!(CatalogSnapshot::is_conflict(&error), "no conflict: {error}"),
        Ok(()) => panic!("both transactions committed"),
    }
}

impl References<'_> {
    /// A parent with the keys 1, 2 and 3, and a child with a row that references 1.
    fn family(&self) -> (TableId, TableId) {
        define(self.database, create("parent", primary_key()));
        let parent = id(&*done(self.database.snapshot()), "parent");
        define(self.database, create("child", referencing(Some(parent))));
        let child = id(&*done(self.database.snapshot()), "child");
        let mut transaction = begin(self.database);
        done(transaction.change(parent, added(&[(1, None), (2, None), (3, None)])));
        done(transaction.change(child, added(&[(10, Some(1)), (11, None)])));
        done(transaction.commit());
        (parent, child)
    }

    fn drop(&self, name: &str) {
        let (schema, kind) = ("main".to_owned(), ObjectKind::Table);
        define(self.database, Definition::Drop { schema, kind, name: name.to_owned() });
    }

    fn delete(&self, transaction: &mut dyn Transaction, table: TableId, key: i64) -> Result<()> {
        let changes = removed(&*transaction.snapshot(), table, &[key]);
        transaction.change(table, changes).map(drop)
    }

    fn are_enforced(&self) {
        let (parent, child) = self.family();
        let mut transaction = begin(self.database);
        let missing = transaction.change(child, added(&[(12, Some(2)), (13, Some(7))]));
        refused(missing, ErrorKind::InvalidValue, "7");
        let changes = updated(&*transaction.snapshot(), child, &[10], Some(8));
        refused(transaction.change(child, changes), ErrorKind::InvalidValue, "8");
        refused(self.delete(&mut *transaction, parent, 1), ErrorKind::InvalidValue, "1");
        // What another column has does not matter.
        let changes = updated(&*transaction.snapshot(), parent, &[1], Some(5));
        done(transaction.change(parent, changes));
        done(self.delete(&mut *transaction, parent, 2));
        refused(transaction.change(child, added(&[(12, Some(2))])), ErrorKind::InvalidValue, "2");
        done(self.delete(&mut *transaction, child, 10));
        done(self.delete(&mut *transaction, parent, 1));
        done(transaction.commit());
        assert_eq!(committed(self.database, parent), [(3, None)]);
        assert_eq!(committed(self.database, child), [(11, None)]);
        let mut transaction = begin(self.database);
        let (schema, kind) = ("main".to_owned(), ObjectKind::Table);
        let dropped = Definition::Drop { schema, kind, name: "parent".to_owned() };
        refused(transaction.define(dropped), ErrorKind::InvalidQuery, "child");
        drop(transaction);
        self.drop("child");
        self.drop("parent");
    }

    fn hold_within_a_table(&self) {
        define(self.database, create("tree", referencing(None)));
        let tree = id(&*done(self.database.snapshot()), "tree");
        let mut transaction = begin(self.database);
        // Rows of one statement may reference each other, in any order.
        done(transaction.change(tree, added(&[(2, Some(1)), (1, Some(1)), (3, Some(2))])));
        refused(transaction.change(tree, added(&[(4, Some(9))])), ErrorKind::InvalidValue, "9");
        refused(self.delete(&mut *transaction, tree, 2), ErrorKind::InvalidValue, "2");
        let changes = removed(&*transaction.snapshot(), tree, &[2, 3]);
        done(transaction.change(tree, changes));
        done(transaction.commit());
        assert_eq!(committed(self.database, tree), [(1, Some(1))]);
        self.drop("tree");
    }

    /// A row that one transaction references and another one removes.
    fn conflict(&self) {
        let (parent, child) = self.family();
        for removes_first in [false, true] {
            let (mut adds, mut removes) = (begin(self.database), begin(self.database));
            done(adds.change(child, added(&[(20, Some(2))])));
            done(self.delete(&mut *removes, parent, 2));
            match removes_first {
                false => {
                    done(adds.commit());
                    conflicts(removes.commit());
                }
                true => {
                    done(removes.commit());
                    conflicts(adds.commit());
                }
            }
            let expected: &[(i64, Option<i64>)] = match removes_first {
                false => &[(10, Some(1)), (11, None), (20, Some(2))],
                true => &[(10, Some(1)), (11, None)],
            };
            assert_eq!(committed(self.database, child), expected);
            let mut transaction = begin(self.database);
            if !removes_first {
                done(self.delete(&mut *transaction, child, 20));
            }
            done(transaction.commit());
        }
        // Other keys do not conflict.
        let (mut adds, mut removes) = (begin(self.database), begin(self.database));
        done(adds.change(child, added(&[(21, Some(1))])));
        done(self.delete(&mut *removes, parent, 3));
        done(adds.commit());
        done(removes.commit());
        self.drop("child");
        self.drop("parent");
    }

    /// A foreign key that is made while another transaction removes a row, or the table.
    fn conflict_with_new_ones(&self) {
        for removes_first in [false, true] {
            define(self.database, create("parent", primary_key()));
            let parent = id(&*done(self.database.snapshot()), "parent");
            let mut transaction = begin(self.database);
            done(transaction.change(parent, added(&[(1, None), (2, None)])));
            done(transaction.commit());
            let (mut makes, mut removes) = (begin(self.database), begin(self.database));
            done(makes.define(create("child", referencing(Some(parent)))));
            let child = id(&*makes.snapshot(), "child");
            done(makes.change(child, added(&[(10, Some(2))])));
            done(self.delete(&mut *removes, parent, 2));
            match removes_first {
                false => {
                    done(makes.commit());
                    conflicts(removes.commit());
                    self.drop("child");
                }
                true => {
                    done(removes.commit());
                    conflicts(makes.commit());
                }
            }
            let (mut makes, mut drops) = (begin(self.database), begin(self.database));
            done(makes.define(create("child", referencing(Some(parent)))));
            let (schema, kind) = ("main".to_owned(), ObjectKind::Table);
            done(drops.define(Definition::Drop { schema, kind, name: "parent".to_owned() }));
            done(makes.commit());
            conflicts(drops.commit());
            self.drop("child");
            self.drop("parent");
        }
    }

    fn are_added(&self) {
        let (parent, child) = self.family();
        let mut transaction = begin(self.database);
        let mut definition = referencing(Some(parent));
        let key = ForeignKeyDefinition {
            name: None,
            columns: vec![0],
            table: Some(parent),
            referenced: vec![0],
        };
        definition.foreign_keys.push(key);
        let change = TableChange::Define { definition };
        let added = transaction.define(Definition::AlterTable { table: child, change });
        refused(added, ErrorKind::InvalidValue, "1");
        drop(transaction);
        self.drop("child");
        self.drop("parent");
    }

    fn indexes_are_unique(&self) {
        let table = make(self.database, "indexed", &[(1, Some(1)), (2, Some(1)), (3, None)]);
        let define_index = |transaction: &mut dyn Transaction, columns: Vec<usize>| {
            let parts = columns.iter().map(|it| IndexPart::Column(*it)).collect();
            let index = IndexDefinition { name: "i".to_owned(), is_unique: true, parts };
            let key = KeyDefinition { columns, is_primary: false, index: Some("i".to_owned()) };
            let definition = TableDefinition {
                keys: vec![key],
                indexes: vec![index],
                ..TableDefinition::default()
            };
            let change = TableChange::Define { definition };
            transaction.define(Definition::AlterTable { table, change })
        };
        let mut transaction = begin(self.database);
        refused(define_index(&mut *transaction, vec![1]), ErrorKind::InvalidValue, "index i");
        done(define_index(&mut *transaction, vec![0]));
        done(transaction.commit());
        let snapshot = done(self.database.snapshot());
        let found = snapshot.catalog().index("MAIN", "I").map(|it| it.id);
        assert_eq!(found, Some(table), "the table of an index");
        let mut transaction = begin(self.database);
        refused(transaction.change(table, added(&[(3, None)])), ErrorKind::InvalidValue, "index i");
        drop(transaction);
        self.drop("indexed");
    }
}
