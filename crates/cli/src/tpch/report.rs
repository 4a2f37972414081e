//! The measurements as a table and as JSON.

use super::run::Figures;
use crate::format;
use serde_json::json;
use std::io::{self, Write};
use volley::{Field, Schema, Type, format_bytes};

/// Query, rows, seconds, bytes scanned; totals below.
pub fn write_table(figures: &[Figures], out: &mut dyn Write) -> io::Result<()> {
    // Numbers are aligned right, and so are these texts of numbers.
    let names = ["query", "rows", "seconds", "bytes scanned"];
    let schema: Schema = names.iter().map(|it| Field::new(*it, Type::BigInt)).collect();
    let row = |name: String, rows: u64, seconds: f64, bytes: u64| {
        let bytes = format_bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
        vec![name, rows.to_string(), format!("{seconds:.3}"), bytes]
    };
    let mut rows: Vec<Vec<String>> = figures
        .iter()
        .map(|it| row(format!("Q{}", it.query), it.rows, it.best_seconds(), it.bytes))
        .collect();
    rows.push(row(
        "all".into(),
        figures.iter().map(|it| it.rows).sum(),
        figures.iter().map(Figures::best_seconds).sum(),
        figures.iter().map(|it| it.bytes).sum(),
    ));
    format::write_table(&schema, &rows, out)
}

/// `{"queries": [{"query": 1, "best_seconds": .., ...}]}`.
pub fn json(figures: &[Figures]) -> String {
    let queries = figures.iter().map(|it| {
        json!({
            "query": it.query,
            "best_seconds": it.best_seconds(),
            "median_seconds": it.median_seconds(),
            "rows": it.rows,
            "checksum": it.checksum,
        })
    });
    let mut text = json!({ "queries": queries.collect::<Vec<_>>() }).to_string();
    text.push('\n');
    text
}
