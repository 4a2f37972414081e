//! A plan as a picture.

use crate::{
    ProfileNode, QueryProfile,
    format::{count, escaped, estimate, percent, shortened, time},
    layout::{Edge, Layout, NODE_HEIGHT, NODE_WIDTH},
    query_profile::share_of,
};
use std::{fmt::Write, time::Duration};

/// Characters of a label that fit into a node.
const LABEL_CHARS: usize = 30;

/// The width of the edge with most rows, in pixels.
const EDGE_WIDTH_MAX: f64 = 14.0;

/// How a picture that stands alone looks; the page has styles of its own.
const STYLE: &str = concat!("<style>", include_str!("svg/plan.css"), "</style>");

impl QueryProfile {
    /// The plan as a picture in SVG: edges are as wide as their rows are many, nodes are colored by
    /// their share of the time.
    pub fn svg(&self) -> String {
        self.graph(STYLE)
    }

    /// The picture with a style; the page has its own.
    pub(crate) fn graph(&self, style: &str) -> String {
        let layout = Layout::of(self);
        let (width, height) = (layout.width, layout.height);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plan\" viewBox=\"0 0 {width} \
             {height}\" width=\"{width}\" height=\"{height}\" role=\"group\" aria-label=\"plan\">{style}"
        );
        let rows_max = self.nodes.iter().filter_map(edge_rows).fold(1.0, f64::max);
        layout.edges.iter().for_each(|it| self.draw_edge(&mut svg, &layout, *it, rows_max));
        let busy = self.busy();
        for (node, place) in self.nodes.iter().zip(&layout.places) {
            self.draw_node(&mut svg, node, *place, busy);
        }
        svg.push_str("</svg>");
        svg
    }

    fn draw_edge(&self, svg: &mut String, layout: &Layout, edge: Edge, rows_max: f64) {
        let (Some(node), Some(from), Some(to)) = (
            self.nodes.get(edge.input),
            layout.places.get(edge.input),
            layout.places.get(edge.reader),
        ) else {
            return;
        };
        let (x1, y1) = (from.0 + NODE_WIDTH / 2.0, from.1);
        let (x2, y2) = (to.0 + NODE_WIDTH / 2.0, to.1 + NODE_HEIGHT);
        let middle = (y1 + y2) / 2.0;
        let rows = edge_rows(node);
        // A logarithm shows small and large numbers alike.
        let share = rows.map_or(0.0, |it| (1.0 + it).ln() / (1.0 + rows_max).ln());
        let width = 1.0 + share * (EDGE_WIDTH_MAX - 1.0);
        let dashed = if rows.is_none() { " dashed" } else { "" };
        let _ = write!(
            svg,
            "<path class=\"edge{dashed}\" stroke-width=\"{width:.1}\" \
             d=\"M{x1:.1} {y1:.1}C{x1:.1} {middle:.1} {x2:.1} {middle:.1} {x2:.1} {y2:.1}\"/>"
        );
        if let Some(text) = edge_text(node) {
            let (x, y) = (x1 + 8.0 + width / 2.0, y1 - 8.0);
            let _ =
                write!(svg, "<text class=\"edge-rows\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
        }
    }

    fn draw_node(&self, svg: &mut String, node: &ProfileNode, (x, y): (f64, f64), busy: Duration) {
        let share = share_of(node.busy(), busy);
        let heat = heat(share);
        let id = node.id;
        let label = escaped(&node.label);
        let _ = write!(
            svg,
            "<g class=\"node heat{heat}\" data-node=\"{id}\" transform=\"translate({x:.1} {y:.1})\" \
             tabindex=\"0\" role=\"button\" aria-label=\"{label}\"><title>{label}</title>\
             <rect width=\"{NODE_WIDTH}\" height=\"{NODE_HEIGHT}\" rx=\"6\"/>\
             <text class=\"kind\" x=\"10\" y=\"19\">{}</text>",
            escaped(&node.kind)
        );
        if let Some(fragment) = node.fragment {
            let x = NODE_WIDTH - 10.0;
            let _ = write!(svg, "<text class=\"fragment\" x=\"{x}\" y=\"19\">fragment {fragment}");
            let _ = match node.tasks {
                1 => write!(svg, "</text>"),
                tasks => write!(svg, " ×{tasks}</text>"),
            };
        }
        let detail = node.label.strip_prefix(node.kind.as_str()).unwrap_or_default().trim();
        let detail = shortened(detail, LABEL_CHARS);
        let _ = write!(svg, "<text x=\"10\" y=\"37\">{}</text>", escaped(&detail));
        let figures = match (&self.run, node.operators.is_empty()) {
            (Some(_), false) => format!("{} · {}", percent(share), time(node.busy())),
            (Some(_), true) => "part of the node above".to_owned(),
            (None, _) => String::new(),
        };
        let _ = write!(svg, "<text x=\"10\" y=\"55\">{figures}</text></g>");
    }
}

/// From 0, no time, to 5, half of the time and more.
pub(crate) fn heat(share: f64) -> u32 {
    [0.02, 0.05, 0.12, 0.25, 0.5].iter().filter(|it| share >= **it).count() as u32
}

fn edge_rows(node: &ProfileNode) -> Option<f64> {
    node.rows().map(|it| it as f64).or(node.estimated_rows)
}

/// Rows, and the estimate when there is one.
fn edge_text(node: &ProfileNode) -> Option<String> {
    match (node.rows(), node.estimated_rows) {
        (Some(rows), Some(expected)) => {
            Some(format!("{} rows (est. {})", count(rows), estimate(expected)))
        }
        (Some(rows), None) => Some(format!("{} rows", count(rows))),
        (None, Some(expected)) => Some(format!("est. {} rows", estimate(expected))),
        (None, None) => None,
    }
}
