//! Errors as text: the message, the position in the SQL text, the hint.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};
use unicode_width::UnicodeWidthChar;
use volley::{Blame, Error, ErrorKind};

/// Marks the omitted part of a long line.
const CUT: &str = "...";

/// Why the command ends with a status other than 0.
#[derive(Debug)]
pub enum Failure {
    /// A statement failed: status 1.
    Statement(Report),
    /// The command was called wrongly: status 2.
    Usage(Report),
    /// The reader closed the output (`volley ... | head`): status 0, nothing printed.
    OutputClosed,
}

/// An error for people and for programs.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Lines of text.
    pub text: String,
    /// A JSON object in one line.
    pub json: String,
}

/// Who reads errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorStyle {
    /// People: lines of text.
    Text,
    /// Programs: a JSON object per error.
    Json,
}

impl Report {
    /// The error of a statement of `sql`, which follows other lines of the same text.
    fn of(error: &Error, sql: &str, lines_before: usize) -> Report {
        let (text, json) = (render(error, sql, lines_before), as_json(error, sql, lines_before));
        Report { text, json }
    }
}

impl Failure {
    /// A failure of a statement of `sql`, which follows other lines of the same text.
    pub fn of_statement(error: &Error, sql: &str, lines_before: usize) -> Failure {
        Failure::Statement(Report::of(error, sql, lines_before))
    }

    /// A failure outside any SQL text.
    pub fn of_error(error: &Error) -> Failure {
        Failure::Statement(Report::of(error, "", 0))
    }

    /// A wrong argument.
    pub fn usage(error: &Error) -> Failure {
        Failure::Usage(Report::of(error, "", 0))
    }

    /// A failure that was reported already: it only has a status.
    pub fn reported() -> Failure {
        Failure::Statement(Report::default())
    }

    /// The output did not take what was written.
    pub fn of_output(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::OutputClosed;
        }
        let message = format!("cannot write to standard output: {error}");
        Failure::of_error(&Error::new(ErrorKind::Io, message))
    }

    /// What is printed for people.
    pub fn text(&self) -> &str {
        self.report().map_or("", |it| &it.text)
    }

    /// Prints it to standard error, if that still takes it.
    pub fn print(&self, style: ErrorStyle) {
        let Some(report) = self.report() else { return };
        let text = match style {
            ErrorStyle::Text => &report.text,
            ErrorStyle::Json => &report.json,
        };
        let _ = io::stderr().write_all(text.as_bytes());
    }

    fn report(&self) -> Option<&Report> {
        match self {
            Failure::Statement(report) | Failure::Usage(report) => Some(report),
            Failure::OutputClosed => None,
        }
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Statement(_) => 1,
            Failure::Usage(_) => 2,
            Failure::OutputClosed => 0,
        }
    }
}

/// The error as lines of text: message, the line of `sql` with a caret, causes, hint.
pub fn render(error: &Error, sql: &str, lines_before: usize) -> String {
    let mut text = String::new();
    let mut line = |it: std::fmt::Arguments<'_>| _ = writeln!(text, "{it}");
    line(format_args!("error: {error}"));
    if let Some(place) = Place::find(error, sql) {
        let column = place.column + 1;
        let number = lines_before + place.number;
        let (sql_line, caret) = place.excerpt();
        let margin = " ".repeat(number.to_string().len());
        line(format_args!("{margin}--> line {number}, column {column}"));
        line(format_args!("{margin} |"));
        line(format_args!("{number} | {sql_line}"));
        line(format_args!("{margin} | {caret}"));
    }
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if !says_nothing_new(cause) {
            line(format_args!("caused by: {cause}"));
        }
        source = cause.source();
    }
    if let Some(hint) = error.hint_text() {
        line(format_args!("hint: {hint}"));
    }
    if error.kind().blame() == Blame::Engine {
        line(format_args!("this is a bug in Volley; please report it with the query"));
    }
    text
}

/// The error as a JSON object in one line: what is wrong, where in the text, and what to do. Lines
/// and columns count from 1, columns in characters; `end_column` is behind the last one.
fn as_json(error: &Error, sql: &str, lines_before: usize) -> String {
    let place = Place::find(error, sql);
    let at = place.as_ref().map(|it| {
        let column = it.column + 1;
        serde_json::json!({
            "line": lines_before + it.number,
            "column": column,
            "end_column": column + it.width,
            "text": it.excerpt().0,
        })
    });
    let mut causes = Vec::new();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if !says_nothing_new(cause) {
            causes.push(cause.to_string());
        }
        source = cause.source();
    }
    let object = serde_json::json!({
        "error": error.to_string(),
        "kind": format!("{:?}", error.kind()),
        "place": at,
        "hint": error.hint_text(),
        "causes": causes,
    });
    format!("{object}\n")
}

/// Whether the message already says in words what an operating system's error is.
fn says_nothing_new(cause: &(dyn std::error::Error + 'static)) -> bool {
    use io::ErrorKind::{IsADirectory, NotFound, PermissionDenied};
    let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
    matches!(kind, Some(IsADirectory | NotFound | PermissionDenied))
}

/// Characters of a line of SQL that are shown around a place.
const EXCERPT_CHARS: usize = 100;

/// A place in SQL text, for a caret below the line.
struct Place<'a> {
    /// From 1.
    number: usize,
    /// Characters before it in the line.
    column: usize,
    line: &'a str,
    /// Characters marked, at least one.
    width: usize,
}

impl<'a> Place<'a> {
    fn find(error: &Error, sql: &'a str) -> Option<Place<'a>> {
        let span = error.text_span()?;
        let start = span.start as usize;
        let before = sql.get(..start)?;
        let line_start = before.rfind('\n').map_or(0, |it| it + 1);
        let line = sql[line_start..].lines().next().unwrap_or_default();
        let line_end = line_start + line.len();
        let marked = sql.get(start..(span.end as usize).min(line_end).max(start))?;
        Some(Place {
            number: before.matches('\n').count() + 1,
            column: sql[line_start..start].chars().count(),
            line,
            width: marked.chars().count().max(1),
        })
    }

    /// The part of the line that is shown, and the carets below it.
    fn excerpt(&self) -> (String, String) {
        let chars: Vec<char> = self.line.chars().collect();
        // The place may be the line's end, which is not shown.
        let column = self.column.min(chars.len());
        if chars.len() <= EXCERPT_CHARS {
            return (self.line.to_owned(), carets(&chars[..column], self.width));
        }
        let from = column.saturating_sub(EXCERPT_CHARS / 2).min(chars.len() - EXCERPT_CHARS);
        let to = from + EXCERPT_CHARS;
        let mut shown: String = chars[from..to].iter().collect();
        let mut before = String::new();
        if from > 0 {
            shown.insert_str(0, CUT);
            before.push_str(CUT);
        }
        if to < chars.len() {
            shown.push_str(CUT);
        }
        before.extend(&chars[from..column]);
        let before: Vec<char> = before.chars().collect();
        (shown, carets(&before, self.width.min(to - column)))
    }
}

/// Carets below the place; tabs stay tabs, wide characters are two blanks.
fn carets(before: &[char], width: usize) -> String {
    let blank = |it: &char| match it {
        '\t' => "\t",
        it => &"  "[..it.width().unwrap_or(0).min(2)],
    };
    let blanks: String = before.iter().map(blank).collect();
    blanks + &"^".repeat(width.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley::Span;

    #[test]
    fn the_caret_stands_below_the_word_also_after_other_lines_and_characters() {
        let sql = "SELECT 1;\nSELECT 'ä', colum FROM t";
        let start = sql.find("colum").unwrap() as u32;
        let error = Error::invalid_query("no such column: colum")
            .span(Some(Span { start, end: start + 5 }))
            .hint("did you mean column?");
        assert_eq!(
            render(&error, sql, 0),
            "error: no such column: colum\n \
             --> line 2, column 13\n  \
             |\n\
             2 | SELECT 'ä', colum FROM t\n  \
             |             ^^^^^\n\
             hint: did you mean column?\n"
        );
    }

    #[test]
    fn of_a_long_line_the_part_around_the_place_is_shown() {
        let sql = format!("SELECT {}, colum, {} FROM t", "a1, ".repeat(100), "b".repeat(200));
        let start = sql.find("colum").unwrap() as u32;
        let error = Error::invalid_query("x").span(Some(Span { start, end: start + 5 }));
        let text = render(&error, &sql, 0);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[3].len(), "1 | ".len() + CUT.len() * 2 + EXCERPT_CHARS);
        assert_eq!(lines[4].find('^'), lines[3].find("colum"));
        assert_eq!(lines[4].matches('^').count(), 5);
    }

    #[test]
    fn the_caret_is_right_below_tabs_and_wide_characters() {
        let sql = "\t'日本', colum";
        let start = sql.find("colum").unwrap() as u32;
        let error = Error::invalid_query("x").span(Some(Span { start, end: start + 5 }));
        assert!(render(&error, sql, 0).ends_with(" | \t        ^^^^^\n"));
    }

    #[test]
    fn a_place_at_the_end_of_a_line_is_marked() {
        let sql = "SELECT 1\r\n+";
        let error = Error::invalid_query("x").span(Some(Span { start: 9, end: 10 }));
        assert!(render(&error, sql, 0).ends_with("1 | SELECT 1\n  |         ^\n"));
    }

    #[test]
    fn programs_get_the_place_and_the_hint_as_json() {
        let sql = "SELECT 1;\nSELECT 'ä', colum FROM t";
        let start = sql.find("colum").unwrap() as u32;
        let error = Error::invalid_query("no such column: colum")
            .span(Some(Span { start, end: start + 5 }))
            .hint("did you mean column?");
        let json = as_json(&error, sql, 10);
        assert!(json.ends_with('\n') && json.matches('\n').count() == 1);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["error"], "no such column: colum");
        assert_eq!(json["hint"], "did you mean column?");
        assert_eq!(json["kind"], "InvalidQuery");
        let place = &json["place"];
        assert_eq!((&place["line"], &place["column"]), (&12.into(), &13.into()));
        assert_eq!(
            (&place["end_column"], &place["text"]),
            (&18.into(), &"SELECT 'ä', colum FROM t".into())
        );
        let json = as_json(&Error::invalid_query("x"), "", 0);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!(json["place"].is_null() && json["hint"].is_null());
    }

    #[test]
    fn a_place_beyond_the_text_is_left_out() {
        let error = Error::invalid_query("x").span(Some(Span { start: 100, end: 101 }));
        assert_eq!(render(&error, "SELECT", 0), "error: x\n");
    }
}
