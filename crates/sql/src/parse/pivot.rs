//! PIVOT and UNPIVOT in spellings that the parser does not know.
//!
//! ```text
//! PIVOT t ON c IN (...) USING f(x) GROUP BY g
//!     SELECT * FROM t PIVOT (f(x) FOR c IN (...) GROUP BY g)
//! UNPIVOT t ON a, b INTO NAME n VALUE v
//!     SELECT * FROM t UNPIVOT ((v) FOR n IN (a, b))
//! t UNPIVOT (v FOR n IN (* EXCLUDE (a)))
//!     t UNPIVOT (v FOR n IN (columns(* EXCLUDE (a))))
//! t PIVOT (f(x) + 1 AS s FOR c IN (...) GROUP BY g)
//!     t PIVOT (" of"(f(x) + 1) AS s, " group by"(g) FOR c IN (...))
//! t PIVOT (f(x) FOR c IN (1, 2) d IN (3))
//!     t PIVOT (f(x) FOR (c, d) IN (" values"(1, 2), " values"(3)))
//! t PIVOT (f(x) FOR c IN (1 AS a, 2) d IN (3))
//!     t PIVOT (f(x) FOR (c, d) IN (" values"("a" := 1, 2), " values"(3)))
//! t PIVOT (f(x) FOR c IN (SELECT ...) d IN (3))
//!     t PIVOT (f(x) FOR (c, d) IN (" values"((SELECT ...)), " values"(3)))
//! PIVOT t USING f(x) GROUP BY g
//!     SELECT * FROM (SELECT g, f(x) FROM t GROUP BY g)
//! PIVOT t ON c
//!     SELECT * FROM t PIVOT (count(*) FOR (c) IN (" values"()))
//! (t JOIN u ON ...) PIVOT (...)
//!     (SELECT * FROM t JOIN u ON ...) PIVOT (...)
//! ```

use super::tokens::{is_word, keyword};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Word},
};

/// The call that represents GROUP BY among the aggregates of PIVOT.
pub(crate) const PIVOT_GROUPS: &str = " group by";

/// The call that represents an expression of aggregates.
pub(crate) const PIVOT_OF: &str = " of";

/// The call that represents the values of one of several columns; without arguments, for those that
/// the column has.
pub(crate) const PIVOT_VALUES: &str = " values";

/// A column of PIVOT, and the values that are written after it.
type Pivoted<'t> = (&'t [TokenWithSpan], Option<&'t [TokenWithSpan]>);

/// What ends a query that begins with PIVOT or UNPIVOT.
const ENDS: [Keyword; 5] =
    [Keyword::ORDER, Keyword::LIMIT, Keyword::UNION, Keyword::EXCEPT, Keyword::INTERSECT];

/// The most queries that begin with PIVOT within one another: each is looked through for each
/// around it. Those within more are left as they are.
const LEVELS_MAX: usize = 100;

/// Rewrites them.
pub(super) fn with_pivots(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    with_pivots_within(tokens, 0)
}

fn with_pivots_within(tokens: Vec<TokenWithSpan>, levels: usize) -> Vec<TokenWithSpan> {
    let is_pivot =
        |it: &TokenWithSpan| is_word(it, Keyword::PIVOT) || is_word(it, Keyword::UNPIVOT);
    if levels > LEVELS_MAX || !tokens.iter().any(is_pivot) {
        return tokens;
    }
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        rest = after;
        if is_pivot(token) && list.last().is_none_or(|it| begins_query(it, after)) {
            let (body, behind) = after.split_at(until(after, &ENDS));
            let table = match is_word(token, Keyword::PIVOT) {
                true => pivot(token, body),
                false => unpivot(token, body),
            };
            if let Some(table) = table {
                let star = at(Token::Mul, token);
                let select = [word(Keyword::SELECT, token), star, word(Keyword::FROM, token)];
                list.extend(select);
                list.extend(with_pivots_within(table, levels + 1));
                rest = behind;
                continue;
            }
        }
        if is_pivot(token) {
            make_join_a_query(&mut list);
        }
        list.push(token.clone());
        if is_word(token, Keyword::UNPIVOT) {
            let moved = stars_in(after);
            rest = &after[after.len() - moved.1..];
            list.extend(moved.0);
        }
        if is_word(token, Keyword::PIVOT)
            && let [open, inner @ ..] = after
            && open.token == Token::LParen
            && let Some(moved) = rewritten(open, &inner[..until(inner, &[])])
        {
            rest = &inner[until(inner, &[])..];
            list.extend(moved);
        }
    }
    list
}

/// Makes of a join in parentheses at the end of the tokens a query, which the parser takes before
/// PIVOT.
fn make_join_a_query(list: &mut Vec<TokenWithSpan>) {
    let mut depth = 0_usize;
    let opens = |it: &TokenWithSpan| {
        match it.token {
            Token::RParen => depth += 1,
            Token::LParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    };
    let Some(open) = list.iter().rposition(opens) else { return };
    let follows = |it: &TokenWithSpan| {
        let before = [Keyword::FROM, Keyword::JOIN];
        matches!(it.token, Token::Comma | Token::LParen)
            || before.iter().any(|keyword| is_word(it, *keyword))
    };
    let Some((before, [place, first, ..])) = list.split_at_checked(open) else { return };
    let begins_query = [Keyword::SELECT, Keyword::WITH, Keyword::VALUES, Keyword::FROM];
    let is_table = matches!(first.token, Token::Word(_))
        && !begins_query.iter().any(|it| is_word(first, *it))
        && before.last().is_none_or(follows);
    if is_table {
        let (star, place) = (at(Token::Mul, place), place.clone());
        let select = [word(Keyword::SELECT, &place), star, word(Keyword::FROM, &place)];
        list.splice(open + 1..open + 1, select);
    }
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

/// Whether a query may begin between these tokens: after WITH, only one of a name.
fn begins_query(before: &TokenWithSpan, after: &[TokenWithSpan]) -> bool {
    let names_table = after.first().is_some_and(|it| matches!(it.token, Token::Word(_)));
    let is_shown = || {
        let shows = ["DESCRIBE", "SUMMARIZE", "EXPLAIN", "ANALYZE"];
        matches!(&before.token, Token::Word(word)
            if shows.iter().any(|it| word.value.eq_ignore_ascii_case(it)))
    };
    let names_query = after.first().is_some_and(|it| it.token == Token::LParen);
    matches!(before.token, Token::SemiColon | Token::LParen)
        || is_word(before, Keyword::AS)
        || ((names_table || names_query) && is_shown())
        || (before.token == Token::RParen && names_table)
}

/// `t ON c [IN (...)], ... [USING f(x)] [GROUP BY g]`.
fn pivot(first: &TokenWithSpan, body: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let Some((table, rest)) = split(body, Keyword::ON) else { return grouped(first, body) };
    let (columns, rest) = rest.split_at(until(rest, &[Keyword::USING, Keyword::GROUP]));
    let columns: Vec<Pivoted<'_>> = comma_separated(columns).into_iter().map(pivoted).collect();
    let mut list = table.to_vec();
    list.extend([word(Keyword::PIVOT, first), at(Token::LParen, first)]);
    let groups = match rest.split_first() {
        Some((using, calls)) if is_word(using, Keyword::USING) => {
            let (calls, groups) = calls.split_at(until(calls, &[Keyword::GROUP]));
            list.extend_from_slice(calls);
            groups
        }
        _ => {
            let count = Token::make_word("count", None);
            let count = [count, Token::LParen, Token::Mul, Token::RParen];
            list.extend(count.map(|it| at(it, first)));
            rest
        }
    };
    list.extend(values_of(first, &columns)?);
    list.extend_from_slice(groups);
    list.push(at(Token::RParen, first));
    Some(list)
}

/// `t USING f(x) GROUP BY g`, which makes no columns of values, as
/// `(SELECT g, f(x) FROM t GROUP BY g)`.
fn grouped(first: &TokenWithSpan, body: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let (table, rest) = split(body, Keyword::USING)?;
    let (calls, groups) = rest.split_at(until(rest, &[Keyword::GROUP]));
    let [_, _, keys @ ..] = groups else { return None };
    let mut list = vec![word(Keyword::SELECT, first)];
    list.extend_from_slice(keys);
    list.push(at(Token::Comma, first));
    list.extend_from_slice(calls);
    list.push(word(Keyword::FROM, first));
    list.extend_from_slice(table);
    list.extend_from_slice(groups);
    Some(in_parentheses(list, first))
}

/// Whether these tokens are a column or a list of columns, not a larger expression.
fn is_column(tokens: &[TokenWithSpan]) -> bool {
    tokens.iter().all(|it| matches!(it.token, Token::Word(_) | Token::Period))
        || tokens.first().is_some_and(|it| it.token == Token::LParen)
}

/// A column with the values after its IN. Behind other expressions, IN is a comparison.
fn pivoted(tokens: &[TokenWithSpan]) -> Pivoted<'_> {
    match split(tokens, Keyword::IN) {
        Some((column, [open, values @ .., close]))
            if is_column(column) && open.token == Token::LParen && close.token == Token::RParen =>
        {
            (column, Some(values))
        }
        _ => (tokens, None),
    }
}

/// What is between commas outside of parentheses.
fn comma_separated(tokens: &[TokenWithSpan]) -> Vec<&[TokenWithSpan]> {
    let mut depth = 0_usize;
    let parts = tokens.split(|it| {
        match it.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && it.token == Token::Comma
    });
    parts.collect()
}

/// `FOR c IN (...)` as the parser knows it.
fn values_of(place: &TokenWithSpan, columns: &[Pivoted<'_>]) -> Option<Vec<TokenWithSpan>> {
    let mut list = vec![word(Keyword::FOR, place)];
    if let [(column, Some(values))] = columns
        && !is_query(values)
    {
        list.extend_from_slice(column);
        list.extend([word(Keyword::IN, place), at(Token::LParen, place)]);
        list.extend_from_slice(values);
        list.push(at(Token::RParen, place));
        return Some(list);
    }
    list.push(at(Token::LParen, place));
    for (index, (column, _)) in columns.iter().enumerate() {
        if index > 0 {
            list.push(at(Token::Comma, place));
        }
        match is_column(column) {
            true => list.extend_from_slice(column),
            false => list.extend(in_parentheses(column.to_vec(), place)),
        }
    }
    let close = at(Token::RParen, place);
    list.extend([close.clone(), word(Keyword::IN, place), at(Token::LParen, place)]);
    for (index, (column, values)) in columns.iter().enumerate() {
        if index > 0 {
            list.push(at(Token::Comma, place));
        }
        let first = column.first()?;
        let values = values.unwrap_or_default();
        let listed = match is_query(values) {
            true => in_parentheses(values.to_vec(), first),
            false => with_named(values),
        };
        list.push(at(quoted(PIVOT_VALUES), first));
        list.extend(in_parentheses(listed, first));
    }
    list.push(close);
    Some(list)
}

/// `1 AS a` in a list as `a := 1`.
fn with_named(values: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut list = Vec::with_capacity(values.len());
    for (index, entry) in comma_separated(values).into_iter().enumerate() {
        if let (1.., Some(place)) = (index, values.first()) {
            list.push(at(Token::Comma, place));
        }
        match entry {
            [value @ .., by, name] if is_word(by, Keyword::AS) => {
                let named = match &name.token {
                    Token::Word(word) => quoted(&word.value),
                    Token::SingleQuotedString(text) => quoted(text),
                    other => other.clone(),
                };
                list.extend([at(named, name), at(Token::Assignment, name)]);
                list.extend_from_slice(value);
            }
            plain => list.extend_from_slice(plain),
        }
    }
    list
}

/// `t ON a, b [INTO NAME n VALUE v, w]`.
fn unpivot(first: &TokenWithSpan, body: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let (table, rest) = split(body, Keyword::ON)?;
    let columns = until(rest, &[Keyword::INTO]);
    let named = |text: &str| at(Token::make_word(text, None), first);
    let (name, value) = match &rest[columns..] {
        [] => (named("name"), vec![named("value")]),
        [_, names, name, values, value @ ..]
            if is_word(names, Keyword::NAME) && is_word(values, Keyword::VALUE) =>
        {
            (name.clone(), value.to_vec())
        }
        _ => return None,
    };
    let mut list = table.to_vec();
    list.extend([word(Keyword::UNPIVOT, first), at(Token::LParen, first)]);
    list.extend(in_parentheses(value, first));
    list.extend([word(Keyword::FOR, first), name, word(Keyword::IN, first)]);
    list.extend(in_parentheses(with_stars(&rest[..columns]), first));
    list.push(at(Token::RParen, first));
    Some(list)
}

/// What follows UNPIVOT, up to the end of its list, with stars rewritten; and how many tokens are
/// left.
fn stars_in(after: &[TokenWithSpan]) -> (Vec<TokenWithSpan>, usize) {
    let unchanged = || (Vec::new(), after.len());
    let Some(open) = after.iter().position(|it| it.token == Token::LParen) else {
        return unchanged();
    };
    let inner = &after[open + 1..];
    let before = until(inner, &[Keyword::IN]);
    let [_, second, listed @ ..] = &inner[before..] else { return unchanged() };
    if second.token != Token::LParen {
        return unchanged();
    }
    let len = until(listed, &[]);
    let mut list = after[..open + 1 + before + 2].to_vec();
    list.extend(with_stars(&listed[..len]));
    (list, listed.len() - len)
}

fn in_parentheses(inner: Vec<TokenWithSpan>, place: &TokenWithSpan) -> Vec<TokenWithSpan> {
    let (open, close) = (at(Token::LParen, place), at(Token::RParen, place));
    [open].into_iter().chain(inner).chain([close]).collect()
}

/// `*` and `* EXCLUDE (a)` in a list as `COLUMNS(*)` and `COLUMNS(* EXCLUDE (a))`.
fn with_stars(listed: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut list = Vec::with_capacity(listed.len());
    for (index, entry) in comma_separated(listed).into_iter().enumerate() {
        if let (1.., Some(place)) = (index, listed.first()) {
            list.push(at(Token::Comma, place));
        }
        match entry.first() {
            Some(star) if star.token == Token::Mul => {
                list.push(at(Token::make_word("columns", None), star));
                list.extend(in_parentheses(entry.to_vec(), star));
            }
            _ => list.extend_from_slice(entry),
        }
    }
    list
}

/// The text before and after a keyword outside of parentheses.
fn split(tokens: &[TokenWithSpan], at: Keyword) -> Option<(&[TokenWithSpan], &[TokenWithSpan])> {
    let (before, rest) = tokens.split_at(until(tokens, &[at]));
    rest.split_first().map(|(_, after)| (before, after))
}

/// What is in the parentheses of PIVOT, with GROUP BY among the aggregates, and one list of values
/// for all columns.
fn rewritten(open: &TokenWithSpan, inner: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let (inner, groups) = inner.split_at(until(inner, &[Keyword::GROUP]));
    let (aggregates, columns) = split(inner, Keyword::FOR)?;
    let mut list = vec![open.clone()];
    for (index, aggregate) in comma_separated(aggregates).into_iter().enumerate() {
        if let (1.., Some(place)) = (index, aggregate.first()) {
            list.push(at(Token::Comma, place));
        }
        list.extend(expression(aggregate));
    }
    if let [group, by, names @ ..] = groups
        && is_word(by, Keyword::BY)
    {
        list.push(at(Token::Comma, group));
        list.extend([at(quoted(PIVOT_GROUPS), group), at(Token::LParen, group)]);
        list.extend_from_slice(names);
        list.push(at(Token::RParen, group));
    }
    let mut all: Vec<Pivoted<'_>> = Vec::new();
    let mut rest = columns;
    while let Some((column, values)) = split(rest, Keyword::IN) {
        let (first, inside) = values.split_first()?;
        let inside = (first.token == Token::LParen).then_some(inside)?;
        let (inside, behind) = inside.split_at(until(inside, &[]));
        all.push((column, Some(inside)));
        rest = behind.get(1..)?;
    }
    let plain = || [word(Keyword::FOR, open)].into_iter().chain(columns.to_vec()).collect();
    list.extend(match all.as_slice() {
        // What is no list of values is the parser's to refuse.
        [] => plain(),
        [(_, Some(values))] if !is_query(values) => plain(),
        _ => {
            let mut list = values_of(open, &all)?;
            list.extend_from_slice(rest);
            list
        }
    });
    Some(list)
}

/// An expression of aggregates, maybe with an alias, as a call, maybe with an alias: the parser
/// reads calls alone.
fn expression(written: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let (expr, alias) = match written {
        [expr @ .., by, _] if is_word(by, Keyword::AS) => (expr, &written[expr.len()..]),
        [expr @ .., name] if is_alias(expr, name) => (expr, &written[expr.len()..]),
        expr => (expr, &[][..]),
    };
    let Some(first) = expr.first() else { return written.to_vec() };
    let mut list = vec![at(quoted(PIVOT_OF), first)];
    list.extend(in_parentheses(expr.to_vec(), first));
    list.extend_from_slice(alias);
    list
}

/// Whether a word after a parenthesis is an alias.
fn is_alias(expr: &[TokenWithSpan], name: &TokenWithSpan) -> bool {
    expr.last().is_some_and(|it| it.token == Token::RParen)
        && matches!(name.token, Token::Word(_))
        && !is_word(name, Keyword::END)
}

/// Whether a list of values is a query.
fn is_query(values: &[TokenWithSpan]) -> bool {
    let begins = [Keyword::SELECT, Keyword::WITH, Keyword::FROM, Keyword::VALUES];
    values.first().is_some_and(|first| begins.iter().any(|it| is_word(first, *it)))
}

fn quoted(name: &str) -> Token {
    let value = name.to_owned();
    Token::Word(Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword })
}

fn word(word: Keyword, place: &TokenWithSpan) -> TokenWithSpan {
    keyword(word, place.span)
}

fn at(token: Token, place: &TokenWithSpan) -> TokenWithSpan {
    TokenWithSpan { token, span: place.span }
}
