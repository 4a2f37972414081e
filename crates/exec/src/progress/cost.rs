//! What the work of operators costs, relative to each other.

/// What the rows of an operator cost, in nanoseconds on some machine. Only the relations between
/// operators matter: what finished work took corrects all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperatorCost {
    /// Per row taken.
    pub row_in: f64,
    /// Per row emitted; of an operator that works after its last input, that work.
    pub row_out: f64,
    /// Per row taken and column.
    pub value_in: f64,
    /// Per row emitted and column.
    pub value_out: f64,
    /// When rows are emitted, and how many.
    pub emits: Emits,
}

/// When an operator emits rows, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emits {
    /// While it takes rows, and about as many for each as so far.
    Along,
    /// While it takes rows, and many of them for a row: until it has taken enough rows to tell how
    /// many, as its plan node is expected to make.
    Many,
    /// Every row, after the last.
    AllAtEnd,
    /// As many as its plan node is expected to make, after the last row.
    GroupsAtEnd,
}

impl Emits {
    /// Whether rows come while rows are taken.
    pub(super) fn is_along(self) -> bool {
        matches!(self, Emits::Along | Emits::Many)
    }
}

impl OperatorCost {
    /// That of an operator which nothing is known of.
    pub const UNKNOWN: OperatorCost = OperatorCost::along(20.0, 5.0);

    /// That of an operator which emits rows while it takes rows.
    pub const fn along(row_in: f64, row_out: f64) -> OperatorCost {
        OperatorCost { row_in, row_out, value_in: 0.0, value_out: 0.0, emits: Emits::Along }
    }

    /// Of all rows taken, in seconds.
    pub(super) fn seconds_in(&self, rows: f64, columns: f64) -> f64 {
        rows * (self.row_in + self.value_in * columns) * 1e-9
    }

    /// Of all rows emitted, in seconds.
    pub(super) fn seconds_out(&self, rows: f64, columns: f64) -> f64 {
        rows * (self.row_out + self.value_out * columns) * 1e-9
    }
}

/// Those of the operators that connect pipelines, by name.
pub(super) const CONNECTIONS: [(&str, OperatorCost); 8] = [
    ("local exchange sender", OperatorCost::along(15.0, 0.0)),
    ("local exchange receiver", OperatorCost::along(0.0, 2.0)),
    ("ordered exchange sender", OperatorCost::along(40.0, 0.0)),
    ("ordered exchange receiver", OperatorCost::along(0.0, 2.0)),
    ("local merge sender", OperatorCost::along(2.0, 0.0)),
    ("local merge receiver", OperatorCost::along(0.0, 100.0)),
    ("task input", OperatorCost::along(0.0, 2.0)),
    ("result", OperatorCost::along(2.0, 0.0)),
];
