//! IGNORE NULLS and RESPECT NULLS after the last argument of a call.
//!
//! The parser attaches them to an argument that ends with a call. They are therefore moved after
//! the call that they belong to:
//!
//! ```text
//! first_value(abs(x) IGNORE NULLS) OVER w   as   first_value(abs(x)) IGNORE NULLS OVER w
//! ```

use super::tokens::is_at;
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

/// Rewrites them.
pub(super) fn with_null_treatments(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for index in 1..tokens.len().saturating_sub(3) {
        let is_treatment =
            is_at(&tokens, index, Keyword::IGNORE) || is_at(&tokens, index, Keyword::RESPECT);
        let follows_call = tokens[index - 1].token == Token::RParen;
        let ends_call = tokens[index + 2].token == Token::RParen;
        let is_moved = is_treatment
            && follows_call
            && ends_call
            && is_at(&tokens, index + 1, Keyword::NULLS)
            && is_at(&tokens, index + 3, Keyword::OVER);
        if is_moved {
            tokens[index..index + 3].rotate_right(1);
        }
    }
    tokens
}
