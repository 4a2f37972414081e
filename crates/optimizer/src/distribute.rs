//! Inserts exchanges between tasks into a plan.
//!
//! ```text
//! bottom up, for each node    Placed: the node, how its rows are distributed, about how many, cost
//! what a node requires        one task | equal keys in one task | a copy in every task | nothing
//! what is missing             an exchange above the input
//! what joins can choose       a table of rules (`joins.rs`); each choice is an alternative
//! what a node keeps           the cheapest alternative of each distribution (`search.rs`)
//! ```
//!
//! A plan is correct with any subset of [`RULES`] switched off. Nodes without a
//! rule run in one task. Order: only one task's rows have one; an exchange that must keep it
//! merges.

mod cost;
mod estimate;
mod groups;
mod joins;
mod placed;
mod search;
#[cfg(test)]
mod tests;

use crate::{RuleInfo, stack::deep};
use placed::{Distribution, Placed, outputs_of};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};
use volley_error::Result;
use volley_plan::{
    ExchangeKind, ExchangeNode, LimitNode, PlanNode, PlanNodeId, RecursiveUnionNode, Routing,
    SpoolNode, TableHandle, TopNNode, sub::SubNode,
};

/// Joins need no exchange if both inputs are distributed by the keys already.
const LOCAL_JOINS: &str = "local_joins";
/// A small build side is copied to all tasks.
const BROADCAST_JOINS: &str = "broadcast_joins";
/// Every task scans a small build side by itself.
const REPLICATED_BUILDS: &str = "replicated_builds";
/// Of each node, alternatives are kept that cost more but may save an exchange above it.
const DISTRIBUTION_SEARCH: &str = "distribution_search";
/// Groups are aggregated before the exchange, too.
const GROUPS_BELOW_EXCHANGES: &str = "groups_below_exchanges";
/// Each task sorts its rows; the sorted rows are merged.
const SORT_BELOW_EXCHANGES: &str = "sort_below_exchanges";
/// Each task sends no more rows than a limit keeps.
const LIMIT_BELOW_EXCHANGES: &str = "limit_below_exchanges";

/// The rules of distribution.
pub(crate) const RULES: &[RuleInfo] = &[
    RuleInfo {
        name: LOCAL_JOINS,
        description: "joins inputs without an exchange that are distributed by the keys already",
    },
    RuleInfo {
        name: BROADCAST_JOINS,
        description: "copies small build sides to all tasks, instead of moving both sides",
    },
    RuleInfo {
        name: REPLICATED_BUILDS,
        description: "scans small build sides in every task, instead of moving their rows",
    },
    RuleInfo {
        name: DISTRIBUTION_SEARCH,
        description: "keeps costlier ways to distribute an input if they may save an exchange above",
    },
    RuleInfo {
        name: GROUPS_BELOW_EXCHANGES,
        description: "aggregates in each task before groups are exchanged between tasks",
    },
    RuleInfo {
        name: SORT_BELOW_EXCHANGES,
        description: "sorts in each task and merges the sorted rows of tasks",
    },
    RuleInfo {
        name: LIMIT_BELOW_EXCHANGES,
        description: "applies LIMIT in each task before rows are sent to another one",
    },
];

/// What distributing a plan needs to know besides the plan.
pub struct DistributionContext<'a> {
    /// How many tasks run a fragment; at least one.
    pub tasks: usize,
    /// The number of rows of a table, where it is known.
    pub table_rows: &'a dyn Fn(&TableHandle) -> Option<u64>,
    /// Whether every task can scan a table; one task scans the others.
    pub is_everywhere: &'a dyn Fn(&TableHandle) -> bool,
    /// The names of the rules that are switched off; see [`crate::rules`].
    pub disabled_rules: &'a BTreeSet<String>,
}

/// The plan with exchanges between tasks. One task has the result, in the order of the plan.
///
/// # Errors
///
/// Internal: a node without an input.
pub fn distribute(
    plan: &Arc<PlanNode>,
    context: &DistributionContext<'_>,
) -> Result<Arc<PlanNode>> {
    if has_exchanges(plan) || steps_share_subplans(plan) {
        return Ok(Arc::clone(plan));
    }
    Ok(search::cheapest(plan, context)?.node)
}

struct Distributor<'a> {
    context: &'a DistributionContext<'a>,
    /// Shared subplans that are done, by their number.
    shared: HashMap<u32, Placed>,
    /// Which alternatives a node keeps.
    kept: search::Kept,
}

/// Whether exchanges were placed by hand.
fn has_exchanges(plan: &PlanNode) -> bool {
    plan.walk().iter().any(|it| matches!(it.node, PlanNode::Exchange(_) | PlanNode::PageSource(_)))
}

/// Whether the step of a recursion, or the plan of a map, reads a shared subplan.
fn steps_share_subplans(plan: &PlanNode) -> bool {
    let ids = |plan: &PlanNode| -> HashSet<u32> {
        let shared = plan.walk().into_iter().filter_map(|it| match it.node {
            PlanNode::Spool(node) => Some(node.id),
            _ => None,
        });
        shared.collect()
    };
    let all = plan.walk();
    let steps = all.iter().filter_map(|it| match it.node {
        PlanNode::RecursiveUnion(node) if !it.repeated => Some(&node.step),
        PlanNode::Sub(node) => node.nested_input().and_then(|it| node.inputs.get(it)),
        _ => None,
    });
    let mut in_steps = HashSet::new();
    steps.for_each(|it| in_steps.extend(ids(it)));
    !in_steps.is_empty()
}

impl Distributor<'_> {
    fn is_enabled(&self, rule: &str) -> bool {
        !self.context.disabled_rules.contains(rule)
    }

    /// The ways to distribute a node that are worth keeping: at least one, the cheapest first.
    fn place(&mut self, node: &Arc<PlanNode>) -> Result<Vec<Placed>> {
        let alternatives = deep(|| self.place_node(node))?;
        Ok(self.pruned(alternatives))
    }

    fn place_node(&mut self, node: &Arc<PlanNode>) -> Result<Vec<Placed>> {
        match &**node {
            PlanNode::TableScan(scan) => Ok(vec![Placed {
                rows: self.rows(node, &[]),
                node: Arc::clone(node),
                distribution: match (self.context.is_everywhere)(&scan.table) {
                    true => Distribution::Arbitrary,
                    false => Distribution::Single,
                },
                cost: 0.0,
            }]),
            PlanNode::Values(_)
            | PlanNode::WorkingTable(_)
            | PlanNode::TaskInput(_)
            | PlanNode::PageSource(_) => Ok(vec![self.in_one_task(node, Vec::new())]),
            PlanNode::Filter(_)
            | PlanNode::Project(_)
            | PlanNode::GroupId(_)
            | PlanNode::Repeat(_)
            | PlanNode::Unnest(_)
            | PlanNode::UniqueId(_) => self.row_by_row(node),
            PlanNode::Sample(sample) if sample.seed.is_none() => self.row_by_row(node),
            PlanNode::Sub(sub) => self.sub(node, sub),
            PlanNode::Sample(_) | PlanNode::EnforceSingleRow(_) | PlanNode::TableWrite(_) => {
                self.each_input(node, |it, input| it.above(node, it.single(input)))
            }
            PlanNode::LocalExchange(exchange) => self.local_exchange(node, &exchange.kind),
            PlanNode::Exchange(exchange) => self.place(&exchange.input),
            PlanNode::Aggregation(aggregation) => self.aggregation(node, aggregation),
            PlanNode::Window(window) => self.window(node, window),
            PlanNode::HashJoin(join) => self.hash_join(node, join),
            PlanNode::NestedLoopJoin(join) => self.nested_loop_join(node, join),
            PlanNode::AsofJoin(join) => self.asof_join(node, join),
            PlanNode::OrderBy(_) => self.order_by(node),
            PlanNode::TopN(top_n) => self.top_n(node, top_n),
            PlanNode::Limit(limit) => self.limit(node, limit),
            PlanNode::Union(_) => self.union(node),
            PlanNode::Spool(shared) => self.shared(shared),
            PlanNode::RecursiveUnion(recursion) => self.recursion(node, recursion),
            // Merge joins, limits of groups, nodes of other crates.
            _ => self.one_task_in_order(node),
        }
    }

    /// A node of one input, above each way to place that.
    fn each_input(
        &mut self,
        node: &PlanNode,
        above: impl Fn(&Self, Placed) -> Placed,
    ) -> Result<Vec<Placed>> {
        let [input] = node.inputs()[..] else {
            return Err(volley_error::Error::internal("a plan node without its input"));
        };
        let inputs = self.place(input)?;
        Ok(inputs.into_iter().map(|it| above(self, it)).collect())
    }

    /// A node in the tasks of its input.
    fn above(&self, node: &PlanNode, input: Placed) -> Placed {
        let distribution = input.distribution.mapped(|column| outputs_of(node, column));
        let rows = self.rows(node, &[input.rows]);
        let cost = input.cost;
        Placed { node: Arc::new(node.with_inputs(vec![input.node])), distribution, rows, cost }
    }

    fn in_one_task(&self, node: &PlanNode, inputs: Vec<Placed>) -> Placed {
        let rows: Vec<_> = inputs.iter().map(|it| it.rows).collect();
        let rows = self.rows(node, &rows);
        let cost = inputs.iter().map(|it| it.cost).sum();
        let inputs = inputs.into_iter().map(|it| it.node).collect();
        let node = Arc::new(node.with_inputs(inputs));
        Placed { node, distribution: Distribution::Single, rows, cost }
    }

    /// A node that works on any rows by themselves.
    fn row_by_row(&mut self, node: &PlanNode) -> Result<Vec<Placed>> {
        self.each_input(node, |it, input| it.above(node, input))
    }

    /// A node that needs all rows of all inputs, in their order.
    fn one_task_in_order(&mut self, node: &PlanNode) -> Result<Vec<Placed>> {
        let inputs = node.inputs().into_iter().map(|input| {
            let placed = self.place(input)?.into_iter();
            search::first_cheapest(placed.map(|it| self.single_in_order(it)))
        });
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        Ok(vec![self.in_one_task(node, inputs)])
    }

    fn local_exchange(&mut self, node: &PlanNode, kind: &ExchangeKind) -> Result<Vec<Placed>> {
        self.each_input(node, |it, input| {
            let input = match kind {
                ExchangeKind::Gather => it.single(input),
                ExchangeKind::Hash(keys) if !keys.is_empty() => it.together(input, keys),
                ExchangeKind::Hash(_) => it.single(input),
                ExchangeKind::RoundRobin => input,
            };
            it.above(node, input)
        })
    }

    fn order_by(&mut self, node: &PlanNode) -> Result<Vec<Placed>> {
        self.each_input(node, |it, input| {
            let PlanNode::OrderBy(sort) = node else { return it.above(node, input) };
            if input.distribution == Distribution::Single || !it.is_enabled(SORT_BELOW_EXCHANGES) {
                return it.above(node, it.single(input));
            }
            let sorted = it.above(node, input);
            it.exchanged(sorted, Routing::Merge(sort.keys.clone()))
        })
    }

    fn top_n(&mut self, node: &PlanNode, top_n: &TopNNode) -> Result<Vec<Placed>> {
        self.each_input(node, |it, input| it.top_n_above(node, top_n, input))
    }

    fn top_n_above(&self, node: &PlanNode, top_n: &TopNNode, mut input: Placed) -> Placed {
        if input.distribution != Distribution::Single && self.is_enabled(LIMIT_BELOW_EXCHANGES) {
            let limit = top_n.offset.saturating_add(top_n.limit);
            let partial = TopNNode { offset: 0, limit, ..top_n.clone() };
            input = self.above(&PlanNode::TopN(partial), input);
        }
        self.above(node, self.single(input))
    }

    fn limit(&mut self, node: &PlanNode, limit: &LimitNode) -> Result<Vec<Placed>> {
        self.each_input(node, |it, input| it.limit_above(node, limit, input))
    }

    fn limit_above(&self, node: &PlanNode, limit: &LimitNode, mut input: Placed) -> Placed {
        if let Some(rows) = limit.limit
            && input.distribution != Distribution::Single
            && self.is_enabled(LIMIT_BELOW_EXCHANGES)
        {
            let limit = Some(limit.offset.saturating_add(rows));
            let partial = LimitNode {
                node_id: PlanNodeId::UNASSIGNED,
                input: Arc::clone(&input.node),
                offset: 0,
                limit,
            };
            input = self.above(&PlanNode::Limit(partial), input);
        }
        self.above(node, self.single(input))
    }

    fn union(&mut self, node: &PlanNode) -> Result<Vec<Placed>> {
        let inputs = node.inputs().into_iter();
        let inputs = inputs.map(|it| search::first_cheapest(self.place(it)?.into_iter()));
        let mut inputs = inputs.collect::<Result<Vec<_>>>()?;
        if inputs.iter().all(|it| it.distribution == Distribution::Single) {
            return Ok(vec![self.in_one_task(node, inputs)]);
        }
        for input in &mut inputs {
            if input.distribution == Distribution::Single {
                *input = self.exchanged(input.clone(), Routing::Any);
            }
        }
        let distribution = Distribution::common(inputs.iter().map(|it| &it.distribution));
        let rows: Vec<_> = inputs.iter().map(|it| it.rows).collect();
        let rows = self.rows(node, &rows);
        let cost = inputs.iter().map(|it| it.cost).sum();
        let inputs = inputs.into_iter().map(|it| it.node).collect();
        let node = Arc::new(node.with_inputs(inputs));
        Ok(vec![Placed { node, distribution, rows, cost }])
    }

    /// A reader of a subplan that is a fragment by itself: the same one for all readers. The first
    /// one pays for it.
    fn shared(&mut self, shared: &SpoolNode) -> Result<Vec<Placed>> {
        let done = match self.shared.get(&shared.id) {
            Some(done) => Placed { cost: 0.0, ..done.clone() },
            None => {
                let input = search::first_cheapest(self.place(&shared.input)?.into_iter())?;
                let node = SpoolNode { input: input.node, ..shared.clone() };
                let done = Placed { node: Arc::new(PlanNode::Spool(node)), ..input };
                self.shared.insert(shared.id, done.clone());
                done
            }
        };
        let distribution = done.distribution.clone();
        Ok(vec![Placed { distribution, ..self.exchanged(done, Routing::Forward) }])
    }

    /// A recursion runs in one task; what it begins with, and what its steps read again, need not.
    fn recursion(
        &mut self,
        node: &PlanNode,
        recursion: &RecursiveUnionNode,
    ) -> Result<Vec<Placed>> {
        let before =
            [&recursion.anchor].into_iter().chain(recursion.kept.iter().map(|it| &it.input));
        let mut inputs = Vec::new();
        for input in before {
            inputs.push(self.place_single(input)?);
        }
        inputs.push(Placed::in_step(&recursion.step));
        Ok(vec![self.in_one_task(node, inputs)])
    }

    /// An input whose rows are all in one task.
    fn place_single(&mut self, input: &Arc<PlanNode>) -> Result<Placed> {
        let placed = self.place(input)?.into_iter();
        search::first_cheapest(placed.map(|it| self.single(it)))
    }

    /// A sub-operator runs in one task; so does the plan of a map.
    fn sub(&mut self, node: &PlanNode, sub: &SubNode) -> Result<Vec<Placed>> {
        let mut inputs = Vec::new();
        for (position, input) in sub.inputs.iter().enumerate() {
            inputs.push(match sub.nested_input() == Some(position) {
                true => Placed::in_step(input),
                false => self.place_single(input)?,
            });
        }
        Ok(vec![self.in_one_task(node, inputs)])
    }

    /// All rows in one task, in any order.
    fn single(&self, input: Placed) -> Placed {
        match input.distribution {
            Distribution::Single => input,
            _ => self.exchanged(input, Routing::Gather),
        }
    }

    /// All rows in one task, in the order that the rows of each driver have.
    fn single_in_order(&self, input: Placed) -> Placed {
        let keys = input.node.order();
        if input.distribution == Distribution::Single || keys.is_empty() {
            return self.single(input);
        }
        let sort = PlanNode::OrderBy(volley_plan::OrderByNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: Arc::clone(&input.node),
            keys: keys.clone(),
        });
        let sorted = self.above(&sort, input);
        self.exchanged(sorted, Routing::Merge(keys))
    }

    /// Rows with equal values in `keys` in the same task.
    fn together(&self, input: Placed, keys: &[usize]) -> Placed {
        if input.distribution.keeps_together(keys) {
            return input;
        }
        self.exchanged(input, Routing::Hash(keys.to_vec()))
    }

    /// The rows on the other side of an exchange.
    fn exchanged(&self, input: Placed, routing: Routing) -> Placed {
        let cost = input.cost + self.moving(&input, &routing);
        let Placed { node, distribution, rows, .. } = input;
        let senders = distribution.tasks();
        let (node, senders) = match &*node {
            // What an exchange between drivers does below one between tasks is lost.
            PlanNode::LocalExchange(local) => (Arc::clone(&local.input), senders),
            // The rows of a shared subplan go where they are needed at once.
            PlanNode::Exchange(forward) if forward.routing == Routing::Forward => {
                (Arc::clone(&forward.input), forward.senders)
            }
            _ => (node, senders),
        };
        let distribution = match &routing {
            Routing::Gather | Routing::Merge(_) => Distribution::Single,
            Routing::Hash(keys) => Distribution::of_keys(keys),
            Routing::Forward => distribution,
            Routing::Any | Routing::Range(_) | Routing::Broadcast | Routing::Replicate => {
                Distribution::Arbitrary
            }
        };
        let node_id = PlanNodeId::UNASSIGNED;
        let exchange = ExchangeNode { node_id, input: node, senders, routing };
        Placed { node: Arc::new(PlanNode::Exchange(exchange)), distribution, rows, cost }
    }
}
