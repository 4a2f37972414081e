//! Where the nodes of a plan stand in a picture: the root on top, inputs below, leaves in order.

use crate::QueryProfile;

/// The size of a node, in pixels.
pub(crate) const NODE_WIDTH: f64 = 208.0;
pub(crate) const NODE_HEIGHT: f64 = 64.0;

/// Between neighbors, in pixels.
const GAP_X: f64 = 24.0;
const GAP_Y: f64 = 56.0;

/// Around the picture, in pixels.
const MARGIN: f64 = 12.0;

/// The places of nodes and edges.
pub(crate) struct Layout {
    /// The left upper corner of each node, in the order of [`QueryProfile::nodes`].
    pub(crate) places: Vec<(f64, f64)>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// From an input to the node that reads it, by position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Edge {
    pub(crate) input: usize,
    pub(crate) reader: usize,
}

impl Layout {
    /// Every node stands one layer below the first that reads it, in the middle of its own inputs.
    pub(crate) fn of(profile: &QueryProfile) -> Layout {
        let positions = profile.positions();
        let mut edges = Vec::new();
        for (reader, node) in profile.nodes.iter().enumerate() {
            let inputs = node.inputs.iter().filter_map(|it| positions.get(it).copied());
            edges.extend(inputs.map(|input| Edge { input, reader }));
        }
        let count = profile.nodes.len();
        let mut depths = vec![0usize; count];
        for line in profile.lines.iter().filter(|it| !it.repeated) {
            if let Some(depth) = depths.get_mut(line.node) {
                *depth = line.depth;
            }
        }
        let columns = columns(count, &edges);
        let place = |(column, depth): (&f64, &usize)| {
            let x = MARGIN + column * (NODE_WIDTH + GAP_X);
            (x, MARGIN + *depth as f64 * (NODE_HEIGHT + GAP_Y))
        };
        let places: Vec<(f64, f64)> = columns.iter().zip(&depths).map(place).collect();
        let width = places.iter().map(|it| it.0).fold(0.0, f64::max) + NODE_WIDTH + MARGIN;
        let height = places.iter().map(|it| it.1).fold(0.0, f64::max) + NODE_HEIGHT + MARGIN;
        Layout { places, edges, width, height }
    }
}

/// The column of each node. A node stands before its inputs, so that no recursion is needed.
fn columns(count: usize, edges: &[Edge]) -> Vec<f64> {
    // A node that several read stands below the first.
    let mut own: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut has_reader = vec![false; count];
    for edge in edges {
        if !std::mem::replace(&mut has_reader[edge.input], true) {
            own[edge.reader].push(edge.input);
        }
    }
    let mut columns = vec![0.0; count];
    for (leaf, node) in (0..count).filter(|it| own[*it].is_empty()).enumerate() {
        columns[node] = leaf as f64;
    }
    for node in (0..count).rev().filter(|it| !own[*it].is_empty()) {
        let sum: f64 = own[node].iter().map(|it| columns[*it]).sum();
        columns[node] = sum / own[node].len() as f64;
    }
    columns
}
