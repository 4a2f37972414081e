//! `TRIM(LEADING FROM x)`, which the parser accepts without FROM.

use super::tokens::is_at;
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

/// Which ends are trimmed.
const SIDES: [Keyword; 3] = [Keyword::BOTH, Keyword::LEADING, Keyword::TRAILING];

/// Takes FROM out where no characters precede it.
pub(super) fn with_trims(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_superfluous = |index: usize| {
        let Some([trim, open, _]) = index.checked_sub(3).and_then(|it| tokens.get(it..index))
        else {
            return false;
        };
        is_at(&tokens, index, Keyword::FROM)
            && SIDES.iter().any(|it| is_at(&tokens, index - 1, *it))
            && open.token == Token::LParen
            && super::tokens::is_word(trim, Keyword::TRIM)
    };
    let superfluous: Vec<usize> = (0..tokens.len()).filter(|it| is_superfluous(*it)).collect();
    let mut superfluous = superfluous.into_iter().peekable();
    let mut index = 0;
    tokens.retain(|_| {
        index += 1;
        superfluous.next_if_eq(&(index - 1)).is_none()
    });
    tokens
}
