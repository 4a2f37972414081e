//! Interleaved measurements: variants of the same work, one after the other, in many rounds.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// Rounds of all variants.
const ROUNDS: usize = 31;

/// A sample of a variant takes at least this long.
const SAMPLE: Duration = Duration::from_millis(2);

/// One way to do the work.
pub struct Variant<'a> {
    name: String,
    run: Box<dyn FnMut() + 'a>,
    /// The largest ratio of its time to the reference's.
    limit: Option<f64>,
}

/// Ways to do the same work, the reference first.
pub struct Comparison<'a> {
    name: String,
    /// What one call of a variant computes.
    rows: usize,
    variants: Vec<Variant<'a>>,
}

/// What was measured of one variant.
struct Figures {
    nanos_per_row: f64,
    /// To the reference, the median over rounds.
    ratio: f64,
}

impl<'a> Comparison<'a> {
    /// Work on `rows` rows; `run` is the reference.
    pub fn new<T>(
        name: impl Into<String>,
        rows: usize,
        reference: &str,
        run: impl FnMut() -> T + 'a,
    ) -> Comparison<'a> {
        Comparison { name: name.into(), rows, variants: Vec::new() }.with(reference, None, run)
    }

    /// One more variant.
    pub fn with<T>(
        mut self,
        name: &str,
        limit: Option<f64>,
        mut run: impl FnMut() -> T + 'a,
    ) -> Comparison<'a> {
        let run = Box::new(move || drop(black_box(run())));
        self.variants.push(Variant { name: name.to_owned(), run, limit });
        self
    }

    /// Measures all and prints a table. Whether every variant keeps its limit.
    ///
    /// With the environment variable `ONLY`, runs the variants whose names (`comparison: variant`)
    /// contain it, for some seconds each, and measures nothing: for profilers.
    pub fn print(mut self) -> bool {
        if let Ok(only) = std::env::var("ONLY") {
            self.profile(&only);
            return true;
        }
        let figures = self.measure();
        println!("\n{}, {} rows\n", self.name, self.rows);
        println!("| variant | ns per row | rows per ns | time / first | limit | |");
        println!("|---|---|---|---|---|---|");
        let mut all_kept = true;
        for (variant, figures) in self.variants.iter().zip(&figures) {
            let Figures { nanos_per_row, ratio } = figures;
            let kept = variant.limit.is_none_or(|limit| *ratio <= limit);
            all_kept &= kept;
            let limit = variant.limit.map_or(String::new(), |it| format!("{it:.2}"));
            let verdict = match (variant.limit, kept) {
                (None, _) => "",
                (_, true) => "kept",
                (_, false) => "MISSED",
            };
            println!(
                "| {} | {nanos_per_row:.3} | {:.2} | {ratio:.2} | {limit} | {verdict} |",
                variant.name,
                1.0 / nanos_per_row
            );
        }
        all_kept
    }

    fn profile(&mut self, only: &str) {
        const ENOUGH: Duration = Duration::from_secs(3);
        for variant in &mut self.variants {
            let name = format!("{}: {}", self.name, variant.name);
            if !name.contains(only) {
                continue;
            }
            println!("{name}");
            let started = Instant::now();
            while started.elapsed() < ENOUGH {
                (variant.run)();
            }
        }
    }

    fn measure(&mut self) -> Vec<Figures> {
        let calls: Vec<u32> = self.variants.iter_mut().map(calls_per_sample).collect();
        let mut samples = vec![Vec::with_capacity(ROUNDS); self.variants.len()];
        for _ in 0..ROUNDS {
            for ((variant, calls), samples) in
                self.variants.iter_mut().zip(&calls).zip(&mut samples)
            {
                let started = Instant::now();
                (0..*calls).for_each(|_| (variant.run)());
                let nanos = started.elapsed().as_secs_f64() * 1e9;
                samples.push(nanos / f64::from(*calls) / self.rows as f64);
            }
        }
        let reference = samples[0].clone();
        let figures = |samples: Vec<f64>| {
            let ratios = samples.iter().zip(&reference).map(|(it, reference)| it / reference);
            Figures { ratio: median(ratios.collect()), nanos_per_row: median(samples) }
        };
        samples.into_iter().map(figures).collect()
    }
}

/// How many calls take as long as a sample; warms up, too.
fn calls_per_sample(variant: &mut Variant) -> u32 {
    let mut calls = 1;
    loop {
        let started = Instant::now();
        (0..calls).for_each(|_| (variant.run)());
        if started.elapsed() >= SAMPLE {
            return calls;
        }
        calls *= 2;
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
