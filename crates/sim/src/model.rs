//! What a database should hold: the oracle.

use std::collections::{BTreeMap, BTreeSet};

/// A row of a table: the table's name and the row's key, which no other row ever has.
pub(crate) type Row = (String, i64);

/// Tables as one transaction or reader sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tables {
    pub(crate) rows: BTreeMap<String, BTreeMap<i64, String>>,
    /// Which commit made a table; tells tables of one name apart.
    pub(crate) made_by: BTreeMap<String, u64>,
}

/// What is committed, and by which commits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Committed {
    pub(crate) tables: Tables,
    /// Commits so far.
    pub(crate) commits: u64,
    /// The commit that changed or removed a row last.
    changed_by: BTreeMap<Row, u64>,
}

/// What a transaction did.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    /// The commits that it saw.
    pub(crate) base: u64,
    /// The tables that it saw, and the commits that made them.
    base_tables: BTreeMap<String, u64>,
    /// What it sees.
    pub(crate) tables: Tables,
    /// Rows of others that it changed or removed.
    pub(crate) touched: BTreeSet<Row>,
    /// Rows that it inserted.
    pub(crate) inserted: BTreeSet<Row>,
    /// Tables whose rows it changed.
    pub(crate) changed: BTreeSet<String>,
    /// Tables that it made or dropped.
    pub(crate) defined: BTreeSet<String>,
}

/// The commit number of tables that are not committed.
pub(crate) const OWN: u64 = u64::MAX;

impl Committed {
    /// A transaction that begins now.
    pub(crate) fn begin(&self) -> Work {
        Work {
            base: self.commits,
            base_tables: self.tables.made_by.clone(),
            tables: self.tables.clone(),
            touched: BTreeSet::new(),
            inserted: BTreeSet::new(),
            changed: BTreeSet::new(),
            defined: BTreeSet::new(),
        }
    }

    /// Why the transaction cannot commit, if others changed the same.
    pub(crate) fn conflict(&self, work: &Work) -> Option<String> {
        let is_late = |by: Option<&u64>| by.is_some_and(|it| *it > work.base);
        let row = work.touched.iter().find(|it| is_late(self.changed_by.get(*it)));
        if let Some(row) = row {
            return Some(format!("row {row:?}"));
        }
        let is_same = |name: &String| self.tables.made_by.get(name) == work.base_tables.get(name);
        let defined = work.defined.iter().filter(|it| work.is_defined(it));
        let mut names = work.changed.iter().chain(defined);
        names.find(|it| !is_same(it)).map(|it| format!("table {it}"))
    }

    /// What is committed after the transaction.
    pub(crate) fn apply(&self, work: &Work) -> Committed {
        let mut next = self.clone();
        next.commits += 1;
        let commit = next.commits;
        for name in work.defined.iter().filter(|it| work.is_defined(it)) {
            next.tables.rows.remove(name);
            next.tables.made_by.remove(name);
            if let Some(rows) = work.tables.rows.get(name) {
                next.tables.rows.insert(name.clone(), rows.clone());
                next.tables.made_by.insert(name.clone(), commit);
            }
        }
        for row in work.touched.iter().chain(&work.inserted) {
            let (name, key) = row;
            let Some(rows) = next.tables.rows.get_mut(name) else { continue };
            match work.tables.rows.get(name).and_then(|it| it.get(key)) {
                Some(text) => rows.insert(*key, text.clone()),
                None => rows.remove(key),
            };
            next.changed_by.insert(row.clone(), commit);
        }
        next
    }
}

impl Work {
    /// Whether a table is another one than before. One that was made and dropped is no change.
    fn is_defined(&self, name: &str) -> bool {
        self.base_tables.contains_key(name) || self.tables.rows.contains_key(name)
    }

    /// Inserts a row.
    pub(crate) fn insert(&mut self, table: &str, key: i64, text: &str) {
        if let Some(rows) = self.tables.rows.get_mut(table) {
            rows.insert(key, text.to_owned());
            self.inserted.insert((table.to_owned(), key));
            self.changed.insert(table.to_owned());
        }
    }

    /// Changes or removes a row.
    pub(crate) fn change(&mut self, table: &str, key: i64, text: Option<&str>) {
        let row = (table.to_owned(), key);
        if !self.inserted.contains(&row) {
            self.touched.insert(row);
        }
        self.changed.insert(table.to_owned());
        if let Some(rows) = self.tables.rows.get_mut(table) {
            match text {
                Some(text) => rows.insert(key, text.to_owned()),
                None => rows.remove(&key),
            };
        }
    }

    /// Makes an empty table.
    pub(crate) fn create(&mut self, table: &str) {
        self.tables.rows.insert(table.to_owned(), BTreeMap::new());
        self.tables.made_by.insert(table.to_owned(), OWN);
        self.defined.insert(table.to_owned());
    }

    /// Drops a table. What happened to its rows does not matter any more.
    pub(crate) fn drop_table(&mut self, table: &str) {
        self.tables.rows.remove(table);
        self.tables.made_by.remove(table);
        self.defined.insert(table.to_owned());
        self.changed.remove(table);
        self.touched.retain(|it| it.0 != table);
        self.inserted.retain(|it| it.0 != table);
    }
}
