//! Joins: rows that match in one task.
//!
//! ```text
//! one task       both inputs are in one task
//! local          both inputs are hashed by the keys: no exchange
//! repartition    what is not hashed so is, by the keys
//! broadcast      every task has all build rows; only if no build row is returned by itself
//! gather         the rest
//! ```

use super::{
    BROADCAST_JOINS, Distributor, LOCAL_JOINS,
    placed::{Distribution, Placed},
};
use std::{collections::BTreeSet, sync::Arc};
use volley_error::Result;
use volley_plan::{AsofJoinNode, HashJoinNode, JoinKind, NestedLoopJoinNode, PlanNode, Routing};

/// Pairs of key columns: of the probe side, of the build side.
type Keys<'a> = (&'a [usize], &'a [usize]);

impl Distributor<'_> {
    pub(super) fn hash_join(&mut self, node: &PlanNode, join: &HashJoinNode) -> Result<Placed> {
        let (probe, build) = (self.place(&join.probe)?, self.place(&join.build)?);
        // A null of any build row counts for all probe rows.
        let is_null_aware =
            join.null_aware && matches!(join.kind, JoinKind::LeftAnti | JoinKind::LeftMark);
        let keys = (&join.probe_keys[..], &join.build_keys[..]);
        let (probe, build) = match is_null_aware || join.probe_keys.is_empty() {
            true => self.with_all_build_rows(probe, build, join.kind),
            false => self.with_keys(probe, build, join.kind, keys),
        };
        Ok(self.joined(node, probe, build, (join.kind, &join.output), keys))
    }

    pub(super) fn asof_join(&mut self, node: &PlanNode, join: &AsofJoinNode) -> Result<Placed> {
        let (probe, build) = (self.place(&join.probe)?, self.place(&join.build)?);
        let keys = (&join.probe_keys[..], &join.build_keys[..]);
        let (probe, build) = match join.probe_keys.is_empty() {
            true => self.with_all_build_rows(probe, build, join.kind),
            false => self.with_keys(probe, build, join.kind, keys),
        };
        Ok(self.joined(node, probe, build, (join.kind, &join.output), keys))
    }

    pub(super) fn nested_loop_join(
        &mut self,
        node: &PlanNode,
        join: &NestedLoopJoinNode,
    ) -> Result<Placed> {
        let (probe, build) = (self.place(&join.probe)?, self.place(&join.build)?);
        let (probe, build) = self.with_all_build_rows(probe, build, join.kind);
        Ok(self.joined(node, probe, build, (join.kind, &join.output), (&[], &[])))
    }

    /// Places both inputs so that every task has all build rows, or one task has all rows.
    fn with_all_build_rows(
        &self,
        probe: Placed,
        build: Placed,
        kind: JoinKind,
    ) -> (Placed, Placed) {
        if probe.distribution == Distribution::Single || kind.emits_build_rows() {
            return (self.single(probe), self.single(build));
        }
        (probe, self.exchanged(build, Routing::Broadcast))
    }

    /// Inputs with equal keys in the same task.
    fn with_keys(
        &self,
        probe: Placed,
        build: Placed,
        kind: JoinKind,
        keys: Keys<'_>,
    ) -> (Placed, Placed) {
        if probe.distribution == Distribution::Single && build.distribution == Distribution::Single
        {
            return (probe, build);
        }
        let by_probe = self.hashed_pairs(&probe, keys.0);
        let by_build = self.hashed_pairs(&build, keys.1);
        if by_probe.is_some() && by_probe == by_build {
            return (probe, build);
        }
        if self.pays_to_broadcast(&probe, &build, kind, by_probe.is_some()) {
            return (probe, self.exchanged(build, Routing::Broadcast));
        }
        let columns = |keys: &[usize], pairs: &[usize]| -> Vec<usize> {
            pairs.iter().filter_map(|it| keys.get(*it)).copied().collect()
        };
        // The larger side stays where it is, if one of them can.
        let probe_stays = by_build.is_none() || probe.rows >= build.rows;
        match (by_probe, by_build) {
            (Some(pairs), _) if probe_stays => {
                (probe, self.exchanged(build, Routing::Hash(columns(keys.1, &pairs))))
            }
            (_, Some(pairs)) => {
                (self.exchanged(probe, Routing::Hash(columns(keys.0, &pairs))), build)
            }
            _ => {
                let probe = self.exchanged(probe, Routing::Hash(keys.0.to_vec()));
                (probe, self.exchanged(build, Routing::Hash(keys.1.to_vec())))
            }
        }
    }

    /// The pairs of keys by which an input is hashed, in that order, if it is by keys of the join.
    fn hashed_pairs(&self, input: &Placed, keys: &[usize]) -> Option<Vec<usize>> {
        let Distribution::Hashed(hashed) = &input.distribution else { return None };
        if !self.is_enabled(LOCAL_JOINS) {
            return None;
        }
        let pair = |set: &BTreeSet<usize>| keys.iter().position(|it| set.contains(it));
        hashed.iter().map(pair).collect()
    }

    /// Whether copies of the build rows are fewer rows to move than those of both sides. The size
    /// of the build side must be known.
    fn pays_to_broadcast(
        &self,
        probe: &Placed,
        build: &Placed,
        kind: JoinKind,
        probe_is_hashed: bool,
    ) -> bool {
        let can = !kind.emits_build_rows() && probe.distribution != Distribution::Single;
        let Some(build_rows) = build.rows else { return false };
        if !can || !self.is_enabled(BROADCAST_JOINS) {
            return false;
        }
        let width = |it: &Placed| it.node.schema().len() as f64;
        let moved = match (probe_is_hashed, probe.rows) {
            (true, _) => 0.0,
            (false, Some(rows)) => rows * width(probe),
            (false, None) => f64::INFINITY,
        };
        build_rows * width(build) * self.context.tasks as f64 <= moved + build_rows * width(build)
    }

    /// The join above its placed inputs.
    fn joined(
        &self,
        node: &PlanNode,
        probe: Placed,
        build: Placed,
        (kind, output): (JoinKind, &[usize]),
        keys: Keys<'_>,
    ) -> Placed {
        let probe_columns = probe.node.schema().len();
        let is_broadcast =
            matches!(&*build.node, PlanNode::Exchange(it) if it.routing == Routing::Broadcast);
        let all = match (&probe.distribution, kind) {
            (Distribution::Single, _) => Distribution::Single,
            // Rows without a match are padded with nulls on either side.
            (_, JoinKind::Full) => Distribution::Arbitrary,
            (_, JoinKind::Right) => build.distribution.mapped(|it| vec![probe_columns + it]),
            (_, JoinKind::RightSemi | JoinKind::RightAnti) => build.distribution.clone(),
            (probe, JoinKind::Inner) if !is_broadcast => {
                let pairs: Vec<(usize, usize)> =
                    keys.0.iter().copied().zip(keys.1.iter().copied()).collect();
                let equal = |column: usize| {
                    let equal = pairs.iter().filter(|it| it.0 == column);
                    let equal = equal.map(|it| probe_columns + it.1);
                    [column].into_iter().chain(equal).collect()
                };
                probe.mapped(equal)
            }
            (probe, _) => probe.clone(),
        };
        let position = |column: usize| -> Vec<usize> {
            let found = output.iter().enumerate().filter(|it| *it.1 == column);
            found.map(|it| it.0).collect()
        };
        let distribution = all.mapped(position);
        let rows = self.rows(node, &[probe.rows, build.rows]);
        let inputs = vec![probe.node, build.node];
        Placed { node: Arc::new(node.with_inputs(inputs)), distribution, rows }
    }
}
