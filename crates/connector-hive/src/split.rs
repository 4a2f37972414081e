//! Splits: row groups of Parquet files and stripes of ORC files that the filters do not rule out,
//! and text files, of which several drivers may read one.

use crate::{
    part::{Part, PartColumn, PartFile},
    source::{FileSource, needed_columns},
};
use std::{
    cmp::{Ordering, Reverse},
    sync::{Arc, OnceLock},
};
use volley_connector::{
    Scan, ScanMetrics, ScanRequest, Source, Split, compare_values, may_join, may_match,
};
use volley_error::Result;
use volley_expression::filter::BoundOrder;
use volley_text::CsvChunks;
use volley_types::{Schema, Value};

/// A scan of a table's files.
pub(crate) struct FileScan {
    parts: Arc<[Part]>,
    schema: Arc<Schema>,
    request: ScanRequest,
    planned: OnceLock<(Vec<Split>, ScanMetrics)>,
}

/// What a split reads.
pub(crate) struct FileSplit {
    pub part: Part,
    /// The row group or stripe.
    pub group: usize,
    /// Of a CSV file that several drivers read: each split takes what the others do not.
    pub chunks: Option<Arc<CsvChunks>>,
}

/// Drivers that read one text file, at most.
const READERS_MAX: u64 = 64;

impl FileSplit {
    /// Whether some row of it may pass the dynamic filters, as they are now.
    pub fn may_be_needed(&self, request: &ScanRequest) -> bool {
        request.dynamic_filters.iter().all(|it| {
            let (rows, bounds) =
                (self.part.rows(self.group), self.part.bounds(self.group, it.column));
            let condition = it.filter.bound().map(|bound| bound.condition(it.column));
            it.filter.get().is_none_or(|filter| may_join(filter, rows, &bounds))
                && condition.is_none_or(|it| may_match(&it, rows, &|_| bounds.clone()))
        })
    }
}

impl FileScan {
    pub fn new(parts: Arc<[Part]>, schema: Arc<Schema>, request: ScanRequest) -> FileScan {
        FileScan { parts, schema, request, planned: OnceLock::new() }
    }

    /// The splits in the order of the files, or with a bound to come, in the order that it is of:
    /// then it is tight after the first ones, and rules out the others.
    fn plan(&self) -> (Vec<Split>, ScanMetrics) {
        let (splits, pruned) = self.splits_of_files();
        let ordered = self.request.dynamic_filters.iter();
        let ordered = ordered.filter_map(|it| Some((it.column, it.filter.order()?))).next();
        let Some((column, order)) = ordered else { return (splits, pruned) };
        let first = |it: Split| (First::of_split(&it, column, order), it);
        let mut splits: Vec<_> = splits.into_iter().map(first).collect();
        splits.sort_by(|(a, _), (b, _)| a.compare(b, order));
        (splits.into_iter().map(|(_, it)| it).collect(), pruned)
    }

    fn splits_of_files(&self) -> (Vec<Split>, ScanMetrics) {
        let (mut splits, mut pruned) = (Vec::new(), ScanMetrics::default());
        for part in &*self.parts {
            let Some(groups) = part.file.groups() else {
                if !self.may_match(part, 0) {
                    pruned.groups_skipped += 1;
                    continue;
                }
                splits.push(Split {
                    data: Arc::new(FileSplit { part: part.clone(), group: 0, chunks: None }),
                    label: part.file.path().to_owned(),
                    rows: None,
                });
                continue;
            };
            for group in 0..groups {
                let rows = part.rows(group);
                if rows == 0 {
                    continue;
                }
                if !self.may_match(part, group) {
                    pruned.groups_skipped += 1;
                    continue;
                }
                let (path, name) = (part.file.path(), part.file.group_name());
                splits.push(Split {
                    data: Arc::new(FileSplit { part: part.clone(), group, chunks: None }),
                    label: format!("{path}, {name} {group}"),
                    rows: Some(rows),
                });
            }
        }
        (splits, pruned)
    }

    /// The split; of a text file that several drivers can read, one for each that has something to
    /// do.
    fn shared(&self, split: &Split) -> Vec<Split> {
        let file = split.data.downcast_ref::<FileSplit>();
        file.and_then(|it| self.shares(it, split)).unwrap_or_else(|| vec![split.clone()])
    }

    fn shares(&self, file: &FileSplit, split: &Split) -> Option<Vec<Split>> {
        let part = &file.part;
        let PartFile::Csv(csv) = &part.file else { return None };
        let mut needed = needed_columns(&self.request).into_iter();
        let is_ordered = needed.any(|it| part.columns.get(it) == Some(&PartColumn::RowNumber));
        if is_ordered || csv.chunks_max() <= 1 {
            return None;
        }
        let chunks = Some(Arc::new(csv.chunks(&self.request.pool)?));
        let data = Arc::new(FileSplit { part: part.clone(), group: file.group, chunks });
        let share = || Split { data: Arc::clone(&data) as _, ..split.clone() };
        Some((0..csv.chunks_max().min(READERS_MAX)).map(|_| share()).collect())
    }

    fn may_match(&self, part: &Part, group: usize) -> bool {
        let bounds = |column: usize| part.bounds(group, column);
        self.request.filters.iter().all(|it| may_match(it, part.rows(group), &bounds))
    }

    fn planned(&self) -> &(Vec<Split>, ScanMetrics) {
        self.planned.get_or_init(|| self.plan())
    }
}

/// What comes first of a split in the order of one of its columns, as far as statistics tell.
#[derive(Default)]
struct First {
    /// If they come first.
    nulls: u64,
    /// The least value, or the greatest one.
    value: Option<Value>,
}

impl First {
    fn of_split(split: &Split, column: usize, order: BoundOrder) -> First {
        let Some(split) = split.data.downcast_ref::<FileSplit>() else { return First::default() };
        let bounds = split.part.noted_bounds(split.group, column);
        First {
            nulls: bounds.nulls.filter(|_| order.nulls_first).unwrap_or_default(),
            value: if order.descending { bounds.max } else { bounds.min },
        }
    }

    /// Less is better. What nothing is known of comes last: it cannot be ruled out by statistics,
    /// but fewer of its rows are kept the later it is read.
    fn compare(&self, other: &First, order: BoundOrder) -> Ordering {
        let values = match (&self.value, &other.value) {
            (Some(a), Some(b)) => {
                let values = compare_values(a, b).unwrap_or(Ordering::Equal);
                if order.descending { values.reverse() } else { values }
            }
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        Reverse(self.nulls).cmp(&Reverse(other.nulls)).then(values)
    }
}

impl Scan for FileScan {
    fn splits(&self) -> Vec<Split> {
        self.planned().0.iter().flat_map(|it| self.shared(it)).collect()
    }

    fn pruned(&self) -> ScanMetrics {
        self.planned().1
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        Ok(Box::new(FileSource::new(Arc::clone(&self.schema), self.request.clone())))
    }
}
