//! Refuses chains of operators that are longer than a stack has room for, and parentheses that the
//! parser would refuse after it has looked ahead from each of them.
//!
//! The parser makes a tree of `a + b + c` whose depth is the number of operators, without
//! recursion; traversing or dropping the tree recurses.

use super::NESTING_MAX;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use volley_error::{Error, ErrorKind, Result};

/// The most tokens of one chain, those of the chains around it included. A level of a tree takes
/// two tokens or more, and less than a KiB of the 512 MiB of stack that a long text gets.
const CHAIN_TOKENS_MAX: usize = 800_000;

/// Checks that no chain is too long, which is what is between commas, semicolons and parentheses,
/// and that those are not nested too deeply.
pub(super) fn check_chains(tokens: &[TokenWithSpan]) -> Result<()> {
    check_with(tokens, CHAIN_TOKENS_MAX)
}

fn check_with(tokens: &[TokenWithSpan], most: usize) -> Result<()> {
    // The tokens since the last comma: of the chains around, and of the innermost.
    let (mut around, mut here): (Vec<usize>, usize) = (Vec::new(), 0);
    let mut length = 0;
    for token in tokens {
        match token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                around.push(here + 1);
                (length, here) = (length + 1, 0);
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                length -= here;
                here = around.pop().unwrap_or_default();
            }
            Token::Comma => {
                length -= here;
                here = 0;
            }
            Token::SemiColon => {
                around.clear();
                (length, here) = (0, 0);
            }
            _ => {
                here += 1;
                length += 1;
            }
        }
        if length > most || around.len() > NESTING_MAX {
            let error = Error::new(ErrorKind::Syntax, "statement nested too deeply");
            return Err(error.hint("each parenthesis, and each operator of a chain, is a level"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::VolleyDialect;
    use sqlparser::tokenizer::Tokenizer;

    fn is_too_long(sql: &str, most: usize) -> bool {
        let mut tokens = Vec::new();
        Tokenizer::new(&VolleyDialect, sql).tokenize_with_location_into_buf(&mut tokens).unwrap();
        tokens.retain(|it| !matches!(it.token, Token::Whitespace(_)));
        check_with(&tokens, most).is_err()
    }

    #[test]
    fn chains_are_counted_with_those_around_them() {
        assert!(!is_too_long("SELECT a + b + c", 6));
        assert!(is_too_long("SELECT a + b + c", 5));
        // Neither lists nor statements are chains.
        let list = "SELECT a + b, ".repeat(50);
        assert!(!is_too_long(&list, 4));
        assert!(!is_too_long(&"SELECT a + b;".repeat(50), 4));
        assert!(!is_too_long(&"SELECT f(a + b), (c, d);".repeat(50), 8));
        assert!(!is_too_long(&format!("f({})", "(a), ".repeat(50)), 5));
        assert!(is_too_long("a + b + (c + d + (e + f))", 12));
        assert!(!is_too_long("a + b + (c + d + (e + f))", 13));
        assert!(!is_too_long(")]} a )", 3));
        assert!(!is_too_long(&("(".repeat(NESTING_MAX) + "1"), 100_000));
        assert!(is_too_long(&("(".repeat(NESTING_MAX + 1) + "1"), 100_000));
    }
}
