//! Colors: of words while they are typed, and of what the parser does not understand.

use super::{
    keywords::is_keyword,
    scan::{Kind, scan},
};
use crate::{commands, statement_ends::is_command};
use nu_ansi_term::{Color, Style};
use reedline::{Highlighter, StyledText};
use std::ops::Range;

/// Longer texts, such as pasted dumps, are not parsed at every key.
const PARSED_BYTES_MAX: usize = 1 << 16;

pub(super) struct SqlHighlighter;

impl Highlighter for SqlHighlighter {
    fn highlight(&self, text: &str, cursor: usize) -> StyledText {
        let mut styled = StyledText::new();
        if is_command(text) {
            styled.push((command_style(text), text.to_owned()));
            return styled;
        }
        let error = error_range(text, cursor);
        for piece in scan(text) {
            let style = style(piece.kind, &text[piece.range.clone()]);
            let is_wrong = error.as_ref().is_some_and(|it| overlap(it, &piece.range));
            let style = if is_wrong { Style::new().fg(Color::Red).underline() } else { style };
            styled.push((style, text[piece.range].to_owned()));
        }
        styled
    }
}

fn command_style(text: &str) -> Style {
    let name = text.trim().trim_start_matches('.').split([' ', ';']).next().unwrap_or_default();
    let is_known = commands::find(name).is_some();
    Style::new().fg(if is_known { Color::Purple } else { Color::Red })
}

fn overlap(left: &Range<usize>, right: &Range<usize>) -> bool {
    left.start < right.end && right.start < left.end
}

/// Where the parser stops, if that is no matter of what is still to be typed: not at the end, and
/// not in the word at the cursor.
fn error_range(text: &str, cursor: usize) -> Option<Range<usize>> {
    let is_open = scan(text).last().is_none_or(|it| !it.closed);
    if text.len() > PARSED_BYTES_MAX || is_open {
        return None;
    }
    let span = volley::parse(text).err()?.text_span()?;
    let range = span.start as usize..(span.end as usize).max(span.start as usize + 1);
    let is_last = text.get(range.end..).is_none_or(|it| it.trim_end_matches(';').trim().is_empty());
    let is_typed = (range.start..=range.end).contains(&cursor);
    (!is_last && !is_typed).then_some(range)
}

fn style(kind: Kind, part: &str) -> Style {
    match kind {
        Kind::Word if is_keyword(part) => Style::new().fg(Color::Blue).bold(),
        Kind::Text => Style::new().fg(Color::Green),
        Kind::Number => Style::new().fg(Color::Cyan),
        Kind::Comment => Style::new().fg(Color::DarkGray),
        Kind::Word | Kind::QuotedName | Kind::Other => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_have_a_style_in_any_case() {
        assert_eq!(style(Kind::Word, "select"), style(Kind::Word, "SELECT"));
        assert_ne!(style(Kind::Word, "select"), style(Kind::Word, "selected"));
    }

    #[test]
    fn what_is_wrong_is_marked_unless_it_is_being_typed() {
        let marked = |text: &str| error_range(text, text.len()).map(|it| text[it].to_owned());
        assert_eq!(marked("SELECT a FORM t WHERE x"), Some("t".to_owned()));
        assert_eq!(marked("SELECT a FROM"), None);
        assert_eq!(marked("SELECT 'open"), None);
        assert_eq!(marked("SELECT a FROM t;"), None);
        assert_eq!(marked(""), None);
        assert_eq!(marked("SELECT ) FROM t"), Some(")".to_owned()));
    }

    #[test]
    fn the_colors_leave_the_text_as_it_is() {
        for text in ["SELECT 'ä' ) x -- y\n", ".mode box", ".nonsense", "SELECT $$;$$"] {
            let styled = SqlHighlighter.highlight(text, text.len());
            let parts: String = styled.buffer.iter().map(|it| it.1.as_str()).collect();
            assert_eq!(parts, text);
        }
    }
}
