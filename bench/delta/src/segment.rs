//! A segment like lineitem's: keys, a price, a date, a flag as a dictionary, a comment.

use std::{ops::Range, sync::Arc};
use volley_error::Result;
use volley_pdt::{Budget, Layers, Pdt, RowName, Stamp};
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

/// Columns of the segment.
pub const COLUMNS: usize = 5;

/// Distinct flags.
const FLAGS: u32 = 3;

pub fn types() -> Arc<[Type]> {
    [Type::BigInt, Type::BigInt, Type::Date, Type::Varchar, Type::Varchar].into()
}

/// Rows of a batch, numbered from `rows.start`.
pub fn batch(rows: Range<u32>) -> Batch {
    let len = rows.len();
    let flags: Vec<Value> = (0..FLAGS).map(|it| Value::text(format!("flag {it}"))).collect();
    let flags = Arc::new(Vector::from_values(Type::Varchar, &flags));
    let codes: Vec<u32> = rows.clone().map(|it| it % FLAGS).collect();
    let comments: Vec<Value> =
        rows.clone().map(|it| Value::text(format!("the comment of row {it}"))).collect();
    let keys: Vec<i64> = rows.clone().map(i64::from).collect();
    let prices: Vec<i64> = rows.clone().map(|it| i64::from(it % 100_000) * 7).collect();
    let dates: Vec<i32> = rows.map(|it| (it % 2500) as i32).collect();
    let columns = vec![
        Vector::native::<i64>(Type::BigInt, keys, None),
        Vector::native::<i64>(Type::BigInt, prices, None),
        Vector::native::<i32>(Type::Date, dates, None),
        Vector::dictionary(codes.into(), flags, None),
        Vector::from_values(Type::Varchar, &comments),
    ];
    Batch::new(columns, len)
}

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Insert,
    Delete,
    Modify,
    /// A third of each.
    Mixed,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Insert, Kind::Delete, Kind::Modify, Kind::Mixed];

    fn nth(self, number: u32) -> Kind {
        match self {
            Kind::Mixed => Kind::ALL[number as usize % 3],
            kind => kind,
        }
    }
}

/// What is inserted, and what modified columns become.
pub struct Source {
    row: Batch,
    price: Batch,
}

impl Source {
    pub fn new() -> Source {
        let row = batch(7..8);
        let price = row.project(&[1]);
        Source { row, price }
    }

    /// One change near base row `sid`.
    pub fn change(&self, own: &mut Pdt, layers: &Layers, kind: Kind, sid: u32) -> Result<()> {
        match kind {
            Kind::Insert => own.insert(sid, &self.row).map(drop),
            Kind::Delete => own.delete(layers, &[RowName::Base(sid)]).map(drop),
            Kind::Modify | Kind::Mixed => {
                own.modify(layers, &[RowName::Base(sid)], &[1], &self.price).map(drop)
            }
        }
    }
}

/// A segment of `base_rows` rows, `percent` of them changed at random, in commits of 1000.
pub fn changed(base_rows: u32, percent: u32, kind: Kind) -> Result<Layers> {
    let mut layers = Layers::new(Pdt::new(types(), base_rows, Budget::unlimited())?);
    let mut random = fastrand::Rng::with_seed(36);
    let source = Source::new();
    let count = (u64::from(base_rows) * u64::from(percent) / 100) as u32;
    let mut stamp = 0;
    for start in (0..count).step_by(1000) {
        let mut own = layers.transaction()?;
        for number in start..count.min(start + 1000) {
            let sid = random.u32(..base_rows);
            source.change(&mut own, &layers, kind.nth(number), sid)?;
        }
        stamp += 1;
        layers = layers.apply(&own, Stamp(stamp))?;
    }
    Ok(layers)
}
