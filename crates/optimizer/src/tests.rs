//! Plans of SQL text over tables that have statistics only.

mod unnest;
mod rules;
mod ctes;
mod anti_joins;
mod cascades;
mod declared_keys;
mod joins;
mod lowering;
mod tpch;
mod windows;
mod early;
mod depth;
mod distinct;
mod orders;

use crate::testing::optimized;
use expect_test::Expect;

/// Compares the optimized plan of a query.
fn check(sql: &str, expected: Expect) {
    expected.assert_eq(&optimized(sql));
}
