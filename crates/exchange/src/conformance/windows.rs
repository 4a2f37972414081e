//! What every [`WindowPort`] must do. All ranks call this with the same seeds.
//!
//! The rules of pages that do not apply to windows: requests, tokens and budgets (a window has no
//! requests), early closing (a reader has all or nothing), the loss of one task (all ranks wait for
//! each other; a job ends as a whole), edges that are opened and closed by the thousand (a window
//! is made by all ranks together).

use super::Violation;
use crate::{LaneFunction, Partitioning, RangeBounds, WindowHistogram, WindowPort};
use std::{ops::Range, sync::Arc};
use volley_error::Result;
use volley_types::{SortKey, Type};
use volley_vector::{Batch, Vector, random::Generator};

/// Types with values of each width.
const TYPES: [Type; 10] = [
    Type::Unknown,
    Type::Boolean,
    Type::TinyInt,
    Type::SmallInt,
    Type::Integer,
    Type::BigInt,
    Type::HugeInt,
    Type::Double,
    Type::Date,
    Type::Interval,
];

/// The rows of all ranks of one exchange.
struct Input {
    partitioning: Partitioning,
    types: Vec<Type>,
    /// By rank.
    batches: Vec<Vec<Batch>>,
}

/// Exchanges random rows through windows, for each seed: each row reaches its lane once, unchanged,
/// rows of lower ranks first, those of a rank in their order.
///
/// # Errors
///
/// The first broken rule.
pub fn windows(port: &mut dyn WindowPort, seeds: Range<u64>) -> Result<(), Violation> {
    for seed in seeds {
        let rule = match run(port, seed) {
            Ok(None) => continue,
            Ok(Some(rule)) => rule,
            Err(error) => error.to_string(),
        };
        return Err(Violation { case: "windows", seed, rule });
    }
    Ok(())
}

fn run(port: &mut dyn WindowPort, seed: u64) -> Result<Option<String>> {
    let input = Input::new(seed, port.ranks())?;
    let own = &input.batches[port.rank()];
    let partitioning = input.partitioning.clone();
    let mut histogram = WindowHistogram::new(partitioning, &input.types, port.ranks())?;
    own.iter().try_for_each(|it| histogram.add(it))?;
    let mut writer = histogram.open(port)?;
    own.iter().try_for_each(|it| writer.write(it))?;
    let found = rows_of(&writer.finish()?)?;
    let expected = input.lane(port.rank())?;
    Ok((found != expected).then(|| {
        let at = found.iter().zip(&expected).position(|it| it.0 != it.1);
        let (ranks, rows) = (port.ranks(), expected.len());
        format!("{} rows of {rows} in {ranks} ranks, other ones from {at:?} on", found.len())
    }))
}

impl Input {
    fn new(seed: u64, ranks: usize) -> Result<Input> {
        let mut random = Generator::new(seed).with_null_ratio([0.0, 0.2, 1.0][seed as usize % 3]);
        let columns = 1 + random.below(4);
        let mut types: Vec<Type> = (0..columns).map(|_| random.choose(&TYPES).clone()).collect();
        types[0] = Type::BigInt;
        let partitioning = match random.below(4) {
            0 => Partitioning::Gather,
            1 => Partitioning::Forward(random.below(ranks)),
            2 => {
                let key = SortKey { column: 0, descending: true, nulls_first: true };
                let mut bounds: Vec<i64> = (1..ranks).map(|_| random.below(200) as i64).collect();
                bounds.sort_by_key(|it| std::cmp::Reverse(*it));
                let bounds = Vector::native::<i64>(Type::BigInt, bounds, None);
                let bounds = Batch::new(vec![bounds], ranks - 1);
                Partitioning::Range(Arc::new(RangeBounds::new(vec![key], bounds)?))
            }
            _ => Partitioning::Hash(vec![0]),
        };
        let rows_max = [1, 5, 3000, 20_000][random.below(4)];
        let mut batches = Vec::new();
        for _ in 0..ranks {
            let count = random.below(4);
            let mut own = Vec::new();
            for _ in 0..count {
                let rows = random.below(rows_max + 1);
                own.push(random.batch(&types, rows).loaded()?);
            }
            batches.push(own);
        }
        Ok(Input { partitioning, types, batches })
    }

    /// The rows of a lane, found row by row.
    fn lane(&self, lane: usize) -> Result<Vec<String>> {
        let mut rows = Vec::new();
        for own in &self.batches {
            let mut function = LaneFunction::new(self.partitioning.clone(), self.batches.len());
            for batch in own.iter().filter(|it| it.rows() > 0) {
                let mut lanes = Vec::new();
                function.append(batch, &mut lanes)?;
                let all = rows_of(batch)?.into_iter().zip(lanes);
                rows.extend(all.filter(|it| it.1 as usize == lane).map(|it| it.0));
            }
        }
        Ok(rows)
    }
}

/// Each row as text: numbers that are not equal to themselves are equal as text.
fn rows_of(batch: &Batch) -> Result<Vec<String>> {
    let columns = batch.columns().iter().map(|it| it.to_values());
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let row = |row: usize| {
        let values = columns.iter().map(|it| format!("{:?}", it[row]));
        values.collect::<Vec<_>>().join(", ")
    };
    Ok((0..batch.rows()).map(row).collect())
}
