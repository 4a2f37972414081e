//! The two halves of a hash join.

use super::field;
use crate::{HashJoinNode, JoinKind, PlanNode, PlanNodeId};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_expression::Expr;
use volley_types::Schema;

/// Makes a hash table of all rows. Only a [`Probe`] reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Build {
    /// The key columns.
    pub keys: Vec<usize>,
}

/// Looks the rows of the first input up in the table of the second one, a [`Build`]. The fields are
/// those of a [`HashJoinNode`].
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Which rows are returned.
    pub kind: JoinKind,
    /// The key columns of the first input.
    pub keys: Vec<usize>,
    /// Per key: whether null equals null.
    pub nulls_equal: Vec<bool>,
    /// A further condition on a pair: columns of the first input, then of the table.
    pub filter: Option<Expr>,
    /// Whether a null key makes the comparison unknown, as IN has it.
    pub null_aware: bool,
    /// The output columns, as positions among all columns of the kind.
    pub output: Vec<usize>,
}

impl Build {
    pub(super) fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        let input = super::only(inputs)?;
        for key in &self.keys {
            crate::check::group_key(&field(input, *key)?.data_type)?;
        }
        Ok(input.clone())
    }
}

impl Probe {
    pub(super) fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        let [probe, build] = inputs else {
            return Err(Error::invalid_query("a probe has two inputs: rows and a table"));
        };
        let all = self.kind.schema(probe, build);
        let fields = self.output.iter().map(|it| Ok(field(&all, *it)?.clone()));
        Ok(fields.collect::<Result<Vec<_>>>()?.into_iter().collect())
    }

    /// The join that a probe of `probe` into the table of `build` is. The rows of the table are the
    /// input of `build`.
    ///
    /// # Errors
    ///
    /// Invalid query: `build` makes no table.
    pub fn join(
        &self,
        node_id: PlanNodeId,
        probe: &Arc<PlanNode>,
        build: &PlanNode,
    ) -> Result<HashJoinNode> {
        let PlanNode::Sub(super::SubNode { op: super::SubOperator::Build(table), inputs, .. }) =
            build
        else {
            return Err(Error::invalid_query("a probe of rows that are no table")
                .hint("the second input of Probe is a Build"));
        };
        let rows = inputs.first().ok_or_else(|| Error::invalid_query("a table without rows"))?;
        let schemas = [probe.schema(), rows.schema()];
        Ok(HashJoinNode {
            node_id,
            probe: Arc::clone(probe),
            build: Arc::clone(rows),
            kind: self.kind,
            probe_keys: self.keys.clone(),
            build_keys: table.keys.clone(),
            nulls_equal: self.nulls_equal.clone(),
            filter: self.filter.clone(),
            null_aware: self.null_aware,
            output: self.output.clone(),
            schema: self.schema(&schemas)?,
            dynamic_filters: Vec::new(),
        })
    }
}
