//! `TABLESAMPLE ...` in all its spellings as the one that the parser reads, and `USING SAMPLE ...`,
//! which it does not know: removed from the tokens, and stored by the position of the query's
//! SELECT.

use super::tokens::{is_word, keyword, place};
use sqlparser::{
    ast::{TableFactor, TableSample, TableSampleKind},
    keywords::Keyword,
    tokenizer::{Span, Token, TokenWithSpan},
};
use std::collections::HashMap;

/// By the line and column of SELECT: the sample of what FROM gives.
pub(super) type Samples = HashMap<(u64, u64), TableSample>;

/// Reads the samples.
pub(super) fn take_out_samples(tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Samples) {
    let mut samples = Samples::new();
    let is_sample =
        |it: &TokenWithSpan| is_word(it, Keyword::TABLESAMPLE) || is_word(it, Keyword::SAMPLE);
    if !tokens.iter().any(is_sample) {
        return (tokens, samples);
    }
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // The SELECT of the query in each open parenthesis.
    let mut selects: Vec<Option<Span>> = vec![None];
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        rest = after;
        match &token.token {
            Token::LParen => selects.push(None),
            Token::RParen if selects.len() > 1 => {
                selects.pop();
            }
            _ if is_word(token, Keyword::SELECT) => {
                selects.pop();
                selects.push(Some(token.span));
            }
            _ => {}
        }
        if is_word(token, Keyword::TABLESAMPLE)
            && let Some((sample, behind)) = sample(token, after)
        {
            list.extend(sample);
            rest = behind;
            continue;
        }
        if is_word(token, Keyword::USING)
            && let [word, spec @ ..] = after
            && is_word(word, Keyword::SAMPLE)
            && let Some((sample, behind)) = sample(token, spec)
            && let (Some(Some(select)), Some(sample)) = (selects.last(), parsed(sample))
        {
            samples.insert(place(select.start), sample);
            rest = behind;
            continue;
        }
        list.push(token.clone());
    }
    (list, samples)
}

/// What a sample says, as the parser has it.
fn parsed(sample: Vec<TokenWithSpan>) -> Option<TableSample> {
    let name = sample.first()?.span;
    let name = TokenWithSpan { token: Token::make_word("t", None), span: name };
    let tokens = std::iter::once(name).chain(sample).collect();
    match super::parser(tokens).parse_table_factor() {
        Ok(TableFactor::Table { sample: Some(sample), .. }) => Some(match sample {
            TableSampleKind::BeforeTableAlias(it) | TableSampleKind::AfterTableAlias(it) => *it,
        }),
        _ => None,
    }
}

/// The sample that `spec` begins with as `TABLESAMPLE [method] (amount [unit]) [REPEATABLE (n)]`,
/// and what is after it.
fn sample<'t>(
    first: &TokenWithSpan,
    spec: &'t [TokenWithSpan],
) -> Option<(Vec<TokenWithSpan>, &'t [TokenWithSpan])> {
    let at = |token: Token| TokenWithSpan { token, span: first.span };
    let (mut method, mut spec) = method(spec);
    let amount;
    if let [open, inner @ ..] = spec
        && open.token == Token::LParen
    {
        let end = closing(inner)?;
        amount = inner.get(..end)?;
        spec = inner.get(end + 1..)?;
    } else {
        let units = spec.get(1).is_some_and(|it| unit(it).is_some());
        (amount, spec) = spec.split_at_checked(if units { 2 } else { 1 })?;
    }
    let mut seed: &[TokenWithSpan] = &[];
    if let [open, inner @ ..] = spec
        && open.token == Token::LParen
        && let (Some(named), behind) = self::method(inner)
    {
        let end = closing(behind)?;
        seed = without_comma(behind.get(..end)?);
        method = Some(named);
        spec = behind.get(end + 1..)?;
    }
    if let [word, open, inner @ ..] = spec
        && (is_word(word, Keyword::REPEATABLE) || is_word(word, Keyword::SEED))
        && open.token == Token::LParen
    {
        let end = closing(inner)?;
        seed = inner.get(..end)?;
        spec = inner.get(end + 1..)?;
    }
    let (number, unit) = match amount {
        [number @ .., last] if unit(last).is_some() => (number, unit(last)),
        number => (number, None),
    };
    let mut list = vec![keyword(Keyword::TABLESAMPLE, first.span)];
    list.extend(method.map(|it| keyword(it, first.span)));
    list.push(at(Token::LParen));
    list.extend_from_slice(number);
    list.extend(unit.map(|it| keyword(it, first.span)));
    list.push(at(Token::RParen));
    if !seed.is_empty() {
        list.extend([keyword(Keyword::REPEATABLE, first.span), at(Token::LParen)]);
        list.extend_from_slice(seed);
        list.push(at(Token::RParen));
    }
    Some((list, spec))
}

/// Where the parenthesis closes, within what an amount or a seed may take.
fn closing(tokens: &[TokenWithSpan]) -> Option<usize> {
    const TOKENS_MAX: usize = 100;
    tokens.iter().take(TOKENS_MAX).position(|it| it.token == Token::RParen)
}

/// The method that `tokens` begin with, as the parser calls it: RESERVOIR is ROW.
fn method(tokens: &[TokenWithSpan]) -> (Option<Keyword>, &[TokenWithSpan]) {
    let Some((TokenWithSpan { token: Token::Word(word), .. }, behind)) = tokens.split_first()
    else {
        return (None, tokens);
    };
    let known = match word.value.to_ascii_lowercase().as_str() {
        "bernoulli" => Keyword::BERNOULLI,
        "system" | "block" => Keyword::SYSTEM,
        "reservoir" => Keyword::ROW,
        _ => return (None, tokens),
    };
    (Some(known), behind)
}

fn unit(token: &TokenWithSpan) -> Option<Keyword> {
    match token.token {
        Token::Mod => Some(Keyword::PERCENT),
        _ if is_word(token, Keyword::PERCENT) => Some(Keyword::PERCENT),
        _ if is_word(token, Keyword::ROWS) => Some(Keyword::ROWS),
        _ => None,
    }
}

fn without_comma(tokens: &[TokenWithSpan]) -> &[TokenWithSpan] {
    match tokens {
        [comma, rest @ ..] if comma.token == Token::Comma => rest,
        other => other,
    }
}
