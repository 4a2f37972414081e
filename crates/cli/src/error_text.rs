//! Errors for people: the message, the place in the text, what to do.

use std::fmt::Write;
use volley::{Blame, Error};

/// Why the command ends with a status other than 0.
#[derive(Debug)]
pub enum Failure {
    /// A statement failed: status 1.
    Statement(
        /// What is printed.
        String,
    ),
    /// The command was called wrongly: status 2.
    Usage(
        /// What is printed.
        String,
    ),
}

impl Failure {
    /// A failure of a statement of `sql`.
    pub fn of_statement(error: &Error, sql: &str) -> Failure {
        Failure::Statement(render(error, sql))
    }

    /// A failure outside any SQL text.
    pub fn of_error(error: &Error) -> Failure {
        Failure::Statement(render(error, ""))
    }

    /// A wrong argument.
    pub fn usage(error: &Error) -> Failure {
        Failure::Usage(render(error, ""))
    }

    /// Prints it to standard error.
    pub fn print(&self) {
        let (Failure::Statement(text) | Failure::Usage(text)) = self;
        eprint!("{text}");
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Statement(_) => 1,
            Failure::Usage(_) => 2,
        }
    }
}

/// The error as lines of text: message, the line of `sql` with a caret, causes, hint.
pub fn render(error: &Error, sql: &str) -> String {
    let mut text = String::new();
    let mut line = |it: std::fmt::Arguments<'_>| _ = writeln!(text, "{it}");
    line(format_args!("error: {error}"));
    if let Some(place) = Place::find(error, sql) {
        let Place { number, column, line: sql_line, width } = place;
        let margin = " ".repeat(number.to_string().len());
        line(format_args!("{margin}--> line {number}, column {}", column + 1));
        line(format_args!("{margin} |"));
        line(format_args!("{number} | {sql_line}"));
        line(format_args!("{margin} | {}{}", " ".repeat(column), "^".repeat(width)));
    }
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        line(format_args!("caused by: {cause}"));
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
            render(&error, sql),
            "error: no such column: colum\n \
             --> line 2, column 13\n  \
             |\n\
             2 | SELECT 'ä', colum FROM t\n  \
             |             ^^^^^\n\
             hint: did you mean column?\n"
        );
    }

    #[test]
    fn a_place_beyond_the_text_is_left_out() {
        let error = Error::invalid_query("x").span(Some(Span { start: 100, end: 101 }));
        assert_eq!(render(&error, "SELECT"), "error: x\n");
    }
}
