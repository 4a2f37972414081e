//! The printed report.

use crate::clients::{Clients, Counts};
use std::{
    fs,
    time::{Duration, Instant},
};

/// The maximum ratio of resident memory in the last third to that in the second.
const GROWTH_MAX: f64 = 1.15;

/// Fewer lines show no growth.
const LINES_MIN: usize = 9;

/// How many of the slowest cancels are named.
const SLOWEST: usize = 10;

pub struct Report {
    start: Instant,
    stuck: Duration,
    before: Counts,
    /// Resident MiB at each line.
    resident: Vec<f64>,
    is_good: bool,
}

impl Report {
    pub fn new(stuck_seconds: u64) -> Report {
        println!("minutes     right cancelled   refused  resident MiB  longest running");
        Report {
            start: Instant::now(),
            stuck: Duration::from_secs(stuck_seconds),
            before: Counts::default(),
            resident: Vec::new(),
            is_good: true,
        }
    }

    /// What was done since the last line.
    pub fn line(&mut self, clients: &Clients) {
        let counts = clients.counts();
        let resident = resident_mib();
        self.resident.push(resident);
        let oldest = clients.oldest().map(|(name, time)| format!("{name}, {} s", time.as_secs()));
        println!(
            "{:>7.1}{:>10}{:>10}{:>10}{:>14.0}  {}",
            self.start.elapsed().as_secs_f64() / 60.0,
            counts.right - self.before.right,
            counts.cancelled - self.before.cancelled,
            counts.refused - self.before.refused,
            resident,
            oldest.unwrap_or_default()
        );
        let new = &counts.problems[self.before.problems.len()..];
        new.iter().for_each(|it| println!("{it}"));
        if let Some((name, time)) = clients.oldest().filter(|it| it.1 > self.stuck) {
            println!("{name} is stuck: it runs for {} s", time.as_secs());
            self.is_good = false;
        }
        self.is_good &= counts.problems.is_empty();
        self.before = counts;
    }

    /// Whether some query takes too long.
    pub fn is_stuck(&self, clients: &Clients) -> bool {
        clients.oldest().is_some_and(|it| it.1 > self.stuck)
    }

    /// The sums.
    pub fn end(&mut self, clients: &Clients) {
        let mut counts = clients.counts();
        println!(
            "{} right, {} cancelled, {} refused",
            counts.right, counts.cancelled, counts.refused
        );
        counts.latencies.sort();
        let at = |share: f64| {
            let last = counts.latencies.len().checked_sub(1)?;
            counts.latencies.get((last as f64 * share) as usize).map(|it| it.0.as_millis())
        };
        if let (Some(half), Some(most), Some(all)) = (at(0.5), at(0.99), at(1.0)) {
            println!("from cancel to end: median {half} ms, p99 {most} ms, at most {all} ms");
            for (time, name) in counts.latencies.iter().rev().take(SLOWEST) {
                println!("  {:>5} ms {name}", time.as_millis());
            }
        }
        // The last line is of after the end.
        let lines = &self.resident[..self.resident.len().saturating_sub(1)];
        if lines.len() >= LINES_MIN {
            let third = lines.len() / 3;
            let mean = |it: &[f64]| it.iter().sum::<f64>() / it.len() as f64;
            let growth = mean(&lines[2 * third..]) / mean(&lines[third..2 * third]);
            println!("resident memory grew to {growth:.2} from the second to the last third");
            self.is_good &= growth < GROWTH_MAX;
        }
    }

    pub fn is_good(&self) -> bool {
        self.is_good
    }
}

/// Resident memory of the process; 0 if the system does not report it.
fn resident_mib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
    let kib = line.and_then(|it| it.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
