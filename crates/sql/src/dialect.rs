//! The accepted SQL syntax: DuckDB's, with PostgreSQL's escape strings and operator precedence.

use sqlparser::{
    ast::{
        BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
        FunctionArgumentList, FunctionArguments, Ident, ObjectName, TypedString, UnaryOperator,
        Value,
    },
    dialect::{Dialect, DuckDbDialect, Precedence},
    keywords::{Keyword, RESERVED_FOR_IDENTIFIER, RESERVED_FOR_TABLE_FACTOR},
    parser::{Parser, ParserError},
    tokenizer::Token,
};
use std::any::TypeId;

/// The dialect given to the parser. It answers as [`DuckDbDialect`] where not said otherwise.
#[derive(Debug)]
pub(crate) struct VolleyDialect;

/// `^` binds tighter than `*`.
const PRECEDENCE_POWER: u8 = 45;

/// What `#1` begins with, as a name.
pub(crate) const COLUMN_BY_POSITION: char = '#';

/// The operator `x GLOB pattern`.
pub(crate) const GLOB: &str = "GLOB";

/// Words that begin or join clauses: without quotes they are no names.
pub(crate) const RESERVED: [Keyword; 24] = [
    Keyword::AND,
    Keyword::AS,
    Keyword::ELSE,
    Keyword::END,
    Keyword::EXCEPT,
    Keyword::FETCH,
    Keyword::FROM,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::IN,
    Keyword::INTERSECT,
    Keyword::INTO,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::OR,
    Keyword::ORDER,
    Keyword::SELECT,
    Keyword::THEN,
    Keyword::UNION,
    Keyword::USING,
    Keyword::WHEN,
    Keyword::WHERE,
    Keyword::WITH,
];

fn is_word(token: &Token, keyword: Keyword) -> bool {
    matches!(token, Token::Word(word) if word.keyword == keyword)
}

/// Whether `((...), ...)`, or `((...) + ...)` and its like, begins at the token: a list that the
/// parser would take for a query in parentheses when it begins with a subquery.
fn begins_list(parser: &Parser<'_>, first: usize) -> bool {
    // There are no tokens of white space. The parser's other ways to look ahead take longer the
    // farther it is.
    let token = |at: usize| parser.peek_nth_token_no_skip(at).token;
    let is_open = |at: usize| token(at) == Token::LParen;
    if !is_open(first) || !is_open(first + 1) {
        return false;
    }
    let (mut at, mut depth) = (first + 1, 0_usize);
    loop {
        match token(at) {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::EOF => return false,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    // What may follow a query in parentheses within parentheses.
    const AFTER_QUERY: [Keyword; 8] = [
        Keyword::UNION,
        Keyword::INTERSECT,
        Keyword::EXCEPT,
        Keyword::ORDER,
        Keyword::LIMIT,
        Keyword::OFFSET,
        Keyword::FETCH,
        Keyword::FOR,
    ];
    let after = token(at);
    after != Token::RParen && !AFTER_QUERY.iter().any(|it| is_word(&after, *it))
}

/// `[NOT] IN (...)` of this number of words, with a list.
fn in_list(parser: &mut Parser<'_>, expr: &Expr, words: usize) -> Result<Expr, ParserError> {
    for _ in 0..words {
        parser.advance_token();
    }
    parser.expect_token(&Token::LParen)?;
    let list = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::InList { expr: Box::new(expr.clone()), list, negated: words == 2 })
}

/// `[NOT] IN list` of this number of words: whether a list contains a value.
fn in_value(parser: &mut Parser<'_>, expr: &Expr, words: usize) -> Result<Expr, ParserError> {
    let span = parser.peek_token_ref().span;
    for _ in 0..words {
        parser.advance_token();
    }
    let list = parser.parse_subexpr(VolleyDialect.prec_value(Precedence::Like))?;
    let argument = |it| FunctionArg::Unnamed(FunctionArgExpr::Expr(it));
    let contains = Expr::Function(Function {
        name: ObjectName::from(vec![Ident::with_span(span, "contains")]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![argument(list), argument(expr.clone())],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    });
    Ok(match words {
        2 => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(contains) },
        _ => contains,
    })
}

/// `(VALUES ...)` as an expression: a scalar subquery.
fn values_subquery(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let query = parser.parse_query()?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Subquery(query))
}

/// `NOT EXISTS (...)`; NOT binds weaker than what may follow, such as `= x`.
fn not_exists(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.advance_token();
    let expr = parser.parse_subexpr(VolleyDialect.prec_value(Precedence::UnaryNot))?;
    Ok(match expr {
        Expr::Exists { subquery, negated: false } => Expr::Exists { subquery, negated: true },
        other => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(other) },
    })
}

/// `GROUPING SETS (...)`, `ROLLUP (...)`, `CUBE (...)` and `()`: elements of GROUP BY, which may be
/// nested. `None` when something else begins here.
fn grouping_sets(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let is = |parser: &Parser<'_>, at: usize, keyword: Keyword| {
        is_word(&parser.peek_nth_token_ref(at).token, keyword)
    };
    let opens =
        |parser: &Parser<'_>, at: usize| parser.peek_nth_token_ref(at).token == Token::LParen;
    let (words, make): (usize, fn(Vec<Vec<Expr>>) -> Expr) =
        if is(parser, 0, Keyword::GROUPING) && is(parser, 1, Keyword::SETS) && opens(parser, 2) {
            (2, Expr::GroupingSets)
        } else if is(parser, 0, Keyword::ROLLUP) && opens(parser, 1) {
            (1, Expr::Rollup)
        } else if is(parser, 0, Keyword::CUBE) && opens(parser, 1) {
            (1, Expr::Cube)
        } else if opens(parser, 0) && parser.peek_nth_token_ref(1).token == Token::RParen {
            parser.advance_token();
            parser.advance_token();
            return Some(Ok(Expr::Tuple(Vec::new())));
        } else {
            return None;
        };
    (0..=words).for_each(|_| parser.advance_token());
    let parts = parser.parse_comma_separated(|it| {
        Ok(match it.parse_expr()? {
            Expr::Tuple(parts) => parts,
            Expr::Nested(inner) => vec![*inner],
            other => vec![other],
        })
    });
    Some(parts.and_then(|it| parser.expect_token(&Token::RParen).map(|_| make(it))))
}

/// `IPADDRESS '...'` and its like, of types that the parser takes for names of columns. `None` when
/// something else begins here.
fn custom_literal(parser: &mut Parser<'_>) -> Option<Expr> {
    const TYPES: [&str; 6] =
        ["IPADDRESS", "IPPREFIX", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_US", "TIMESTAMP_NS"];
    let Token::Word(word) = &parser.peek_token_ref().token else { return None };
    let is_type =
        word.quote_style.is_none() && TYPES.iter().any(|it| word.value.eq_ignore_ascii_case(it));
    let value = parser.peek_nth_token_ref(1).clone();
    let Token::SingleQuotedString(text) = value.token else { return None };
    if !is_type {
        return None;
    }
    let name = ObjectName::from(vec![Ident::new(word.value.clone())]);
    let value = Value::SingleQuotedString(text).with_span(value.span);
    (0..2).for_each(|_| parser.advance_token());
    let data_type = DataType::Custom(name, Vec::new());
    Some(Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: false }))
}

/// `#1`: a column of FROM by its position, as a name that SQL cannot express. `None` if something
/// else begins here.
fn column_by_position(parser: &mut Parser<'_>) -> Option<Expr> {
    let sharp = parser.peek_token_ref();
    let Token::Number(position, false) = &parser.peek_nth_token_ref(1).token else { return None };
    if sharp.token != Token::Sharp {
        return None;
    }
    let name = Ident::with_span(sharp.span, format!("{COLUMN_BY_POSITION}{position}"));
    (0..2).for_each(|_| parser.advance_token());
    Some(Expr::Identifier(name))
}

/// `[NOT] GLOB pattern` of this number of words.
fn glob(parser: &mut Parser<'_>, expr: &Expr, words: usize) -> Result<Expr, ParserError> {
    (0..words).for_each(|_| parser.advance_token());
    let pattern = parser.parse_subexpr(VolleyDialect.prec_value(Precedence::Like))?;
    let glob = Expr::BinaryOp {
        left: Box::new(expr.clone()),
        op: BinaryOperator::Custom(GLOB.to_owned()),
        right: Box::new(pattern),
    };
    Ok(match words {
        2 => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(glob) },
        _ => glob,
    })
}

/// `array && array`, which the parser takes from some dialects alone.
fn overlap(parser: &mut Parser<'_>, expr: &Expr) -> Result<Expr, ParserError> {
    parser.advance_token();
    let right = parser.parse_subexpr(VolleyDialect.prec_value(Precedence::Pipe))?;
    let (left, op) = (Box::new(expr.clone()), BinaryOperator::PGOverlap);
    Ok(Expr::BinaryOp { left, op, right: Box::new(right) })
}

/// `text ^@ prefix`, likewise.
fn starts_with(parser: &mut Parser<'_>, expr: &Expr) -> Result<Expr, ParserError> {
    parser.advance_token();
    let right = parser.parse_subexpr(VolleyDialect.prec_value(Precedence::PgOther))?;
    let (left, op) = (Box::new(expr.clone()), BinaryOperator::PGStartsWith);
    Ok(Expr::BinaryOp { left, op, right: Box::new(right) })
}

/// `@ x`, the absolute value, which binds weaker than arithmetic.
fn absolute(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.advance_token();
    let expr = parser.parse_subexpr(VolleyDialect.prec_value(Precedence::PgOther))?;
    Ok(Expr::UnaryOp { op: UnaryOperator::PGAbs, expr: Box::new(expr) })
}

/// `-x`, which binds tighter than `^`: `-2 ^ 2` is 4.
fn negation(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.advance_token();
    let expr = Box::new(parser.parse_subexpr(PRECEDENCE_POWER)?);
    Ok(Expr::UnaryOp { op: UnaryOperator::Minus, expr })
}

impl Dialect for VolleyDialect {
    /// The parser tests for concrete dialects here and there; it shall see DuckDB's.
    fn dialect(&self) -> TypeId {
        TypeId::of::<DuckDbDialect>()
    }

    fn supports_window_function_null_treatment_arg(&self) -> bool {
        true
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        if volley_memory::check_cancelled().is_err() {
            // The error itself is found again where the parser's are told.
            return Some(Err(ParserError::ParserError("query cancelled".to_owned())));
        }
        let token = parser.peek_token_ref();
        if let Token::Word(word) = &token.token
            && RESERVED.contains(&word.keyword)
        {
            return Some(parser.expected("an expression", token.clone()));
        }
        if token.token == Token::LParen
            && is_word(&parser.peek_nth_token_ref(1).token, Keyword::VALUES)
        {
            return Some(values_subquery(parser));
        }
        if is_word(&token.token, Keyword::NOT)
            && is_word(&parser.peek_nth_token_ref(1).token, Keyword::EXISTS)
        {
            return Some(not_exists(parser));
        }
        match token.token {
            Token::Minus => return Some(negation(parser)),
            Token::AtSign => return Some(absolute(parser)),
            _ => {}
        }
        let Token::EscapedStringLiteral(text) = &token.token else {
            let other = grouping_sets(parser).or_else(|| custom_literal(parser).map(Ok));
            return other.or_else(|| column_by_position(parser).map(Ok));
        };
        let literal = Value::EscapedStringLiteral(text.clone()).with_span(token.span);
        parser.advance_token();
        Some(Ok(Expr::Value(literal)))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        expr: &Expr,
        _precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        let negated = is_word(&parser.peek_token_ref().token, Keyword::NOT);
        let words = if negated { 2 } else { 1 };
        if is_word(&parser.peek_nth_token_ref(words - 1).token, Keyword::GLOB) {
            return Some(glob(parser, expr, words));
        }
        if parser.peek_token_ref().token == Token::Overlap {
            return Some(overlap(parser, expr));
        }
        if parser.peek_token_ref().token == Token::CaretAt {
            return Some(starts_with(parser, expr));
        }
        let is_in = is_word(&parser.peek_nth_token_ref(words - 1).token, Keyword::IN);
        if !is_in {
            return None;
        }
        let next = &parser.peek_nth_token_ref(words).token;
        if *next != Token::LParen && !is_word(next, Keyword::UNNEST) {
            return Some(in_value(parser, expr, words));
        }
        begins_list(parser, words).then(|| in_list(parser, expr, words))
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        match parser.peek_token_ref().token {
            Token::StringConcat => Some(Ok(self.prec_value(Precedence::PgOther))),
            Token::Caret => Some(Ok(PRECEDENCE_POWER)),
            Token::CaretAt => Some(Ok(self.prec_value(Precedence::PgOther))),
            _ => None,
        }
    }

    fn is_select_item_alias(
        &self,
        explicit: bool,
        word: &Keyword,
        parser: &mut Parser<'_>,
    ) -> bool {
        !RESERVED.contains(word) && (explicit || self.is_column_alias(word, parser))
    }

    fn is_table_factor(&self, word: &Keyword, _parser: &mut Parser<'_>) -> bool {
        !RESERVED.contains(word) && !RESERVED_FOR_TABLE_FACTOR.contains(word)
    }

    /// When what begins with one of these fails, it is not tried as a name: a statement that is
    /// nested too deeply would take long, and be refused for another reason.
    fn is_reserved_for_identifier(&self, word: Keyword) -> bool {
        RESERVED_FOR_IDENTIFIER.contains(&word) || matches!(word, Keyword::CASE | Keyword::NOT)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        DuckDbDialect.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        DuckDbDialect.is_identifier_part(ch)
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        DuckDbDialect.identifier_quote_style(identifier)
    }

    fn supports_string_escape_constant(&self) -> bool {
        true
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_alter_column_type_using(&self) -> bool {
        true
    }

    fn supports_comment_on(&self) -> bool {
        true
    }

    fn supports_factorial_operator(&self) -> bool {
        true
    }

    fn supports_bitwise_shift_operators(&self) -> bool {
        true
    }

    fn supports_named_fn_args_with_assignment_operator(&self) -> bool {
        true
    }

    fn supports_dictionary_syntax(&self) -> bool {
        true
    }

    fn support_map_literal_syntax(&self) -> bool {
        true
    }

    fn supports_lambda_functions(&self) -> bool {
        true
    }

    fn allow_extract_custom(&self) -> bool {
        true
    }

    fn allow_extract_single_quotes(&self) -> bool {
        true
    }

    fn supports_array_typedef_with_brackets(&self) -> bool {
        true
    }

    fn supports_from_first_select(&self) -> bool {
        true
    }

    fn supports_order_by_all(&self) -> bool {
        true
    }

    fn supports_select_wildcard_exclude(&self) -> bool {
        true
    }

    fn supports_select_wildcard_replace(&self) -> bool {
        true
    }

    fn supports_select_wildcard_rename(&self) -> bool {
        true
    }

    fn supports_select_wildcard_ilike(&self) -> bool {
        true
    }

    fn supports_notnull_operator(&self) -> bool {
        true
    }

    fn supports_comma_separated_trim(&self) -> bool {
        true
    }

    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }

    fn supports_nested_comments(&self) -> bool {
        true
    }

    fn supports_select_expr_star(&self) -> bool {
        true
    }

    fn supports_projection_trailing_commas(&self) -> bool {
        true
    }

    fn supports_parens_around_table_factor(&self) -> bool {
        true
    }

    fn supports_values_as_table_factor(&self) -> bool {
        true
    }
}
