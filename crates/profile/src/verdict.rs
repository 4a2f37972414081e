//! What took the time, in words.

#[cfg(test)]
mod tests;

use crate::{
    ProfileNode, QueryProfile, format,
    query_profile::{BYTES_SPILLED, skew},
};
use std::time::Duration;
use volley_exec::BlockedOn;

/// Estimates that are wrong by less than this do not matter.
const ESTIMATE_ERROR_MIN: f64 = 10.0;

/// Nor do those of nodes that make fewer rows.
const ESTIMATE_ROWS_MIN: u64 = 1000;

/// A driver with this many times the mean of the rows has too many.
const SKEW_MIN: f64 = 2.0;

/// Waiting matters from this share of the time of the drivers.
const WAITING_SHARE_MIN: f64 = 0.25;

impl QueryProfile {
    /// Sentences about what took the time, the most important first.
    pub fn verdict(&self) -> Vec<String> {
        let Some(run) = &self.run else {
            return vec!["The query did not run: this is its plan.".to_owned()];
        };
        let mut sentences = Vec::new();
        if let Some(error) = &run.error {
            sentences.push(format!("The query failed: {error}."));
        }
        let slowest = self.nodes.iter().max_by_key(|it| it.busy());
        if let Some(node) = slowest.filter(|it| !it.busy().is_zero()) {
            let (share, time) = (format::percent(self.share(node)), format::time(node.busy()));
            sentences.push(format!("{share} of the time on threads ({time}) is {}.", named(node)));
        }
        let spilled = self.total(BYTES_SPILLED);
        if spilled > 0 {
            let by = self.nodes.iter().filter(|it| it.counted(BYTES_SPILLED) > 0).map(named);
            let by = by.collect::<Vec<_>>().join(", ");
            sentences.push(format!("{} spilled to disk by {by}.", format::bytes(spilled)));
        }
        sentences.extend(self.wrong_estimate());
        sentences.extend(self.waiting());
        sentences.extend(self.skewed());
        sentences
    }

    /// The worst estimate, if it is bad.
    fn wrong_estimate(&self) -> Option<String> {
        let of_many = |it: &&ProfileNode| it.rows().is_some_and(|rows| rows >= ESTIMATE_ROWS_MIN);
        let errors =
            self.nodes.iter().filter(of_many).filter_map(|it| Some((it, it.estimate_error()?)));
        let (node, _) = errors
            .filter(|it| it.1 >= ESTIMATE_ERROR_MIN)
            .max_by(|left, right| left.1.total_cmp(&right.1))?;
        let expected = format::estimate(node.estimated_rows?);
        let rows = format::count(node.rows()?);
        Some(format!(
            "The optimizer expected {expected} rows from {}; there were {rows}.",
            named(node)
        ))
    }

    /// Waiting for files or for memory.
    fn waiting(&self) -> Option<String> {
        let operators = self.nodes.iter().flat_map(|it| &it.operators);
        let drivers = operators.flat_map(|it| &it.drivers);
        let (mut io, mut memory) = (Duration::ZERO, Duration::ZERO);
        for (why, time) in drivers.flat_map(|it| &it.blocked) {
            match why {
                BlockedOn::Io | BlockedOn::Splits => io += *time,
                BlockedOn::Memory => memory += *time,
                _ => {}
            }
        }
        let least = self.busy().mul_f64(WAITING_SHARE_MIN);
        let (time, what) = if io >= memory { (io, "files") } else { (memory, "memory") };
        let is_much = !time.is_zero() && time >= least;
        is_much.then(|| format!("Drivers waited {} for {what}.", format::time(time)))
    }

    /// The operator whose rows are spread worst, among those that take a tenth of the time.
    fn skewed(&self) -> Option<String> {
        let nodes = self.nodes.iter().filter(|it| self.share(it) >= 0.1);
        let operators = nodes.flat_map(|node| node.operators.iter().map(move |it| (node, it)));
        let uneven = operators.map(|(node, it)| (node, it, skew(it)));
        let (node, operator, skew) = uneven
            .filter(|it| it.2 >= SKEW_MIN && it.1.total().rows_in >= ESTIMATE_ROWS_MIN)
            .max_by(|left, right| left.2.total_cmp(&right.2))?;
        let name = operator.name;
        Some(format!(
            "One driver of {name} ({}) has {skew:.1} times the mean of the rows.",
            named(node)
        ))
    }
}

/// A node as sentences name it.
fn named(node: &ProfileNode) -> String {
    format!("{} (node {})", format::shortened(&node.label, 60), node.id)
}
