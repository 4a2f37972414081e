//! Batches whose columns are decoded for the rows that satisfy the filters alone.

use std::sync::Arc;
use volley_error::Result;
use volley_expression::filter::Conjuncts;
use volley_vector::{Batch, Rows, Vector};

/// Makes a column of the table lazily: of some rows, or of all when there is no selection.
pub type MakeLazy<'a> = &'a dyn Fn(usize, Option<Arc<[u32]>>) -> Result<Vector>;

/// The columns to return, of those of `rows` rows that satisfy the filters; `None` without such
/// rows. Filter columns are dictionaries over what is decoded, others are lazy.
///
/// # Errors
///
/// Those of the filters and of `lazy`.
pub fn select_lazily(
    columns: &[usize],
    rows: usize,
    conjuncts: &mut Option<Conjuncts>,
    lazy: MakeLazy,
) -> Result<Option<Batch>> {
    if conjuncts.is_none() {
        let columns = each_once(columns, |it| lazy(it, None))?;
        return Ok(Some(Batch::new(columns, rows)));
    }
    select_lazily_among(columns, Rows::all(rows), conjuncts, lazy)
}

/// As [`select_lazily`], for tables some of whose rows do not exist: those that do are `among`.
///
/// # Errors
///
/// As [`select_lazily`].
pub fn select_lazily_among(
    columns: &[usize],
    among: Rows,
    conjuncts: &mut Option<Conjuncts>,
    lazy: MakeLazy,
) -> Result<Option<Batch>> {
    let Some(conjuncts) = conjuncts else { return others_lazily(columns, &among, lazy) };
    let used = conjuncts.columns().to_vec();
    let filtered = used.iter().map(|it| lazy(*it, None)).collect::<Result<Vec<_>>>()?;
    let filtered = Batch::new(filtered, among.len());
    if !columns.iter().any(|it| used.binary_search(it).is_ok()) {
        let rows = conjuncts.select_rows_among(filtered, among)?;
        return others_lazily(columns, &rows, lazy);
    }
    let selected = conjuncts.select_among(filtered, among)?;
    let rows = selected.rows;
    if rows.is_empty() {
        return Ok(None);
    }
    let selection: Option<Arc<[u32]>> = (!rows.is_all()).then(|| rows.to_indices().into());
    let column = |column: usize| match used.binary_search(&column) {
        Ok(place) => Ok(selected.columns.column(place).clone()),
        Err(_) => lazy(column, selection.clone()),
    };
    let columns = each_once(columns, column)?;
    Ok(Some(Batch::new(columns, rows.count())))
}

/// The columns to return if no filter uses any of them.
fn others_lazily(columns: &[usize], rows: &Rows, lazy: MakeLazy) -> Result<Option<Batch>> {
    if rows.is_empty() {
        return Ok(None);
    }
    let is_needed = !rows.is_all() && !columns.is_empty();
    let selection: Option<Arc<[u32]>> = is_needed.then(|| rows.to_indices().into());
    let columns = each_once(columns, |column| lazy(column, selection.clone()))?;
    Ok(Some(Batch::new(columns, rows.count())))
}

/// The vector of each column, made once: readers go forward only, so a column that is returned
/// twice is decoded by whichever is loaded first.
fn each_once(columns: &[usize], make: impl Fn(usize) -> Result<Vector>) -> Result<Vec<Vector>> {
    let mut made: Vec<Vector> = Vec::with_capacity(columns.len());
    let has_twins = !columns.is_sorted_by(|a, b| a < b);
    for (place, column) in columns.iter().enumerate() {
        let before = columns.get(..place).filter(|_| has_twins).unwrap_or_default();
        let twin = before.iter().position(|it| it == column).and_then(|it| made.get(it));
        let vector = match twin {
            Some(twin) => twin.clone(),
            None => make(*column)?,
        };
        made.push(vector);
    }
    Ok(made)
}
