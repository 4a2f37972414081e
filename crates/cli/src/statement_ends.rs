//! Finds the ends of statements in text that arrives line by line.

/// What the end of a text is within.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Within {
    Nothing,
    /// `'...'`; whether a backslash escapes (`E'...'`).
    Text(bool),
    /// A name in this kind of quotes.
    Name(u8),
    /// `$tag$...$tag$`: what ends it.
    Dollars(String),
    /// Comments within each other.
    Comment(usize),
    /// `-- ...`
    LineComment,
}

/// Determines whether a text ends with a whole statement. Reads each line once.
#[derive(Debug)]
pub struct StatementEnds {
    within: Within,
    /// Whether a semicolon was the last thing, blanks and comments aside.
    is_end: bool,
}

impl StatementEnds {
    /// Of no text.
    pub fn new() -> StatementEnds {
        StatementEnds { within: Within::Nothing, is_end: false }
    }

    /// Adds a line with its end to the text; whether that ends with a semicolon now, outside of
    /// quotes and comments.
    pub fn is_after(&mut self, line: &str) -> bool {
        let mut rest = line.as_bytes();
        // Quotes are single bytes in UTF-8, and part of no other character.
        while let Some((first, others)) = rest.split_first() {
            rest = match &mut self.within {
                Within::Nothing => self.outside(rest),
                Within::Text(escapes) => match (first, others) {
                    (b'\\', [_, others @ ..]) if *escapes => others,
                    (b'\'', [b'\'', others @ ..]) => others,
                    (b'\'', _) => self.leave(others),
                    _ => others,
                },
                Within::Name(quote) => match first == quote {
                    true => self.leave(others),
                    false => others,
                },
                Within::Dollars(end) => match rest.strip_prefix(end.as_bytes()) {
                    Some(others) => self.leave(others),
                    None => others,
                },
                Within::Comment(depth) => match rest {
                    [b'*', b'/', others @ ..] if *depth == 1 => self.leave(others),
                    [b'*', b'/', others @ ..] => {
                        *depth -= 1;
                        others
                    }
                    [b'/', b'*', others @ ..] => {
                        *depth += 1;
                        others
                    }
                    _ => others,
                },
                Within::LineComment if *first == b'\n' => self.leave(others),
                Within::LineComment => others,
            };
        }
        self.is_end && matches!(self.within, Within::Nothing | Within::LineComment)
    }

    fn leave<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        self.within = Within::Nothing;
        rest
    }

    /// Goes on by what begins with `rest`, outside of quotes and comments; what follows.
    fn outside<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let (within, len) = match rest {
            [b'-', b'-', ..] => (Within::LineComment, 2),
            [b'/', b'*', ..] => (Within::Comment(1), 2),
            [b'\'', ..] => (Within::Text(false), 1),
            [b'e' | b'E', b'\'', ..] => (Within::Text(true), 2),
            // An operator whose second half does not begin a comment.
            [b'/', b'/', ..] => (Within::Nothing, 2),
            [quote @ (b'"' | b'`'), ..] => (Within::Name(*quote), 1),
            [b'$', ..] => match dollars(rest) {
                Some(end) => {
                    let len = end.len();
                    (Within::Dollars(end), len)
                }
                // A parameter.
                None => (Within::Nothing, 1 + word_len(&rest[1..])),
            },
            // A word may begin right after a number.
            [first, ..] if is_word(*first) && !first.is_ascii_digit() => {
                let len = rest.iter().take_while(|it| is_word(**it) || **it == b'$').count();
                (Within::Nothing, len)
            }
            _ => (Within::Nothing, 1),
        };
        let is_comment = matches!(within, Within::LineComment | Within::Comment(_));
        let is_blank = rest.first().is_some_and(u8::is_ascii_whitespace);
        if !is_comment && !is_blank {
            self.is_end = rest.first() == Some(&b';');
        }
        self.within = within;
        &rest[len.min(rest.len())..]
    }
}

/// The `$tag$` that `text` begins with.
fn dollars(text: &[u8]) -> Option<String> {
    let len = word_len(text.get(1..)?);
    let tag = text.get(..len + 2).filter(|it| it.ends_with(b"$"))?;
    String::from_utf8(tag.to_vec()).ok()
}

/// Whether a text is a command of the shell and not SQL.
pub fn is_command(text: &str) -> bool {
    let text = text.trim().trim_end_matches(';').trim_end();
    let is_word = ["quit", "exit", "help"].iter().any(|it| text.eq_ignore_ascii_case(it));
    // What follows a dot is a letter; a number may begin with a dot, and no statement does.
    is_word || text.strip_prefix('.').is_some_and(|it| it.starts_with(char::is_alphabetic))
}

/// How many bytes of words `text` begins with.
fn word_len(text: &[u8]) -> usize {
    text.iter().take_while(|it| is_word(**it)).count()
}

/// Whether a byte is, or is a part of, a letter, a digit or the like.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_end(text: &str) -> bool {
        let (mut ends, mut is_end) = (StatementEnds::new(), false);
        for line in text.split_inclusive('\n') {
            is_end = ends.is_after(line);
        }
        is_end
    }

    #[test]
    fn a_semicolon_ends_a_statement_unless_it_is_quoted() {
        for text in [
            "SELECT 1;",
            "SELECT 1; -- done\n",
            "SELECT ';' ; \n\n",
            "SELECT 'it''s', E'a\\'b;', U&'\\0041', x'41';",
            "SELECT 'a\\';",
            "SELECT \"a;'\", `b;'`;",
            "SELECT $$a;'$$, $t$ $$;' $t$;",
            "SELECT $1; /* a /* b */ c */\n",
            "SELECT 'ä;\n\nü' AS \u{e4}e'' ;",
            "SELECT a$b$c;",
            "SELECT 1e5';';",
            "SELECT 7 //*/;",
        ] {
            assert!(is_end(text), "{text}");
        }
        for text in [
            "",
            "\n",
            "SELECT 1",
            "SELECT ';\n",
            "SELECT 1 -- ;\n",
            "SELECT 1 /* ; \n",
            "SELECT /* /* */ ;\n",
            "SELECT E'\\';\n",
            "SELECT 'a'';\n",
            "SELECT \";\n",
            "SELECT $$;\n",
            "SELECT $t$;$$;\n",
            "SELECT 1$t$;\n",
            "SELECT 1; SELECT\n",
        ] {
            assert!(!is_end(text), "{text}");
        }
    }

    /// What the parser's tokens say: whether a word after the text begins a statement of its own.
    fn is_end_by_tokens(text: &str) -> bool {
        let parts = |text: &str| volley::split(text).len();
        parts(&format!("{text}\nx")) > parts(text)
    }

    #[test]
    fn ends_are_those_of_the_parser() {
        const PARTS: [&str; 25] = [
            "'", "''", "\"", "`", ";", ";", "\n", "\n", " ", "e'", "E", "\\", "--", "/*", "*/",
            "/", "$", "$$", "$t$", "w", "ä", "1", "(", "t", "-",
        ];
        let mut random = 88u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) as usize % below
        };
        let mut ended = 0;
        for _ in 0..20_000 {
            let count = next(12);
            let text: String = (0..count).map(|_| PARTS[next(PARTS.len())]).collect();
            let text = format!("x {text}{}\n", ["", ";"][next(2)]);
            let expected = is_end_by_tokens(&text);
            assert_eq!(is_end(&text), expected, "{text:?}");
            ended += usize::from(expected);
        }
        assert!(ended > 1000, "{ended}");
    }
}
