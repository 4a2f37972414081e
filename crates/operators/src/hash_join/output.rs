//! The output batches of a join.

use super::HashJoinSpec;
use volley_error::Result;
use volley_state::{
    hash_table::{JoinTable, Pairs},
    rows::RowList,
};
use volley_vector::{Batch, ScalarBuffer, Vector};

/// Where an output column comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputColumn {
    /// A column of the probe side.
    Probe(usize),
    /// A column of the build side's rows.
    Build(usize),
    /// Whether the probe row has a match.
    Mark,
}

impl HashJoinSpec {
    /// A batch of pairs; the table's null row stands for "no match".
    pub(super) fn pairs_batch(
        &self,
        probe: &Batch,
        pairs: Pairs,
        table: &JoinTable,
    ) -> Result<Batch> {
        let rows = pairs.rows.len();
        let mut side = ProbeColumns::new(probe, pairs.rows);
        let columns = self.output.iter().map(|column| match column {
            OutputColumn::Probe(column) => Ok(side.column(*column)),
            OutputColumn::Build(column) => table.container().gather(*column, &pairs.matches),
            OutputColumn::Mark => Ok(Vector::nulls(volley_types::Type::Boolean, rows)),
        });
        Ok(Batch::new(columns.collect::<Result<_>>()?, rows))
    }

    /// A batch of probe rows, with a mark for each row of the probe batch if the kind has one.
    pub(super) fn probe_batch(
        &self,
        probe: &Batch,
        rows: Vec<u32>,
        mark: Option<&Vector>,
    ) -> Batch {
        let count = rows.len();
        let mut side = ProbeColumns::new(probe, rows);
        let columns =
            self.output.iter().zip(&self.output_types).map(|(column, data_type)| {
                match (column, mark) {
                    (OutputColumn::Probe(column), _) => side.column(*column),
                    (OutputColumn::Mark, Some(mark)) => side.wrap(mark),
                    _ => Vector::nulls(data_type.clone(), count),
                }
            });
        Batch::new(columns.collect(), count)
    }

    /// A batch of build rows, beside nulls.
    pub(super) fn build_batch(&self, rows: &RowList, table: &JoinTable) -> Result<Batch> {
        let columns =
            self.output.iter().zip(&self.output_types).map(|(column, data_type)| match column {
                OutputColumn::Build(column) => table.container().gather(*column, rows),
                _ => Ok(Vector::nulls(data_type.clone(), rows.len())),
            });
        Ok(Batch::new(columns.collect::<Result<_>>()?, rows.len()))
    }
}

/// Columns of some rows of a probe batch, as dictionaries over one code buffer.
struct ProbeColumns<'a> {
    batch: &'a Batch,
    /// `None`: all rows, in order.
    codes: Option<ScalarBuffer<u32>>,
    composed: Vec<(usize, ScalarBuffer<u32>)>,
}

impl<'a> ProbeColumns<'a> {
    fn new(batch: &'a Batch, rows: Vec<u32>) -> ProbeColumns<'a> {
        let is_all = rows.len() == batch.rows()
            && rows.iter().enumerate().all(|(position, row)| position == *row as usize);
        let codes = (!is_all).then(|| rows.into());
        ProbeColumns { batch, codes, composed: Vec::new() }
    }

    fn column(&mut self, column: usize) -> Vector {
        let batch = self.batch;
        self.wrap(batch.column(column))
    }

    fn wrap(&mut self, vector: &Vector) -> Vector {
        match &self.codes {
            Some(codes) => vector.wrap(codes, &mut self.composed),
            None => vector.clone(),
        }
    }
}
