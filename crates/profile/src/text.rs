//! A plan as an indented tree, with what its operators did.

use crate::{QueryProfile, format};
use std::fmt::Write;
use volley_exec::OperatorStatistics;

impl QueryProfile {
    /// The plan as an indented tree, one line per node, below it one line per operator that ran.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let Some(node) = self.nodes.get(line.node) else { continue };
            let indent = "  ".repeat(line.depth);
            let again = if line.repeated { " (above)" } else { "" };
            let _ = writeln!(text, "{indent}{}{again}", node.label);
            for operator in node.operators.iter().filter(|_| !line.repeated) {
                push_operator(&mut text, &indent, operator);
            }
        }
        text
    }
}

fn push_operator(text: &mut String, indent: &str, operator: &OperatorStatistics) {
    let total = operator.total();
    let _ = write!(text, "{indent}    {}:", operator.name);
    if total.batches_in > 0 {
        let _ = write!(text, " in {} rows, {} batches;", total.rows_in, total.batches_in);
    }
    let _ = write!(text, " out {} rows, {} batches", total.rows_out, total.batches_out);
    let _ = write!(text, "; cpu {}", format::time(total.busy));
    for (why, time) in &total.blocked {
        let _ = write!(text, "; blocked on {why} {}", format::time(*time));
    }
    if operator.peak_bytes > 0 {
        let _ = write!(text, "; peak {}", format::bytes(operator.peak_bytes as u64));
    }
    let _ = write!(text, "; drivers {}", operator.drivers.len());
    for (name, value) in total.named.iter().filter(|it| it.1 > 0) {
        let _ = write!(text, "; {name} {}", format::counter(name, *value));
    }
    for filter in &total.filters {
        let (kept, tested) = (filter.rows_out, filter.rows_in);
        let _ = write!(text, "; filter {} kept {kept} of {tested}", filter.text);
    }
    if let Some(encodings) = format::encodings(&total) {
        let _ = write!(text, "; encodings {encodings}");
    }
    text.push('\n');
}
