//! The output of joins for pairs of rows, and for rows without a match.

use volley_plan::JoinKind;
use volley_types::Type;
use volley_vector::{Batch, BooleanBuffer, NullBuffer, Rows, ScalarBuffer, Vector};

/// The rows and columns that a join returns.
#[derive(Clone)]
pub(crate) struct JoinOutput {
    pub kind: JoinKind,
    /// Positions among all columns of the kind.
    pub columns: Vec<usize>,
    pub probe_types: Vec<Type>,
    pub build_types: Vec<Type>,
}

impl JoinOutput {
    /// Pairs of rows of both sides.
    pub(crate) fn pairs(
        &self,
        (probe, probe_rows): (&Batch, &ScalarBuffer<u32>),
        (build, build_rows): (&Batch, &ScalarBuffer<u32>),
    ) -> Batch {
        let mut columns = probe.wrap(probe_rows).into_columns();
        columns.extend(build.wrap(build_rows).into_columns());
        Batch::new(columns, probe_rows.len()).project(&self.columns)
    }

    /// The output of a probe batch besides pairs: rows by whether they are `matched`, or whether
    /// that is `unknown`.
    pub(crate) fn probe_rows(
        &self,
        probe: &Batch,
        matched: &[bool],
        unknown: Option<&[bool]>,
    ) -> Option<Batch> {
        let rows = |wanted: bool| {
            let rows = matched.iter().enumerate().filter(|it| *it.1 == wanted).map(|it| it.0);
            Rows::from_indices(matched.len(), rows)
        };
        let batch = match self.kind {
            JoinKind::Left | JoinKind::Full => {
                let probe = probe.select(&rows(false));
                let count = probe.rows();
                let mut columns = probe.into_columns();
                columns.extend(self.build_types.iter().map(|it| nulls(it, count)));
                Batch::new(columns, count)
            }
            JoinKind::LeftSemi => probe.select(&rows(true)),
            JoinKind::LeftAnti => probe.select(&rows(false)),
            JoinKind::LeftMark => marked(probe, matched, unknown),
            JoinKind::Inner | JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => {
                return None;
            }
        };
        (batch.rows() > 0).then(|| batch.project(&self.columns))
    }

    /// The build rows that are emitted besides pairs, by whether they are `matched`.
    pub(crate) fn build_rows(
        &self,
        build: &Batch,
        rows: impl Iterator<Item = usize>,
        matched: impl Fn(usize) -> bool,
    ) -> Option<Batch> {
        let wanted = self.kind == JoinKind::RightSemi;
        let rows = rows.filter(|it| matched(*it) == wanted).map(|it| it as u32);
        let rows: ScalarBuffer<u32> = rows.collect();
        if rows.is_empty() {
            return None;
        }
        let mut columns = Vec::new();
        if self.kind.has_probe_columns() {
            columns.extend(self.probe_types.iter().map(|it| nulls(it, rows.len())));
        }
        columns.extend(build.wrap(&rows).into_columns());
        Some(Batch::new(columns, rows.len()).project(&self.columns))
    }

    /// Whether all that counts of a probe row is whether it has a match.
    pub(crate) fn first_hit_settles(&self) -> bool {
        matches!(self.kind, JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark)
    }

    /// Whether matching pairs are emitted.
    pub(crate) fn needs_pairs(&self) -> bool {
        matches!(self.kind, JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full)
    }
}

fn nulls(data_type: &Type, rows: usize) -> Vector {
    Vector::nulls(data_type.clone(), rows)
}

/// The probe rows with a column that says whether they have a match.
fn marked(probe: &Batch, matched: &[bool], unknown: Option<&[bool]>) -> Batch {
    let nulls = unknown.map(|unknown| {
        let known = matched.iter().zip(unknown).map(|(hit, unknown)| *hit || !unknown);
        NullBuffer::new(BooleanBuffer::from_iter(known))
    });
    let mark = BooleanBuffer::from_iter(matched.iter().copied());
    let mut columns = probe.columns().to_vec();
    columns.push(Vector::boolean(mark, nulls));
    Batch::new(columns, probe.rows())
}
