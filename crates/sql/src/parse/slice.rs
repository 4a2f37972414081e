//! `x[begin:-:step]`: a `-` as the end of a slice, which is where the list ends.

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Word},
};

/// The name that represents the `-`. SQL cannot express it without quotes.
pub(crate) const OPEN_END: &str = "-";

/// Makes names of the `-` between two colons.
pub(super) fn with_open_slices(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for at in 1..tokens.len().saturating_sub(1) {
        let is_open = tokens[at].token == Token::Minus
            && tokens[at - 1].token == Token::Colon
            && tokens[at + 1].token == Token::Colon;
        if is_open {
            let (value, keyword) = (OPEN_END.to_owned(), Keyword::NoKeyword);
            tokens[at].token = Token::Word(Word { value, quote_style: None, keyword });
        }
    }
    tokens
}
