//! Lines of CSV files that did not fit.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};
use volley_error::Result;
use volley_memory::{Pool, Reservation};

/// A line that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedLine {
    /// The path of the file.
    pub file: String,
    /// The number of its first line, from 1 on.
    pub line: u64,
    /// The number of the column that does not fit, from 1 on, and its name; `None`: the line as a
    /// whole.
    pub column: Option<(usize, String)>,
    /// What is wrong.
    pub kind: RejectKind,
    /// The text of the line.
    pub text: String,
    /// What is wrong, in words.
    pub message: String,
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectKind {
    /// A value is not of its column's type.
    Cast,
    /// Too few fields.
    MissingColumns,
    /// Too many fields.
    TooManyColumns,
    /// A quote that is not closed, or text behind a closing one.
    UnquotedValue,
    /// A line that is too long.
    LineSize,
    /// Text that is not UTF-8.
    InvalidEncoding,
}

impl RejectKind {
    /// The name, as `reject_errors` shows it.
    pub fn name(self) -> &'static str {
        match self {
            RejectKind::Cast => "CAST",
            RejectKind::MissingColumns => "MISSING COLUMNS",
            RejectKind::TooManyColumns => "TOO MANY COLUMNS",
            RejectKind::UnquotedValue => "UNQUOTED VALUE",
            RejectKind::LineSize => "LINE SIZE OVER MAXIMUM",
            RejectKind::InvalidEncoding => "INVALID ENCODING",
        }
    }
}

/// Collects lines that were left out, by all readers of a table.
#[derive(Debug)]
pub struct Rejects {
    /// The most lines of a file; `None`: all.
    lines_max: Option<u64>,
    state: Mutex<State>,
}

/// What tells lines apart: file, line and column, 0 for the line as a whole.
type Key = (String, u64, usize);

#[derive(Debug)]
struct State {
    lines: BTreeMap<Key, RejectedLine>,
    /// How many there are of each file.
    counts: HashMap<String, u64>,
    charge: Reservation,
}

impl Rejects {
    /// Collects at most `lines_max` lines of each file, which are charged to `pool`.
    pub fn new(lines_max: Option<u64>, pool: &Pool) -> Rejects {
        let state =
            State { lines: BTreeMap::new(), counts: HashMap::new(), charge: pool.reservation() };
        Rejects { lines_max, state: Mutex::new(state) }
    }

    /// Adds a line. One that is known, since the file is read again, is not added.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(crate) fn add(&self, line: RejectedLine) -> Result<()> {
        let mut state = self.lock();
        let count = state.counts.get(&line.file).copied().unwrap_or_default();
        let column = line.column.as_ref().map_or(0, |it| it.0);
        let key = (line.file.clone(), line.line, column);
        if self.lines_max.is_some_and(|it| count >= it) || state.lines.contains_key(&key) {
            return Ok(());
        }
        let texts = 3 * line.file.len() + line.text.len() + line.message.len();
        state.charge.grow(texts + size_of::<(Key, RejectedLine)>())?;
        state.counts.insert(line.file.clone(), count + 1);
        state.lines.insert(key, line);
        Ok(())
    }

    /// The lines so far, by file and line.
    pub fn lines(&self) -> Vec<RejectedLine> {
        self.lock().lines.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_once_up_to_the_limit() {
        let pool = Pool::root("test", None);
        let line = |file: &str, line| RejectedLine {
            file: file.to_owned(),
            line,
            column: None,
            kind: RejectKind::MissingColumns,
            text: "x".to_owned(),
            message: String::new(),
        };
        let rejects = Rejects::new(Some(2), &pool);
        for number in [3, 1, 3, 2] {
            rejects.add(line("a", number)).unwrap();
        }
        rejects.add(line("b", 9)).unwrap();
        let found: Vec<u64> = rejects.lines().iter().map(|it| it.line).collect();
        assert_eq!(found, [1, 3, 9]);
        assert!(pool.stats().bytes > 0);
        let short = Pool::root("short", Some(16));
        assert!(Rejects::new(None, &short).add(line("a", 1)).is_err());
    }
}
