//! The text as tokens, with the words taken out that the parser does not know.

use super::{
    argument_order::with_no_arguments,
    call::with_calls_of_tables,
    chains::check_chains,
    comprehension::with_comprehensions,
    exclusion::{Exclusions, take_out_exclusions},
    generated::with_generated_columns,
    insert::{Inserts, take_out_inserts},
    interval::with_interval_units,
    join::{with_asof, with_positional},
    limit::with_limit_calls,
    lower_first,
    merge::with_merges,
    method::with_calls,
    nested_query::with_nested_queries,
    nested_types::{Text, with_nested_types},
    null_treatment::with_null_treatments,
    parameter::with_numbers,
    pivot::with_pivots,
    prefix_alias::with_aliases,
    sample::{Samples, take_out_samples},
    slice::with_open_slices,
    star::{with_columns_forms, with_star_patterns, with_unpacked},
    statement_rows::with_statement_rows,
    trailing_comma::without_trailing_commas,
    trim::with_trims,
    unicode_text::with_unicode_texts,
    using_key::{Keys, take_out_keys},
    values::with_rows,
};
use crate::{
    dialect::{RESERVED, VolleyDialect},
    position::Positions,
};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer},
};
use std::collections::HashSet;
use volley_error::{Error, ErrorKind, Result, Span as TextSpan};
use volley_memory::check_cancelled;

/// What is between queries.
const SET_OPERATIONS: [Keyword; 3] = [Keyword::UNION, Keyword::EXCEPT, Keyword::INTERSECT];

/// The tokens of a text, without white space and comments.
pub(super) struct Tokens {
    pub(super) list: Vec<TokenWithSpan>,
    /// Where the tokens of the text end, also those taken out.
    pub(super) ends: Vec<Location>,
    /// Where the closing parentheses of `AS MATERIALIZED (...)` stand.
    pub(super) materialized: HashSet<(u64, u64)>,
    pub(super) keys: Keys,
    /// What frames exclude.
    pub(super) exclusions: Exclusions,
    /// What INSERTs say that the parser does not read.
    pub(super) inserts: Inserts,
    /// What USING SAMPLE says.
    pub(super) samples: Samples,
}

/// Splits `sql` into tokens.
pub(super) fn tokenize(sql: &str, positions: &Positions) -> Result<Tokens> {
    let mut tokens = Vec::new();
    let read = Tokenizer::new(&VolleyDialect, sql).tokenize_with_location_into_buf(&mut tokens);
    read.map_err(|it| {
        // What is not closed is reported at the end of the text; it opens after the last token.
        let opening = tokens.last().map_or(Location { line: 1, column: 1 }, |it| it.span.end);
        let found = positions.offset(it.location).filter(|it| *it < positions.end().start);
        let start = found.or_else(|| positions.offset(opening));
        let span = start.map_or(positions.end(), |start| TextSpan { start, end: start });
        Error::new(ErrorKind::Syntax, lower_first(&it.message)).span(Some(span))
    })?;
    check_cancelled()?;
    tokens.retain(|it| !matches!(it.token, Token::Whitespace(_)));
    check_chains(&tokens)?;
    let ends = tokens.iter().map(|it| it.span.end).collect();
    let tokens = with_statement_rows(tokens, &Text { sql, positions });
    let tokens = without_trailing_commas(with_unicode_texts(tokens, positions)?);
    let tokens = with_interval_units(tokens, positions)?;
    let tokens = with_numbers(with_columns_forms(with_unpacked(tokens)), positions)?;
    let tokens = with_rows(with_calls(with_powers(tokens)));
    let tokens = with_table_queries(with_star_patterns(with_aliases(with_positional(tokens))));
    check_cancelled()?;
    let tokens = with_merges(with_comprehensions(with_pivots(tokens)));
    let tokens = with_generated_columns(with_calls_of_tables(tokens));
    let tokens = with_no_arguments(with_nested_queries(tokens));
    let tokens = with_trims(with_null_treatments(tokens));
    let tokens = with_nested_types(tokens, &Text { sql, positions });
    check_cancelled()?;
    let (tokens, exclusions) = take_out_exclusions(tokens);
    let (tokens, inserts) = take_out_inserts(with_open_slices(tokens));
    let (list, materialized) = take_out_materialized(with_limit_calls(with_select(
        with_filter_where(with_is_null(with_asof(with_json_arrows(tokens)))),
    )));
    let (list, keys) = take_out_keys(list);
    let (list, samples) = take_out_samples(list);
    Ok(Tokens { list, ends, materialized, keys, exclusions, inserts, samples })
}

/// `x -> 'a'` as `((x)) -> 'a'` where it cannot be a lambda: outside of the arguments of calls. The
/// parser would read one, also after `(x)`.
fn with_json_arrows(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|it| it.token == Token::Arrow) {
        return tokens;
    }
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 2);
    // Of each open parenthesis: whether it follows a name.
    let mut calls: Vec<bool> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => calls.push(list.last().is_some_and(is_called)),
            Token::RParen => drop(calls.pop()),
            _ => {}
        }
        let before = list.last();
        let is_argument = calls.last() == Some(&true)
            && before.is_some_and(|it| matches!(it.token, Token::LParen | Token::Comma));
        let is_part =
            before.is_some_and(|it| matches!(it.token, Token::Period | Token::DoubleColon));
        let is_json = is_name(token)
            && !is_argument
            && !is_part
            && tokens.get(index + 1).is_some_and(|it| it.token == Token::Arrow);
        let parenthesis = |token| TokenWithSpan { token, span: tokens[index].span };
        if is_json {
            list.extend([Token::LParen, Token::LParen].map(parenthesis));
        }
        list.push(token.clone());
        if is_json {
            list.extend([Token::RParen, Token::RParen].map(parenthesis));
        }
    }
    list
}

/// Whether the token may be the name of a function that takes lambdas.
fn is_called(token: &TokenWithSpan) -> bool {
    const OTHERS: [Keyword; 5] =
        [Keyword::CAST, Keyword::TRY_CAST, Keyword::EXTRACT, Keyword::COALESCE, Keyword::VALUES];
    is_name(token) && !OTHERS.iter().any(|it| is_word(token, *it))
}

/// `x ** y` as `x ^ y`.
fn with_powers(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let (before, last) = match list.as_slice() {
            [.., before, last] => (Some(before), Some(last)),
            _ => (None, None),
        };
        let is_second = token.token == Token::Mul
            && last.is_some_and(|it| it.token == Token::Mul && it.span.end == token.span.start)
            && before.is_some_and(ends_operand);
        if is_second {
            let span = list.pop().map_or(token.span, |it| Span { end: token.span.end, ..it.span });
            list.push(TokenWithSpan { token: Token::Caret, span });
        } else {
            list.push(token);
        }
    }
    list
}

/// `x ISNULL` as `x IS NULL`.
fn with_is_null(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_called = tokens.peek().is_some_and(|it| it.token == Token::LParen);
        let is_operator = matches!(&token.token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("isnull"))
            && !is_called
            && list.last().is_some_and(ends_operand);
        if is_operator {
            let words = [Keyword::IS, Keyword::NULL].map(|it| keyword(it, token.span));
            list.extend(words);
        } else {
            list.push(token);
        }
    }
    list
}

/// Whether an operand may end with this token.
pub(super) fn ends_operand(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::Word(word) => word.quote_style.is_some() || !RESERVED.contains(&word.keyword),
        Token::Number(..) | Token::SingleQuotedString(_) => true,
        Token::RParen | Token::RBracket => true,
        _ => false,
    }
}

/// `count(*) FILTER (x > 1)` as `count(*) FILTER (WHERE x > 1)`.
fn with_filter_where(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let lacks_where: HashSet<usize> = filters_of_calls(&tokens)
        .into_iter()
        .filter(|it| !is_at(&tokens, *it, Keyword::WHERE))
        .collect();
    if lacks_where.is_empty() {
        return tokens;
    }
    let mut list = Vec::with_capacity(tokens.len() + lacks_where.len());
    for (index, token) in tokens.into_iter().enumerate() {
        if lacks_where.contains(&index) {
            list.push(keyword(Keyword::WHERE, token.span));
        }
        list.push(token);
    }
    list
}

/// Where the conditions of `name(...) FILTER (...)` begin, with or without WHERE.
fn filters_of_calls(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let mut found = Vec::new();
    // Of each open parenthesis: whether it follows a name.
    let mut calls: Vec<bool> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => {
                let name = index.checked_sub(1).and_then(|it| tokens.get(it));
                calls.push(name.is_some_and(is_name));
            }
            Token::RParen
                if calls.pop() == Some(true)
                    && is_at(tokens, index + 1, Keyword::FILTER)
                    && tokens.get(index + 2).is_some_and(|it| it.token == Token::LParen) =>
            {
                found.push(index + 3);
            }
            _ => {}
        }
    }
    found
}

pub(super) fn is_at(tokens: &[TokenWithSpan], index: usize, keyword: Keyword) -> bool {
    tokens.get(index).is_some_and(|it| is_word(it, keyword))
}

/// Whether the token may be the name of a function.
pub(super) fn is_name(token: &TokenWithSpan) -> bool {
    matches!(&token.token, Token::Word(word)
        if word.quote_style.is_some() || !RESERVED.contains(&word.keyword))
}

/// `FROM t WHERE ...` as `SELECT * FROM t WHERE ...`, where no SELECT follows.
fn with_select(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let begins: HashSet<usize> =
        (0..tokens.len()).filter(|it| lacks_select(&tokens, *it)).collect();
    if begins.is_empty() {
        return tokens;
    }
    let mut list = Vec::with_capacity(tokens.len() + 2 * begins.len());
    for (index, token) in tokens.into_iter().enumerate() {
        if begins.contains(&index) {
            let all = TokenWithSpan { token: Token::Mul, span: token.span };
            list.extend([keyword(Keyword::SELECT, token.span), all]);
        }
        list.push(token);
    }
    list
}

/// `TABLE t` as `FROM t`, where a query begins.
fn with_table_queries(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_query = |index: usize| {
        let has_name = tokens.get(index + 1).is_some_and(is_name);
        let is_other = is_at(&tokens, index + 1, Keyword::VALUES);
        let is_table = is_at(&tokens, index, Keyword::TABLE) && has_name && !is_other;
        is_table && begins_query(&tokens, index)
    };
    let begins: HashSet<usize> = (0..tokens.len()).filter(|it| is_query(*it)).collect();
    if begins.is_empty() {
        return tokens;
    }
    let tokens = tokens.into_iter().enumerate();
    let from = |(index, token): (usize, TokenWithSpan)| match begins.contains(&index) {
        true => keyword(Keyword::FROM, token.span),
        false => token,
    };
    tokens.map(from).collect()
}

/// Whether the token may be the first of a query, after what precedes it.
fn begins_query(tokens: &[TokenWithSpan], index: usize) -> bool {
    const BEFORE: [Keyword; 7] = [
        Keyword::UNION,
        Keyword::ALL,
        Keyword::EXCEPT,
        Keyword::INTERSECT,
        Keyword::EXPLAIN,
        Keyword::ANALYZE,
        Keyword::AS,
    ];
    let before = index.checked_sub(1).and_then(|it| tokens.get(it));
    before.is_none_or(|it| {
        matches!(it.token, Token::SemiColon | Token::LParen)
            || BEFORE.iter().any(|keyword| is_word(it, *keyword))
    })
}

/// Whether the token is a FROM that begins a query without SELECT.
fn lacks_select(tokens: &[TokenWithSpan], index: usize) -> bool {
    let is_from = tokens.get(index).is_some_and(|it| is_word(it, Keyword::FROM));
    let begins = begins_query(tokens, index);
    // TRIM(FROM x) begins no query.
    let is_trim = index.checked_sub(2).and_then(|it| tokens.get(it));
    let is_trim = is_trim.is_some_and(|it| is_word(it, Keyword::TRIM));
    is_from && begins && !is_trim && !has_select(tokens.get(index + 1..).unwrap_or_default())
}

/// Whether SELECT follows in the same query.
fn has_select(tokens: &[TokenWithSpan]) -> bool {
    let mut depth = 0_usize;
    for token in tokens {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return false,
            Token::RParen => depth -= 1,
            Token::SemiColon => return false,
            _ if depth > 0 => {}
            _ if is_word(token, Keyword::SELECT) => return true,
            _ if SET_OPERATIONS.iter().any(|it| is_word(token, *it)) => return false,
            _ => {}
        }
    }
    false
}

/// An unquoted word.
pub(super) fn is_word(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(word)
        if word.keyword == keyword && word.quote_style.is_none())
}

/// A keyword that was not written, in place of what represents it.
pub(super) fn keyword(keyword: Keyword, span: Span) -> TokenWithSpan {
    TokenWithSpan { token: Token::make_keyword(&format!("{keyword:?}")), span }
}

/// Takes out the words between AS and `(` in `AS [NOT] MATERIALIZED (...)`.
fn take_out_materialized(tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, HashSet<(u64, u64)>) {
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut materialized = HashSet::new();
    let mut parentheses: Vec<bool> = Vec::new();
    for token in tokens {
        match token.token {
            Token::LParen => parentheses.push(cut_words(&mut list)),
            Token::RParen if parentheses.pop() == Some(true) => {
                materialized.insert(place(token.span.start));
            }
            _ => {}
        }
        list.push(token);
    }
    (list, materialized)
}

/// Cuts the words off the end of `list`; whether they ask for materialization.
fn cut_words(list: &mut Vec<TokenWithSpan>) -> bool {
    let is = |back: usize, keyword: Keyword| {
        let token = list.len().checked_sub(back).and_then(|index| list.get(index));
        token.is_some_and(|it| matches!(&it.token, Token::Word(word) if word.keyword == keyword))
    };
    if !is(1, Keyword::MATERIALIZED) {
        return false;
    }
    if is(2, Keyword::AS) {
        list.truncate(list.len() - 1);
        return true;
    }
    if is(2, Keyword::NOT) && is(3, Keyword::AS) {
        list.truncate(list.len() - 2);
    }
    false
}

/// A location as a key.
pub(super) fn place(location: Location) -> (u64, u64) {
    (location.line, location.column)
}
