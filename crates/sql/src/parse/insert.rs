//! Extensions of INSERT that the parser does not read: the alias in `INSERT INTO t AS name`, BY
//! NAME and BY POSITION. They are removed from the tokens, and stored by the position of INSERT.

use super::tokens::{is_word, place};
use sqlparser::{
    ast::Ident,
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};
use std::collections::{HashMap, HashSet};

/// What INSERTs say, by their places: line and column.
#[derive(Debug, Default)]
pub(super) struct Inserts {
    /// Those with BY NAME.
    pub(super) by_name: HashSet<(u64, u64)>,
    /// The names of tables.
    pub(super) aliases: HashMap<(u64, u64), Ident>,
}

impl Inserts {
    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty() && self.aliases.is_empty()
    }
}

/// An INSERT whose table and columns are being read.
struct Open {
    at: (u64, u64),
    /// Whether its INTO was read.
    has_into: bool,
}

/// Takes out `AS alias`, BY NAME and BY POSITION of
/// `INSERT INTO name [AS alias] [(columns)] [BY NAME] query`.
pub(super) fn take_out_inserts(tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Inserts) {
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut inserts = Inserts::default();
    let mut open: Option<Open> = None;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let ends = [Keyword::SELECT, Keyword::VALUES, Keyword::WITH, Keyword::FROM];
        if is_word(&token, Keyword::INSERT) {
            open = Some(Open { at: place(token.span.start), has_into: false });
        } else if ends.iter().any(|it| is_word(&token, *it)) {
            open = None;
        }
        let Some(insert) = &mut open else {
            list.push(token);
            continue;
        };
        if is_word(&token, Keyword::BY)
            && let Some(next) = tokens.peek()
            && (is_word(next, Keyword::NAME) || is_word(next, Keyword::POSITION))
        {
            if is_word(next, Keyword::NAME) {
                inserts.by_name.insert(insert.at);
            }
            tokens.next();
            open = None;
            continue;
        }
        if is_word(&token, Keyword::AS)
            && insert.has_into
            && let Some(TokenWithSpan { token: Token::Word(word), span }) = tokens.peek()
        {
            inserts.aliases.insert(insert.at, word.clone().into_ident(*span));
            insert.has_into = false;
            tokens.next();
            continue;
        }
        insert.has_into = match token.token {
            Token::LParen => false,
            _ => insert.has_into || is_word(&token, Keyword::INTO),
        };
        list.push(token);
    }
    (list, inserts)
}
