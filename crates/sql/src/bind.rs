//! The binder: syntax trees to typed logical plans.
//!
//! A query is bound clause by clause. What names mean is kept in a stack of levels, one per query
//! under way, outermost first; a name that the innermost level does not know is looked up further
//! out, which makes a correlation. A column of an outer query is simply its [`ColumnId`].
//!
//! [`ColumnId`]: volley_logical::ColumnId

use crate::{
    Catalog, DefaultOrder, Dialect, Home, ParsedStatement, Statement, memory::NODE_BYTES,
    parse::Source, stack,
};
use sqlparser::tokenizer::Span as Lines;
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashSet},
    fmt,
    sync::Arc,
};
use volley_error::{Error, Result, Span};
use volley_function::{FunctionNames, Registry};
use volley_logical::{Column, ColumnId, ColumnIds, Expr};
use volley_types::{
    Type, Value, common_type, common_type_by_position, comparable_type,
    comparable_type_by_position, custom::Json, text::TypeNames,
};

mod scope;
mod command;
mod comment;
mod target;
mod write;
mod merge;
mod upsert;
mod copy_from;
mod summarize;
mod definition;
mod query;
mod recursive;
mod reference;
mod set_operation;
mod values;
mod select;
mod group;
mod grouping_sets;
mod order;
mod output;
mod from;
mod join;
mod asof;
mod expr;
mod operator;
mod tuple;
mod quantified;
mod query_text;
mod limit;
mod star;
mod columns;
mod pivot;
mod unpivot;
mod positional;
mod sample;
mod within_group;
mod function;
mod volatile;
mod lambda;
mod aggregate;
mod window;
mod frame;
mod subquery;
mod table_function;
mod unnest;
mod access;
mod literal;
mod macros;
mod maintenance;
mod interval;
mod coerce;
mod collate;
mod collection;
mod json;
mod constant_forms;
mod comparable;
mod data_type;
mod named_type;
mod inspect;
mod session;
mod show_create;
mod show_statistics;

pub(crate) use literal::exact_number;
use scope::Scope;

/// What parameters in the text stand for.
#[derive(Clone, Debug, Default)]
pub enum Parameters {
    /// There are no values: a parameter is an error.
    #[default]
    None,
    /// The values come later: to check a statement, each is a NULL of no type.
    Unknown,
    /// The values and their types, by name in lower case; `1` for `$1` and the first `?`. Each is
    /// like a literal.
    Given(Arc<BTreeMap<String, (Value, Type)>>),
}

/// What binding depends on besides names.
#[derive(Clone, Debug)]
pub struct BindSettings {
    /// The most levels of nesting of expressions and queries; chains of AND, OR, `||` and UNION
    /// count once.
    pub depth_max: usize,
    /// Whose semantics hold where systems differ.
    pub dialect: Dialect,
    /// What ORDER BY means where it does not say it.
    pub default_order: DefaultOrder,
    /// How names of types are written, unless the dialect says it.
    pub type_names: TypeNames,
    /// The values of parameters such as `$1`.
    pub parameters: Parameters,
    /// What errors point at in place of the statement's own text: where another statement names it.
    pub place: Option<Span>,
}

impl Default for BindSettings {
    fn default() -> BindSettings {
        let (dialect, parameters) = (Dialect::default(), Parameters::None);
        let default_order = DefaultOrder::default();
        let type_names = TypeNames::default();
        BindSettings {
            depth_max: 1000,
            dialect,
            default_order,
            type_names,
            parameters,
            place: None,
        }
    }
}

impl BindSettings {
    /// The name of a type, as `typeof` and DESCRIBE give it.
    pub(crate) fn type_name(&self, data_type: &Type) -> String {
        match self.dialect {
            Dialect::Volley => self.type_names.name(data_type),
            dialect => dialect.type_name(data_type),
        }
    }
}

/// Finds out what a statement means. Columns are numbered by `ids`.
///
/// # Errors
///
/// Unknown names, types that do not fit, constructs that are not supported; with their place in
/// the text.
pub fn bind(
    statement: &ParsedStatement,
    catalog: &dyn Catalog,
    registry: &Registry,
    ids: &ColumnIds,
    settings: &BindSettings,
) -> Result<Statement> {
    let cte_ids = Cell::new(0);
    let dialect = settings.dialect;
    let names = FunctionNames::new(registry, dialect.packages());
    let expansions = macros::Expansions::default();
    let named_types = named_type::NamedTypes::default();
    let shared = Shared {
        catalog,
        registry,
        names,
        dialect,
        ids,
        settings,
        cte_ids: &cte_ids,
        expansions: &expansions,
        named_types: &named_types,
    };
    stack::with_room(statement.text().len(), || {
        let mut binder = Binder::new(shared, &statement.source);
        binder.first_word = settings.place.or(Some(statement.first_word()));
        binder.view_span = settings.place;
        binder.statement(&statement.command)
    })
}

/// What the binders of a statement and of the views in it share.
#[derive(Clone, Copy)]
struct Shared<'a> {
    catalog: &'a dyn Catalog,
    registry: &'a Registry,
    names: FunctionNames<'a>,
    dialect: Dialect,
    ids: &'a ColumnIds,
    settings: &'a BindSettings,
    cte_ids: &'a Cell<u32>,
    expansions: &'a macros::Expansions,
    named_types: &'a named_type::NamedTypes,
}

impl Shared<'_> {
    /// The same for a text in another dialect.
    fn with_dialect(self, dialect: Dialect) -> Self {
        let names = FunctionNames::new(self.registry, dialect.packages());
        Shared { names, dialect, ..self }
    }

    /// Whether names, literals and operators mean what they mean in Presto.
    fn is_presto(self) -> bool {
        self.dialect == Dialect::Presto
    }

    /// The type in which values of both types meet.
    fn common_type(self, left: &Type, right: &Type) -> Option<Type> {
        if self.is_presto() {
            return common_type_by_position(left, right);
        }
        let has_json = [left, right].iter().any(|it| is_json(it));
        common_type(left, right).or_else(|| has_json.then(Json::data_type))
    }

    /// The type in which values of both types are compared.
    fn comparable_type(self, left: &Type, right: &Type) -> Option<Type> {
        if self.is_presto() {
            return comparable_type_by_position(left, right);
        }
        comparable_type(left, right).or_else(|| match (is_json(left), is_json(right)) {
            (false, false) => None,
            (true, _) if !right.is_nested() => Some(right.clone()),
            (_, true) if !left.is_nested() => Some(left.clone()),
            _ => Some(Json::data_type()),
        })
    }
}

fn is_json(data_type: &Type) -> bool {
    *data_type == Json::data_type()
}

/// Binds the syntax tree of one text.
struct Binder<'a> {
    shared: Shared<'a>,
    source: &'a Source,
    /// The word that the statement begins with, for errors without a better place.
    first_word: Option<Span>,
    /// In the text of a view: the place of the view's name in the statement.
    view_span: Option<Span>,
    /// Whether names may mean row ids of tables: by the text, and those of macros in it.
    names_row_ids: bool,
    /// Whether the query of a view is being bound.
    in_view: bool,
    /// The views whose text is being bound, outermost first.
    views: Vec<String>,
    /// The common table expressions in sight, innermost last.
    ctes: Vec<query::CteEntry<'a>>,
    /// How many uses of common table expressions were replaced by what they stand for.
    inline_ctes: usize,
    /// How often steps of recursions were bound.
    recursive_steps: usize,
    levels: Vec<Level<'a>>,
    /// The first level of the FROM clause that is being bound.
    from_level: usize,
    depth: usize,
    /// How many aliases were replaced by what they stand for.
    alias_uses: usize,
    /// The lambdas around what is being bound, outermost first.
    lambdas: Vec<lambda::Scope<'a>>,
    /// How many bodies of lambdas were bound.
    bodies: usize,
    /// The columns of COLUMNS in the expression that is being bound.
    choices: Option<columns::Choices<'a>>,
    /// Where names in the definition of the table that the statement changes are looked up.
    target_home: RefCell<Option<Home>>,
    /// The calls of volatile functions that were bound.
    occurrences: volatile::Occurrences<'a>,
}

/// A query under way.
struct Level<'a> {
    /// The columns that names may mean.
    scope: Scope,
    /// Aliases of the SELECT list, for the other clauses.
    aliases: Vec<(&'a str, &'a sqlparser::ast::Expr)>,
    /// The aliases being replaced by what they stand for.
    aliases_open: Vec<usize>,
    /// The clause that is being bound.
    clause: Clause,
    /// The aggregate calls found so far; columns that stand for them.
    aggregates: aggregate::Aggregates,
    /// Whether arguments of an aggregate are being bound.
    in_aggregate: bool,
    /// The place of the first call of `grouping`, if there is one.
    grouping: Option<Option<Span>>,
    /// The calls with OVER found so far; columns that stand for them.
    windows: window::Windows,
    /// Whether parts of such a call are being bound.
    in_window: bool,
    /// The calls of unnest found so far; columns that stand for them.
    unnests: unnest::Unnests,
    /// The WINDOW clause.
    named_windows: &'a [sqlparser::ast::NamedWindowDefinition],
    /// Whether a query further in named a column of this one.
    referenced: bool,
    /// Whether names do not find it: to the left of a subquery in FROM that is not LATERAL.
    hidden: bool,
}

/// A clause of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clause {
    From,
    JoinCondition,
    Where,
    GroupBy,
    Select,
    Having,
    Qualify,
    OrderBy,
    Limit,
    Values,
    Set,
    Merge,
    Returning,
    Default,
    Check,
}

/// A bound query: a plan and its output columns, with the names of the query.
struct Bound {
    plan: volley_logical::Plan,
    columns: Vec<Column>,
}

impl<'a> Binder<'a> {
    fn new(shared: Shared<'a>, source: &'a Source) -> Binder<'a> {
        Binder {
            shared,
            source,
            names_row_ids: source.names_row_ids,
            first_word: None,
            view_span: None,
            in_view: false,
            views: Vec::new(),
            ctes: Vec::new(),
            inline_ctes: 0,
            recursive_steps: 0,
            levels: Vec::new(),
            from_level: 0,
            depth: 0,
            alias_uses: 0,
            lambdas: Vec::new(),
            bodies: 0,
            choices: None,
            target_home: RefCell::default(),
            occurrences: volatile::Occurrences::default(),
        }
    }

    /// The place of a piece of the syntax tree in the statement.
    fn span(&self, lines: Lines) -> Option<Span> {
        self.view_span.or_else(|| self.source.positions.span(lines))
    }

    /// Runs `f` one level deeper.
    fn deeper<R>(
        &mut self,
        span: impl FnOnce(&Self) -> Option<Span>,
        f: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        if self.depth >= self.shared.settings.depth_max {
            let depth = self.shared.settings.depth_max;
            let error =
                Error::invalid_query(format!("nested too deeply: more than {depth} levels"));
            return Err(error.span(span(self)));
        }
        self.shared.catalog.take_memory(NODE_BYTES)?;
        self.depth += 1;
        let result = stack::grow(|| f(self));
        self.depth -= 1;
        result
    }

    /// Runs `f` with `scope` as the innermost level; gives the level back.
    fn with_level<R>(
        &mut self,
        scope: Scope,
        clause: Clause,
        f: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<(R, Level<'a>)> {
        self.levels.push(Level::new(scope, clause));
        let result = f(self);
        let level = self.levels.pop().ok_or_else(|| Error::internal("level stack is empty"))?;
        Ok((result?, level))
    }

    fn level(&mut self) -> Result<&mut Level<'a>> {
        self.levels.last_mut().ok_or_else(|| Error::internal("expression outside of a query"))
    }

    /// Sets the clause of the innermost level.
    fn enter(&mut self, clause: Clause) {
        if let Some(level) = self.levels.last_mut() {
            level.clause = clause;
        }
    }

    fn column(&self, name: impl Into<String>, data_type: Type) -> Column {
        self.shared.ids.column(name, data_type)
    }

    /// The column that `expr` becomes in the output of a node reading `inputs`: itself when it is
    /// one of them and not `taken` yet, otherwise a new one.
    fn output_column(
        &self,
        name: &str,
        expr: &Expr,
        inputs: &HashSet<ColumnId>,
        taken: &mut HashSet<ColumnId>,
    ) -> Column {
        let data_type = expr.data_type.clone();
        match expr.kind {
            volley_logical::ExprKind::Column(id) if inputs.contains(&id) && taken.insert(id) => {
                Column { id, name: name.to_owned(), data_type }
            }
            _ => self.column(name, data_type),
        }
    }
}

impl Level<'_> {
    fn new(scope: Scope, clause: Clause) -> Self {
        Level {
            scope,
            aliases: Vec::new(),
            aliases_open: Vec::new(),
            clause,
            aggregates: aggregate::Aggregates::default(),
            in_aggregate: false,
            grouping: None,
            windows: window::Windows::default(),
            in_window: false,
            unnests: unnest::Unnests::default(),
            named_windows: &[],
            referenced: false,
            hidden: false,
        }
    }
}

impl Clause {
    /// Whether aggregate calls may stand here.
    fn takes_aggregates(self) -> bool {
        matches!(self, Clause::Select | Clause::Having | Clause::Qualify | Clause::OrderBy)
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Clause::From => "FROM",
            Clause::JoinCondition => "a join condition",
            Clause::Where => "WHERE",
            Clause::GroupBy => "GROUP BY",
            Clause::Select => "SELECT",
            Clause::Having => "HAVING",
            Clause::Qualify => "QUALIFY",
            Clause::OrderBy => "ORDER BY",
            Clause::Limit => "LIMIT",
            Clause::Values => "VALUES",
            Clause::Set => "SET",
            Clause::Merge => "a clause of MERGE",
            Clause::Returning => "RETURNING",
            Clause::Default => "DEFAULT",
            Clause::Check => "a CHECK constraint",
        })
    }
}

/// The error that a construct is not supported.
fn unsupported(what: impl fmt::Display, span: Option<Span>) -> Error {
    Error::unsupported(format!("not supported: {what}")).span(span)
}
