//! The details of each node: what each driver did, and the counters of its operators.

use crate::{
    ProfileNode, QueryProfile,
    format::{bytes, count, counter, encodings, escaped, estimate, percent, time},
    query_profile::skew,
};
use std::fmt::Write;
use volley_exec::{FilterCounts, OperatorStatistics};

impl QueryProfile {
    /// A section per node, which the script shows one at a time.
    pub(super) fn push_details(&self, page: &mut String) {
        page.push_str("<section id=\"details\"><h2>Details</h2>");
        for node in &self.nodes {
            push_node(page, node);
        }
        page.push_str("</section>\n");
    }
}

fn push_node(page: &mut String, node: &ProfileNode) {
    let id = node.id;
    let _ = write!(
        page,
        "<article data-node=\"{id}\"><h3>{} <small>node {id}</small></h3><pre>{}</pre>",
        escaped(&node.kind),
        escaped(&node.label)
    );
    if let Some(fragment) = node.fragment {
        let tasks = node.tasks;
        let _ = write!(page, "<p>fragment {fragment}, {tasks} task{}</p>", plural(tasks));
    }
    push_rows(page, node);
    node.operators.iter().for_each(|it| push_operator(page, it, node.tasks));
    page.push_str("</article>");
}

/// Rows and how they were estimated.
fn push_rows(page: &mut String, node: &ProfileNode) {
    let mut parts = Vec::new();
    if let Some(rows) = node.rows() {
        parts.push(format!("{} rows", count(rows)));
    }
    if let Some(expected) = node.estimated_rows {
        parts.push(format!("{} expected", estimate(expected)));
    }
    if let Some(error) = node.estimate_error().filter(|it| *it >= 2.0) {
        parts.push(format!("wrong by {error:.1} times"));
    }
    if !parts.is_empty() {
        let _ = write!(page, "<p>{}</p>", parts.join(", "));
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// `tasks`: how many ran it.
fn push_operator(page: &mut String, operator: &OperatorStatistics, tasks: usize) {
    let total = operator.total();
    let _ = write!(
        page,
        "<h4>{}</h4><p>pipeline {}, {} drivers, skew {:.2}, peak memory {}</p>",
        escaped(operator.name),
        operator.pipeline,
        operator.drivers.len(),
        skew(operator),
        bytes(operator.peak_bytes as u64)
    );
    if let Some(encodings) = encodings(&total) {
        let _ = write!(page, "<p>encodings of columns: {encodings}</p>");
    }
    let named: Vec<_> = total.named.iter().filter(|it| it.1 > 0).collect();
    if !named.is_empty() {
        page.push_str("<table class=\"counters\"><tbody>");
        for (name, value) in named {
            let value = if name.starts_with("bytes") || name.ends_with("bytes") {
                bytes(*value)
            } else {
                counter(name, *value)
            };
            let _ = write!(page, "<tr><th>{}</th><td>{value}</td></tr>", escaped(name));
        }
        page.push_str("</tbody></table>");
    }
    push_filters(page, &total.filters);
    page.push_str(
        "<table class=\"drivers\"><thead><tr><th>Driver</th><th>Rows in</th><th>Rows out</th>\
         <th>Time</th><th>Waited</th></tr></thead><tbody>",
    );
    let of_task = operator.drivers.len().div_ceil(tasks.max(1)).max(1);
    for (driver, counts) in operator.drivers.iter().enumerate() {
        let driver = match tasks {
            0 | 1 => driver.to_string(),
            _ => format!("task {}, driver {}", driver / of_task, driver % of_task),
        };
        let waits = counts.blocked.iter().map(|(why, it)| format!("{why} {}", time(*it)));
        let waits: Vec<String> = waits.collect();
        let _ = write!(
            page,
            "<tr><td>{driver}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            count(counts.rows_in),
            count(counts.rows_out),
            time(counts.busy),
            escaped(&waits.join(", "))
        );
    }
    page.push_str("</tbody></table>");
}

/// What each filter dropped.
fn push_filters(page: &mut String, filters: &[FilterCounts]) {
    if filters.is_empty() {
        return;
    }
    page.push_str(
        "<table class=\"filters\"><thead><tr><th>Filter</th><th>Rows in</th><th>Rows out</th>\
         <th>Dropped</th></tr></thead><tbody>",
    );
    for filter in filters {
        let dropped = filter.rows_in.saturating_sub(filter.rows_out);
        let _ = write!(
            page,
            "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&filter.text),
            count(filter.rows_in),
            count(filter.rows_out),
            percent(dropped as f64 / filter.rows_in.max(1) as f64)
        );
    }
    page.push_str("</tbody></table>");
}
