//! Transactions of one table take turns.

use crate::check::{added, committed, define, done, make, pairs, refused, updated};
use std::thread;
use volley_connector::{Access, Database, Definition, ObjectKind};
use volley_error::ErrorKind;

/// Threads that change a table at once.
const WRITERS: usize = 4;

/// Transactions of each.
const ROUNDS: usize = 25;

/// No change is lost, and none conflicts, though each depends on the one before.
pub(crate) fn take_turns(database: &dyn Database) {
    let table = make(database, "counter", &[(1, Some(0))]);
    let other = make(database, "else", &[]);
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let mut transaction = done(database.begin(Access::OneTable(table)));
                    let snapshot = transaction.snapshot();
                    let number = pairs(&*snapshot, table)[0].1.map(|it| it + 1);
                    let changes = updated(&*snapshot, table, &[1], number);
                    done(transaction.change(table, changes));
                    done(transaction.commit());
                }
            });
        }
    });
    assert_eq!(committed(database, table), [(1, Some((WRITERS * ROUNDS) as i64))]);
    let mut transaction = done(database.begin(Access::OneTable(table)));
    refused(transaction.change(other, added(&[(1, None)])), ErrorKind::Internal, "one table");
    // One that began before conflicts with a turn that ended in between.
    drop(transaction);
    let mut slow = done(database.begin(Access::Any));
    let changes = updated(&*slow.snapshot(), table, &[1], Some(2));
    done(slow.change(table, changes));
    let mut turn = done(database.begin(Access::OneTable(table)));
    let changes = updated(&*turn.snapshot(), table, &[1], Some(3));
    done(turn.change(table, changes));
    done(turn.commit());
    refused(slow.commit(), ErrorKind::InvalidQuery, "counter");
    for name in ["counter", "else"] {
        let (schema, name, kind) = ("main".to_owned(), name.to_owned(), ObjectKind::Table);
        define(database, Definition::Drop { schema, kind, name });
    }
    refused(database.begin(Access::OneTable(table)), ErrorKind::InvalidQuery, "table");
}
