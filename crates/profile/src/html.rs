//! A profile as one page that needs nothing else: styles, a script and pictures are in it.
//!
//! ```text
//! statement and verdict · figures · plan as a graph · time line per driver · memory
//! operators as a table that sorts · details of each node · settings
//! ```
//!
//! Everything is in the markup, so that the page also reads without the script and prints whole.
//! The script selects nodes, sorts and zooms. The content security policy allows no request.

mod details;
mod timeline;
#[cfg(test)]
mod tests;

use crate::{
    ProfileNode, QueryProfile,
    format::{bytes, count, escaped, estimate, percent, time},
    query_profile::{BYTES_READ, BYTES_SPILLED, share_of},
};
use std::{fmt::Write, time::Duration};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// What the page may load: nothing but its own style and script. The icon is an empty text.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:";

/// Characters of the statement in the title of the page.
const TITLE_CHARS: usize = 60;

impl QueryProfile {
    /// The profile as an HTML page.
    pub fn html(&self) -> String {
        let mut page = String::new();
        let title = self.statement.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = crate::format::shortened(&title, TITLE_CHARS);
        let _ = writeln!(
            page,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <link rel=\"icon\" href=\"data:,\">\
             <title>{} - profile</title><style>{STYLE}</style></head><body>",
            escaped(&title)
        );
        self.push_head(&mut page);
        let _ = writeln!(
            page,
            "<section id=\"plan\"><h2>Plan</h2><div class=\"tools\" role=\"group\" \
             aria-label=\"zoom\"><button data-zoom=\"in\">+</button><button data-zoom=\"out\">−\
             </button><button data-zoom=\"fit\">Fit</button><span class=\"hint\">Tab and arrow \
             keys move, Enter selects</span></div><div class=\"graph\">{}</div></section>",
            self.graph("")
        );
        self.push_timeline(&mut page);
        self.push_table(&mut page);
        self.push_details(&mut page);
        self.push_settings(&mut page);
        let _ = writeln!(page, "<script>{SCRIPT}</script></body></html>");
        page
    }

    fn push_head(&self, page: &mut String) {
        let _ =
            write!(page, "<header><h1>Query profile</h1><pre>{}</pre>", escaped(&self.statement));
        page.push_str("<div id=\"verdict\">");
        for sentence in self.verdict() {
            let _ = write!(page, "<p>{}</p>", escaped(&sentence));
        }
        page.push_str("</div>");
        if let Some(run) = &self.run {
            let figures = [
                ("Time", time(run.elapsed)),
                ("Time on threads", time(self.busy())),
                ("Peak memory", bytes(run.peak_bytes as u64)),
                ("Read", bytes(self.total(BYTES_READ))),
                ("Spilled", bytes(self.total(BYTES_SPILLED))),
                ("Rows", self.nodes.first().and_then(ProfileNode::rows).map_or("–".into(), count)),
            ];
            page.push_str("<dl>");
            for (name, value) in figures {
                let _ = write!(page, "<div><dt>{name}</dt><dd>{value}</dd></div>");
            }
            page.push_str("</dl>");
        }
        page.push_str("</header>\n");
    }

    /// A row per operator.
    fn push_table(&self, page: &mut String) {
        if self.run.is_none() {
            return;
        }
        page.push_str(
            "<section id=\"operators\"><h2>Operators</h2><table class=\"sorts\"><thead><tr>",
        );
        let names = [
            "Node",
            "Operator",
            "Pipeline",
            "Time",
            "Share",
            "Rows in",
            "Rows out",
            "Expected",
            "Waited",
            "Peak memory",
            "Read",
            "Spilled",
        ];
        for (index, name) in names.iter().enumerate() {
            let _ = write!(page, "<th><button data-column=\"{index}\">{name}</button></th>");
        }
        page.push_str("</tr></thead><tbody>");
        let busy = self.busy();
        for node in &self.nodes {
            push_rows(page, node, busy);
        }
        page.push_str("</tbody></table></section>\n");
    }

    fn push_settings(&self, page: &mut String) {
        page.push_str("<section id=\"settings\"><h2>Settings</h2><table><tbody>");
        let version = ("version".to_owned(), self.version.clone());
        for (name, value) in std::iter::once(&version).chain(&self.settings) {
            let (name, value) = (escaped(name), escaped(value));
            let _ = write!(page, "<tr><th>{name}</th><td>{value}</td></tr>");
        }
        page.push_str("</tbody></table></section>\n");
    }
}

fn push_rows(page: &mut String, node: &ProfileNode, all: Duration) {
    let last = node.last_operator();
    for (index, operator) in node.operators.iter().enumerate() {
        let total = operator.total();
        let waited: Duration = total.blocked.iter().map(|it| it.1).sum();
        let expected = node.estimated_rows.filter(|_| last == Some(index));
        let (read, spilled) = (operator.counted(BYTES_READ), operator.counted(BYTES_SPILLED));
        let _ = write!(page, "<tr data-node=\"{}\" tabindex=\"0\">", node.id);
        let share = share_of(total.busy, all);
        let mut cell = |key: f64, text: &str| {
            let _ = write!(page, "<td data-key=\"{key}\">{}</td>", escaped(text));
        };
        cell(f64::from(node.id.number()), &format!("{} {}", node.id, node.kind));
        cell(operator.position as f64, operator.name);
        cell(operator.pipeline as f64, &operator.pipeline.to_string());
        cell(total.busy.as_nanos() as f64, &time(total.busy));
        cell(share, &percent(share));
        cell(total.rows_in as f64, &count(total.rows_in));
        cell(total.rows_out as f64, &count(total.rows_out));
        cell(expected.unwrap_or(-1.0), &expected.map_or("–".to_owned(), estimate));
        cell(waited.as_nanos() as f64, &time(waited));
        cell(operator.peak_bytes as f64, &bytes(operator.peak_bytes as u64));
        cell(read as f64, &bytes(read));
        cell(spilled as f64, &bytes(spilled));
        page.push_str("</tr>");
    }
}
