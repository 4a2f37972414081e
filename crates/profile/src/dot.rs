//! A plan in the language of Graphviz.

use crate::{
    QueryProfile,
    format::{count, estimate, percent, shortened, time},
    query_profile::share_of,
    svg::heat,
};
use std::fmt::Write;

/// Characters of a line in a node.
const LINE_CHARS: usize = 48;

/// The fill of a node by its share of the time, as in the picture.
const FILLS: [&str; 6] = ["#ffffff", "#fff8e6", "#ffe8b3", "#ffd08a", "#ffae6b", "#ff8552"];

impl QueryProfile {
    /// The plan as a graph for Graphviz's `dot`.
    pub fn dot(&self) -> String {
        let mut text = "digraph plan {\n  rankdir = BT;\n  node [shape = box, style = \
                        \"rounded,filled\", fontname = \"sans-serif\"];\n"
            .to_owned();
        let busy = self.busy();
        let mut open = None;
        for node in &self.nodes {
            if node.fragment != open {
                self.switch_cluster(&mut text, open, node.fragment);
                open = node.fragment;
            }
            let detail = node.label.strip_prefix(node.kind.as_str()).unwrap_or_default().trim();
            let mut lines = vec![node.kind.clone(), shortened(detail, LINE_CHARS).into_owned()];
            let share = share_of(node.busy(), busy);
            if !node.operators.is_empty() {
                lines.push(format!("{} · {}", percent(share), time(node.busy())));
            }
            lines.retain(|it| !it.is_empty());
            let label: Vec<String> = lines.iter().map(|it| quoted(it)).collect();
            let fill = FILLS.get(heat(share) as usize).copied().unwrap_or(FILLS[0]);
            let label = label.join("\\n");
            let _ = writeln!(text, "  n{} [label = \"{label}\", fillcolor = \"{fill}\"];", node.id);
        }
        self.switch_cluster(&mut text, open, None);
        let positions = self.positions();
        for node in &self.nodes {
            for id in &node.inputs {
                let Some(input) = positions.get(id).and_then(|it| self.nodes.get(*it)) else {
                    continue;
                };
                let label = match (input.rows(), input.estimated_rows) {
                    (Some(rows), _) => format!("{} rows", count(rows)),
                    (None, Some(rows)) => format!("est. {} rows", estimate(rows)),
                    (None, None) => String::new(),
                };
                let _ = writeln!(text, "  n{id} -> n{} [label = \"{label}\"];", node.id);
            }
        }
        text.push_str("}\n");
        text
    }
}

impl QueryProfile {
    /// Ends the box of a fragment and begins that of another one.
    fn switch_cluster(&self, text: &mut String, from: Option<usize>, to: Option<usize>) {
        if from.is_some() {
            text.push_str("  }\n");
        }
        if let Some(fragment) = to {
            let title = self.fragments.get(fragment).map_or("", String::as_str);
            let title = quoted(&format!("fragment {fragment} {title}"));
            let _ = writeln!(
                text,
                "  subgraph cluster_{fragment} {{\n  label = \"{title}\"; fontname = \"sans-serif\";"
            );
        }
    }
}

/// The content of a quoted string.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            it if it.is_control() => quoted.push(' '),
            other => quoted.push(other),
        }
    }
    quoted
}
