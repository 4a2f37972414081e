//! What the rows of operators cost, for estimates of remaining time.
//!
//! The figures were measured per operator on the queries of TPC-H and on statements that write.
//! Rows of scans cost little here: decoding is counted by the bytes of their splits.

use volley_exec::{Emits, OperatorCost};

/// By the name of the operator.
pub(crate) const COSTS: [(&str, OperatorCost); 20] = [
    ("table scan", OperatorCost::along(0.0, 4.0)),
    ("filter", OperatorCost::along(8.0, 0.0)),
    ("project", OperatorCost::along(20.0, 0.0)),
    ("filter project", OperatorCost::along(10.0, 0.0)),
    ("partial aggregation", groups(15.0, 30.0)),
    ("final aggregation", groups(30.0, 80.0)),
    ("aggregation", groups(30.0, 80.0)),
    ("hash join build", OperatorCost::along(70.0, 0.0)),
    ("hash join probe", OperatorCost::along(30.0, 20.0)),
    ("merge join", OperatorCost::along(0.0, 100.0)),
    ("range join build", OperatorCost::along(150.0, 0.0)),
    ("range join probe", OperatorCost::along(30.0, 20.0)),
    ("nested loop join build", OperatorCost::along(20.0, 0.0)),
    ("nested loop join probe", OperatorCost::along(30.0, 20.0)),
    ("unnest", OperatorCost { emits: Emits::Many, ..OperatorCost::along(20.0, 2.0) }),
    ("order by", all_at_end(OperatorCost::along(20.0, 20.0), 13.0, 54.0)),
    ("top n", groups(30.0, 10.0)),
    ("window", all_at_end(OperatorCost::along(20.0, 100.0), 13.0, 54.0)),
    ("shared writer", OperatorCost::along(20.0, 0.0)),
    // Files take more, tables in memory less.
    ("table write", OperatorCost { value_in: 25.0, ..OperatorCost::along(0.0, 0.0) }),
];

const fn groups(row_in: f64, row_out: f64) -> OperatorCost {
    OperatorCost { emits: Emits::GroupsAtEnd, ..OperatorCost::along(row_in, row_out) }
}

const fn all_at_end(cost: OperatorCost, value_in: f64, value_out: f64) -> OperatorCost {
    OperatorCost { value_in, value_out, emits: Emits::AllAtEnd, ..cost }
}
