//! The details of each node: what each driver did, and the counters of its operators.

use crate::{
    ProfileNode, QueryProfile,
    format::{bytes, count, counter, escaped, estimate, time},
    query_profile::skew,
};
use std::fmt::Write;
use volley_exec::OperatorStatistics;

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
    push_rows(page, node);
    node.operators.iter().for_each(|it| push_operator(page, it));
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

fn push_operator(page: &mut String, operator: &OperatorStatistics) {
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
    page.push_str(
        "<table class=\"drivers\"><thead><tr><th>Driver</th><th>Rows in</th><th>Rows out</th>\
         <th>Time</th><th>Waited</th></tr></thead><tbody>",
    );
    for (driver, counts) in operator.drivers.iter().enumerate() {
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
