//! Sub-operators: nodes with at most one inner loop, from which operators are composed.
//!
//! ```text
//! Parameter       -> the tuple of the map around it
//! NestedMap       tuples, plan -> the rows of the plan, for each tuple
//! Zip             (pid, A), (pid, B) -> (pid, A, B)
//! Histogram       rows -> (pid, rows)
//! Partition       rows -> (pid, collection of its rows)
//! Materialize     rows -> one collection of all rows
//! RowScan         collections -> their rows
//! Build           rows -> a hash table of them
//! Probe           rows, table -> pairs, or rows with or without a match
//! ```
//!
//! A *tuple* is a row that holds collections. A *collection* is a value of type ARRAY(ROW): rows as
//! a value. Aggregations, sorts, filters and projections are sub-operators as they are
//! ([`crate::expand::sub_operator_name`]). A hash join is a [`Probe`] over a [`Build`]; one of two
//! partitioned inputs is a [`NestedMap`] of it over a [`Zip`] of [`Partition`]s.
//!
//! Source: Modularis: Modular Relational Analytics over Heterogeneous Distributed Platforms,
//! Koutsoukos and others, VLDB 2021, section 3.

mod nested_map;
mod parameter;
mod partition;
mod probe;
mod row_scan;
mod zip;
#[cfg(test)]
mod tests;

pub use nested_map::NestedMap;
pub use parameter::Parameter;
pub use partition::{Histogram, Partition, PartitionFunction};
pub use probe::{Build, Probe};
pub use row_scan::{Materialize, RowScan};
pub use zip::Zip;

use crate::{PlanNode, PlanNodeId};
use std::{fmt, sync::Arc};
use volley_error::{Error, Result};
use volley_types::{Field, Schema, Type};

/// A sub-operator with its inputs.
#[derive(Clone, Debug)]
pub struct SubNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// What it does.
    pub op: SubOperator,
    /// Where rows come from. Those of a [`NestedMap`]: the tuples, then the plan for each.
    pub inputs: Vec<Arc<PlanNode>>,
    /// The output columns.
    pub schema: Schema,
}

/// What a sub-operator does.
#[derive(Clone, Debug, PartialEq)]
pub enum SubOperator {
    /// Returns the tuple of the map around it.
    Parameter(Parameter),
    /// Runs a plan for each tuple.
    NestedMap(NestedMap),
    /// Pairs the collections of equal partitions.
    Zip(Zip),
    /// Counts the rows of partitions.
    Histogram(Histogram),
    /// Collects the rows of partitions.
    Partition(Partition),
    /// Collects all rows.
    Materialize(Materialize),
    /// Returns the rows of collections.
    RowScan(RowScan),
    /// Makes a hash table.
    Build(Build),
    /// Looks rows up in a hash table.
    Probe(Box<Probe>),
}

impl SubNode {
    /// A sub-operator above `inputs`; its output columns follow from them.
    ///
    /// # Errors
    ///
    /// Invalid query: inputs that it cannot have.
    pub fn new(op: SubOperator, inputs: Vec<Arc<PlanNode>>) -> Result<SubNode> {
        let schemas: Vec<&Schema> = inputs.iter().map(|it| it.schema()).collect();
        let schema = op.schema(&schemas).map_err(|it| it.at("plan node", op.name()))?;
        Ok(SubNode { node_id: PlanNodeId::UNASSIGNED, op, inputs, schema })
    }

    /// The plan that runs for each tuple, by its position among the inputs.
    pub fn nested_input(&self) -> Option<usize> {
        matches!(self.op, SubOperator::NestedMap(_)).then_some(1)
    }
}

impl SubOperator {
    /// The name in plans, by which the lowering function is found.
    pub fn name(&self) -> &'static str {
        match self {
            SubOperator::Parameter(_) => "Parameter",
            SubOperator::NestedMap(_) => "NestedMap",
            SubOperator::Zip(_) => "Zip",
            SubOperator::Histogram(_) => "Histogram",
            SubOperator::Partition(_) => "Partition",
            SubOperator::Materialize(_) => "Materialize",
            SubOperator::RowScan(_) => "RowScan",
            SubOperator::Build(_) => "Build",
            SubOperator::Probe(_) => "Probe",
        }
    }

    /// The output columns above inputs with these columns.
    ///
    /// # Errors
    ///
    /// Invalid query: inputs that it cannot have.
    pub fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        match self {
            SubOperator::Parameter(it) => it.schema(inputs),
            SubOperator::NestedMap(it) => it.schema(inputs),
            SubOperator::Zip(it) => it.schema(inputs),
            SubOperator::Histogram(it) => it.schema(inputs),
            SubOperator::Partition(it) => it.schema(inputs),
            SubOperator::Materialize(it) => it.schema(inputs),
            SubOperator::RowScan(it) => it.schema(inputs),
            SubOperator::Build(it) => it.schema(inputs),
            SubOperator::Probe(it) => it.schema(inputs),
        }
    }
}

impl fmt::Display for SubOperator {
    /// The name, then what its columns and partitions are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            SubOperator::Parameter(it) => write!(f, " {}", it.map),
            SubOperator::NestedMap(it) => write!(f, " {}", it.id),
            SubOperator::Histogram(it) => write!(f, " {}", it.function),
            SubOperator::Partition(it) => write!(f, " {}", it.function),
            SubOperator::RowScan(it) => write!(f, " #{}", it.column),
            SubOperator::Build(it) => write!(f, " {}", columns(&it.keys)),
            SubOperator::Probe(it) => {
                write!(f, " {} {}", it.kind, columns(&it.keys))?;
                it.filter.iter().try_for_each(|it| write!(f, " filter={it}"))
            }
            SubOperator::Zip(_) | SubOperator::Materialize(_) => Ok(()),
        }
    }
}

/// Columns in plans.
fn columns(columns: &[usize]) -> String {
    let columns: Vec<String> = columns.iter().map(|it| format!("#{it}")).collect();
    columns.join(", ")
}

/// The type of collections of rows with these columns.
pub fn collection_type(schema: &Schema) -> Type {
    Type::array(Type::row(schema.fields.iter().cloned()))
}

/// The columns of the rows of a collection.
fn collection_schema(data_type: &Type) -> Result<Schema> {
    match data_type {
        Type::Array(element) => match &**element {
            Type::Row(fields) => Ok(fields.iter().cloned().collect()),
            _ => Err(not_a_collection(data_type)),
        },
        _ => Err(not_a_collection(data_type)),
    }
}

fn not_a_collection(data_type: &Type) -> Error {
    Error::invalid_query(format!("{data_type} is not a collection of rows"))
}

/// The only input.
fn only<'a>(inputs: &[&'a Schema]) -> Result<&'a Schema> {
    match inputs {
        [input] => Ok(input),
        _ => Err(Error::invalid_query(format!("{} inputs instead of one", inputs.len()))),
    }
}

fn field(schema: &Schema, column: usize) -> Result<&Field> {
    schema
        .fields
        .get(column)
        .ok_or_else(|| Error::invalid_query(format!("column #{column} of {}", schema.fields.len())))
}
