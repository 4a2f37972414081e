//! PIVOT and UNPIVOT in spellings that the parser does not know.
//!
//! ```text
//! PIVOT t ON c IN (...) USING f(x) GROUP BY g
//!     SELECT * FROM t PIVOT (f(x) FOR c IN (...) GROUP BY g)
//! UNPIVOT t ON a, b INTO NAME n VALUE v
//!     SELECT * FROM t UNPIVOT (v FOR n IN (a, b))
//! t PIVOT (f(x) FOR c IN (...) GROUP BY g)
//!     t PIVOT (f(x), " group by"(g) FOR c IN (...))
//! ```

use super::tokens::{is_word, keyword};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Word},
};

/// The call that stands for GROUP BY among the aggregates of PIVOT.
pub(crate) const PIVOT_GROUPS: &str = " group by";

/// What ends a query that begins with PIVOT or UNPIVOT.
const ENDS: [Keyword; 5] =
    [Keyword::ORDER, Keyword::LIMIT, Keyword::UNION, Keyword::EXCEPT, Keyword::INTERSECT];

/// Rewrites them.
pub(super) fn with_pivots(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_pivot =
        |it: &TokenWithSpan| is_word(it, Keyword::PIVOT) || is_word(it, Keyword::UNPIVOT);
    if !tokens.iter().any(is_pivot) {
        return tokens;
    }
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        rest = after;
        if is_pivot(token) && list.last().is_none_or(begins_query) {
            let (body, behind) = after.split_at(until(after, &ENDS));
            let table = match is_word(token, Keyword::PIVOT) {
                true => pivot(token, body),
                false => unpivot(token, body),
            };
            if let Some(table) = table {
                let star = at(Token::Mul, token);
                let select = [word(Keyword::SELECT, token), star, word(Keyword::FROM, token)];
                list.extend(select);
                list.extend(with_pivots(table));
                rest = behind;
                continue;
            }
        }
        list.push(token.clone());
        if is_word(token, Keyword::PIVOT)
            && let [open, inner @ ..] = after
            && open.token == Token::LParen
            && let Some(moved) = with_groups(open, &inner[..until(inner, &[])])
        {
            rest = &inner[until(inner, &[])..];
            list.extend(moved);
        }
    }
    list
}

/// How many tokens come before one of these keywords, or before the parenthesis or statement ends.
fn until(tokens: &[TokenWithSpan], keywords: &[Keyword]) -> usize {
    let mut depth = 0_usize;
    let ends = |it: &TokenWithSpan| {
        match it.token {
            Token::LParen => depth += 1,
            Token::RParen | Token::SemiColon if depth == 0 => return true,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0 && keywords.iter().any(|keyword| is_word(it, *keyword))
    };
    tokens.iter().position(ends).unwrap_or(tokens.len())
}

fn begins_query(before: &TokenWithSpan) -> bool {
    matches!(before.token, Token::SemiColon | Token::LParen) || is_word(before, Keyword::AS)
}

/// `t ON c IN (...) USING f(x) [GROUP BY g]`.
fn pivot(first: &TokenWithSpan, body: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let (table, rest) = split(body, Keyword::ON)?;
    let (values, rest) = split(rest, Keyword::USING)?;
    values.iter().find(|it| is_word(it, Keyword::IN))?;
    let groups = until(rest, &[Keyword::GROUP]);
    let mut list = table.to_vec();
    list.extend([word(Keyword::PIVOT, first), at(Token::LParen, first)]);
    list.extend_from_slice(&rest[..groups]);
    list.push(word(Keyword::FOR, first));
    list.extend_from_slice(values);
    list.extend_from_slice(&rest[groups..]);
    list.push(at(Token::RParen, first));
    Some(list)
}

/// `t ON a, b [INTO NAME n VALUE v]`.
fn unpivot(first: &TokenWithSpan, body: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let (table, rest) = split(body, Keyword::ON)?;
    let columns = until(rest, &[Keyword::INTO]);
    let named = |text: &str| at(Token::make_word(text, None), first);
    let (name, value) = match &rest[columns..] {
        [] => (named("name"), named("value")),
        [_, names, name, values, value]
            if is_word(names, Keyword::NAME) && is_word(values, Keyword::VALUE) =>
        {
            (name.clone(), value.clone())
        }
        _ => return None,
    };
    let mut list = table.to_vec();
    list.extend([word(Keyword::UNPIVOT, first), at(Token::LParen, first), value]);
    list.extend([word(Keyword::FOR, first), name, word(Keyword::IN, first)]);
    list.push(at(Token::LParen, first));
    list.extend_from_slice(&rest[..columns]);
    list.extend([at(Token::RParen, first), at(Token::RParen, first)]);
    Some(list)
}

/// What stands before and after a keyword outside of parentheses.
fn split(tokens: &[TokenWithSpan], at: Keyword) -> Option<(&[TokenWithSpan], &[TokenWithSpan])> {
    let (before, rest) = tokens.split_at(until(tokens, &[at]));
    rest.split_first().map(|(_, after)| (before, after))
}

/// What stands in the parentheses of PIVOT, with GROUP BY among the aggregates.
fn with_groups(open: &TokenWithSpan, inner: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let groups = until(inner, &[Keyword::GROUP]);
    let [_, by, groups_by @ ..] = &inner[groups..] else { return None };
    if !is_word(by, Keyword::BY) {
        return None;
    }
    let aggregates = until(inner, &[Keyword::FOR]);
    let value = PIVOT_GROUPS.to_owned();
    let name = Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword };
    let mut list = vec![open.clone()];
    list.extend_from_slice(&inner[..aggregates]);
    list.extend([at(Token::Comma, by), at(Token::Word(name), by), at(Token::LParen, by)]);
    list.extend_from_slice(groups_by);
    list.push(at(Token::RParen, by));
    list.extend_from_slice(inner.get(aggregates..groups)?);
    Some(list)
}

fn word(word: Keyword, place: &TokenWithSpan) -> TokenWithSpan {
    keyword(word, place.span)
}

fn at(token: Token, place: &TokenWithSpan) -> TokenWithSpan {
    TokenWithSpan { token, span: place.span }
}
