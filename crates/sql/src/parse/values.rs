//! VALUES without parentheses, as in Presto's manual: `VALUES 1, (2)` as `VALUES (1), (2)`.

use super::tokens::{ends_operand, is_at, is_word};
use crate::dialect::RESERVED;
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

/// What may precede the VALUES of a query, besides an opening parenthesis.
const BEFORE: [Keyword; 12] = [
    Keyword::UNION,
    Keyword::ALL,
    Keyword::DISTINCT,
    Keyword::EXCEPT,
    Keyword::INTERSECT,
    Keyword::NAME,
    Keyword::EXPLAIN,
    Keyword::ANALYZE,
    Keyword::DESCRIBE,
    Keyword::AS,
    Keyword::FROM,
    Keyword::PREPARE,
];

/// What may follow the rows, besides a closing parenthesis.
const BEHIND: [Keyword; 11] = [
    Keyword::AS,
    Keyword::UNION,
    Keyword::EXCEPT,
    Keyword::INTERSECT,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::ON,
    Keyword::WHEN,
    Keyword::RETURNING,
];

/// Words with which an expression continues after a parenthesis.
const OPERATORS: [Keyword; 11] = [
    Keyword::AND,
    Keyword::OR,
    Keyword::NOT,
    Keyword::IS,
    Keyword::IN,
    Keyword::LIKE,
    Keyword::ILIKE,
    Keyword::GLOB,
    Keyword::SIMILAR,
    Keyword::BETWEEN,
    Keyword::AT,
];

/// Puts parentheses around rows that have none.
pub(super) fn with_rows(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let lacking = lacking(&tokens);
    if lacking.is_empty() {
        return tokens;
    }
    let mut list = Vec::with_capacity(tokens.len() + lacking.len());
    let mut lacking = lacking.into_iter().peekable();
    let last = tokens.last().map(|it| it.span);
    for (index, token) in tokens.into_iter().enumerate() {
        while let Some((_, parenthesis)) = lacking.next_if(|it| it.0 == index) {
            list.push(TokenWithSpan { token: parenthesis, span: token.span });
        }
        list.push(token);
    }
    list.extend(lacking.zip(last).map(|((_, token), span)| TokenWithSpan { token, span }));
    list
}

/// The parentheses that are not written, each with the token that it belongs before.
fn lacking(tokens: &[TokenWithSpan]) -> Vec<(usize, Token)> {
    let mut found = Vec::new();
    // The rows being read, innermost last.
    let mut open: Vec<Rows> = Vec::new();
    if !tokens.iter().any(|it| is_word(it, Keyword::VALUES)) {
        return found;
    }
    let goes_on = goes_on(tokens);
    for (index, token) in tokens.iter().enumerate() {
        while let Some(rows) = open.last_mut()
            && rows.is_over(tokens, index)
        {
            found.extend(rows.end().map(|it| (index, it)));
            open.pop();
        }
        if let Some(rows) = open.last_mut() {
            found.extend(rows.step(tokens, index, &goes_on).map(|it| (index, it)));
        }
        if is_word(token, Keyword::VALUES) && is_query(tokens, index) {
            let is_compared = is_compared(tokens, index);
            found.extend(is_compared.then_some((index, Token::LParen)));
            open.push(Rows { is_compared, ..Rows::default() });
        }
    }
    let closing = open.iter_mut().rev().flat_map(Rows::end);
    found.extend(closing.map(|it| (tokens.len(), it)));
    found
}

/// The rows of a VALUES, as far as they were read.
#[derive(Default)]
struct Rows {
    /// How many parentheses, brackets, braces and CASEs are open.
    depth: usize,
    /// Whether a row was begun.
    in_row: bool,
    /// Whether that row got a parenthesis.
    is_bare: bool,
    /// Whether all of them got one.
    is_compared: bool,
}

impl Rows {
    /// Whether they ended before the token.
    fn is_over(&self, tokens: &[TokenWithSpan], index: usize) -> bool {
        let token = &tokens[index];
        // After a row with parentheses, a name is that of the table.
        let is_behind_row = self.in_row && !self.is_bare && closes(&tokens[index - 1]);
        self.depth == 0
            && (closes(token)
                || token.token == Token::SemiColon
                || BEHIND.iter().any(|it| is_word(token, *it))
                || (is_behind_row && token.token != Token::Comma))
    }

    /// The parenthesis to put before the token.
    fn step(&mut self, tokens: &[TokenWithSpan], index: usize, goes_on: &[bool]) -> Option<Token> {
        let token = &tokens[index];
        if self.depth == 0 && token.token == Token::Comma {
            self.in_row = false;
            return self.close();
        }
        let opened = if self.in_row { None } else { self.open(tokens, index, goes_on) };
        self.depth += usize::from(opens(token));
        self.depth -= usize::from(closes(token) && self.depth > 0);
        opened
    }

    /// Begins a row.
    fn open(&mut self, tokens: &[TokenWithSpan], index: usize, goes_on: &[bool]) -> Option<Token> {
        self.in_row = true;
        let row = if is_at(tokens, index, Keyword::ROW) { index + 1 } else { index };
        let is_open = tokens.get(row).is_some_and(|it| it.token == Token::LParen);
        self.is_bare = !is_open || goes_on[row];
        self.is_bare.then_some(Token::LParen)
    }

    /// The parentheses to put after the rows.
    fn end(&mut self) -> impl Iterator<Item = Token> + use<> {
        let all = self.is_compared.then_some(Token::RParen);
        self.close().into_iter().chain(all)
    }

    fn close(&mut self) -> Option<Token> {
        std::mem::take(&mut self.is_bare).then_some(Token::RParen)
    }
}

/// Whether VALUES at the token is that of a query, no name.
fn is_query(tokens: &[TokenWithSpan], at: usize) -> bool {
    let Some(next) = tokens.get(at + 1) else { return false };
    let before = at.checked_sub(1).and_then(|it| tokens.get(it));
    let may_begin = before.is_none_or(|it| {
        matches!(it.token, Token::SemiColon | Token::LParen)
            || BEFORE.iter().any(|keyword| is_word(it, *keyword))
            || is_of_insert(tokens, at)
    });
    may_begin && begins_operand(next) && !is_argument(tokens, at)
}

fn begins_operand(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::Word(word) => word.quote_style.is_some() || !RESERVED.contains(&word.keyword),
        Token::LParen | Token::LBracket | Token::LBrace | Token::Minus | Token::Plus => true,
        _ => ends_operand(token),
    }
}

/// Whether VALUES and a sign are a column and an operator, as in `sum(values - 1)`.
fn is_argument(tokens: &[TokenWithSpan], at: usize) -> bool {
    const BEFORE_QUERY: [Keyword; 7] = [
        Keyword::ANY,
        Keyword::SOME,
        Keyword::ALL,
        Keyword::EXISTS,
        Keyword::JOIN,
        Keyword::MATERIALIZED,
        Keyword::LATERAL,
    ];
    let is_sign =
        tokens.get(at + 1).is_some_and(|it| matches!(it.token, Token::Minus | Token::Plus));
    let is_open = |it: usize| tokens.get(it).is_some_and(|it| it.token == Token::LParen);
    let name = at.checked_sub(2).filter(|_| is_open(at - 1)).and_then(|it| tokens.get(it));
    let is_call = name.is_some_and(|it| {
        ends_operand(it) && !BEFORE_QUERY.iter().any(|keyword| is_word(it, *keyword))
    });
    is_sign && is_call
}

/// Whether VALUES is what `= ANY (VALUES ...)` compares with, which the parser takes in a second
/// pair of parentheses alone.
fn is_compared(tokens: &[TokenWithSpan], at: usize) -> bool {
    const QUANTIFIERS: [Keyword; 3] = [Keyword::ANY, Keyword::SOME, Keyword::ALL];
    let before = |back: usize| at.checked_sub(back).and_then(|it| tokens.get(it));
    before(1).is_some_and(|it| it.token == Token::LParen)
        && before(2).is_some_and(|it| QUANTIFIERS.iter().any(|word| is_word(it, *word)))
}

/// Whether VALUES follows the table of an INSERT, or the INSERT of a MERGE.
fn is_of_insert(tokens: &[TokenWithSpan], at: usize) -> bool {
    const OTHERS: [Keyword; 3] = [Keyword::SELECT, Keyword::VALUES, Keyword::FROM];
    let before = tokens[..at].iter().rev();
    let mut statement = before.take_while(|it| it.token != Token::SemiColon);
    let is_end = |it: &&TokenWithSpan| {
        is_word(it, Keyword::INSERT) || OTHERS.iter().any(|keyword| is_word(it, *keyword))
    };
    statement.find(is_end).is_some_and(|it| is_word(it, Keyword::INSERT))
}

/// For each token whether it is a parenthesis after whose end the expression continues that it
/// begins.
fn goes_on(tokens: &[TokenWithSpan]) -> Vec<bool> {
    let (mut goes_on, mut open) = (vec![false; tokens.len()], Vec::new());
    for (index, token) in tokens.iter().enumerate() {
        if opens(token) {
            open.push(index);
        } else if closes(token)
            && let Some(begin) = open.pop()
        {
            goes_on[begin] = tokens.get(index + 1).is_some_and(is_operator);
        }
    }
    goes_on
}

fn is_operator(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::Word(_) => OPERATORS.iter().any(|it| is_word(token, *it)),
        Token::Comma | Token::SemiColon | Token::EOF | Token::SingleQuotedString(_) => false,
        _ => !closes(token),
    }
}

fn opens(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::LParen | Token::LBracket | Token::LBrace)
        || is_word(token, Keyword::CASE)
}

fn closes(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::RParen | Token::RBracket | Token::RBrace)
        || is_word(token, Keyword::END)
}
