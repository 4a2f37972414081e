//! Functions after their first argument, as calls: `'ab'.upper().left(1)` as
//! `left(upper('ab'), 1)`.

use super::tokens::{ends_operand, is_name, is_word};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};
use volley_function::Package;

/// Words before the name of a table or function, after which a parenthesis begins no arguments.
const BEFORE_NAMES: [Keyword; 12] = [
    Keyword::INTO,
    Keyword::TABLE,
    Keyword::VIEW,
    Keyword::EXISTS,
    Keyword::FROM,
    Keyword::JOIN,
    Keyword::UPDATE,
    Keyword::COPY,
    Keyword::REFERENCES,
    Keyword::FUNCTION,
    Keyword::MACRO,
    Keyword::CALL,
];

/// The most tokens before a function that are read as its argument: each of them is moved, and
/// chains of functions move them again and again.
const ARGUMENT_TOKENS_MAX: usize = 10_000;

/// Rewrites them.
pub(super) fn with_calls(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.windows(3).any(is_method) {
        return tokens;
    }
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        let begin = is_method(rest).then(|| last_argument(&list)).flatten();
        let Some(begin) = begin else {
            list.push(token.clone());
            rest = after;
            continue;
        };
        let argument = list.split_off(begin);
        let (name, behind) = after.split_at(2);
        list.extend_from_slice(name);
        list.extend(argument);
        if behind.first().is_some_and(|it| it.token != Token::RParen) {
            list.push(TokenWithSpan { token: Token::Comma, span: token.span });
        }
        rest = behind;
    }
    list
}

/// Whether `.name(` is here.
fn is_method(tokens: &[TokenWithSpan]) -> bool {
    match tokens {
        [period, name, open, ..] => {
            period.token == Token::Period && is_name(name) && open.token == Token::LParen
        }
        _ => false,
    }
}

/// Where the operand at the end begins, if it has not too many tokens.
fn last_argument(tokens: &[TokenWithSpan]) -> Option<usize> {
    let skipped = tokens.len().saturating_sub(ARGUMENT_TOKENS_MAX);
    // What reaches the first tokens looked at may have begun before.
    let begin = argument_begin(&tokens[skipped..]).filter(|it| skipped == 0 || *it > 1);
    begin.map(|it| it + skipped)
}

/// Where the operand at the end begins; `None` when it is none, but a schema or a package.
fn argument_begin(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut at = tokens.len().checked_sub(1)?;
    let mut is_qualifier = true;
    loop {
        is_qualifier &= matches!(tokens[at].token, Token::Word(_));
        match tokens[at].token {
            Token::RParen | Token::RBracket | Token::RBrace => {
                at = opening(tokens, at)?;
                let before = at.checked_sub(1).filter(|it| goes_before(&tokens[*it], tokens, at));
                if let Some(before) = before {
                    at = before;
                    if tokens[at + 1].token == Token::LBracket {
                        continue;
                    }
                }
            }
            Token::Word(_) | Token::Number(..) | Token::SingleQuotedString(_) => {}
            _ => return None,
        }
        let joins = |it: &usize| {
            let joint = &tokens[*it + 1].token;
            let is_joint = matches!(joint, Token::Period | Token::DoubleColon);
            is_joint && (ends_operand(&tokens[*it]) || tokens[*it].token == Token::RBrace)
        };
        match at.checked_sub(2).filter(joins) {
            Some(before) => at = before,
            None => break,
        }
    }
    let is_name = is_qualifier && is_of_name(tokens, at);
    (ends_operand(&tokens[tokens.len() - 1]) && !is_name).then_some(at)
}

/// Whether the token belongs to the parenthesis, bracket or brace that opens after it.
fn goes_before(token: &TokenWithSpan, tokens: &[TokenWithSpan], opening: usize) -> bool {
    match tokens[opening].token {
        Token::LBrace => is_word(token, Keyword::MAP),
        Token::LBracket => ends_operand(token),
        _ => is_name(token),
    }
}

/// Whether names are those of a table or a package.
fn is_of_name(tokens: &[TokenWithSpan], first: usize) -> bool {
    let before = first.checked_sub(1).and_then(|it| tokens.get(it));
    let is_defined = before.is_some_and(|it| BEFORE_NAMES.iter().any(|word| is_word(it, *word)));
    let is_package = match &tokens[first].token {
        Token::Word(word) => {
            let mut names = Package::ALL.iter().map(|it| it.name()).chain(["main", "pg_catalog"]);
            names.any(|it| word.value.eq_ignore_ascii_case(it))
        }
        _ => false,
    };
    is_defined || is_package || is_indexed(tokens, first)
}

/// Whether `CREATE INDEX [IF NOT EXISTS] name ON` is before the token.
fn is_indexed(tokens: &[TokenWithSpan], first: usize) -> bool {
    let is = |back: usize, word: Keyword| {
        let token = first.checked_sub(back).and_then(|it| tokens.get(it));
        token.is_some_and(|it| is_word(it, word))
    };
    is(1, Keyword::ON) && (is(3, Keyword::INDEX) || is(3, Keyword::EXISTS))
}

/// Where the parenthesis, bracket or brace opens that closes at a token.
fn opening(tokens: &[TokenWithSpan], closing: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for at in (0..=closing).rev() {
        match tokens[at].token {
            Token::RParen | Token::RBracket | Token::RBrace => depth += 1,
            Token::LParen | Token::LBracket | Token::LBrace => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}
