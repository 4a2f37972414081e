//! Finds build rows by comparisons, without a look at each.
//!
//! ```text
//! one comparison     build rows in the order of its column: those of a probe row are neighbors,
//!                    found by binary search
//! two comparisons    neighbors by the first; among them, those whose rank by the second one is
//!                    beyond that of the probe row, found by a tree of largest ranks
//! nearest (ASOF)     build rows in the order of keys and of the comparison's column: a hash of the
//!                    keys tells where those of equal keys are, binary search which one is nearest
//! ```
//!
//! Rows with a null in a column of a comparison are left out. The tree plays the part of IEJoin's
//! bit array (Khayyat et al., Lightning Fast and Space Efficient Inequality Joins, VLDB 2015), but
//! needs no order of the probe side, which streams.

mod build;
mod groups;
mod keys;
mod tree;
#[cfg(test)]
mod tests;

pub(super) use build::LookupBuilder;
pub(crate) use keys::ordered_integers;

use groups::Groups;
use keys::SortedKeys;
use tree::MaxTree;
use volley_error::{Error, Result};
use volley_memory::Reservation;
use volley_plan::{Comparison, JoinKind, RangeCondition};
use volley_vector::{Batch, Decoded};

/// What a join finds build rows by.
#[derive(Clone, Debug)]
pub(super) enum LookupSpec {
    /// One comparison, or two.
    Ranges(Vec<RangeCondition>),
    /// The nearest row.
    Asof(AsofSpec),
}

/// How the nearest of the rows with equal keys is found.
#[derive(Clone, Debug)]
pub(super) struct AsofSpec {
    /// Probe and build column, whether nulls are equal.
    pub keys: Vec<(usize, usize, bool)>,
    pub range: RangeCondition,
}

/// The index of a build side.
pub(super) struct Lookup {
    spec: LookupSpec,
    /// Build rows by the order of keys and of the first comparison.
    order: Vec<u32>,
    first: SortedKeys,
    second: Option<Second>,
    groups: Option<Groups>,
    _charge: Reservation,
}

/// The second comparison.
struct Second {
    keys: SortedKeys,
    /// Ranks by it, or their distance from the last one, in the order of the first comparison.
    ranks: MaxTree,
}

/// The build rows that may match the rows of a probe batch.
pub(super) struct Candidates {
    /// Per probe row: places in the order, from one to before another.
    places: Vec<(u32, u32)>,
    /// Per probe row: the least rank.
    least: Vec<u32>,
    /// Where the walk stands: a probe row, and how many of its places are behind.
    row: usize,
    behind: usize,
}

impl LookupSpec {
    /// Whether the lookup decides which pairs match, so that it cannot be left out.
    pub(super) fn is_needed(&self) -> bool {
        self.asof().is_some()
    }

    /// How the nearest rows are found, if these are looked for.
    pub(super) fn asof(&self) -> Option<&AsofSpec> {
        match self {
            LookupSpec::Ranges(_) => None,
            LookupSpec::Asof(asof) => Some(asof),
        }
    }

    fn first(&self) -> Result<RangeCondition> {
        match self {
            LookupSpec::Ranges(ranges) => ranges.first().copied(),
            LookupSpec::Asof(asof) => Some(asof.range),
        }
        .ok_or_else(|| Error::internal("a lookup without a comparison"))
    }

    fn second(&self) -> Option<RangeCondition> {
        match self {
            LookupSpec::Ranges(ranges) => ranges.get(1).copied(),
            LookupSpec::Asof(_) => None,
        }
    }
}

impl Lookup {
    /// The candidates of each row of a probe batch.
    ///
    /// # Errors
    ///
    /// None: columns are loaded.
    pub(super) fn candidates(&self, probe: &Batch) -> Result<Candidates> {
        let first = self.spec.first()?;
        let column = probe.column(first.probe);
        let nulls = Decoded::new(column)?;
        let mut places = match &self.groups {
            Some(groups) => groups.places(probe)?,
            None => vec![(0, self.order.len() as u32); probe.rows()],
        };
        let bounds = self.first.bounds(column)?;
        for (row, places) in places.iter_mut().enumerate() {
            if nulls.is_null(row) || places.0 == places.1 {
                *places = (0, 0);
                continue;
            }
            let bound = |is_upper| bounds.find(row, is_upper, *places);
            *places = match first.comparison {
                Comparison::Less => (bound(true), places.1),
                Comparison::LessOrEqual => (bound(false), places.1),
                Comparison::Greater => (places.0, bound(false)),
                Comparison::GreaterOrEqual => (places.0, bound(true)),
            };
            if self.spec.is_needed() && places.0 < places.1 {
                *places = match first.comparison.is_less() {
                    true => (places.0, places.0 + 1),
                    false => (places.1 - 1, places.1),
                };
            }
        }
        let least = self.least_ranks(probe, &mut places)?;
        Ok(Candidates { places, least, row: 0, behind: 0 })
    }

    /// The least ranks of build rows that satisfy the second comparison; rows for which none does
    /// get no places.
    fn least_ranks(&self, probe: &Batch, places: &mut [(u32, u32)]) -> Result<Vec<u32>> {
        let (Some(second), Some(range)) = (&self.second, self.spec.second()) else {
            return Ok(Vec::new());
        };
        let column = probe.column(range.probe);
        let nulls = Decoded::new(column)?;
        let bounds = second.keys.bounds(column)?;
        let rows = second.keys.len() as u32;
        let least = places.iter_mut().enumerate().map(|(row, places)| {
            if nulls.is_null(row) {
                *places = (0, 0);
                return 0;
            }
            let bound = |is_upper| bounds.find(row, is_upper, (0, rows));
            match range.comparison {
                Comparison::Less => bound(true),
                Comparison::LessOrEqual => bound(false),
                // Ranks are counted from the last one.
                Comparison::Greater => rows - bound(false),
                Comparison::GreaterOrEqual => rows - bound(true),
            }
        });
        Ok(least.collect())
    }

    /// Adds the next candidates, up to `limit` of them, as pairs of probe and build rows; at most
    /// one per probe row where one `is_enough`. Probe rows that are `settled` are left out. False
    /// when there are no more.
    pub(super) fn next_pairs(
        &self,
        candidates: &mut Candidates,
        limit: usize,
        is_enough: bool,
        settled: &[bool],
        pairs: (&mut Vec<u32>, &mut Vec<u32>),
    ) -> bool {
        let (probe_rows, build_rows) = pairs;
        let ends_row = |row: usize| settled.get(row).copied().unwrap_or(false);
        while let Some((start, end)) = candidates.places.get(candidates.row).copied() {
            if probe_rows.len() >= limit {
                return true;
            }
            let (row, from) = (candidates.row, start as usize + candidates.behind);
            let room = if is_enough { 1 } else { limit - probe_rows.len() };
            let before = probe_rows.len();
            let mut at = end as usize;
            if !ends_row(row) && from < end as usize {
                at = self.take(candidates.least.get(row), from..end as usize, room, build_rows);
            }
            probe_rows.resize(build_rows.len(), row as u32);
            let is_done = at >= end as usize || (is_enough && probe_rows.len() > before);
            match is_done {
                true => (candidates.row, candidates.behind) = (row + 1, 0),
                false => candidates.behind = at - start as usize,
            }
        }
        false
    }

    /// Adds up to `room` build rows of places; the place to go on from.
    fn take(
        &self,
        least: Option<&u32>,
        places: std::ops::Range<usize>,
        room: usize,
        build_rows: &mut Vec<u32>,
    ) -> usize {
        let (Some(second), Some(least)) = (&self.second, least) else {
            let end = places.end.min(places.start + room);
            build_rows.extend_from_slice(&self.order[places.start..end]);
            return end;
        };
        let (mut from, mut taken) = (places.start, 0);
        while taken < room {
            let Some(place) = second.ranks.next(from, places.end, *least) else {
                return places.end;
            };
            build_rows.push(self.order[place]);
            (from, taken) = (place + 1, taken + 1);
        }
        from
    }

    /// Leaves out the places that were candidates before, of which it is enough to be one once:
    /// `covered` counts them, from the end at which the places of all rows begin or end.
    pub(super) fn uncover(&self, candidates: &mut Candidates, covered: &mut usize) {
        let all = self.order.len();
        let is_suffix = self.spec.first().is_ok_and(|it| it.comparison.is_less());
        for places in &mut candidates.places {
            let (start, end) = (places.0 as usize, places.1 as usize);
            if start == end {
                continue;
            }
            let known = *covered;
            *places = match is_suffix {
                true => (places.0, end.min((all - known).max(start)) as u32),
                false => (start.max(known.min(end)) as u32, places.1),
            };
            *covered = known.max(if is_suffix { all - start } else { end });
        }
    }

    /// Whether places of all probe rows begin or end together.
    pub(super) fn is_nested(&self) -> bool {
        self.second.is_none() && !self.spec.is_needed()
    }
}

/// Whether it only counts of a build row that it has a match.
pub(super) fn asks_for_build_rows(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::RightSemi | JoinKind::RightAnti)
}
