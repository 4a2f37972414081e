//! Unknown comparisons of null-aware joins.

use super::{
    HashJoinSpec,
    condition::{Condition, ProbeSide},
    shared::BuildTables,
};
use volley_error::Result;
use volley_state::hash_table::{JoinTable, LookupMemory, PairCursor};
use volley_vector::{Batch, Decoded, ScalarBuffer, Vector};

/// How many pairs are looked at per step: few where one row alone has more of them, and the first
/// ones mostly tell; many otherwise.
const PAIRS: (usize, usize) = (1 << 6, 1 << 12);

/// Finds the probe rows without a match whose comparison is unknown.
pub(super) struct NullAwareProbe {
    /// Searches that are left: which table, the probe rows that ask, and their pairs.
    searches: Vec<Search>,
    /// By probe row.
    is_unknown: Vec<bool>,
}

struct Search {
    /// Whether only build rows with a null in the last key count.
    among_nulls: bool,
    /// Rows of the probe batch, ascending.
    rows: ScalarBuffer<u32>,
    /// These rows, their keys but for the last one, and the pairs found.
    found: Option<(Batch, Vec<Vector>, PairCursor)>,
    /// How many pairs the next step looks at.
    pairs_max: usize,
}

impl NullAwareProbe {
    /// Begins for the rows of a batch that are not `matched`, nor unknown by what was looked up
    /// `before`; that is empty where it was nothing.
    pub(super) fn new(
        spec: &HashJoinSpec,
        tables: &BuildTables,
        keys: &[Vector],
        (matched, before): (&[bool], Vec<bool>),
    ) -> Result<NullAwareProbe> {
        let mut is_unknown = before;
        is_unknown.resize(matched.len(), false);
        is_unknown.iter_mut().zip(matched).for_each(|(unknown, matched)| *unknown &= !matched);
        let mut search = NullAwareProbe { searches: Vec::new(), is_unknown };
        let Some(last) = keys.last() else { return Ok(search) };
        let decoded = Decoded::new(last)?;
        let unmatched = || (0..matched.len()).filter(|row| !matched[*row]);
        if !spec.has_correlation() {
            for row in unmatched() {
                search.is_unknown[row] =
                    !tables.is_empty && (tables.has_null || decoded.is_null(row));
            }
            return Ok(search);
        }
        for among_nulls in [false, true] {
            let asking = unmatched().filter(|row| !search.is_unknown[*row]);
            let rows = asking.filter(|row| decoded.is_null(*row) != among_nulls);
            let rows: Vec<u32> = rows.map(|row| row as u32).collect();
            if !rows.is_empty() {
                let (rows, pairs_max) = (rows.into(), PAIRS.0);
                search.searches.push(Search { among_nulls, rows, found: None, pairs_max });
            }
        }
        Ok(search)
    }

    /// Works for a while; true when all is known.
    pub(super) fn advance(
        &mut self,
        spec: &HashJoinSpec,
        tables: &BuildTables,
        probe: ProbeSide<'_>,
        condition: &mut Condition,
    ) -> Result<bool> {
        let (Some(search), Some((all, nulls))) = (self.searches.last_mut(), &tables.correlated)
        else {
            return Ok(true);
        };
        let table = if search.among_nulls { nulls } else { all };
        let done = search.advance(spec, table, probe, condition, &mut self.is_unknown)?;
        if done {
            self.searches.pop();
        }
        Ok(self.searches.is_empty())
    }

    /// For each probe row, whether its comparison is unknown as far as is known.
    pub(super) fn unknown(&self) -> &[bool] {
        &self.is_unknown
    }

    /// For each probe row, whether its comparison is unknown.
    pub(super) fn into_unknown(self) -> Vec<bool> {
        self.is_unknown
    }
}

impl Search {
    fn advance(
        &mut self,
        spec: &HashJoinSpec,
        table: &JoinTable,
        probe: ProbeSide<'_>,
        condition: &mut Condition,
        is_unknown: &mut [bool],
    ) -> Result<bool> {
        let (batch, keys, cursor) = match &mut self.found {
            Some(found) => found,
            None => {
                let keys =
                    Batch::new(probe.keys[..probe.keys.len() - 1].to_vec(), is_unknown.len());
                let keys = keys.wrap(&self.rows).into_columns();
                let cursor = table.lookup(&keys, self.rows.len(), &mut LookupMemory::default())?;
                self.found.insert((probe.batch.wrap(&self.rows), keys, cursor))
            }
        };
        let rows = &self.rows;
        let is_settled = |row: u32| is_unknown[rows[row as usize] as usize];
        let mut pairs = table.next_pairs(cursor, self.pairs_max, is_settled);
        let is_one_row = pairs.rows.first() == pairs.rows.last();
        condition.apply(spec, table, ProbeSide { batch, keys }, &mut pairs)?;
        for row in &pairs.rows {
            is_unknown[rows[*row as usize] as usize] = true;
        }
        self.pairs_max = match is_one_row && !pairs.rows.is_empty() {
            true => PAIRS.0,
            false => PAIRS.1.min(self.pairs_max * 2),
        };
        Ok(cursor.is_done())
    }
}
