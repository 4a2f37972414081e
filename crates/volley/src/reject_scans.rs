//! Scans of CSV files with `store_rejects`: what `reject_scans` and `reject_errors` show.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use volley_text::{RejectedLine, Rejects};
use volley_types::{Schema, Value};

/// The scans of a session, in the order in which they were planned.
#[derive(Debug, Default)]
pub(crate) struct RejectScans(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    scans: Vec<RejectScan>,
    next_id: i64,
}

#[derive(Debug)]
struct RejectScan {
    id: i64,
    rejects: Arc<Rejects>,
    columns: String,
    arguments: String,
}

/// A file of a scan, and its lines that did not fit.
struct FileLines<'s> {
    scan: &'s RejectScan,
    /// The number of the file within the scan.
    file: i64,
    path: String,
    lines: Vec<RejectedLine>,
}

impl RejectScans {
    /// Adds a scan. Those that were planned before and have no lines are forgotten once nothing
    /// reads them.
    pub(crate) fn add(
        &self,
        rejects: Arc<Rejects>,
        schema: &Schema,
        paths: &[String],
        options: &str,
    ) {
        let column = |it: &volley_types::Field| format!("'{}': '{}'", it.name, it.data_type);
        let columns: Vec<String> = schema.fields.iter().map(column).collect();
        let mut state = self.lock();
        state
            .scans
            .retain(|it| Arc::strong_count(&it.rejects) > 1 || !it.rejects.lines().is_empty());
        let id = state.next_id;
        state.next_id += 1;
        state.scans.push(RejectScan {
            id,
            rejects,
            columns: format!("{{{}}}", columns.join(", ")),
            arguments: format!("{}, {options}", paths.join(", ")),
        });
    }

    /// The rows of `reject_scans`: one for each file with such lines.
    pub(crate) fn scans(&self) -> Vec<Vec<Value>> {
        let state = self.lock();
        let row = |it: FileLines<'_>| {
            vec![
                Value::BigInt(it.scan.id),
                Value::BigInt(it.file),
                Value::text(it.path),
                Value::text(it.scan.columns.as_str()),
                Value::text(it.scan.arguments.as_str()),
            ]
        };
        files(&state).map(row).collect()
    }

    /// The rows of `reject_errors`: one for each line, or value, that did not fit.
    pub(crate) fn errors(&self) -> Vec<Vec<Value>> {
        let state = self.lock();
        let mut rows = Vec::new();
        for FileLines { scan, file, lines, .. } in files(&state) {
            for line in lines {
                let (index, name) = line.column.unzip();
                let index = index.and_then(|it| i64::try_from(it).ok());
                rows.push(vec![
                    Value::BigInt(scan.id),
                    Value::BigInt(file),
                    Value::BigInt(i64::try_from(line.line).unwrap_or(i64::MAX)),
                    index.map_or(Value::Null, Value::BigInt),
                    name.map_or(Value::Null, Value::text),
                    Value::text(line.kind.name()),
                    Value::text(line.text),
                    Value::text(line.message),
                ]);
            }
        }
        rows
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn files(state: &State) -> impl Iterator<Item = FileLines<'_>> {
    state.scans.iter().flat_map(|scan| {
        let mut files: Vec<FileLines<'_>> = Vec::new();
        for line in scan.rejects.lines() {
            match files.last_mut().filter(|it| it.path == line.file) {
                Some(last) => last.lines.push(line),
                None => {
                    let (file, path) = (files.len() as i64, line.file.clone());
                    files.push(FileLines { scan, file, path, lines: vec![line] });
                }
            }
        }
        files
    })
}
