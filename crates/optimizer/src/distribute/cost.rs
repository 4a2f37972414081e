//! What a distributed plan costs: work that depends on where rows are, in values of columns.
//!
//! ```text
//! exchange    a start per exchange; each value once where it is sent, once where it is received
//! join        each value of a build side once per task that makes a table of it
//! replicate   each value of the table once more per further task that scans it
//! ```
//!
//! Work that every alternative does, such as the first scan, is left out. A value costs about 1 ns.

use super::{Distributor, placed::Placed};
use volley_plan::Routing;

/// The work of an exchange without rows: fragments, tasks, buffers, pages.
const START: f64 = 20_000.0;

/// The rows of an input about which nothing is known.
const ROWS_UNKNOWN: f64 = 1e6;

/// A value in a table, compared with one on its way.
const BUILD: f64 = 2.0;

/// A value that a scan reads, compared with one on its way.
const SCAN: f64 = 0.5;

impl Distributor<'_> {
    fn tasks(&self) -> f64 {
        self.context.tasks.max(1) as f64
    }

    /// An exchange of the rows of `input`.
    pub(super) fn moving(&self, input: &Placed, routing: &Routing) -> f64 {
        let values = input.rows.unwrap_or(ROWS_UNKNOWN) * input.width();
        match routing {
            Routing::Replicate => 0.0,
            Routing::Forward => START + values,
            Routing::Broadcast => START + values * (1.0 + self.tasks()),
            Routing::Gather
            | Routing::Merge(_)
            | Routing::Any
            | Routing::Hash(_)
            | Routing::Range(_) => START + values * 2.0,
        }
    }

    /// The tables of a build side, in one task each or whole in every task.
    pub(super) fn building(&self, build: &Placed, is_replicated: IsReplicated) -> f64 {
        let values = build.rows.unwrap_or(ROWS_UNKNOWN) * build.width();
        match is_replicated {
            IsReplicated::Yes => values * BUILD * self.tasks(),
            IsReplicated::No => values * BUILD,
        }
    }

    /// The scans of a table of `rows` rows in all tasks but one.
    pub(super) fn scanning_again(&self, input: &Placed, rows: f64) -> f64 {
        rows * input.width() * SCAN * (self.tasks() - 1.0)
    }
}

/// Whether every task has all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IsReplicated {
    Yes,
    No,
}
