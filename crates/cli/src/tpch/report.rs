//! The figures as a table and as JSON.

use super::run::Figures;
use comfy_table::{Cell, CellAlignment, Table, presets::UTF8_FULL_CONDENSED};
use serde_json::json;
use volley::format_bytes;

/// Query, rows, seconds, bytes scanned; totals below.
pub fn table(figures: &[Figures]) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["query", "rows", "seconds", "bytes scanned"]);
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let mut add = |name: String, rows: u64, seconds: f64, bytes: u64| {
        let bytes = format_bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
        let cells = [name, rows.to_string(), format!("{seconds:.3}"), bytes];
        table.add_row(cells.map(right));
    };
    for it in figures {
        add(format!("Q{}", it.query), it.rows, it.best_seconds(), it.bytes);
    }
    add(
        "all".into(),
        figures.iter().map(|it| it.rows).sum(),
        figures.iter().map(Figures::best_seconds).sum(),
        figures.iter().map(|it| it.bytes).sum(),
    );
    table.to_string()
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
