//! Statements. The parser handles queries and DDL; commands that it does not know, or parses
//! differently, are parsed here, token by token.

use super::{
    attach::{Attach, attach, detach, is_word},
    create_type::create_type,
    error::ends_statement,
    explain::explain_options,
    macros::{CreateMacro, create_macro, is_macro},
    maintenance::{Maintenance, maintenance},
    secret::{SecretCommand, create_secret, drop_secret, is_secret},
    sequence::{CreateSequence, create_sequence},
    show::{database_size, listing, name_pattern, table_info},
    view::{rename_view, renames_view},
    *,
};
use crate::{ExplainFormat, statement::NamePattern};

/// A parsed statement.
#[derive(Debug)]
pub(crate) enum Command {
    /// A query, CREATE TABLE, DROP, INSERT and all that is not supported.
    Sql(Box<Statement>),
    /// EXPLAIN [ANALYZE] [(options)] statement.
    Explain { form: ExplainForm, format: ExplainFormat, command: Box<Command> },
    /// EXPLAIN (TYPE VALIDATE) statement.
    Validate(Box<Command>),
    /// DESCRIBE table or query.
    Describe(Described),
    /// SUMMARIZE table or query, with its text.
    Summarize(Described, String),
    /// CREATE VIEW.
    CreateView(Box<CreateView>),
    /// CREATE SEQUENCE.
    CreateSequence(Box<CreateSequence>),
    /// CREATE MACRO.
    CreateMacro(Box<CreateMacro>),
    /// CREATE TYPE.
    CreateType(Box<CreateType>),
    /// ATTACH.
    Attach(Box<Attach>),
    /// DETACH.
    Detach { name: Ident, if_exists: bool },
    /// CREATE, DROP and SHOW of secrets.
    Secret(SecretCommand),
    /// SHOW CACHE.
    ShowCache,
    /// PREFETCH TABLE.
    Prefetch(ObjectName),
    /// CHECKPOINT, VACUUM, ANALYZE, EXPORT DATABASE, IMPORT DATABASE.
    Maintenance(Box<Maintenance>),
    /// DROP MACRO.
    DropMacro { name: ObjectName, if_exists: bool },
    /// COPY ... TO 'file' (options).
    Copy { source: CopySource, path: String, options: Vec<(Ident, Option<String>)> },
    /// COPY table FROM 'file' (options).
    CopyFrom {
        table: ObjectName,
        columns: Vec<Ident>,
        path: String,
        options: Vec<(Ident, Option<String>)>,
    },
    /// SET name = value.
    Set { name: String, value: String },
    /// SET VARIABLE name = value.
    SetVariable { name: Ident, value: Box<ast::Expr> },
    /// RESET VARIABLE name.
    ResetVariable { name: Ident },
    /// ALTER VIEW name RENAME TO name.
    RenameView { name: ObjectName, if_exists: bool, new: ObjectName },
    /// RESET name.
    Reset { name: String },
    /// SHOW name: a setting or a table.
    ShowSetting { name: String },
    /// SHOW ALL.
    ShowAll,
    /// SHOW CREATE TABLE name, or VIEW.
    ShowCreate { name: ObjectName, is_view: bool },
    /// SHOW STATS FOR name.
    ShowStatistics { name: ObjectName },
    /// SHOW TABLES.
    ShowTables,
    /// SHOW FUNCTIONS [LIKE pattern [ESCAPE character]].
    ShowFunctions { names: Option<NamePattern> },
    /// SHOW SESSION [LIKE pattern [ESCAPE character]].
    ShowSession { names: Option<NamePattern> },
    /// PREPARE name AS statement.
    Prepare { name: Ident, statement: Arc<ParsedStatement> },
    /// EXECUTE name(values), of which some may have names.
    Execute { name: Ident, values: Vec<(Option<Ident>, ast::Expr)> },
    /// DEALLOCATE name; all without a name.
    Deallocate { name: Option<Ident> },
}

/// The parts of CREATE VIEW.
#[derive(Debug)]
pub(crate) struct CreateView {
    pub(crate) name: ObjectName,
    pub(crate) is_temporary: bool,
    pub(crate) or_replace: bool,
    pub(crate) if_not_exists: bool,
    pub(crate) columns: Vec<Ident>,
    pub(crate) query: Box<Query>,
    /// The query's text.
    pub(crate) sql: String,
}

/// What DESCRIBE describes.
#[derive(Debug)]
pub(crate) enum Described {
    Table(ObjectName),
    Query(Box<Query>),
    Function(Ident),
}

/// What COPY writes.
#[derive(Debug)]
pub(crate) enum CopySource {
    Table(ObjectName, Vec<Ident>),
    Query(Box<Query>),
}

pub(super) type Parsed<T> = std::result::Result<T, ParserError>;

/// Parses the statement at the parser's place.
pub(super) fn parse(parser: &mut Parser<'_>, source: &Arc<Source>) -> Parsed<Command> {
    let Token::Word(word) = &parser.peek_token_ref().token else {
        return sql(parser);
    };
    if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("summarize") {
        return summarize(parser, source);
    }
    if is_word(parser, "attach") {
        return attach(parser);
    }
    if is_word(parser, "detach") {
        return detach(parser);
    }
    if is_word(parser, "prefetch") {
        return prefetch(parser);
    }
    if let Some(command) = maintenance(parser)? {
        return Ok(command);
    }
    let Token::Word(word) = &parser.peek_token_ref().token else {
        return sql(parser);
    };
    match word.keyword {
        Keyword::EXPLAIN => explain(parser, source),
        Keyword::DESCRIBE | Keyword::DESC => describe(parser),
        Keyword::SHOW => show(parser),
        Keyword::SET => set(parser),
        Keyword::RESET => reset(parser),
        Keyword::PRAGMA => pragma(parser),
        Keyword::COPY => copy(parser),
        Keyword::ALTER if renames_view(parser) => rename_view(parser),
        Keyword::PREPARE => prepare(parser, source),
        Keyword::EXECUTE => execute(parser),
        Keyword::DEALLOCATE => deallocate(parser),
        Keyword::CREATE if creates(parser, Keyword::VIEW) => create_view(parser, source),
        Keyword::CREATE if is_macro(parser, modifiers(parser) + 1) => {
            Ok(Command::CreateMacro(Box::new(create_macro(parser, source)?)))
        }
        Keyword::CREATE if creates(parser, Keyword::TYPE) => {
            Ok(Command::CreateType(Box::new(create_type(parser)?)))
        }
        Keyword::DROP if is_macro(parser, 1) => drop_macro(parser),
        Keyword::CREATE if is_secret(parser) => create_secret(parser),
        Keyword::DROP if is_secret(parser) => drop_secret(parser),
        Keyword::CREATE if creates(parser, Keyword::SEQUENCE) => {
            Ok(Command::CreateSequence(Box::new(create_sequence(parser)?)))
        }
        _ => sql(parser),
    }
}

fn sql(parser: &mut Parser<'_>) -> Parsed<Command> {
    Ok(Command::Sql(Box::new(parser.parse_statement()?)))
}

fn explain(parser: &mut Parser<'_>, source: &Arc<Source>) -> Parsed<Command> {
    parser.expect_keyword(Keyword::EXPLAIN)?;
    let analyze = parser.parse_keyword(Keyword::ANALYZE);
    let options = explain_options(parser)?;
    let command = Box::new(parse(parser, source)?);
    if options.validates {
        return Ok(Command::Validate(command));
    }
    let form = match (analyze || options.analyze, options.distributed) {
        (true, _) => ExplainForm::Analyze,
        (false, _) if options.io => ExplainForm::Io,
        (false, true) => ExplainForm::Distributed,
        (false, false) if options.sub_operators => ExplainForm::SubOperators,
        (false, false) => ExplainForm::Plan,
    };
    Ok(Command::Explain { form, format: options.format, command })
}

fn prefetch(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.advance_token();
    parser.expect_keyword(Keyword::TABLE)?;
    Ok(Command::Prefetch(parser.parse_object_name(false)?))
}

fn describe(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.advance_token();
    let _ = parser.parse_keyword(Keyword::TABLE);
    let described = if starts_query(parser) {
        Described::Query(parser.parse_query()?)
    } else if !ends_statement(&parser.peek_nth_token_ref(1).token)
        && parser.parse_keyword(Keyword::FUNCTION)
    {
        Described::Function(parser.parse_identifier()?)
    } else {
        Described::Table(parser.parse_object_name(false)?)
    };
    Ok(Command::Describe(described))
}

fn prepare(parser: &mut Parser<'_>, source: &Arc<Source>) -> Parsed<Command> {
    parser.expect_keyword(Keyword::PREPARE)?;
    let name = parser.parse_identifier()?;
    if !parser.parse_keyword(Keyword::FROM) {
        parser.expect_keyword(Keyword::AS)?;
    }
    let first = parser.peek_token_ref().span;
    let command = parse(parser, source)?;
    if matches!(command, Command::Prepare { .. }) {
        return parser
            .expected("a statement other than PREPARE", parser.get_current_token().clone());
    }
    let statement = Arc::new(parsed(command, first, parser, source));
    Ok(Command::Prepare { name, statement })
}

fn execute(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.expect_keyword(Keyword::EXECUTE)?;
    let name = parser.parse_identifier()?;
    let mut values = Vec::new();
    if parser.consume_token(&Token::LParen) && !parser.consume_token(&Token::RParen) {
        values = parser.parse_comma_separated(parameter_value)?;
        parser.expect_token(&Token::RParen)?;
    } else if parser.parse_keyword(Keyword::USING) {
        values = parser.parse_comma_separated(parameter_value)?;
    }
    Ok(Command::Execute { name, values })
}

/// `name := value`, or a value.
fn parameter_value(parser: &mut Parser<'_>) -> Parsed<(Option<Ident>, ast::Expr)> {
    let is_named = parser.peek_nth_token_ref(1).token == Token::Assignment;
    let name = is_named.then(|| parser.parse_identifier()).transpose()?;
    if is_named {
        parser.expect_token(&Token::Assignment)?;
    }
    Ok((name, parser.parse_expr()?))
}

fn deallocate(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.expect_keyword(Keyword::DEALLOCATE)?;
    let _ = parser.parse_keyword(Keyword::PREPARE);
    if parser.parse_keyword(Keyword::ALL) {
        return Ok(Command::Deallocate { name: None });
    }
    Ok(Command::Deallocate { name: Some(parser.parse_identifier()?) })
}

fn summarize(parser: &mut Parser<'_>, source: &Source) -> Parsed<Command> {
    parser.advance_token();
    let start = source.positions.offset(parser.peek_token_ref().span.start);
    let described = if starts_query(parser) {
        Described::Query(parser.parse_query()?)
    } else {
        Described::Table(parser.parse_object_name(false)?)
    };
    let span = Span { start: start.unwrap_or_default(), end: source.end_of_read(parser) };
    Ok(Command::Summarize(described, source.slice(span).to_owned()))
}

pub(super) fn starts_query(parser: &Parser<'_>) -> bool {
    match &parser.peek_token_ref().token {
        Token::LParen => true,
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::FROM
        ),
        _ => false,
    }
}

fn show(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.expect_keyword(Keyword::SHOW)?;
    if ends_statement(&parser.peek_token_ref().token) {
        return parser.expected("TABLES, ALL or the name of a setting", parser.peek_token());
    }
    if let Some(command) = listing(parser)? {
        return Ok(command);
    }
    for (kind, is_view) in [(Keyword::TABLE, false), (Keyword::VIEW, true)] {
        if parser.parse_keywords(&[Keyword::CREATE, kind]) {
            return Ok(Command::ShowCreate { name: parser.parse_object_name(false)?, is_view });
        }
    }
    if shows_statistics(parser) {
        parser.next_token();
        parser.expect_keyword(Keyword::FOR)?;
        return Ok(Command::ShowStatistics { name: parser.parse_object_name(false)? });
    }
    if parser.parse_keyword(Keyword::ALL) {
        return Ok(Command::ShowAll);
    }
    if parser.parse_keyword(Keyword::FUNCTIONS) {
        return Ok(Command::ShowFunctions { names: name_pattern(parser)? });
    }
    if parser.parse_keyword(Keyword::SESSION) {
        return Ok(Command::ShowSession { names: name_pattern(parser)? });
    }
    let is_alone = ends_statement(&parser.peek_nth_token_ref(1).token);
    if is_alone && is_word(parser, "secrets") {
        parser.advance_token();
        return Ok(Command::Secret(SecretCommand::Show));
    }
    if is_alone && is_word(parser, "cache") {
        parser.advance_token();
        return Ok(Command::ShowCache);
    }
    if parser.parse_keywords(&[Keyword::COLUMNS, Keyword::FROM])
        || parser.parse_keywords(&[Keyword::COLUMNS, Keyword::IN])
    {
        return Ok(Command::Describe(Described::Table(parser.parse_object_name(false)?)));
    }
    Ok(Command::ShowSetting { name: setting_name(parser)? })
}

/// Whether STATS FOR is next, not the name of a setting or table.
fn shows_statistics(parser: &Parser<'_>) -> bool {
    let [first, second] = parser.peek_tokens_ref();
    matches!(&first.token, Token::Word(word) if word.value.eq_ignore_ascii_case("stats"))
        && matches!(&second.token, Token::Word(word) if word.keyword == Keyword::FOR)
}

fn set(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.expect_keyword(Keyword::SET)?;
    if takes_variable(parser) {
        parser.advance_token();
        let name = parser.parse_identifier()?;
        expect_equals(parser)?;
        return Ok(Command::SetVariable { name, value: Box::new(parser.parse_expr()?) });
    }
    let _ = parser.parse_one_of_keywords(&[Keyword::SESSION, Keyword::LOCAL, Keyword::GLOBAL]);
    let name = setting_name(parser)?;
    expect_equals(parser)?;
    let value = match parser.consume_token(&Token::LBracket) {
        true => list_value(parser)?,
        false => option_value(parser)?,
    };
    Ok(Command::Set { name, value })
}

fn expect_equals(parser: &mut Parser<'_>) -> Parsed<()> {
    match parser.consume_token(&Token::Eq) || parser.parse_keyword(Keyword::TO) {
        true => Ok(()),
        false => parser.expected("= or TO", parser.peek_token()),
    }
}

/// Whether VARIABLE and a name follow, and not a setting of that name.
fn takes_variable(parser: &Parser<'_>) -> bool {
    let is_name = |at: usize| match &parser.peek_nth_token_ref(at).token {
        Token::Word(word) => word.keyword != Keyword::TO,
        _ => false,
    };
    let first = &parser.peek_token_ref().token;
    matches!(first, Token::Word(word) if word.value.eq_ignore_ascii_case("variable")) && is_name(1)
}

fn reset(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.expect_keyword(Keyword::RESET)?;
    if takes_variable(parser) {
        parser.advance_token();
        return Ok(Command::ResetVariable { name: parser.parse_identifier()? });
    }
    let has_name = !ends_statement(&parser.peek_nth_token_ref(1).token);
    let _ = has_name && parser.parse_keyword(Keyword::SESSION);
    Ok(Command::Reset { name: setting_name(parser)? })
}

/// `PRAGMA name = value`, as SET, `PRAGMA show_tables`, `PRAGMA database_size` and
/// `PRAGMA table_info('table')`.
fn pragma(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.expect_keyword(Keyword::PRAGMA)?;
    let place = parser.peek_token_ref().span;
    let name = setting_name(parser)?;
    if name == "table_info" {
        return table_info(parser, place);
    }
    if name == "database_size" {
        return database_size(place);
    }
    if name == "show_tables" {
        return Ok(Command::ShowTables);
    }
    parser.expect_token(&Token::Eq)?;
    Ok(Command::Set { name, value: option_value(parser)? })
}

fn setting_name(parser: &mut Parser<'_>) -> Parsed<String> {
    Ok(dotted(&parser.parse_object_name(false)?).to_ascii_lowercase())
}

/// The texts of a list behind its bracket, as the text of a list.
fn list_value(parser: &mut Parser<'_>) -> Parsed<String> {
    let mut values = Vec::new();
    while !parser.consume_token(&Token::RBracket) {
        values.push(format!("'{}'", option_value(parser)?.replace('\'', "''")));
        if !parser.consume_token(&Token::Comma) {
            parser.expect_token(&Token::RBracket)?;
            break;
        }
    }
    Ok(format!("[{}]", values.join(", ")))
}

/// A literal or a word, as text.
fn option_value(parser: &mut Parser<'_>) -> Parsed<String> {
    let negative = parser.consume_token(&Token::Minus);
    let token = parser.next_token();
    let text = match token.token {
        Token::Word(word) => word.value,
        Token::Number(text, _) => text,
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text,
        _ => return parser.expected("a value", token),
    };
    Ok(if negative { format!("-{text}") } else { text })
}

fn copy(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.expect_keyword(Keyword::COPY)?;
    let source = if parser.consume_token(&Token::LParen) {
        let query = parser.parse_query()?;
        parser.expect_token(&Token::RParen)?;
        CopySource::Query(query)
    } else {
        let name = parser.parse_object_name(false)?;
        CopySource::Table(name, column_names(parser)?)
    };
    let is_from = matches!(source, CopySource::Table(..)) && parser.parse_keyword(Keyword::FROM);
    if !is_from {
        parser.expect_keyword(Keyword::TO)?;
    }
    let path = parser.parse_literal_string()?;
    let _ = parser.parse_keyword(Keyword::WITH);
    let options = options(parser)?;
    match source {
        CopySource::Table(table, columns) if is_from => {
            Ok(Command::CopyFrom { table, columns, path, options })
        }
        source => Ok(Command::Copy { source, path, options }),
    }
}

/// `(name [value], ...)`, or nothing.
pub(super) fn options(parser: &mut Parser<'_>) -> Parsed<Vec<(Ident, Option<String>)>> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(Vec::new());
    }
    let options = parser.parse_comma_separated(copy_option)?;
    parser.expect_token(&Token::RParen)?;
    Ok(options)
}

fn copy_option(parser: &mut Parser<'_>) -> Parsed<(Ident, Option<String>)> {
    let name = parser.parse_identifier()?;
    let has_equals = parser.consume_token(&Token::Eq);
    let next = &parser.peek_token_ref().token;
    if !has_equals && matches!(next, Token::Comma | Token::RParen) {
        return Ok((name, None));
    }
    if *next == Token::LParen {
        let names = column_names(parser)?;
        let names: Vec<String> = names.into_iter().map(|it| listed_name(it.value)).collect();
        return Ok((name, Some(names.join(", "))));
    }
    Ok((name, Some(option_value(parser)?)))
}

/// A name as it stands in a list: in quotes if a comma or quote is in it.
fn listed_name(name: String) -> String {
    match name.contains([',', '"', ' ']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name,
    }
}

fn column_names(parser: &mut Parser<'_>) -> Parsed<Vec<Ident>> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(Vec::new());
    }
    let names = parser.parse_comma_separated(|it| it.parse_identifier())?;
    parser.expect_token(&Token::RParen)?;
    Ok(names)
}

/// Whether CREATE [OR REPLACE] [TEMP[ORARY]] is followed by this word.
fn creates(parser: &Parser<'_>, what: Keyword) -> bool {
    let word = &parser.peek_nth_token_ref(modifiers(parser) + 1).token;
    matches!(word, Token::Word(word) if word.keyword == what)
}

/// How many of the words OR REPLACE TEMP[ORARY] follow CREATE.
fn modifiers(parser: &Parser<'_>) -> usize {
    let words = [Keyword::OR, Keyword::REPLACE, Keyword::TEMP, Keyword::TEMPORARY];
    let is_modifier = |at: &usize| {
        let token = &parser.peek_nth_token_ref(*at).token;
        matches!(token, Token::Word(word) if words.contains(&word.keyword))
    };
    (1..4).take_while(is_modifier).count()
}

fn drop_macro(parser: &mut Parser<'_>) -> Parsed<Command> {
    (0..2).for_each(|_| parser.advance_token());
    let _ = parser.parse_keyword(Keyword::TABLE);
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    Ok(Command::DropMacro { name: parser.parse_object_name(false)?, if_exists })
}

fn create_view(parser: &mut Parser<'_>, source: &Source) -> Parsed<Command> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let is_temporary = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]).is_some();
    parser.expect_keyword(Keyword::VIEW)?;
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let columns = column_names(parser)?;
    parser.expect_keyword(Keyword::AS)?;
    let start = source.positions.offset(parser.peek_token_ref().span.start);
    let query = parser.parse_query()?;
    let span = Span { start: start.unwrap_or_default(), end: source.end_of_read(parser) };
    let sql = source.slice(span).to_owned();
    let view = CreateView { name, is_temporary, or_replace, if_not_exists, columns, query, sql };
    Ok(Command::CreateView(Box::new(view)))
}

/// The parts of a name, joined by dots.
pub(crate) fn dotted(name: &ObjectName) -> String {
    let parts: Vec<String> = name.0.iter().map(part_text).collect();
    parts.join(".")
}

/// The name of a column in its table and schema, in two.
pub(crate) fn table_and_column(name: &ObjectName) -> Option<(String, String)> {
    let (column, table) = name.0.split_last().filter(|it| !it.1.is_empty())?;
    Some((dotted(&ObjectName(table.to_vec())), part_text(column)))
}

fn part_text(part: &ast::ObjectNamePart) -> String {
    match part.as_ident() {
        Some(ident) => ident.value.clone(),
        None => part.to_string(),
    }
}
