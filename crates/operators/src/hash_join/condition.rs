//! Which candidate pairs match.

use super::{Filter, FilterColumn, HashJoinSpec};
use volley_error::Result;
use volley_exec::OperatorContext;
use volley_expression::ExprSet;
use volley_state::hash_table::{JoinTable, PairCursor, Pairs};
use volley_vector::{Batch, Rows, ScalarBuffer, Vector};

/// The compiled filter of a join.
pub(super) struct Condition {
    filter: Option<ExprSet>,
}

/// The probe side of pairs.
#[derive(Clone, Copy)]
pub(super) struct ProbeSide<'a> {
    /// A batch whose columns used by the filter are loaded.
    pub(super) batch: &'a Batch,
    /// Its keys, as the table compares them.
    pub(super) keys: &'a [Vector],
}

impl Condition {
    pub(super) fn new(spec: &HashJoinSpec, cx: &OperatorContext) -> Result<Condition> {
        let compile = |filter: &Filter| {
            let exprs = std::slice::from_ref(&filter.expr);
            cx.task.compile(exprs).map(|it| it.charged_to(&cx.pool))
        };
        Ok(Condition { filter: spec.filter.as_ref().map(compile).transpose()? })
    }

    /// Whether all pairs of the cursor match.
    pub(super) fn is_trivial(&self, cursor: &PairCursor) -> bool {
        self.filter.is_none() && cursor.has_same_keys()
    }

    /// Keeps the pairs that match.
    pub(super) fn apply(
        &mut self,
        spec: &HashJoinSpec,
        table: &JoinTable,
        probe: ProbeSide<'_>,
        pairs: &mut Pairs,
    ) -> Result<()> {
        if !pairs.same_keys {
            let mut equal = vec![true; pairs.rows.len()];
            table.match_keys(probe.keys, &pairs.rows, &pairs.matches, &mut equal)?;
            if equal.iter().any(|it| !it) {
                let rows = equal.iter().enumerate().filter(|(_, equal)| **equal);
                let positions: Vec<u32> = rows.map(|(position, _)| position as u32).collect();
                pairs.keep(&positions);
            }
        }
        let (Some(filter), Some(exprs)) = (&spec.filter, &mut self.filter) else { return Ok(()) };
        if pairs.rows.is_empty() {
            return Ok(());
        }
        let batch = filter_batch(spec, filter, table, probe.batch, pairs)?;
        let rows = exprs.begin(&batch).select(0, &Rows::all(batch.rows()))?;
        if !rows.is_all() {
            pairs.keep(&rows.to_indices());
        }
        Ok(())
    }
}

/// The filter's columns, one row per pair.
fn filter_batch(
    spec: &HashJoinSpec,
    filter: &Filter,
    table: &JoinTable,
    probe: &Batch,
    pairs: &Pairs,
) -> Result<Batch> {
    let codes: ScalarBuffer<u32> = pairs.rows.clone().into();
    let mut composed = Vec::new();
    let columns = filter.columns.iter().map(|column| match column {
        FilterColumn::Probe(column) => Ok(probe.column(*column).wrap(&codes, &mut composed)),
        FilterColumn::Build(column) => {
            table.container().gather(spec.row_column(*column), &pairs.matches)
        }
    });
    Ok(Batch::new(columns.collect::<Result<_>>()?, pairs.rows.len()))
}
