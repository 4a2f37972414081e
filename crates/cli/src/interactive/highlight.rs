//! Colors.

use super::scan::{KEYWORDS, Kind, scan};
use nu_ansi_term::{Color, Style};
use reedline::{Highlighter, StyledText};

pub(super) struct SqlHighlighter;

impl Highlighter for SqlHighlighter {
    fn highlight(&self, text: &str, _cursor: usize) -> StyledText {
        let mut styled = StyledText::new();
        for piece in scan(text) {
            let part = &text[piece.range];
            styled.push((style(piece.kind, part), part.to_owned()));
        }
        styled
    }
}

fn style(kind: Kind, part: &str) -> Style {
    match kind {
        Kind::Word if KEYWORDS.binary_search(&part.to_uppercase().as_str()).is_ok() => {
            Style::new().fg(Color::Blue).bold()
        }
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
    fn keywords_are_sorted_and_found_in_any_case() {
        assert!(KEYWORDS.is_sorted());
        assert_eq!(style(Kind::Word, "select"), style(Kind::Word, "SELECT"));
        assert_ne!(style(Kind::Word, "select"), style(Kind::Word, "selected"));
    }
}
