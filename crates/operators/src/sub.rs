//! Sub-operators: small operators that algorithms are composed from.
//!
//! ```text
//! collection   a value of type ARRAY(ROW): a list view over the rows of a batch, not copied
//! NestedMap    lowers its plan again for each tuple, and runs its chains within its own steps
//! Partition    counting sort by pid, one collection per pid
//! Build, Probe the two operators of a hash join
//! Zip          pairs by pid: the tuples of the right input first, then those of the left one
//! ```

mod collect;
mod collection;
mod nested_map;
mod parameter;
mod partition;
mod probe;
mod row_scan;
mod zip;
#[cfg(test)]
mod tests;

pub(crate) use nested_map::{lower as lower_nested_map, skipped_input};
pub(crate) use parameter::lower as lower_parameter;
pub(crate) use partition::{lower as lower_partition, lower_histogram};
pub(crate) use probe::{lower as lower_probe, lower_build};
pub(crate) use row_scan::{lower as lower_row_scan, lower_materialize};
pub(crate) use zip::lower as lower_zip;

use crate::registration::wrong_node;
use volley_error::Result;
use volley_plan::{PlanNode, sub::SubNode};

/// The node as a sub-operator.
fn sub_node(node: &PlanNode) -> Result<&SubNode> {
    match node {
        PlanNode::Sub(node) => Ok(node),
        _ => Err(wrong_node()),
    }
}
