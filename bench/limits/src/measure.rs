//! Measurements of pairs, one line of a Markdown table each.

use std::{fmt::Debug, hint::black_box, time::Instant};
use volley::{Error, Result};

/// The table, printed line by line.
pub struct Table {
    rounds: usize,
    /// The heading of the limits' column.
    limit: &'static str,
    has_head: bool,
}

/// What an operator and its limit take: wall-clock or CPU seconds, by round.
#[derive(Default)]
struct Samples {
    volley: Vec<f64>,
    limit: Vec<f64>,
}

impl Table {
    /// A table whose lines are the medians of `rounds` rounds.
    pub fn new(rounds: usize) -> Table {
        Table { rounds: rounds.max(1), limit: "limit, ms", has_head: false }
    }

    /// Begins another table, with another reference.
    pub fn begin(&mut self, limit: &'static str) {
        *self = Table { limit, has_head: false, ..*self };
        println!();
    }

    /// Measures both and prints a line. They must answer the same.
    ///
    /// # Errors
    ///
    /// Those of Volley's; that the answers differ.
    pub fn compare<T: PartialEq + Debug>(
        &mut self,
        operator: &str,
        volley: impl FnMut() -> Result<T>,
        mut limit: impl FnMut() -> T,
    ) -> Result<()> {
        self.compare_with(operator, wall_seconds, volley, || Ok(limit()))
    }

    /// Like [`Table::compare`], by a clock that answers seconds since some moment.
    ///
    /// # Errors
    ///
    /// As there; what the clock or the limit reports.
    pub fn compare_with<T: PartialEq + Debug>(
        &mut self,
        operator: &str,
        clock: impl Fn() -> Result<f64>,
        mut volley: impl FnMut() -> Result<T>,
        mut limit: impl FnMut() -> Result<T>,
    ) -> Result<()> {
        // The first runs warm caches and memory up.
        let (answer, expected) = (volley()?, limit()?);
        if answer != expected {
            let text = format!("{operator}: {answer:?}, and by hand {expected:?}");
            return Err(Error::internal("the answers differ").at("operator", text));
        }
        let mut samples = Samples::default();
        for _ in 0..self.rounds {
            samples.volley.push(seconds(&clock, &mut volley)?);
            samples.limit.push(seconds(&clock, &mut limit)?);
        }
        self.print(operator, samples);
        Ok(())
    }

    fn print(&mut self, operator: &str, samples: Samples) {
        if !self.has_head {
            println!("| operator | Volley, ms | {} | ratio |\n|---|---|---|---|", self.limit);
            self.has_head = true;
        }
        let pairs = samples.volley.iter().zip(&samples.limit);
        let ratio = median(pairs.map(|(volley, limit)| volley / limit).collect());
        let [volley, limit] = [samples.volley, samples.limit].map(|it| median(it) * 1e3);
        println!("| {operator} | {volley:.2} | {limit:.2} | {ratio:.2} |");
    }
}

fn seconds<T>(
    clock: &impl Fn() -> Result<f64>,
    run: &mut impl FnMut() -> Result<T>,
) -> Result<f64> {
    let started = clock()?;
    black_box(run()?);
    Ok(clock()? - started)
}

/// Seconds on the wall clock since the first call.
fn wall_seconds() -> Result<f64> {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    Ok(START.get_or_init(Instant::now).elapsed().as_secs_f64())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
