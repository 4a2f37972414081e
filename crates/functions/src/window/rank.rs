//! The position of a row in its partition: `row_number`, `rank`, `dense_rank`.

use super::bigints;
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    BoundWindow, FunctionDoc, Registry, WindowFunction, WindowReach, WindowRows,
};
use volley_types::Type;
use volley_vector::Vector;

/// Registers these functions.
pub(super) fn register(registry: &mut Registry) {
    let values = "FROM (VALUES (1), (1), (2)) v(x) ORDER BY 1";
    let add = |registry: &mut Registry, name: &str, doc: FunctionDoc, kind: Rank| {
        let bind = move |args: &[Type]| {
            let uses_peers = kind != Rank::Row;
            let bound = || BoundWindow::new(Vec::new(), Type::BigInt, kind);
            let reach = WindowReach::Starts;
            args.is_empty().then(|| BoundWindow { uses_peers, reach, ..bound() })
        };
        registry.add_window(name, doc, Arc::new(bind));
    };
    let row_number = doc(
        "row_number() -> bigint",
        "The number of the row in its partition, from 1. Rows with equal order keys get different \
         numbers.",
        "window",
        &[(&format!("row_number() OVER (ORDER BY x) {values}"), "1\n2\n3")],
    );
    add(registry, "row_number", row_number, Rank::Row);
    let rank = doc(
        "rank() -> bigint",
        "The number of rows of the partition that are ordered before the row, plus 1: rows with \
         equal order keys have the same rank, and leave a gap after them.",
        "window",
        &[(&format!("rank() OVER (ORDER BY x) {values}"), "1\n1\n3")],
    );
    add(registry, "rank", rank, Rank::Peers);
    let dense_rank = doc(
        "dense_rank() -> bigint",
        "The number of different order keys in the partition up to the row's: as rank, without \
         gaps.",
        "window",
        &[(&format!("dense_rank() OVER (ORDER BY x) {values}"), "1\n1\n2")],
    );
    add(registry, "dense_rank", dense_rank, Rank::Group);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rank {
    Row,
    Peers,
    Group,
}

impl WindowFunction for Rank {
    fn evaluate(&self, window: &WindowRows<'_>) -> Result<Vector> {
        let rows = 0..window.rows.len();
        Ok(bigints(match self {
            Rank::Row => rows.map(|row| window.row_place(row) + 1).collect(),
            Rank::Peers => rows.map(|row| window.peer_places(row).0 + 1).collect(),
            Rank::Group => rows.map(|row| window.group_place(row) + 1).collect(),
        }))
    }
}
