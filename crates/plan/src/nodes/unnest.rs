//! Expands rows: elements of lists, series.

use crate::{PlanNode, PlanNodeId};
use std::{fmt, sync::Arc};
use volley_error::{Error, Result};
use volley_types::{Schema, Type};

/// Puts each row out once for every row that its generators make, next to each other: those that
/// make fewer are filled with nulls.
#[derive(Clone, Debug)]
pub struct UnnestNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// The input's columns that are returned.
    pub replicated: Vec<usize>,
    /// What makes rows of each row.
    pub generators: Vec<Generator>,
    /// Whether the last output column is a BIGINT that numbers the rows generated from each input
    /// row, from 1.
    pub ordinality: bool,
    /// Whether an input row that generates no row is returned once, with nulls.
    pub outer: bool,
    /// The replicated columns, those of the generators, and the ordinality.
    pub schema: Schema,
}

/// Makes rows of one row.
#[derive(Clone, Debug)]
pub struct Generator {
    /// What the rows are.
    pub kind: GeneratorKind,
    /// What they are made of: columns of the input, see [`GeneratorKind`]. A null makes no rows.
    pub args: Vec<usize>,
}

/// What a generator makes rows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GeneratorKind {
    /// The elements of an ARRAY; keys and values of a MAP.
    Elements,
    /// `(start, end, step)`: values from the start on, a step apart, before the end. BIGINT all; or
    /// TIMESTAMP, TIMESTAMP, INTERVAL.
    Range,
    /// Like [`GeneratorKind::Range`], up to the end itself.
    Series,
}

impl GeneratorKind {
    /// The name of the function in SQL.
    pub fn name(self) -> &'static str {
        match self {
            GeneratorKind::Elements => "unnest",
            GeneratorKind::Range => "range",
            GeneratorKind::Series => "generate_series",
        }
    }

    /// The types of the columns that a generator makes of a first argument.
    pub(crate) fn made_types(self, first: &Type) -> Result<Vec<Type>> {
        match (self, first) {
            (GeneratorKind::Elements, Type::Array(element)) => Ok(vec![(**element).clone()]),
            (GeneratorKind::Elements, Type::FixedArray(array)) => Ok(vec![array.0.clone()]),
            (GeneratorKind::Elements, Type::Map(map)) => Ok(vec![map.0.clone(), map.1.clone()]),
            (GeneratorKind::Range | GeneratorKind::Series, Type::BigInt | Type::Timestamp) => {
                Ok(vec![first.clone()])
            }
            _ => Err(Error::invalid_query(format!("{} does not take this column", self.name()))),
        }
    }
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<_> = self.args.iter().map(|it| format!("#{it}")).collect();
        write!(f, "{}({})", self.kind.name(), args.join(", "))
    }
}
