//! The columns that are decoded.

use volley_codec::CodecId;
use volley_types::{Type, Value};
use volley_vector::Vector;

/// Rows of a column: 8 vectors.
const ROWS: usize = 8 * 1024;

/// A column and the codec that decodes it.
pub struct Case {
    pub name: String,
    pub codec: CodecId,
    pub column: Vector,
    /// Bytes of what is decoded: values, codes or texts.
    pub output_bytes: usize,
}

/// All cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for width in [1, 7, 8, 13, 17, 25] {
        cases.push(integers(format!("pfor, 32-bit values, {width} bits"), width, 0));
    }
    for percent in [1, 5] {
        let name = format!("pfor, 32-bit values, 13 bits, {percent} % exceptions");
        cases.push(integers(name, 13, percent));
    }
    for width in [7, 20, 33] {
        cases.push(wide_integers(format!("pfor, 64-bit values, {width} bits"), width));
    }
    cases.push(dictionary("pdict, 32-bit values, 100 entries", 100));
    cases.push(dictionary("pdict, 32-bit values, 5000 entries", 5000));
    cases.extend(deltas());
    cases.extend([0, 5].map(decimals));
    cases.push(floats());
    cases.extend(comments());
    cases
}

fn random() -> fastrand::Rng {
    fastrand::Rng::with_seed(7)
}

fn case(name: impl Into<String>, codec: CodecId, column: Vector, value_bytes: usize) -> Case {
    let output_bytes = column.len() * value_bytes;
    Case { name: name.into(), codec, column, output_bytes }
}

fn integers(name: String, width: u32, percent: u32) -> Case {
    let mut random = random();
    let value = |_| match random.u32(..100) {
        any if any < percent => random.i32(..),
        _ => 1_000_000 + random.i32(0..1 << width),
    };
    let values: Vec<i32> = (0..ROWS).map(value).collect();
    case(name, CodecId::Pfor, Vector::native::<i32>(Type::Integer, values, None), 4)
}

fn wide_integers(name: String, width: u32) -> Case {
    let mut random = random();
    let values: Vec<i64> = (0..ROWS).map(|_| random.i64(0..1 << width)).collect();
    case(name, CodecId::Pfor, Vector::native::<i64>(Type::BigInt, values, None), 8)
}

fn dictionary(name: &str, entries: i32) -> Case {
    let mut random = random();
    let values: Vec<i32> = (0..ROWS).map(|_| random.i32(0..entries).wrapping_mul(77_777)).collect();
    case(name, CodecId::Pdict, Vector::native::<i32>(Type::Integer, values, None), 4)
}

fn deltas() -> [Case; 2] {
    let mut random = random();
    let mut key = 0;
    let mut next = || {
        key += random.i64(0..30);
        key
    };
    let keys: Vec<i64> = (0..ROWS).map(|_| next()).collect();
    let narrow: Vec<i32> = keys.iter().map(|it| *it as i32).collect();
    let narrow = Vector::native::<i32>(Type::Integer, narrow, None);
    let wide = Vector::native::<i64>(Type::BigInt, keys, None);
    [
        case("pfor-delta, 32-bit values, 5 bits", CodecId::PforDelta, narrow, 4),
        case("pfor-delta, 64-bit values, 5 bits", CodecId::PforDelta, wide, 8),
    ]
}

fn decimals(percent: u32) -> Case {
    let mut random = random();
    let value = |_| match random.u32(..100) {
        any if any < percent => random.f64(),
        _ => f64::from(random.i32(0..10_000_000)) / 100.0,
    };
    let values: Vec<f64> = (0..ROWS).map(value).collect();
    let name = format!("alp, DOUBLE, 24 bits, {percent} % exceptions");
    case(name, CodecId::Alp, Vector::native::<f64>(Type::Double, values, None), 8)
}

fn floats() -> Case {
    let mut random = random();
    let values: Vec<f64> = (0..ROWS).map(|_| random.f64()).collect();
    case("alp-rd, DOUBLE", CodecId::AlpRd, Vector::native::<f64>(Type::Double, values, None), 8)
}

/// Texts as the comments of TPC-H: a few words of many.
fn comments() -> [Case; 3] {
    const WORDS: [&str; 24] = [
        "furiously",
        "quickly",
        "carefully",
        "blithely",
        "express",
        "regular",
        "special",
        "ironic",
        "pending",
        "final",
        "deposits",
        "requests",
        "accounts",
        "packages",
        "instructions",
        "foxes",
        "theodolites",
        "pinto beans",
        "sleep",
        "wake",
        "nag",
        "haggle",
        "above the",
        "according to",
    ];
    let mut random = random();
    let mut comment = || {
        let words = 3 + random.usize(..4);
        let words: Vec<&str> = (0..words).map(|_| WORDS[random.usize(..WORDS.len())]).collect();
        Value::text(words.join(" "))
    };
    let texts: Vec<Value> = (0..ROWS).map(|_| comment()).collect();
    let bytes: usize = texts.iter().filter_map(Value::as_str).map(str::len).sum();
    let column = Vector::from_values(Type::Varchar, &texts);
    [("fsst", CodecId::Fsst), ("lz4", CodecId::Lz4), ("raw texts", CodecId::Raw)].map(
        |(name, codec)| Case {
            name: format!("{name}, VARCHAR of {} bytes", bytes / ROWS),
            codec,
            column: column.clone(),
            output_bytes: bytes,
        },
    )
}
