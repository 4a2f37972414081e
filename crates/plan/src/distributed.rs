//! A plan that is cut into fragments; several tasks run each fragment.

mod cut;
mod save;
#[cfg(test)]
mod tests;

use crate::{PlanNode, Routing};
use std::{fmt, sync::Arc};
use volley_error::{Error, Result};
use volley_function::Registry;

/// The number of a fragment: its position in [`DistributedPlan::fragments`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FragmentId(pub u32);

/// A plan cut into fragments at its exchanges.
///
/// ```text
/// Exchange hash            fragment 0: the exchange's input, output hash to fragment 1
///   TableScan orders   ->  fragment 1: PageSource of fragment 0 in the place of the exchange
/// ```
#[derive(Clone, Debug)]
pub struct DistributedPlan {
    /// A fragment comes after those that send rows to it. The last one returns the result; it has
    /// one task and no output.
    pub fragments: Vec<Fragment>,
}

/// A part of a plan without exchanges, but for those that replicate scans
/// ([`Routing::Replicate`]).
#[derive(Clone, Debug)]
pub struct Fragment {
    /// What each of its tasks runs. Its leaves may be [`crate::PageSourceNode`]s.
    pub plan: Arc<PlanNode>,
    /// How many tasks run it.
    pub tasks: TaskCount,
    /// Where its rows go; several for a subplan with several readers. Empty for the last fragment.
    pub outputs: Vec<FragmentOutput>,
}

/// How many tasks run a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskCount {
    /// One task, which has all rows.
    One,
    /// As many as the platform has; each table scan's splits are distributed over them.
    All,
}

/// All rows of a fragment on their way to another one.
#[derive(Clone, Debug, PartialEq)]
pub struct FragmentOutput {
    /// The fragment that reads them.
    pub to: FragmentId,
    /// Which task gets which rows.
    pub routing: Routing,
}

impl DistributedPlan {
    /// Checks fragments from an untrusted source: that each plan is right, and that outputs and
    /// page sources match.
    ///
    /// # Errors
    ///
    /// Invalid query, which names the fragment and what is wrong.
    pub fn check(&self, registry: &Registry) -> Result<()> {
        let wrong = |id: usize, what: &str| {
            Err(Error::invalid_query(what.to_owned()).at("fragment", id.to_string()))
        };
        for (id, fragment) in self.fragments.iter().enumerate() {
            fragment.plan.check(registry).map_err(|it| it.at("fragment", id.to_string()))?;
            let is_last = id + 1 == self.fragments.len();
            if is_last != fragment.outputs.is_empty() {
                return wrong(id, "the last fragment has no output, all others have one");
            }
            if is_last && fragment.tasks != TaskCount::One {
                return wrong(id, "the last fragment has several tasks");
            }
            for output in &fragment.outputs {
                let to = output.to.0 as usize;
                let Some(reader) = self.fragments.get(to).filter(|_| to > id) else {
                    return wrong(id, "an output to a fragment that does not come later");
                };
                if output.routing.is_single() && reader.tasks != TaskCount::One {
                    return wrong(id, "rows are gathered by several tasks");
                }
                if output.routing == Routing::Replicate {
                    return wrong(id, "rows that every task makes itself are sent");
                }
                if output.routing == Routing::Forward && reader.tasks != fragment.tasks {
                    return wrong(id, "rows are forwarded to another number of tasks");
                }
                output.routing.check(fragment.plan.schema())?;
            }
            self.check_sources(id, fragment)?;
        }
        if self.fragments.is_empty() {
            return Err(Error::invalid_query("a distributed plan without fragments"));
        }
        Ok(())
    }

    /// Checks that each page source reads an output of its types and order, and that none is read
    /// twice.
    fn check_sources(&self, id: usize, fragment: &Fragment) -> Result<()> {
        let mut read = Vec::new();
        for visit in fragment.plan.walk() {
            let PlanNode::PageSource(source) = visit.node else { continue };
            let sender = self.fragments.get(source.fragment.0 as usize);
            let output = sender.and_then(|it| it.outputs.get(source.output as usize));
            let types = || sender.map(|it| it.plan.schema().types());
            let is_right = output.is_some_and(|it| {
                it.to.0 as usize == id
                    && it.routing.merge_keys() == source.merge
                    && types().is_some_and(|it| it.eq(source.schema.types()))
            });
            if !is_right || read.contains(&(source.fragment, source.output)) {
                let error = Error::invalid_query("a page source without an output of its own");
                return Err(error.at("plan node", visit.node.label()));
            }
            read.push((source.fragment, source.output));
        }
        let sent = self.fragments.iter().flat_map(|it| &it.outputs);
        if sent.filter(|it| it.to.0 as usize == id).count() != read.len() {
            let error = Error::invalid_query("rows are sent to a fragment that does not read them");
            return Err(error.at("fragment", id.to_string()));
        }
        Ok(())
    }
}

impl fmt::Display for Fragment {
    /// How many tasks and where the rows go, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.tasks {
            TaskCount::One => "tasks=one",
            TaskCount::All => "tasks=all",
        })?;
        for output in &self.outputs {
            write!(f, " -> {} {}", output.to, output.routing)?;
        }
        Ok(())
    }
}

impl fmt::Display for FragmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fragment {}", self.0)
    }
}

impl fmt::Display for DistributedPlan {
    /// The last fragment first; per fragment a line, and its plan indented below it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (id, fragment) in self.fragments.iter().enumerate().rev() {
            writeln!(f, "{} {fragment}", FragmentId(id as u32))?;
            for line in fragment.plan.to_string().lines() {
                writeln!(f, "  {line}")?;
            }
        }
        Ok(())
    }
}
