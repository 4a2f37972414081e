//! SQL text to statements: splitting, the statements that the parser does not know as we need
//! them, and syntax errors with their place.

use crate::{ExplainForm, dialect::VolleyDialect, position::Positions, stack};
use nested_types::{Text, with_nested_type};
use sqlparser::{
    ast::{self, DataType, Ident, ObjectName, Query, Statement, TableSample},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{self, Token, TokenWithSpan},
};
use std::{collections::HashSet, sync::Arc};
use tokens::{Tokens, tokenize};
use volley_error::{Error, ErrorKind, Result, Span};
use volley_function::Exclusion;

mod argument_order;
mod attach;
mod call;
mod chains;
mod changes;
mod command;
mod comprehension;
mod construct;
mod create_type;
mod error;
mod explain;
mod exclusion;
mod generated;
mod insert;
mod interval;
mod join;
mod limit;
mod macros;
mod maintenance;
mod merge;
mod method;
mod nested_query;
mod nested_types;
mod null_treatment;
mod parameter;
mod pivot;
mod prefix_alias;
mod sample;
mod secret;
mod sequence;
mod show;
mod slice;
mod split;
mod star;
mod statement_rows;
mod table_names;
mod tokens;
mod trailing_comma;
mod trim;
mod unicode_text;
mod using_key;
mod values;
mod view;

pub(crate) use argument_order::is_no_argument;
pub(crate) use attach::Attach;
pub use changes::ChangesInWith;
pub(crate) use parameter::parameter_name;

pub(crate) use command::{Command, CopySource, CreateView, Described, dotted, table_and_column};
pub use create_type::names_type;
pub(crate) use create_type::{CreateType, TypeSource};
pub(crate) use limit::{LIMIT_PERCENT, LIMIT_WITH_TIES};
pub(crate) use macros::CreateMacro;
pub(crate) use maintenance::Maintenance;
pub(crate) use merge::{MERGE_USING, NO_TYPE};
pub(crate) use pivot::{PIVOT_GROUPS, PIVOT_OF, PIVOT_VALUES};
pub(crate) use secret::SecretCommand;
pub(crate) use sequence::CreateSequence;
pub use sequence::sequences_of;
pub(crate) use slice::OPEN_END;
pub use split::split;
pub(crate) use star::{COLUMNS_OF, StarOperator, UNPACKED, star_pattern};
pub(crate) use statement_rows::STATEMENT_ROWS;

/// The name of the column that tells the rows of a table in memory apart.
pub(crate) const ROW_ID: &str = "rowid";

/// The most levels of nesting that the parser goes into.
const NESTING_MAX: usize = 4000;

/// A statement as written.
#[derive(Debug)]
pub struct ParsedStatement {
    /// Its place in the text given to [`parse`], without the semicolon.
    pub span: Span,
    pub(crate) command: Command,
    pub(crate) source: Arc<Source>,
    /// The names of its parameters.
    pub(crate) parameters: Vec<String>,
}

/// The text that statements come from.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) positions: Positions,
    /// Whether names in it may mean row ids.
    pub(crate) names_row_ids: bool,
    /// Where its tokens end.
    ends: Vec<tokenizer::Location>,
    /// Where the closing parentheses of `AS MATERIALIZED (...)` stand: line and column.
    materialized: HashSet<(u64, u64)>,
    /// The columns of USING KEY, by the same places.
    keys: using_key::Keys,
    /// What the frames of windows exclude, by the places of the windows' names.
    exclusions: exclusion::Exclusions,
    /// What INSERTs say that the parser does not read.
    inserts: insert::Inserts,
    /// The parameters: where they stand, and their names.
    parameters: Vec<(u32, String)>,
    /// What USING SAMPLE says, by the places of SELECT.
    samples: sample::Samples,
}

/// Splits `sql` into statements and parses them. Empty statements are left out.
///
/// # Errors
///
/// Syntax, with the place in the text.
pub fn parse(sql: &str) -> Result<Vec<ParsedStatement>> {
    if u32::try_from(sql.len()).is_err() {
        return Err(Error::new(ErrorKind::Syntax, "SQL text of more than 4 GiB"));
    }
    stack::with_room(sql.len(), || parse_all(sql))
}

/// Parses the text of a view: one query.
pub(crate) fn parse_query(sql: &str) -> Result<(Box<Query>, Source)> {
    stack::with_room(sql.len(), || {
        let (source, tokens) = Source::new(sql)?;
        let mut parser = parser(tokens.clone());
        let failed = |it| error::syntax(it, &tokens, &source.positions);
        let query = parser.parse_query().map_err(failed)?;
        Ok((query, source))
    })
}

/// Parses an expression, all of the text.
pub(crate) fn parse_expr(sql: &str) -> Result<(ast::Expr, Source)> {
    stack::with_room(sql.len(), || {
        let (source, tokens) = Source::new(sql)?;
        let mut parser = parser(tokens.clone());
        let failed = |it| error::syntax(it, &tokens, &source.positions);
        let expr = parser.parse_expr().map_err(failed)?;
        match parser.peek_token_ref() {
            next if next.token != Token::EOF => {
                Err(error::unexpected(next, &tokens, &source.positions))
            }
            _ => Ok((expr, source)),
        }
    })
}

/// Parses an expression of which everything stands at `place` in another text.
pub(crate) fn parse_expr_at(text: &str, place: tokenizer::Span) -> Result<ast::Expr> {
    parse_at(text, place, |it| it.parse_expr())
}

/// Parses a query of which everything stands at `place` in another text.
pub(crate) fn parse_query_at(text: &str, place: tokenizer::Span) -> Result<Box<Query>> {
    parse_at(text, place, |it| it.parse_query())
}

fn parse_at<T>(
    text: &str,
    place: tokenizer::Span,
    parse: impl FnOnce(&mut Parser<'_>) -> std::result::Result<T, ParserError>,
) -> Result<T> {
    stack::with_room(text.len(), || {
        let (source, mut tokens) = Source::new(text)?;
        if source.knows_by_place() {
            let what = "parameters, samples, MATERIALIZED and EXCLUDE of frames in a macro";
            return Err(Error::unsupported(format!("not supported: {what}")));
        }
        tokens.iter_mut().for_each(|it| it.span = place);
        let parsed = parse(&mut parser(tokens));
        parsed.map_err(|it| Error::new(ErrorKind::Syntax, lower_first(&it.to_string())))
    })
}

/// Whether a text may name row ids.
pub(crate) fn names_row_ids(text: &str) -> bool {
    let name = ROW_ID.as_bytes();
    text.as_bytes().windows(name.len()).any(|it| it.eq_ignore_ascii_case(name))
}

/// Parses a type.
pub(crate) fn parse_type(text: &str) -> Result<DataType> {
    let positions = Positions::new(text);
    let tokens = tokenize(text, &positions)?.list;
    type_of(&tokens, text, &positions)
}

/// Parses a field of a row type: a type, or a name and a type.
pub(crate) fn parse_field(text: &str) -> Result<(String, DataType)> {
    let positions = Positions::new(text);
    let tokens = tokenize(text, &positions)?.list;
    let unnamed = type_of(&tokens, text, &positions);
    match (unnamed, tokens.split_first()) {
        (Err(_), Some((TokenWithSpan { token: Token::Word(name), .. }, rest))) => {
            Ok((name.value.clone(), type_of(rest, text, &positions)?))
        }
        (unnamed, _) => unnamed.map(|it| (String::new(), it)),
    }
}

/// The type that all of `tokens` are.
fn type_of(tokens: &[TokenWithSpan], text: &str, positions: &Positions) -> Result<DataType> {
    let tokens = with_nested_type(tokens, &Text { sql: text, positions });
    let mut parser = parser(tokens);
    let parsed = parser.parse_data_type().ok();
    parsed
        .filter(|_| parser.peek_token_ref().token == Token::EOF)
        .ok_or_else(|| Error::invalid_query(format!("no such type: {text}")))
}

fn parse_all(sql: &str) -> Result<Vec<ParsedStatement>> {
    let (source, tokens) = Source::new(sql)?;
    let source = Arc::new(source);
    let mut parser = parser(tokens.clone());
    let mut statements = Vec::new();
    loop {
        while parser.consume_token(&Token::SemiColon) {}
        if parser.peek_token_ref().token == Token::EOF {
            return Ok(statements);
        }
        let failed = |it| error::syntax(it, &tokens, &source.positions);
        let first = parser.peek_token_ref().span;
        let command = command::parse(&mut parser, &source).map_err(failed)?;
        statements.push(parsed(command, first, &parser, &source));
        let next = parser.peek_token_ref();
        if !matches!(next.token, Token::SemiColon | Token::EOF) {
            return Err(error::unexpected(next, &tokens, &source.positions));
        }
    }
}

/// The statement that begins at `first` and ends where the parser is.
fn parsed(
    command: Command,
    first: tokenizer::Span,
    parser: &Parser<'_>,
    source: &Arc<Source>,
) -> ParsedStatement {
    let start = source.positions.offset(first.start).unwrap_or_default();
    let end = source.end_of_read(parser);
    let span = Span { start, end };
    let parameters = match command {
        // Those are the ones of the statement in it.
        Command::Prepare { .. } => Vec::new(),
        _ => source.parameters_in(span),
    };
    ParsedStatement { span, command, source: Arc::clone(source), parameters }
}

fn parser(tokens: Vec<TokenWithSpan>) -> Parser<'static> {
    Parser::new(&VolleyDialect).with_recursion_limit(NESTING_MAX).with_tokens_with_locations(tokens)
}

/// The message as errors of ours begin: in lower case, unless it begins with a name.
fn lower_first(message: &str) -> String {
    let mut chars = message.chars();
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(message.chars().skip(1)).collect()
        }
        _ => message.to_owned(),
    }
}

impl ParsedStatement {
    /// The place of its first word.
    pub(crate) fn first_word(&self) -> Span {
        let word = self.text().find(|it: char| !it.is_alphanumeric());
        let bytes = word.and_then(|it| u32::try_from(it).ok()).filter(|it| *it > 0);
        Span { end: bytes.map_or(self.span.end, |it| self.span.start + it), ..self.span }
    }

    /// The names of its parameters, in the order in which their values are given by position:
    /// numbers, or names without the dollar sign.
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// Whether it is a query that changes no table: it may run later, or more than once.
    pub fn is_query(&self) -> bool {
        match &self.command {
            Command::Sql(statement) => match &**statement {
                Statement::Query(query) => {
                    changed_by(statement).is_none()
                        && !query.with.as_ref().is_some_and(changes::changes)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// The names of tables that it mentions, as written, in the order of their first use. Names of
    /// common table expressions are among them.
    pub fn table_names(&self) -> Vec<String> {
        table_names::table_names(&self.command)
    }

    /// The table whose rows or columns it changes, as written: one for whose other changes it is to
    /// wait before it is bound.
    pub fn changed_table(&self) -> Option<String> {
        let command = match &self.command {
            // It runs the statement.
            Command::Explain { form: ExplainForm::Analyze, command, .. } => command,
            command => command,
        };
        match command {
            Command::Sql(statement) => match &**statement {
                Statement::Comment {
                    object_type: ast::CommentObject::Column, object_name, ..
                } => table_and_column(object_name).map(|it| it.0),
                statement => changed_by(statement).map(dotted),
            },
            Command::CopyFrom { table, .. } => Some(dotted(table)),
            _ => None,
        }
    }

    /// The file that COPY FROM reads, if it is one.
    pub fn copied_file(&self) -> Option<&str> {
        match &self.command {
            Command::CopyFrom { path, .. } => Some(path),
            _ => None,
        }
    }

    /// The statement, with another file that COPY FROM reads.
    pub fn with_copied_file(mut self, file: String) -> ParsedStatement {
        if let Command::CopyFrom { path, .. } = &mut self.command {
            *path = file;
        }
        self
    }

    /// The statement's text.
    pub fn text(&self) -> &str {
        self.source.slice(self.span)
    }
}

impl Source {
    fn new(sql: &str) -> Result<(Source, Vec<TokenWithSpan>)> {
        let positions = Positions::new(sql);
        let Tokens { list, ends, materialized, keys, exclusions, inserts, samples } =
            tokenize(sql, &positions)?;
        let parameters = parameter::parameters(&list, &positions);
        let (text, names_row_ids) = (sql.to_owned(), names_row_ids(sql));
        let source = Source {
            text,
            positions,
            names_row_ids,
            ends,
            materialized,
            keys,
            exclusions,
            inserts,
            parameters,
            samples,
        };
        Ok((source, list))
    }

    /// Whether something is known of the text by places in it.
    fn knows_by_place(&self) -> bool {
        self.has_extensions() || !self.parameters.is_empty()
    }

    /// Whether the text says anything that is not in the syntax trees, besides parameters.
    pub(crate) fn has_extensions(&self) -> bool {
        let Source { materialized, keys, exclusions, inserts, samples, .. } = self;
        !(materialized.is_empty()
            && keys.is_empty()
            && exclusions.is_empty()
            && inserts.is_empty()
            && samples.is_empty())
    }

    /// Where what the parser has read ends: before the next token, as the last one may stand for
    /// others.
    fn end_of_read(&self, parser: &Parser<'_>) -> u32 {
        let next = parser.peek_token_ref();
        let read = match next.token {
            Token::EOF => self.ends.len(),
            _ => self.ends.partition_point(|it| *it <= next.span.start),
        };
        let last = self.ends.get(..read).and_then(<[_]>::last);
        last.and_then(|it| self.positions.offset(*it)).unwrap_or_default()
    }

    /// The names of the parameters in a part of the text: all numbers up to the greatest, or names
    /// in the order of their first use.
    fn parameters_in(&self, span: Span) -> Vec<String> {
        let inside = self.parameters.iter().filter(|it| (span.start..span.end).contains(&it.0));
        parameter::distinct(inside.map(|it| it.1.as_str()))
    }

    /// Whether the INSERT of this word matches columns by their names.
    pub(crate) fn is_by_name(&self, insert: tokenizer::Span) -> bool {
        self.inserts.by_name.contains(&tokens::place(insert.start))
    }

    /// The name that the INSERT of this word gives its table.
    pub(crate) fn insert_alias(&self, insert: tokenizer::Span) -> Option<&Ident> {
        self.inserts.aliases.get(&tokens::place(insert.start))
    }

    /// Whether the common table expression that ends with this parenthesis is to be materialized.
    pub(crate) fn is_materialized(&self, closing: &TokenWithSpan) -> bool {
        self.materialized.contains(&tokens::place(closing.span.start))
    }

    /// The columns of USING KEY of the common table expression that ends with this parenthesis.
    pub(crate) fn keys_of(&self, closing: &TokenWithSpan) -> Option<&[Ident]> {
        self.keys.get(&tokens::place(closing.span.start)).map(Vec::as_slice)
    }

    /// What the frame of the window with this name (perhaps an empty one) excludes.
    pub(crate) fn exclusion(&self, name: &Ident) -> Exclusion {
        self.exclusions.get(&tokens::place(name.span.start)).copied().unwrap_or_default()
    }

    /// The sample that the query whose SELECT stands here takes of its FROM.
    pub(crate) fn sample(&self, select: &TokenWithSpan) -> Option<&TableSample> {
        self.samples.get(&tokens::place(select.span.start))
    }

    /// The first place of a string literal.
    pub(crate) fn string(&self, text: &str) -> Option<Span> {
        let literal = format!("'{}'", text.replace('\'', "''"));
        let start = self.text.find(&literal)?;
        let end = start + literal.len();
        Some(Span { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? })
    }

    /// The text of a span.
    pub(crate) fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }
}

/// The table that a statement changes.
fn changed_by(statement: &Statement) -> Option<&ObjectName> {
    match statement {
        Statement::Insert(insert) => match &insert.table {
            ast::TableObject::TableName(name) => Some(name),
            _ => None,
        },
        Statement::Update(update) => name_of(&update.table.relation),
        Statement::Delete(delete) => {
            let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
                &delete.from;
            from.first().and_then(|it| name_of(&it.relation))
        }
        Statement::Merge(merge) => name_of(&merge.table),
        Statement::Truncate(truncate) => truncate.table_names.first().map(|it| &it.name),
        Statement::AlterTable(alter) => Some(&alter.name),
        Statement::CreateIndex(create) => Some(&create.table_name),
        Statement::Comment { object_name, .. } => Some(object_name),
        Statement::Query(query) => match &*query.body {
            ast::SetExpr::Insert(inner)
            | ast::SetExpr::Update(inner)
            | ast::SetExpr::Delete(inner)
            | ast::SetExpr::Merge(inner) => changed_by(inner),
            _ => None,
        },
        _ => None,
    }
}

/// The name of a table in FROM, if it has one.
fn name_of(factor: &ast::TableFactor) -> Option<&ObjectName> {
    match factor {
        ast::TableFactor::Table { name, .. } => Some(name),
        _ => None,
    }
}

impl Drop for ParsedStatement {
    /// Drops the tree where there is room for its depth.
    fn drop(&mut self) {
        let bytes = self.source.text.len();
        let command = std::mem::replace(&mut self.command, Command::ShowAll);
        stack::with_room(bytes, || drop(command));
    }
}

#[cfg(test)]
mod tests;
