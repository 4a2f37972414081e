//! The cheapest tree, by dynamic programming over sets of inputs.
//!
//! ```text
//! for every set S, small ones first:
//!     for every split of S into L and R, both solved, connected by a condition:
//!         keep the cheapest of cost(L) + cost(R) + cost of joining them
//! ```
//!
//! If conditions do not connect all inputs, connected components are solved first and then joined
//! by cross products, small ones first.

use super::Tree;
use super::graph::{Graph, Inputs};

/// What a row costs that is put into a hash table, against one that probes it.
const BUILD_COST: f64 = 2.0;

/// The cost of an output row of a join, relative to a probe row.
const OUTPUT_COST: f64 = 1.0;

#[derive(Clone)]
struct Solved {
    cost: f64,
    rows: f64,
    /// The side that streams and the one that is held, unless this is one input.
    sides: Option<(Inputs, Inputs)>,
}

/// The cheapest tree of all inputs.
pub(super) fn best_tree(graph: &Graph) -> Tree {
    let all: Inputs = (1 << graph.len()) - 1;
    let solved = solve(graph);
    let mut parts: Vec<(Tree, f64)> = Vec::new();
    for part in parts_of(graph, all) {
        parts.extend(trees_of(part, &solved, graph));
    }
    parts.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return Tree::Input(0) };
    parts
        .fold(first, |left, right| {
            let rows = left.1 * right.1;
            (Tree::join(left, right), rows)
        })
        .0
}

fn solve(graph: &Graph) -> Vec<Option<Solved>> {
    let sets = 1_usize << graph.len();
    let mut solved: Vec<Option<Solved>> = vec![None; sets];
    for input in 0..graph.len() {
        solved[1 << input] = Some(Solved { cost: 0.0, rows: graph.rows[input], sides: None });
    }
    for set in 1..sets as Inputs {
        if set.count_ones() > 1 {
            solved[set as usize] = cheapest(graph, &solved, set);
        }
    }
    solved
}

fn cheapest(graph: &Graph, solved: &[Option<Solved>], set: Inputs) -> Option<Solved> {
    let mut best: Option<Solved> = None;
    let mut rows = None;
    // All subsets that hold the lowest input: each split once.
    let lowest = set & set.wrapping_neg();
    let rest = set & !lowest;
    let mut subset = rest;
    loop {
        subset = subset.wrapping_sub(1) & rest;
        let left = subset | lowest;
        let right = set & !left;
        if let (Some(a), Some(b)) = (&solved[left as usize], &solved[right as usize])
            && graph.connects(left, right)
        {
            let rows = *rows.get_or_insert_with(|| graph.rows_of(set));
            let ((stream, held), (streams, holds)) = match a.rows >= b.rows {
                true => ((left, right), (a, b)),
                false => ((right, left), (b, a)),
            };
            let join = streams.rows + holds.rows * BUILD_COST + rows * OUTPUT_COST;
            let cost = a.cost + b.cost + join;
            if best.as_ref().is_none_or(|it| cost < it.cost) {
                best = Some(Solved { cost, rows, sides: Some((stream, held)) });
            }
        }
        if subset == 0 {
            return best;
        }
    }
}

/// The tree of a set that was solved; otherwise its inputs one by one.
fn trees_of(set: Inputs, solved: &[Option<Solved>], graph: &Graph) -> Vec<(Tree, f64)> {
    match &solved[set as usize] {
        Some(found) => vec![(tree_of(set, solved), found.rows)],
        None => (0..graph.len())
            .filter(|it| set & (1 << it) != 0)
            .map(|it| (Tree::Input(it), graph.rows[it]))
            .collect(),
    }
}

fn tree_of(set: Inputs, solved: &[Option<Solved>]) -> Tree {
    match solved[set as usize].as_ref().and_then(|it| it.sides) {
        Some((stream, held)) => {
            Tree::Join(Box::new(tree_of(stream, solved)), Box::new(tree_of(held, solved)))
        }
        None => Tree::Input(set.trailing_zeros() as usize),
    }
}

/// The parts of the graph that hang together by conditions on two inputs.
fn parts_of(graph: &Graph, all: Inputs) -> Vec<Inputs> {
    let mut parts = Vec::new();
    let mut rest = all;
    while rest != 0 {
        let mut part = rest & rest.wrapping_neg();
        loop {
            let next = (0..graph.len())
                .map(|it| 1 << it)
                .filter(|it| rest & !part & it != 0 && graph.connects(part, *it))
                .fold(part, |part, it| part | it);
            if next == part {
                break;
            }
            part = next;
        }
        parts.push(part);
        rest &= !part;
    }
    parts
}
