//! The memory of statements during parsing and planning.

/// What a token takes: in the list of tokens and its copies, in the syntax tree, and as part of an
/// expression of the plan and its copies. Measured, with lists of a million numbers: 630 to 1050.
const TOKEN_BYTES: usize = 640;

/// What a byte of text takes, such as one of a long literal. Measured: 14.
const BYTES_PER_BYTE: usize = 14;

/// What the binder makes for each level of each expression and query, and what the optimizer makes
/// of it.
pub(crate) const NODE_BYTES: usize = 1024;

/// About how many bytes of memory it takes to read the text of a statement and to plan it.
///
/// ```
/// assert!(volley_sql::memory_bytes("SELECT 1") < 2000);
/// let list = format!("SELECT x IN ({})", "1, ".repeat(1000));
/// assert!(volley_sql::memory_bytes(&list) > 1_000_000);
/// ```
pub fn memory_bytes(text: &str) -> usize {
    let bytes = text.len().saturating_mul(BYTES_PER_BYTE);
    tokens(text.as_bytes()).saturating_mul(TOKEN_BYTES).saturating_add(bytes)
}

/// About how many tokens there are: words and numbers, quoted texts, and single other bytes.
fn tokens(text: &[u8]) -> usize {
    let (mut tokens, mut at) = (0, 0);
    while let Some(byte) = text.get(at) {
        let rest = text.get(at + 1..).unwrap_or_default();
        let passed = match byte {
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'\'' | b'"' => rest.iter().position(|it| it == byte).map_or(rest.len(), |it| it + 1),
            b'-' if rest.starts_with(b"-") => {
                rest.iter().position(|it| *it == b'\n').unwrap_or(rest.len())
            }
            _ if is_word(*byte) => rest.iter().position(|it| !is_word(*it)).unwrap_or(rest.len()),
            _ => 0,
        };
        tokens += 1;
        at += 1 + passed;
    }
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn tokens_are_about_those_of_the_parser() {
        let counts = [
            ("", 0),
            ("  \n", 0),
            ("SELECT größe, 1.5e3", 4),
            ("f('a b''c', \"x y\")", 7),
            ("a -- b c d\n+ 'open", 4),
        ];
        for (text, expected) in counts {
            assert_eq!(tokens(text.as_bytes()), expected, "{text}");
        }
    }
}
