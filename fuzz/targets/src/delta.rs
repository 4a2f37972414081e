//! Frozen changes of a segment, as storage reads them from disk.

use crate::{ROWS_MAX, assert_not_internal, look_at};
use std::sync::Arc;
use volley_error::Result;
use volley_memory::Pool;
use volley_pdt::{Budget, Layers, MergePlan, Pdt, RowName, Run, Stamp};
use volley_types::Type;
use volley_vector::{Batch, random::Generator};

/// Rows of the segment's base.
pub const DELTA_BASE_ROWS: u32 = 200;

/// What a run may take when it is opened, in bytes.
const BUDGET_BYTES: usize = 64 << 20;

/// Opens a run; if it is one, it is the same after it was frozen again.
pub fn delta(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let lists = crate::spill_types();
    let types = &lists[usize::from(*first) % lists.len()];
    if let Err(error) = open(bytes, types) {
        assert_not_internal(&error);
    }
}

fn open(bytes: &[u8], types: &[Type]) -> Result<()> {
    let budget = Budget::new(&Pool::root("fuzz", None), BUDGET_BYTES);
    let run = Arc::new(Run::open(bytes, types, DELTA_BASE_ROWS, &budget)?);
    let layers_budget = Arc::clone(&budget);
    let write = Pdt::new(types.into(), DELTA_BASE_ROWS, budget)?;
    let layers = Layers { run: Some(run), write };
    let (view, plan) = (layers.view(), MergePlan::new(layers.view())?);
    assert_eq!(plan.rows(), view.rows());
    if view.rows() > ROWS_MAX as u64 {
        return Ok(());
    }
    for rid in 0..view.rows() as u32 {
        let row = plan.row_at(rid);
        assert!(row.is_some() && view.row_at(rid) == row);
        assert_eq!(row.and_then(|it| view.rid(it)), Some(rid));
    }
    let columns: Vec<usize> = (0..types.len()).collect();
    for batch in plan.inserted(&columns) {
        let valid = batch.validate();
        assert!(valid.is_ok(), "invalid batch: {valid:?}");
        look_at(&batch);
    }
    let again = layers.freeze(Stamp(0), &layers_budget)?;
    assert_eq!(inserted(&again.layers, &columns)?, inserted(&layers, &columns)?);
    Ok(())
}

/// The inserted rows as text: NaN is not equal to itself as a Rust number.
fn inserted(layers: &Layers, columns: &[usize]) -> Result<Vec<String>> {
    let plan = MergePlan::new(layers.view())?;
    let mut rows = Vec::new();
    for batch in plan.inserted(columns) {
        for column in batch.columns() {
            rows.push(format!("{:?}", column.to_values()?));
        }
    }
    Ok(rows)
}

/// Bytes of a run with random changes, for the corpus.
///
/// # Errors
///
/// What making the changes reports.
pub fn delta_content(list: usize, changes: usize) -> Result<Vec<u8>> {
    let mut random = Generator::new((list * 1000 + changes) as u64);
    let types: Arc<[Type]> = crate::spill_types()[list].as_slice().into();
    let write = Pdt::new(Arc::clone(&types), DELTA_BASE_ROWS, Budget::unlimited())?;
    let layers = Layers::new(write);
    let mut own = layers.transaction()?;
    for _ in 0..changes {
        let sid = random.below(DELTA_BASE_ROWS as usize) as u32;
        own.insert(sid, &random.batch(&types, 1))?;
        let last = Batch::new(vec![random.vector(&types[0], 1)], 1);
        own.modify(&layers, &[RowName::Base(sid)], &[0], &last)?;
        let start = random.below(DELTA_BASE_ROWS as usize) as u32;
        own.delete_range(&layers, start..start + 1 + start % 3)?;
    }
    let mut bytes = vec![list as u8];
    bytes.extend(layers.apply(&own, Stamp(1))?.freeze(Stamp(1), &Budget::unlimited())?.bytes);
    Ok(bytes)
}
