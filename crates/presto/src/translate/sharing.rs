//! Equal subplans run once.
//!
//! Presto repeats the plan of a common table expression for each of its readers, with other names
//! for variables and scans. Two sums of the same floats, added up in different orders, may differ
//! in the last digits: TPC-H query 15 compares one with the maximum of all. A fragment is therefore
//! translated twice. The first time finds the aggregations whose plans are equal but for names and
//! scans; the second time shares each of them among its readers. Only the outermost of nested ones
//! are shared, and none that calls a function whose result changes from call to call.

use super::{Translator, relation::Relation};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use volley_error::Result;
use volley_plan::{PlanNode, PlanNodeId, SpoolNode};

/// Functions whose result changes from call to call.
const VOLATILE: [&str; 7] =
    ["random", "rand", "secure_rand", "uuid", "shuffle", "noisy_", "reservoir_sample"];

/// The aggregations of a fragment, in the order in which their translation begins.
#[derive(Default)]
pub(super) struct Aggregations {
    found: Vec<Found>,
    /// Those whose translation has begun and has not ended.
    open: Vec<usize>,
}

struct Found {
    /// The plan as text, without names of scans.
    text: String,
    enclosing: Option<usize>,
}

/// What the second translation shares.
#[derive(Default)]
pub(super) struct Sharing {
    /// For each aggregation, in the order of [`Aggregations`]: the identity of what it shares.
    ids: Vec<Option<u32>>,
    next: usize,
    made: BTreeMap<u32, Arc<PlanNode>>,
}

/// What a translation does about equal subplans.
pub(super) enum SharingPass {
    Find(Aggregations),
    Share(Sharing),
}

impl Aggregations {
    /// The subplans that have several readers.
    pub(super) fn shared(&self) -> Sharing {
        let mut readers: HashMap<&str, usize> = HashMap::new();
        for found in &self.found {
            *readers.entry(&found.text).or_default() += 1;
        }
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut ids: Vec<Option<u32>> = Vec::new();
        for found in &self.found {
            // Aggregations around this one come before it.
            let is_inside = self.is_inside_shared(found.enclosing, &ids);
            let is_shared = readers.get(found.text.as_str()).is_some_and(|it| *it > 1);
            let is_volatile = VOLATILE.iter().any(|it| found.text.contains(it));
            ids.push(match is_shared && !is_inside && !is_volatile {
                true => {
                    let next = known.len() as u32;
                    Some(*known.entry(&found.text).or_insert(next))
                }
                false => None,
            });
        }
        Sharing { ids, next: 0, made: BTreeMap::new() }
    }

    fn is_inside_shared(&self, mut enclosing: Option<usize>, ids: &[Option<u32>]) -> bool {
        while let Some(index) = enclosing {
            if ids.get(index).is_some_and(Option::is_some) {
                return true;
            }
            enclosing = self.found.get(index).and_then(|it| it.enclosing);
        }
        false
    }
}

impl Sharing {
    /// Whether no subplan has several readers.
    pub(super) fn is_empty(&self) -> bool {
        self.ids.iter().all(Option::is_none)
    }
}

impl Translator<'_> {
    /// Runs the translation of an aggregation that returns results.
    pub(super) fn shared(
        &mut self,
        translate: impl FnOnce(&mut Self) -> Result<Relation>,
    ) -> Result<Relation> {
        let index = match &mut self.pass {
            SharingPass::Find(aggregations) => {
                let index = aggregations.found.len();
                let enclosing = aggregations.open.last().copied();
                aggregations.found.push(Found { text: String::new(), enclosing });
                aggregations.open.push(index);
                index
            }
            SharingPass::Share(sharing) => {
                sharing.next += 1;
                sharing.next - 1
            }
        };
        let relation = translate(self)?;
        match &mut self.pass {
            SharingPass::Find(aggregations) => {
                aggregations.open.pop();
                let mut text = format!("{:?}", relation.node);
                for id in self.scanned.keys() {
                    text = text.replace(&scan_name(id), "");
                }
                if let Some(found) = aggregations.found.get_mut(index) {
                    found.text = text;
                }
                Ok(relation)
            }
            SharingPass::Share(sharing) => {
                let Some(Some(id)) = sharing.ids.get(index).copied() else { return Ok(relation) };
                let Relation { node, columns } = relation;
                let input = Arc::clone(sharing.made.entry(id).or_insert(node));
                let node_id = PlanNodeId::UNASSIGNED;
                let node = Arc::new(PlanNode::Spool(SpoolNode { node_id, id, input }));
                Ok(Relation { node, columns })
            }
        }
    }
}

/// The part of the name of a table that tells the scan.
pub(super) fn scan_name(id: &str) -> String {
    format!(" by node {id};")
}
