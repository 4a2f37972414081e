//! Runs one query several times.

use super::checksum::Checksum;
use crate::error_text::Failure;
use std::time::Instant;
use volley::{Error, Outcome, Session};

/// What the runs of one query gave.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The query's number.
    pub query: u8,
    /// Seconds from SQL text to the last batch, one per run.
    pub seconds: Vec<f64>,
    /// Rows of the result.
    pub rows: u64,
    /// Bytes read from files in one run.
    pub bytes: u64,
    /// A checksum of the result's rows that does not depend on their order.
    pub checksum: String,
}

/// Runs query `query` `runs` times; all runs must give the same rows.
pub fn measure(
    session: &Session,
    query: u8,
    runs: u32,
    tick: &dyn Fn(),
) -> Result<Figures, Failure> {
    let sql = volley_tpch::QUERIES[usize::from(query) - 1];
    let failed = |e: Error| Failure::of_statement(&e.at("TPC-H query", query), sql, 0);
    let mut figures: Option<Figures> = None;
    for _ in 0..runs {
        let run = run_once(session, query, sql).map_err(failed)?;
        match &mut figures {
            None => figures = Some(run),
            Some(first) if first.rows == run.rows && first.checksum == run.checksum => {
                first.seconds.extend(run.seconds);
            }
            Some(_) => return Err(failed(Error::internal("two runs gave different rows"))),
        }
        tick();
    }
    figures.ok_or_else(|| failed(Error::internal("no run")))
}

fn run_once(session: &Session, query: u8, sql: &str) -> Result<Figures, Error> {
    let start = Instant::now();
    let (mut rows, mut bytes) = (0, 0);
    let mut batches = Vec::new();
    for statement in &volley::parse(sql)? {
        let Outcome::Rows(mut result) = session.run(statement)? else { continue };
        while let Some(batch) = result.next()? {
            rows += batch.rows() as u64;
            batches.push(batch);
        }
        bytes += result.statistics().map_or(0, |it| it.total("bytes read"));
    }
    let seconds = start.elapsed().as_secs_f64();
    let mut checksum = Checksum::default();
    batches.iter().try_for_each(|it| checksum.add(it))?;
    Ok(Figures { query, seconds: vec![seconds], rows, bytes, checksum: checksum.to_string() })
}

impl Figures {
    /// The fastest run.
    pub fn best_seconds(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The middle run; the mean of two middle ones.
    pub fn median_seconds(&self) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        if sorted.len().is_multiple_of(2) {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        } else {
            sorted[middle]
        }
    }
}
