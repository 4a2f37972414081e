//! A condition on pairs, evaluated over tiles.

use volley_error::Result;
use volley_exec::OperatorContext;
use volley_expression::{Expr, ExprSet};
use volley_vector::{Batch, Decoded, Rows, ScalarBuffer, Vector};

/// Pairs of one row of a side and several rows of the other.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tile {
    /// One build row and all rows of the probe batch.
    BuildRow(usize),
    /// One probe row and `len` build rows from `start` on.
    ProbeRow { row: usize, start: usize, len: usize },
}

/// A compiled condition and the columns that it reads.
pub(crate) struct Condition {
    exprs: ExprSet,
    /// Positions in the probe batch; the condition's first columns.
    probe_columns: Vec<usize>,
    /// Positions in the build batch; the condition's other columns.
    build_columns: Vec<usize>,
}

impl Tile {
    /// How many pairs it has, with `probe_rows` rows in the probe batch.
    pub(super) fn len(self, probe_rows: usize) -> usize {
        match self {
            Tile::BuildRow(_) => probe_rows,
            Tile::ProbeRow { len, .. } => len,
        }
    }

    /// The probe and the build row of pair `index`.
    #[inline]
    pub(super) fn pair(self, index: usize) -> (u32, u32) {
        match self {
            Tile::BuildRow(row) => (index as u32, row as u32),
            Tile::ProbeRow { row, start, .. } => (row as u32, (start + index) as u32),
        }
    }
}

impl Condition {
    /// Compiles `condition`, whose columns are `probe_width` probe columns, then build columns.
    pub(crate) fn compile(
        condition: &Expr,
        probe_width: usize,
        cx: &OperatorContext,
    ) -> Result<Condition> {
        let mut used = Vec::new();
        condition.for_each_column(&mut |column| used.push(column));
        used.sort_unstable();
        used.dedup();
        let mut condition = condition.clone();
        condition.map_columns(&|column| used.partition_point(|it| *it < column));
        let exprs = cx.task.compile(&[condition])?.charged_to(&cx.pool);
        let (probe, build): (Vec<_>, Vec<_>) = used.into_iter().partition(|it| *it < probe_width);
        Ok(Condition {
            exprs,
            probe_columns: probe,
            build_columns: build.into_iter().map(|it| it - probe_width).collect(),
        })
    }

    /// The active pairs of a tile for which the condition is true.
    pub(super) fn select(
        &mut self,
        tile: Tile,
        active: &Rows,
        probe: &Batch,
        build: &Batch,
    ) -> Result<Rows> {
        let pairs = self.pairs(tile, probe, build);
        self.exprs.begin(&pairs).select(0, active)
    }

    /// As [`Condition::select`], and the active pairs for which it is null.
    pub(super) fn select_or_unknown(
        &mut self,
        tile: Tile,
        active: &Rows,
        probe: &Batch,
        build: &Batch,
    ) -> Result<(Rows, Rows)> {
        let pairs = self.pairs(tile, probe, build);
        let values = self.exprs.begin(&pairs).evaluate(0, active)?;
        let values = Decoded::new(&values)?;
        let (mut hits, mut unknown) = (Vec::new(), Vec::new());
        active.for_each(|row| {
            if values.is_null(row) {
                unknown.push(row);
            } else if values.boolean(row) {
                hits.push(row);
            }
        });
        Ok((Rows::from_indices(active.len(), hits), Rows::from_indices(active.len(), unknown)))
    }

    /// Those of pairs of rows for which the condition is true.
    pub(crate) fn select_pairs(
        &mut self,
        (probe_rows, build_rows): (&[u32], &[u32]),
        probe: &Batch,
        build: &Batch,
    ) -> Result<Rows> {
        let len = probe_rows.len();
        let [probe_rows, build_rows] =
            [probe_rows, build_rows].map(|it| ScalarBuffer::<u32>::from(it.to_vec()));
        let probe = probe.project(&self.probe_columns).wrap(&probe_rows);
        let build = build.project(&self.build_columns).wrap(&build_rows);
        let columns = probe.into_columns().into_iter().chain(build.into_columns());
        let pairs = Batch::new(columns.collect(), len);
        self.exprs.begin(&pairs).select(0, &Rows::all(len))
    }

    /// The condition's columns for a tile.
    fn pairs(&self, tile: Tile, probe: &Batch, build: &Batch) -> Batch {
        let len = tile.len(probe.rows());
        let constant = |column: &Vector, row: usize| Vector::repeat(column.slice(row, 1), len);
        let probe_columns = self.probe_columns.iter().map(|it| probe.column(*it));
        let build_columns = self.build_columns.iter().map(|it| build.column(*it));
        let columns = match tile {
            Tile::BuildRow(row) => {
                let constants = build_columns.map(|it| constant(it, row));
                probe_columns.cloned().chain(constants).collect()
            }
            Tile::ProbeRow { row, start, len } => {
                let constants = probe_columns.map(|it| constant(it, row));
                constants.chain(build_columns.map(|it| it.slice(start, len))).collect()
            }
        };
        Batch::new(columns, len)
    }
}
