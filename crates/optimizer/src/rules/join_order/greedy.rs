//! A good tree for many inputs: always join the two that make the fewest rows.

use super::Tree;
use super::graph::Graph;

/// A class of equal columns connects each member with this many others; more edges would not find
/// better trees, only take longer.
const EDGES_PER_MEMBER: usize = 3;

/// Trees that are not joined yet.
struct Part {
    tree: Tree,
    rows: f64,
}

/// A tree, in time about square in the number of inputs.
pub(super) fn good_tree(graph: &Graph) -> Tree {
    let inputs = graph.len();
    let mut parts: Vec<Option<Part>> =
        (0..inputs).map(|it| Some(Part { tree: Tree::Input(it), rows: graph.rows[it] })).collect();
    let mut part_of: Vec<usize> = (0..inputs).collect();
    let mut edges = edges_of(graph);
    loop {
        edges.retain(|it| part_of[it.0] != part_of[it.1]);
        let rows = |(a, b, share): &(usize, usize, f64)| {
            let of = |it: usize| parts[part_of[it]].as_ref().map_or(1.0, |it| it.rows);
            of(*a) * of(*b) * share
        };
        let best = edges.iter().map(|it| (*it, rows(it))).min_by(|a, b| a.1.total_cmp(&b.1));
        let Some(((a, b, _), rows)) = best else { break };
        let (into, from) = (part_of[a], part_of[b]);
        let (Some(left), Some(right)) = (parts[into].take(), parts[from].take()) else { break };
        let tree = Tree::join((left.tree, left.rows), (right.tree, right.rows));
        parts[into] = Some(Part { tree, rows: rows.max(1.0) });
        part_of.iter_mut().filter(|it| **it == from).for_each(|it| *it = into);
    }
    multiplied(parts)
}

/// Cross products of what no condition connects, small ones first.
fn multiplied(parts: Vec<Option<Part>>) -> Tree {
    let mut parts: Vec<Part> = parts.into_iter().flatten().collect();
    parts.sort_by(|a, b| a.rows.total_cmp(&b.rows));
    let joined = parts.into_iter().reduce(|left, right| {
        let rows = left.rows * right.rows;
        Part { tree: Tree::join((left.tree, left.rows), (right.tree, right.rows)), rows }
    });
    joined.map_or(Tree::Input(0), |it| it.tree)
}

fn edges_of(graph: &Graph) -> Vec<(usize, usize, f64)> {
    let mut edges = Vec::new();
    for class in &graph.classes {
        for (at, a) in class.members.iter().enumerate() {
            for b in class.members.iter().skip(at + 1).take(EDGES_PER_MEMBER) {
                edges.push((a.input, b.input, 1.0 / a.distinct.max(b.distinct)));
            }
        }
    }
    for edge in &graph.edges {
        if let [a, b] = edge.inputs.as_slice() {
            edges.push((*a, *b, edge.share));
        }
    }
    edges
}
