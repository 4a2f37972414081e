//! The words of a command of the shell.

/// Splits at blanks; a word in single or double quotes may have blanks, and quotes twice.
///
/// # Errors
///
/// What is wrong: a quote that stays open.
pub fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            '\'' | '"' => quoted(rest, first)?,
            _ => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        words.push(word);
        rest = after.trim_start();
    }
    Ok(words)
}

fn quoted(text: &str, quote: char) -> Result<(String, &str), String> {
    let mut word = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, char)) = chars.next() {
        if char != quote {
            word.push(char);
        } else if chars.peek().is_some_and(|it| it.1 == quote) {
            word.push(quote);
            chars.next();
        } else {
            return Ok((word, &text[at + quote.len_utf8()..]));
        }
    }
    Err(format!("the quote {quote} is not closed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_at_blanks_outside_of_quotes() {
        let split = |text: &str| words(text).unwrap();
        assert_eq!(split("  .mode\tbox  "), [".mode", "box"]);
        assert_eq!(split(".read 'my file.sql' x"), [".read", "my file.sql", "x"]);
        assert_eq!(split("\"a \"\"b\"\"\" 'it''s' ''"), ["a \"b\"", "it's", ""]);
        assert!(split(" ").is_empty());
        assert!(words(".read 'open").is_err());
    }
}
