//! Aliases before the named expression, rewritten to aliases after it.
//!
//! ```text
//! SELECT x: 1 + 1, y: 2 FROM t: orders      SELECT 1 + 1 AS x, 2 AS y FROM orders AS t
//! ```

use super::tokens::{is_word, keyword};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

/// What ends a SELECT list as well as FROM.
const BEHIND: [Keyword; 11] = [
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::WINDOW,
    Keyword::QUALIFY,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::UNION,
    Keyword::EXCEPT,
    Keyword::INTERSECT,
];

/// Where an item of a list is being read.
#[derive(Clone, Copy, PartialEq)]
enum List {
    Items,
    Tables,
    Neither,
}

/// A query, or something else in parentheses.
struct Level {
    list: List,
    /// Whether an alias may come next.
    begins: bool,
    /// The alias whose item is being read.
    alias: Option<TokenWithSpan>,
    /// How many CASEs are open.
    cases: usize,
}

impl Level {
    const NEW: Level = Level { list: List::Neither, begins: false, alias: None, cases: 0 };
}

/// Moves them.
pub(super) fn with_aliases(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|it| it.token == Token::Colon) {
        return tokens;
    }
    let mut list = Vec::with_capacity(tokens.len() + 2);
    let mut levels = vec![Level::NEW];
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        if is_closing(&token.token) && levels.len() > 1 {
            list.extend(levels.pop().and_then(|it| it.alias).into_iter().flat_map(as_alias));
        }
        let Some(level) = levels.last_mut() else { break };
        if level.ends_item(&tokens, index) {
            list.extend(level.alias.take().into_iter().flat_map(as_alias));
        }
        let is_alias = level.begins
            && matches!(token.token, Token::Word(_))
            && tokens.get(index + 1).is_some_and(|it| it.token == Token::Colon);
        if is_alias {
            level.alias = Some(token.clone());
            level.begins = false;
            index += 2;
            continue;
        }
        level.step(token, is_compared(&tokens, index));
        if is_opening(&token.token) {
            levels.push(Level::NEW);
        }
        list.push(token.clone());
        index += 1;
    }
    list.extend(levels.into_iter().filter_map(|it| it.alias).flat_map(as_alias));
    list
}

impl Level {
    /// Whether the item being read ends before the token.
    fn ends_item(&self, tokens: &[TokenWithSpan], index: usize) -> bool {
        let token = &tokens[index];
        let before = index.checked_sub(1).and_then(|it| tokens.get(it));
        let ends_all = matches!(token.token, Token::SemiColon | Token::EOF);
        match self.list {
            _ if ends_all => true,
            List::Items if self.cases > 0 || is_compared(tokens, index) => false,
            List::Items => token.token == Token::Comma || ends_items(token),
            // A table is a name with dots, or a call or something else in parentheses.
            List::Tables => {
                let is_part = token.token == Token::Period
                    || is_opening(&token.token)
                    || is_closing(&token.token)
                    || before.is_none_or(|it| matches!(it.token, Token::Period | Token::Colon));
                !is_part
            }
            List::Neither => false,
        }
    }

    /// Goes on by a token, which may be the FROM of a comparison.
    fn step(&mut self, token: &TokenWithSpan, is_compared: bool) {
        self.cases += usize::from(is_word(token, Keyword::CASE));
        self.cases -= usize::from(is_word(token, Keyword::END) && self.cases > 0);
        self.begins = match self.list {
            _ if is_word(token, Keyword::SELECT) => {
                self.list = List::Items;
                true
            }
            _ if is_compared => false,
            _ if is_word(token, Keyword::FROM) => {
                self.list = List::Tables;
                true
            }
            List::Items if self.begins => is_one_of(token, &[Keyword::DISTINCT, Keyword::ALL]),
            List::Items if ends_items(token) => {
                self.list = List::Neither;
                false
            }
            List::Tables if is_one_of(token, &BEHIND) => {
                self.list = List::Neither;
                false
            }
            List::Tables if is_word(token, Keyword::JOIN) => true,
            List::Items | List::Tables => token.token == Token::Comma,
            List::Neither => false,
        };
    }
}

/// Whether the token is the FROM of `x IS DISTINCT FROM y`.
fn is_compared(tokens: &[TokenWithSpan], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|it| tokens.get(it));
    let is_distinct = before.is_some_and(|it| is_word(it, Keyword::DISTINCT));
    is_distinct && is_word(&tokens[index], Keyword::FROM)
}

fn ends_items(token: &TokenWithSpan) -> bool {
    is_one_of(token, &BEHIND) || is_one_of(token, &[Keyword::FROM, Keyword::USING])
}

fn is_one_of(token: &TokenWithSpan, words: &[Keyword]) -> bool {
    words.iter().any(|it| is_word(token, *it))
}

fn as_alias(alias: TokenWithSpan) -> [TokenWithSpan; 2] {
    [keyword(Keyword::AS, alias.span), alias]
}

fn is_opening(token: &Token) -> bool {
    matches!(token, Token::LParen | Token::LBracket | Token::LBrace)
}

fn is_closing(token: &Token) -> bool {
    matches!(token, Token::RParen | Token::RBracket | Token::RBrace)
}
