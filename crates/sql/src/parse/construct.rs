//! Constructs that the parser does not support, recognized by their words, so that an error can
//! name them.

use super::error::ends_statement;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// A construct: its words in upper case, with `_` for any token, and what errors call it when that
/// is not the words.
struct Construct(&'static str, Option<&'static str>);

/// How far before the token at which the parser stops a construct may begin, in tokens.
const REACH: usize = 4;

/// Constructs within a statement.
const CLAUSES: &[Construct] = &[
    Construct("* RENAME", None),
    Construct("* ILIKE", None),
    Construct("* LIKE", None),
    Construct("* GLOB", None),
    Construct("* EXCEPT (", Some("* EXCEPT (use * EXCLUDE)")),
    Construct("TABLESAMPLE _", Some("TABLESAMPLE")),
    Construct("USING SAMPLE", None),
    Construct("UNION JOIN", None),
    Construct("STRAIGHT_JOIN _", Some("STRAIGHT_JOIN")),
    Construct("MATCH_RECOGNIZE (", Some("MATCH_RECOGNIZE")),
    Construct("PIVOT (", Some("PIVOT")),
    Construct("UNPIVOT (", Some("UNPIVOT")),
    Construct("PARTITION (", Some("PARTITION of a table")),
    Construct("FORCE INDEX", Some("index hints")),
    Construct("USE INDEX", Some("index hints")),
    Construct("IGNORE INDEX", Some("index hints")),
    Construct("AS OF _", Some("AS OF")),
    Construct("FOR SYSTEM_TIME", None),
    Construct("FOR VERSION", None),
    Construct("AT ( VERSION", Some("AT (VERSION ...)")),
    Construct("AT ( TIMESTAMP", Some("AT (TIMESTAMP ...)")),
    Construct("PREWHERE _", Some("PREWHERE")),
    Construct("SETTINGS _", Some("SETTINGS")),
    Construct("FORMAT _", Some("FORMAT")),
    Construct("GROUP BY DISTINCT", None),
    Construct("WITH ROLLUP", None),
    Construct("WITH CUBE", None),
    Construct("WITH TOTALS", None),
    Construct("WITH FILL", Some("ORDER BY ... WITH FILL")),
    Construct("SEARCH DEPTH", None),
    Construct("SEARCH BREADTH", None),
    Construct("CORRESPONDING _", Some("CORRESPONDING")),
    Construct("LIMIT _ PERCENT", Some("LIMIT ... PERCENT")),
    Construct("LIMIT _ %", Some("LIMIT ... PERCENT")),
    Construct("LIMIT _ ,", Some("LIMIT offset, count (use LIMIT count OFFSET offset)")),
    Construct("LIMIT _ BY", Some("LIMIT ... BY")),
    Construct("IGNORE NULLS", None),
    Construct("RESPECT NULLS", None),
    Construct("BETWEEN SYMMETRIC", None),
    Construct("IS OF", None),
    Construct("IS NOT OF", None),
    Construct("CURRENT OF", None),
    Construct("NEXT VALUE FOR", None),
    Construct("| >", Some("the pipe operator |>")),
    Construct("COPY _ FROM", Some("COPY ... FROM something else than a file")),
    Construct("EXPLAIN VERBOSE", None),
    Construct("SET TIME ZONE", None),
];

/// What statements begin with, where the parser does not read them all.
const STATEMENTS: &[Construct] = &[
    Construct("PIVOT", None),
    Construct("UNPIVOT", None),
    Construct("CREATE PROCEDURE", None),
    Construct("CREATE TRIGGER", None),
    Construct("DETACH", None),
    Construct("INSTALL", None),
    Construct("LOAD", None),
    Construct("CHECKPOINT", None),
    Construct("EXPORT DATABASE", None),
    Construct("IMPORT DATABASE", None),
    Construct("LISTEN", None),
    Construct("NOTIFY", None),
    Construct("COMMENT ON", None),
    Construct("DO", None),
    Construct("HANDLER", None),
    Construct("REINDEX", None),
    Construct("CLUSTER", None),
    Construct("UNLISTEN", None),
];

/// Calls whose arguments have a syntax of their own.
const CALLS: &[Construct] = &[
    Construct("STRUCT (", Some("STRUCT literals")),
    Construct("JSON_OBJECT (", Some("JSON_OBJECT")),
    Construct("JSON_ARRAY (", Some("JSON_ARRAY")),
    Construct("JSON_TABLE (", Some("JSON_TABLE")),
    Construct("XMLELEMENT (", Some("XMLELEMENT")),
    Construct("XMLTABLE (", Some("XMLTABLE")),
];

/// The construct at the token `found`, at which the parser stopped, with its first and last token.
pub(super) fn at(tokens: &[TokenWithSpan], found: usize) -> Option<(&'static str, [usize; 2])> {
    let nearby = (found.saturating_sub(REACH)..=found).rev();
    let first = statement_begin(tokens, found);
    let call = enclosing_call(tokens, found);
    nearby
        .map(|begin| (CLAUSES, begin))
        .chain([(STATEMENTS, first)])
        .chain(call.map(|begin| (CALLS, begin)))
        .find_map(|(constructs, begin)| matching(constructs, tokens.get(begin..)?, begin))
}

fn matching(
    constructs: &[Construct],
    tokens: &[TokenWithSpan],
    begin: usize,
) -> Option<(&'static str, [usize; 2])> {
    let found = constructs.iter().find(|it| it.begins(tokens))?;
    let words = found.0.split(' ').count();
    Some((found.1.unwrap_or(found.0), [begin, begin + words - 1]))
}

impl Construct {
    fn begins(&self, tokens: &[TokenWithSpan]) -> bool {
        let mut tokens = tokens.iter();
        self.0.split(' ').all(|word| tokens.next().is_some_and(|it| is(&it.token, word)))
    }
}

fn is(token: &Token, word: &str) -> bool {
    match token {
        Token::Word(it) if it.quote_style.is_none() => {
            word == "_" || it.value.eq_ignore_ascii_case(word)
        }
        Token::EOF | Token::SemiColon => false,
        other => word == "_" || other.to_string() == word,
    }
}

/// The first token of the statement in which the token stands.
fn statement_begin(tokens: &[TokenWithSpan], at: usize) -> usize {
    let before = tokens.get(..at).unwrap_or_default();
    before.iter().rposition(|it| ends_statement(&it.token)).map_or(0, |it| it + 1)
}

/// The name before the innermost parenthesis that is open at the token.
fn enclosing_call(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in tokens.get(..at)?.iter().enumerate().rev() {
        match token.token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return index.checked_sub(1),
            Token::LParen => depth -= 1,
            Token::SemiColon => return None,
            _ => {}
        }
    }
    None
}
