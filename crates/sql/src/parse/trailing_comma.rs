//! Commas behind the last item of a list, which mean nothing: `SELECT a, b, FROM t`, `[1, 2,]`.

use super::tokens::is_word;
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

/// The words that no item of a list begins with, so that a list ends before them.
const BEHIND_LISTS: [Keyword; 15] = [
    Keyword::FROM,
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::WINDOW,
    Keyword::QUALIFY,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::UNION,
    Keyword::EXCEPT,
    Keyword::INTERSECT,
    Keyword::SELECT,
    Keyword::RETURNING,
];

/// Takes out commas between an item and the end of its list.
pub(super) fn without_trailing_commas(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_end = |token: Option<&TokenWithSpan>| match token {
        None => true,
        Some(it) => {
            matches!(
                it.token,
                Token::RParen | Token::RBracket | Token::RBrace | Token::SemiColon | Token::EOF
            ) || BEHIND_LISTS.iter().any(|keyword| is_word(it, *keyword))
        }
    };
    let ends_item = |token: &TokenWithSpan| {
        !matches!(token.token, Token::LParen | Token::LBracket | Token::LBrace | Token::Comma)
    };
    let is_superfluous = |at: usize| {
        let before = at.checked_sub(1).and_then(|it| tokens.get(it));
        tokens[at].token == Token::Comma
            && before.is_some_and(ends_item)
            && is_end(tokens.get(at + 1))
    };
    let superfluous: Vec<usize> = (0..tokens.len()).filter(|it| is_superfluous(*it)).collect();
    for at in superfluous.into_iter().rev() {
        tokens.remove(at);
    }
    tokens
}
