//! Which inputs conditions connect, and how many rows sets of inputs make.

use super::region::Region;
use crate::columns::output_set;
use crate::expr::{ColumnSet, as_column, binary_call, used_columns};
use crate::statistics::{ColumnEstimate, Estimate, common_values};
use volley_logical::Expr;
use volley_types::Type;

/// A set of inputs, as bits; graphs with more inputs than bits use lists of edges only.
pub(super) type Inputs = u64;

/// The share of pairs that satisfy a condition that is no equality.
const OTHER_SHARE: f64 = 0.3;

/// A condition between inputs.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// The inputs whose columns it uses, at least two.
    pub(super) inputs: Vec<usize>,
    /// The share of combinations that satisfy it.
    pub(super) share: f64,
}

/// A class of equal columns.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// At least two, each of another input.
    pub(super) members: Vec<Member>,
    /// The columns' type.
    data_type: Type,
}

/// A column of a class, of one input.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) input: usize,
    /// How many values the column has there.
    pub(super) distinct: f64,
    /// From the smallest to the largest.
    range: Option<(f64, f64)>,
}

pub(super) struct Graph {
    /// The columns of each input.
    pub(super) made: Vec<ColumnSet>,
    /// The rows of each input.
    pub(super) rows: Vec<f64>,
    pub(super) classes: Vec<Class>,
    pub(super) edges: Vec<Edge>,
}

impl Graph {
    pub(super) fn new(region: &Region, estimates: &[Estimate]) -> Graph {
        let made: Vec<ColumnSet> = region.inputs.iter().map(output_set).collect();
        let mut classes = Vec::new();
        for class in region.equal.classes() {
            let mut members: Vec<Member> = Vec::new();
            for (id, _) in class {
                let Some(input) = made.iter().position(|it| it.contains(id)) else { continue };
                let ColumnEstimate { distinct, range, .. } = estimates[input].column(*id);
                match members.iter_mut().find(|it| it.input == input) {
                    Some(member) => member.distinct = member.distinct.min(distinct.max(1.0)),
                    None => members.push(Member { input, distinct: distinct.max(1.0), range }),
                }
            }
            if let (Some((_, data_type)), true) = (class.first(), members.len() > 1) {
                classes.push(Class { members, data_type: data_type.clone() });
            }
        }
        let edge = |conjunct: &Expr| edge_of(conjunct, &made, estimates);
        let edges = region.conjuncts.iter().filter_map(edge).collect();
        let rows = estimates.iter().map(|it| it.rows.max(1.0)).collect();
        Graph { made, rows, classes, edges }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many rows the join of all inputs makes; there must be fewer than [`Inputs`] has bits.
    pub(super) fn rows_of_all(&self) -> f64 {
        self.rows_of((1 << self.len()) - 1)
    }

    /// How many rows the join of these inputs makes; the same for every order.
    pub(super) fn rows_of(&self, inputs: Inputs) -> f64 {
        let has = |input: usize| inputs & (1 << input) != 0;
        let mut rows: f64 = (0..self.len()).filter(|it| has(*it)).map(|it| self.rows[it]).product();
        let within: Vec<f64> = (0..self.len()).map(|it| self.share_within(it, inputs)).collect();
        rows *= within.iter().product::<f64>();
        for class in &self.classes {
            let of_set = class.members.iter().filter(|it| has(it.input));
            let distinct = of_set.map(|it| (it.distinct * within[it.input]).max(1.0));
            // Every value of the member with the fewest finds its partner in the others.
            let (mut all, mut least) = (1.0, f64::INFINITY);
            for distinct in distinct {
                all *= distinct;
                least = f64::min(least, distinct);
            }
            if least.is_finite() {
                rows *= least / all;
            }
        }
        for edge in self.edges.iter().filter(|it| it.inputs.iter().all(|it| has(*it))) {
            rows *= edge.share;
        }
        (rows * self.correction(inputs)).max(1e-3)
    }

    /// The share of an input's rows whose keys lie within the ranges of the other inputs' keys, as
    /// far as it has more keys than there are numbers in the common range: of a calendar of 200
    /// years, sales of five years find those. Its other columns have this share of their values.
    fn share_within(&self, input: usize, inputs: Inputs) -> f64 {
        let has = |it: &&Member| inputs & (1 << it.input) != 0;
        let mut share = 1.0;
        for class in &self.classes {
            let Some(own) = class.members.iter().filter(has).find(|it| it.input == input) else {
                continue;
            };
            let ranges = class.members.iter().filter(has).map(|it| it.range);
            if let Some(values) = common_values(ranges, &class.data_type) {
                share = f64::min(share, values / own.distinct);
            }
        }
        share
    }

    /// Keys of several columns are not independent: two inputs joined on several columns make, at
    /// the least, as many rows as the smaller one, if nothing else is known.
    fn correction(&self, inputs: Inputs) -> f64 {
        let has = |input: usize| inputs & (1 << input) != 0;
        let mut correction = 1.0;
        for left in (0..self.len()).filter(|it| has(*it)) {
            for right in (left + 1..self.len()).filter(|it| has(*it)) {
                let (mut shared, mut share) = (0, 1.0);
                for class in &self.classes {
                    let of = |input| class.members.iter().find(|it| it.input == input);
                    if let (Some(a), Some(b)) = (of(left), of(right)) {
                        shared += 1;
                        share /= a.distinct.max(b.distinct);
                    }
                }
                let least = 1.0 / self.rows[left].max(self.rows[right]);
                if shared > 1 && share < least {
                    correction *= least / share;
                }
            }
        }
        correction
    }

    /// Whether a condition connects two sets of inputs.
    pub(super) fn connects(&self, left: Inputs, right: Inputs) -> bool {
        let in_set = |set: Inputs, input: usize| set & (1 << input) != 0;
        let class = |class: &Class| {
            class.members.iter().any(|it| in_set(left, it.input))
                && class.members.iter().any(|it| in_set(right, it.input))
        };
        let edge = |edge: &Edge| {
            edge.inputs.iter().all(|it| in_set(left | right, *it))
                && edge.inputs.iter().any(|it| in_set(left, *it))
                && edge.inputs.iter().any(|it| in_set(right, *it))
        };
        self.classes.iter().any(class) || self.edges.iter().any(edge)
    }
}

fn edge_of(conjunct: &Expr, made: &[ColumnSet], estimates: &[Estimate]) -> Option<Edge> {
    let used = used_columns(conjunct);
    let inputs: Vec<usize> = (0..made.len()).filter(|it| !made[*it].is_disjoint(&used)).collect();
    if inputs.len() < 2 {
        return None;
    }
    let share = match binary_call(conjunct, "eq") {
        Some((a, b)) => {
            let distinct = |expr: &Expr| {
                let columns = used_columns(expr);
                let input = inputs.iter().find(|it| !made[**it].is_disjoint(&columns))?;
                let estimate = &estimates[*input];
                Some(match as_column(expr) {
                    Some(id) => estimate.column(id).distinct,
                    None => estimate.rows.max(1.0),
                })
            };
            1.0 / distinct(a).unwrap_or(1.0).max(distinct(b).unwrap_or(1.0)).max(1.0)
        }
        None => OTHER_SHARE,
    };
    Some(Edge { inputs, share })
}
