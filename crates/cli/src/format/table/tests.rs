use crate::format::{Format, Printing, print};
use unicode_width::UnicodeWidthStr;
use volley::Session;

fn table(sql: &str, rows_max: usize, width: Option<u16>) -> String {
    printed(sql, &Printing { rows_max, width, shows_types: false, ..Printing::default() })
}

fn printed(sql: &str, printing: &Printing) -> String {
    let session = Session::new().unwrap();
    let mut out = Vec::new();
    print(&mut session.sql(sql).unwrap(), printing, &mut out, || {}).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn types_stand_below_names_and_null_is_visible() {
    let sql = "SELECT * FROM (VALUES (1, 'a'), (20, NULL)) v(number, s) ORDER BY 1";
    let printing = Printing { null: "∅".to_owned(), ..Printing::default() };
    assert_eq!(
        printed(sql, &printing),
        "┌─────────┬─────────┐\n\
         │  number ┆ s       │\n\
         │ INTEGER ┆ VARCHAR │\n\
         ╞═════════╪═════════╡\n\
         │       1 ┆ a       │\n\
         │      20 ┆ ∅       │\n\
         └─────────┴─────────┘\n\
         2 rows\n"
    );
}

#[test]
fn long_types_do_not_widen_columns() {
    let sql = "SELECT ROW(1, 'a', DATE '2020-01-02') AS r";
    let text = printed(sql, &Printing { width: Some(40), ..Printing::default() });
    assert!(text.lines().all(|it| it.width() <= 40), "{text}");
    assert!(text.contains('…'), "{text}");
}

#[test]
fn a_box_has_lines_everywhere_and_cuts_nothing() {
    let sql = "SELECT 'a text that is too long' AS s, 1 AS n";
    let printing = Printing {
        format: Format::Box,
        width: Some(12),
        shows_types: false,
        ..Printing::default()
    };
    assert_eq!(
        printed(sql, &printing),
        "┌─────────────────────────┬───┐\n\
         │ s                       │ n │\n\
         ├─────────────────────────┼───┤\n\
         │ a text that is too long │ 1 │\n\
         └─────────────────────────┴───┘\n\
         1 row\n"
    );
}

#[test]
fn numbers_stand_right_and_text_left() {
    assert_eq!(
        table("SELECT * FROM (VALUES (1, 'a'), (20, NULL)) v(number, s) ORDER BY 1", 10, None),
        "┌────────┬──────┐\n\
         │ number ┆ s    │\n\
         ╞════════╪══════╡\n\
         │      1 ┆ a    │\n\
         │     20 ┆ NULL │\n\
         └────────┴──────┘\n\
         2 rows\n"
    );
}

#[test]
fn long_text_is_cut_and_numbers_are_not() {
    assert_eq!(
        table("SELECT 123456789012345 AS n, 'a text that is too long' AS s", 10, Some(32)),
        "┌─────────────────┬────────────┐\n\
         │               n ┆ s          │\n\
         ╞═════════════════╪════════════╡\n\
         │ 123456789012345 ┆ a text th… │\n\
         └─────────────────┴────────────┘\n\
         1 row\n"
    );
}

#[test]
fn columns_in_the_middle_are_left_out() {
    let text = table("SELECT 1 AS first, 2 AS b, 3 AS c, 4 AS d, 5 AS last", 10, Some(24));
    assert!(text.contains("│ first ┆ b ┆ … ┆ last │"), "{text}");
    assert!(text.contains("│     1 ┆ 2 ┆ … ┆    5 │"), "{text}");
    assert!(text.ends_with("1 row, 5 columns (3 shown)\n"), "{text}");
}

#[test]
fn every_line_fits_whatever_the_width_and_the_characters() {
    let sql =
        "SELECT 'wide: 日本語日本語日本語' AS \"ä name that is long\", 1 AS n, 'é' AS s, 2 AS m";
    for width in 9..80 {
        let text = table(sql, 10, Some(width));
        let lines = text.lines().take_while(|it| !it.ends_with("shown)") && *it != "1 row");
        for line in lines {
            assert!(line.width() <= usize::from(width), "{width}:\n{text}");
        }
    }
}

#[test]
fn control_characters_are_shown_as_escapes() {
    let text = table("SELECT 'a' || chr(27) || '[31m' || chr(10) AS s", 10, None);
    assert!(text.contains("a\\u{1b}[31m\\n"), "{text}");
}

#[test]
fn rows_after_the_sample_are_printed_too() {
    let sql = "SELECT a.x * 1000 + b.x * 10 + c.x AS n FROM (VALUES (0),(1),(2),(3),(4)) a(x), \
               (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11),(12),(13),(14)) b(x), \
               (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11),(12),(13),(14),(15)) c(x)";
    let text = table(sql, usize::MAX, None);
    assert_eq!(text.lines().count(), 5 * 15 * 16 + 5, "1200 rows, 4 lines of frame, the count");
    assert!(text.ends_with("1200 rows\n"), "{}", &text[text.len() - 40..]);
    assert!(table(sql, 7, None).ends_with("1200 rows (7 shown)\n"));
}

#[test]
fn of_large_cells_the_beginning_is_shown() {
    let sql = "SELECT repeat('日\u{301}', 1000000) AS s, range(0, 100000) AS a, 7 AS n";
    let expected = "\
        ┌────────────┬────────────┬───┐\n\
        │ s          ┆ a          ┆ n │\n\
        ╞════════════╪════════════╪═══╡\n\
        │ 日\u{301}日\u{301}日\u{301}日\u{301}…  ┆ [0, 1, 2,… ┆ 7 │\n\
        └────────────┴────────────┴───┘\n\
        1 row\n";
    assert_eq!(table(sql, 10, Some(31)), expected);
    let joined = "SELECT repeat('👩\u{200d}👩\u{200d}👧', 3) AS s";
    assert!(table(joined, 10, Some(20)).contains("│ 👩\u{200d}👩\u{200d}👧"));
}

#[test]
fn rows_of_much_text_are_printed_before_there_are_many() {
    let sql = "SELECT repeat('y', 1000000) AS s FROM generate_series(1, 50)";
    let text = table(sql, usize::MAX, None);
    let line = format!("│ {} │\n", "y".repeat(1_000_000));
    assert_eq!(text.matches(&line).count(), 50);
    assert!(text.ends_with("50 rows\n"));
}
