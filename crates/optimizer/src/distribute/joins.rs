//! Joins: rows that match in one task.
//!
//! ```text
//! local         both inputs are hashed by the keys: no exchange
//! stay          one input is hashed by keys of the join: the other one goes where it is
//! broadcast     every task gets all build rows; only if no build row is returned by itself
//! replicate     every task scans all build rows
//! repartition   both inputs go where their keys are hashed to
//! one task      both inputs are in one task, or must be
//! ```
//!
//! Each is a rule of [`JOIN_RULES`], and what it makes an alternative of the join.

use super::{
    BROADCAST_JOINS, Distributor, LOCAL_JOINS, REPLICATED_BUILDS,
    cost::IsReplicated,
    placed::{Distribution, Placed},
};
use std::{collections::BTreeSet, sync::Arc};
use volley_error::Result;
use volley_expression::ExprKind;
use volley_plan::{AsofJoinNode, HashJoinNode, JoinKind, NestedLoopJoinNode, PlanNode, Routing};

/// Pairs of key columns: of the probe side, of the build side.
type Keys<'a> = (&'a [usize], &'a [usize]);

/// A way to place the inputs of a join.
struct JoinRule {
    /// The switch; `None`: it is always on, so that each join has a way.
    name: Option<&'static str>,
    /// The inputs, if it applies.
    place: Place,
}

/// The inputs of a join, one way to place each.
struct Inputs<'a> {
    probe: &'a Placed,
    build: &'a Placed,
    kind: JoinKind,
    keys: Keys<'a>,
    /// Each probe row may match any build row, or depends on all of them.
    any_pair: bool,
}

/// The inputs of a join where they are needed, if a rule applies.
type Place = fn(&Distributor<'_>, &Inputs<'_>) -> Option<(Placed, Placed)>;

/// All ways. Of those that cost the same, the first one is taken.
const JOIN_RULES: [JoinRule; 8] = [
    JoinRule { name: None, place: |it, inputs| it.one_task(inputs) },
    JoinRule { name: Some(LOCAL_JOINS), place: |it, inputs| it.local(inputs) },
    JoinRule { name: Some(LOCAL_JOINS), place: |it, inputs| it.probe_stays(inputs) },
    JoinRule { name: Some(LOCAL_JOINS), place: |it, inputs| it.build_stays(inputs) },
    JoinRule { name: Some(REPLICATED_BUILDS), place: |it, inputs| it.replicate(inputs) },
    JoinRule { name: Some(BROADCAST_JOINS), place: |it, inputs| it.broadcast(inputs) },
    JoinRule { name: None, place: |it, inputs| it.all_build_rows(inputs) },
    JoinRule { name: None, place: |it, inputs| it.repartition(inputs) },
];

impl Distributor<'_> {
    pub(super) fn hash_join(
        &mut self,
        node: &PlanNode,
        join: &HashJoinNode,
    ) -> Result<Vec<Placed>> {
        // A null of any build row counts for all probe rows.
        let is_null_aware =
            join.null_aware && matches!(join.kind, JoinKind::LeftAnti | JoinKind::LeftMark);
        let keys = (&join.probe_keys[..], &join.build_keys[..]);
        let any_pair = is_null_aware || join.probe_keys.is_empty();
        self.join(node, (&join.probe, &join.build), (join.kind, &join.output), keys, any_pair)
    }

    pub(super) fn asof_join(
        &mut self,
        node: &PlanNode,
        join: &AsofJoinNode,
    ) -> Result<Vec<Placed>> {
        let keys = (&join.probe_keys[..], &join.build_keys[..]);
        let any_pair = join.probe_keys.is_empty();
        self.join(node, (&join.probe, &join.build), (join.kind, &join.output), keys, any_pair)
    }

    pub(super) fn nested_loop_join(
        &mut self,
        node: &PlanNode,
        join: &NestedLoopJoinNode,
    ) -> Result<Vec<Placed>> {
        let (inputs, output) = ((&join.probe, &join.build), (join.kind, &join.output[..]));
        self.join(node, inputs, output, (&[], &[]), true)
    }

    fn join(
        &mut self,
        node: &PlanNode,
        (probe, build): (&Arc<PlanNode>, &Arc<PlanNode>),
        (kind, output): (JoinKind, &[usize]),
        keys: Keys<'_>,
        any_pair: bool,
    ) -> Result<Vec<Placed>> {
        let (probes, builds) = (self.place(probe)?, self.place(build)?);
        let mut found = Vec::new();
        for (probe, build) in
            probes.iter().flat_map(|it| builds.iter().map(move |build| (it, build)))
        {
            let inputs = Inputs { probe, build, kind, keys, any_pair };
            for rule in &JOIN_RULES {
                if rule.name.is_none_or(|it| self.is_enabled(it))
                    && let Some((probe, build)) = (rule.place)(self, &inputs)
                {
                    found.push(self.joined(node, probe, build, (kind, output), keys));
                }
            }
        }
        Ok(found)
    }

    /// One task has all rows of both, or must have: each build row may be returned by itself.
    fn one_task(&self, inputs: &Inputs<'_>) -> Option<(Placed, Placed)> {
        let Inputs { probe, build, .. } = inputs;
        let is_single = |it: &Placed| it.distribution == Distribution::Single;
        let must = inputs.any_pair && (is_single(probe) || inputs.kind.emits_build_rows());
        let are = is_single(probe) && is_single(build);
        (must || are).then(|| (self.single((*probe).clone()), self.single((*build).clone())))
    }

    fn local(&self, inputs: &Inputs<'_>) -> Option<(Placed, Placed)> {
        let by_probe = hashed_pairs(inputs.probe, inputs.keys.0)?;
        let by_build = hashed_pairs(inputs.build, inputs.keys.1)?;
        let is_local = by_probe == by_build && !inputs.any_pair;
        is_local.then(|| (inputs.probe.clone(), inputs.build.clone()))
    }

    fn probe_stays(&self, inputs: &Inputs<'_>) -> Option<(Placed, Placed)> {
        let pairs = hashed_pairs(inputs.probe, inputs.keys.0).filter(|_| !inputs.any_pair)?;
        let routing = Routing::Hash(columns(inputs.keys.1, &pairs));
        Some((inputs.probe.clone(), self.exchanged(inputs.build.clone(), routing)))
    }

    fn build_stays(&self, inputs: &Inputs<'_>) -> Option<(Placed, Placed)> {
        let pairs = hashed_pairs(inputs.build, inputs.keys.1).filter(|_| !inputs.any_pair)?;
        let routing = Routing::Hash(columns(inputs.keys.0, &pairs));
        Some((self.exchanged(inputs.probe.clone(), routing), inputs.build.clone()))
    }

    /// Copies of build rows, whose number must be known.
    fn broadcast(&self, inputs: &Inputs<'_>) -> Option<(Placed, Placed)> {
        let is_known = inputs.build.rows.is_some() && !inputs.any_pair;
        is_known.then(|| self.copied(inputs)).flatten()
    }

    /// The same where there is no other way.
    fn all_build_rows(&self, inputs: &Inputs<'_>) -> Option<(Placed, Placed)> {
        inputs.any_pair.then(|| self.copied(inputs)).flatten()
    }

    fn copied(&self, inputs: &Inputs<'_>) -> Option<(Placed, Placed)> {
        let can =
            !inputs.kind.emits_build_rows() && inputs.probe.distribution != Distribution::Single;
        can.then(|| {
            (inputs.probe.clone(), self.exchanged(inputs.build.clone(), Routing::Broadcast))
        })
    }

    /// Scans of the build side in every task: of a table whose size is known.
    fn replicate(&self, inputs: &Inputs<'_>) -> Option<(Placed, Placed)> {
        let can = !inputs.kind.emits_build_rows()
            && inputs.probe.distribution != Distribution::Single
            && inputs.build.distribution == Distribution::Arbitrary;
        let rows = self.scanned_rows(&inputs.build.node).filter(|_| can)?;
        let build = self.exchanged(inputs.build.clone(), Routing::Replicate);
        let cost = build.cost + self.scanning_again(inputs.build, rows);
        Some((inputs.probe.clone(), Placed { cost, ..build }))
    }

    /// The rows of the table that a node scans, if it returns the same ones in every task: a scan,
    /// and columns of it.
    fn scanned_rows(&self, node: &PlanNode) -> Option<f64> {
        match node {
            PlanNode::TableScan(scan) => (self.context.table_rows)(&scan.table).map(|it| it as f64),
            PlanNode::Project(project) => {
                let is_column =
                    |it: &volley_expression::Expr| matches!(it.kind, ExprKind::Column(_));
                let is_plain = project.exprs.iter().all(is_column);
                is_plain.then(|| self.scanned_rows(&project.input)).flatten()
            }
            PlanNode::LocalExchange(local) => self.scanned_rows(&local.input),
            _ => None,
        }
    }

    fn repartition(&self, inputs: &Inputs<'_>) -> Option<(Placed, Placed)> {
        let is_single = |it: &Placed| it.distribution == Distribution::Single;
        if inputs.any_pair || is_single(inputs.probe) && is_single(inputs.build) {
            return None;
        }
        let probe = self.exchanged(inputs.probe.clone(), Routing::Hash(inputs.keys.0.to_vec()));
        let build = self.exchanged(inputs.build.clone(), Routing::Hash(inputs.keys.1.to_vec()));
        Some((probe, build))
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
        let is_copied = |it: &PlanNode| {
            matches!(it, PlanNode::Exchange(it)
            if matches!(it.routing, Routing::Broadcast | Routing::Replicate))
        };
        let is_broadcast = is_copied(&build.node);
        let is_replicated = if is_broadcast { IsReplicated::Yes } else { IsReplicated::No };
        let cost = probe.cost + build.cost + self.building(&build, is_replicated);
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
        Placed { node: Arc::new(node.with_inputs(inputs)), distribution, rows, cost }
    }
}

fn columns(keys: &[usize], pairs: &[usize]) -> Vec<usize> {
    pairs.iter().filter_map(|it| keys.get(*it)).copied().collect()
}

/// The pairs of keys by which an input is hashed, in that order, if it is by keys of the join.
fn hashed_pairs(input: &Placed, keys: &[usize]) -> Option<Vec<usize>> {
    let Distribution::Hashed(hashed) = &input.distribution else { return None };
    let pair = |set: &BTreeSet<usize>| keys.iter().position(|it| set.contains(it));
    hashed.iter().map(pair).collect()
}
