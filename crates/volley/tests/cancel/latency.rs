//! Latencies of cancels.

use std::{collections::BTreeMap, fmt, time::Duration};

/// Latencies by statement.
#[derive(Default)]
pub struct Latencies {
    by_statement: BTreeMap<String, Vec<Sample>>,
}

struct Sample {
    latency: Duration,
    /// When it was asked to stop, after its beginning.
    at: Duration,
}

impl Latencies {
    pub fn add(&mut self, name: &str, mode: &str, latency: Duration, at: Duration) {
        let statement = format!("{name} ({mode})");
        self.by_statement.entry(statement).or_default().push(Sample { latency, at });
    }

    pub fn count(&self) -> usize {
        self.by_statement.values().map(Vec::len).sum()
    }
}

/// The sample below which `percent` of the sorted samples are.
fn percentile<'a>(sorted: &[&'a Sample], percent: usize) -> &'a Sample {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

fn sorted<'a>(samples: impl Iterator<Item = &'a Sample>) -> Vec<&'a Sample> {
    let mut samples: Vec<_> = samples.collect();
    samples.sort_by_key(|it| it.latency);
    samples
}

impl fmt::Display for Latencies {
    /// A line for each statement, the slowest first, and one for all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<_> =
            self.by_statement.iter().map(|it| (it.0, sorted(it.1.iter()))).collect();
        lines.sort_by_key(|it| std::cmp::Reverse(percentile(&it.1, 100).latency));
        for (name, samples) in &lines {
            let (median, worst) = (percentile(samples, 50), percentile(samples, 100));
            writeln!(
                f,
                "{name:40} stopped {:4} times: p50 {:7.1} ms, max {:7.1} ms, asked at {:6.0} ms",
                samples.len(),
                median.latency.as_secs_f64() * 1e3,
                worst.latency.as_secs_f64() * 1e3,
                worst.at.as_secs_f64() * 1e3,
            )?;
        }
        let all = sorted(self.by_statement.values().flatten());
        let (Some(worst), false) = (lines.first(), all.is_empty()) else { return Ok(()) };
        let millis = |percent| percentile(&all, percent).latency.as_secs_f64() * 1e3;
        write!(
            f,
            "all: stopped {} times: p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms ({})",
            all.len(),
            millis(50),
            millis(99),
            millis(100),
            worst.0,
        )
    }
}
