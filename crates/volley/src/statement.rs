//! Running statements.

use crate::{
    Replacement, Replacements, ResultStream, Session, Settings, StatementInputs, access,
    attach::{self, Attachment},
    cache_settings, changes_in_with, copy, copy_from, explain, export, maintenance,
    named_type::named_type,
    planning::{Planned, StatementContext, plan_query},
    prepared,
    show_session::{SESSION_COLUMNS, matching, session_rows},
    unvalidated,
    variables::Variable,
    write::{self, count_of, write_plan},
};
use std::sync::Arc;
use volley_catalog::{Host, NewObject, NewTable, Replaces, StatementCatalog, Turn};
use volley_connector::{ReferencedName, SinkFactory, Table, TableArguments, ViewEntry, WriteKind};
use volley_connector_hive::FileFormat;
use volley_error::{Error, Result, Span};
use volley_expression::Expr;
use volley_function::{FunctionNames, Package, PackageDoc, QueryConstants};
use volley_logical::{NamedTable, TableRef};
use volley_memory::{Reservation, with_cancellation};
use volley_plan::{PlanNode, PlanNodeId, ProjectNode, TableWriteNode, WriteTarget};
use volley_sql::{
    BindSettings, Catalog, Home, MacroDefinition, Parameters, ParsedStatement, Query, Relation,
    Statement, TransactionStep,
};
use volley_types::{Field, Schema, Type, Value, Zone};
use volley_vector::Batch;

/// Batches of a new table in memory have about this many rows.
pub(crate) const TABLE_BATCH_ROWS: usize = 1 << 16;

/// What the search path is called in SET and SHOW.
const SEARCH_PATH: [&str; 2] = ["search_path", "schema"];

/// What a statement gave.
pub enum Outcome {
    /// Rows.
    Rows(ResultStream),
    /// Nothing to show; how many rows were written, for statements that write.
    Done(
        /// Rows written.
        Option<u64>,
    ),
}

impl Outcome {
    /// The rows; none, for a statement without rows.
    pub fn into_rows(self) -> ResultStream {
        match self {
            Outcome::Rows(rows) => rows,
            Outcome::Done(_) => ResultStream::empty(),
        }
    }
}

/// Binds and runs one statement.
pub(crate) fn run(session: &Session, parsed: &ParsedStatement) -> Result<Outcome> {
    run_with(session, parsed, Parameters::None, None)
}

/// Binds and runs one statement, with values for its parameters.
pub(crate) fn run_with(
    session: &Session,
    parsed: &ParsedStatement,
    parameters: Parameters,
    place: Option<Span>,
) -> Result<Outcome> {
    run_with_inputs(session, parsed, (parameters, place), &StatementInputs::default())
}

/// Binds and runs one statement, with values for its parameters and what the caller adds.
pub(crate) fn run_with_inputs(
    session: &Session,
    parsed: &ParsedStatement,
    values: (Parameters, Option<Span>),
    inputs: &StatementInputs,
) -> Result<Outcome> {
    let constants = session.begin_with(inputs.cancellation.as_ref());
    let cancellation = constants.cancellation.clone();
    let replacements = inputs.replacements.clone();
    with_cancellation(&cancellation, || {
        run_current(session, parsed, values, replacements, constants)
    })
}

/// Runs a statement whose token is the current one.
fn run_current(
    session: &Session,
    parsed: &ParsedStatement,
    values: (Parameters, Option<Span>),
    replacements: Option<Arc<dyn Replacements>>,
    constants: Arc<QueryConstants>,
) -> Result<Outcome> {
    if let Some(parts) = parsed.changes_in_with()? {
        return volley_sql::with_room(parsed.text().len(), || {
            changes_in_with::run(session, &parts, &values, replacements, &constants)
        })
        .inspect_err(|it| {
            if !it.kind().is_transient() {
                session.catalog.abort();
            }
        });
    }
    // A statement that changes a table begins with what others, which are at it, leave.
    let turn = match parsed.changed_table() {
        Some(name) => {
            let host: Arc<dyn Host> = Arc::clone(&session.host) as _;
            session.catalog.turn(&name, &host, session.settings().dialect)?
        }
        None => None,
    };
    let text = parsed.text();
    let mut cx = StatementContext::begin(session, constants, turn.as_ref(), text);
    cx.replacements = replacements;
    // Plans are as deep as texts, and are cloned and dropped by recursion.
    volley_sql::with_room(parsed.text().len(), || {
        let outcome = match unvalidated::run(session, parsed, &cx, &values).transpose() {
            Some(rows) => rows.map(Outcome::Rows),
            None => {
                let statement = bind(session, parsed, &cx, values);
                if let Ok(Statement::Transaction(step)) = statement {
                    return transaction(session, step, cx.constants.now_micros)
                        .map(|()| Outcome::Done(None));
                }
                session.catalog.check_not_aborted()?;
                statement.and_then(|it| execute(session, it, turn, &cx))
            }
        };
        let outcome = outcome.and_then(|it| session.catalog.end_statement().map(|()| it));
        // Who goes on after an error, as a script may, is not to commit half of what was meant; but
        // the statement may be tried again where that may help.
        outcome.inspect_err(|it| {
            if !it.kind().is_transient() {
                session.catalog.abort();
            }
        })
    })
}

/// What a statement means, with these values of its parameters; errors point at `place`, if that is
/// another than the statement's text.
pub(crate) fn bind(
    session: &Session,
    parsed: &ParsedStatement,
    cx: &StatementContext,
    (parameters, place): (Parameters, Option<Span>),
) -> Result<Statement> {
    cx.memory.take(volley_sql::memory_bytes(parsed.text()))?;
    // Most statements name no remote file, and need no list of names.
    if parsed.text().contains("://") {
        session.files.look_ahead(parsed.table_names().iter().map(String::as_str));
    }
    let Settings { dialect, default_order, type_names, .. } = session.settings();
    let settings = BindSettings {
        dialect,
        default_order,
        type_names,
        parameters,
        place,
        ..Default::default()
    };
    let catalog = RunningCatalog { session, cx, names: Arc::clone(&cx.catalog) };
    volley_sql::bind(parsed, &catalog, &session.registry, &cx.column_ids, &settings)
}

/// The catalog that a statement sees, and what it may run while it is bound.
struct RunningCatalog<'a> {
    session: &'a Session,
    cx: &'a StatementContext,
    names: Arc<StatementCatalog>,
}

impl Catalog for RunningCatalog<'_> {
    fn table(&self, name: &str) -> Result<Option<Relation>> {
        let found = self.names.table(name)?;
        let Some(replacements) = &self.cx.replacements else { return Ok(found) };
        if found.is_some() {
            return Ok(found);
        }
        Ok(replacements.find(name)?.map(|it| match it {
            Replacement::Table(table) => {
                let reference = self.names.add_external(Arc::clone(&table));
                Relation::Table(NamedTable { reference, table })
            }
            Replacement::Query(sql) => Relation::View {
                sql,
                columns: Vec::new(),
                dialect: self.names.dialect(),
                home: Home::default(),
            },
        }))
    }

    fn file(&self, path: &str) -> Result<Arc<dyn Table>> {
        self.names.file(path)
    }

    fn file_of(&self, path: &str, format: &str) -> Result<Arc<dyn Table>> {
        self.names.file_of(path, format)
    }

    fn take_memory(&self, bytes: usize) -> Result<()> {
        self.cx.constants.cancellation.check()?;
        self.cx.memory.take(bytes)
    }

    fn add_external(&self, table: Arc<dyn Table>) -> TableRef {
        self.names.add_external(table)
    }

    fn resolve(&self, reference: &TableRef) -> Result<Arc<dyn Table>> {
        Catalog::resolve(&*self.names, reference)
    }

    fn within<'s>(&'s self, home: &Home) -> Option<Box<dyn Catalog + 's>> {
        let names = Arc::new(self.names.within(home)?);
        Some(Box::new(RunningCatalog { session: self.session, cx: self.cx, names }))
    }

    fn names(&self) -> Vec<String> {
        self.names.names()
    }

    fn macro_called(&self, name: &str) -> Option<Arc<MacroDefinition>> {
        self.names.macro_called(name)
    }

    fn variable(&self, name: &str) -> Option<(Value, Type)> {
        self.session.state.variable(name)
    }

    fn setting(&self, name: &str) -> Result<String> {
        self.session.settings().get(name)
    }

    fn current_schemas(&self) -> Vec<(String, String)> {
        self.names.current_schemas()
    }

    fn type_called(&self, name: &str) -> Option<Type> {
        self.names.type_called(name)
    }

    fn type_names(&self) -> Vec<String> {
        self.names.type_names()
    }

    fn sequence_called(&self, name: &str) -> Option<String> {
        self.names.sequence_called(name)
    }

    fn home_of(&self, table: &TableRef) -> Option<Home> {
        self.names.home_of(table)
    }

    fn database_of_new(&self, name: &str) -> Option<String> {
        self.names.database_of_new(name)
    }

    fn referencing(&self, table: &TableRef) -> Option<String> {
        self.names.referencing(table)
    }

    fn referenced(&self, table: &TableRef) -> Vec<ReferencedName> {
        self.names.referenced(table)
    }

    fn added_format(&self, path: &str) -> Option<&'static str> {
        let format = self.session.host.formats.of_path(&path.to_ascii_lowercase());
        format.map(|it| it.name())
    }

    fn has_table_function(&self, name: &str) -> bool {
        self.names.has_table_function(name)
    }

    fn table_function(
        &self,
        name: &str,
        arguments: &TableArguments,
        types: &dyn Fn(&str) -> Result<Type>,
    ) -> Result<Arc<dyn Table>> {
        self.names.table_function(name, arguments, types)
    }

    fn rows(&self, query: Query) -> Result<Vec<Vec<Value>>> {
        start_query(self.session, query, self.cx)?.collect_values()
    }
}

pub(crate) fn execute(
    session: &Session,
    statement: Statement,
    turn: Option<Turn>,
    cx: &StatementContext,
) -> Result<Outcome> {
    match statement {
        Statement::Query(query) => Ok(Outcome::Rows(start_query(session, query, cx)?)),
        Statement::Explain { form, format, statement } => {
            let how = explain::Explain { form, format };
            explain::explain(session, *statement, how, turn, cx).map(Outcome::Rows)
        }
        Statement::CreateTable { .. } => create_table(session, statement, cx),
        Statement::Write(it) => write::write(session, *it, turn, cx),
        Statement::CopyFrom(copy) => copy_from::copy_from(session, *copy, turn, cx),
        Statement::Copy { query, path, format, options } => {
            let planned = copy_plan(session, query, &path, &format, &options, cx)?;
            let schema = planned.plan.schema().clone();
            Ok(Outcome::Done(Some(count_of(&mut session.start(planned, schema)?)?)))
        }
        Statement::Prefetch(query) => {
            let mut rows = start_query(session, query, cx)?;
            while rows.next()?.is_some() {}
            Ok(Outcome::Done(None))
        }
        Statement::ExportDatabase { database, folder, format, options } => {
            let target = export::Target { folder, format, options };
            export::export(session, database.as_deref(), &target, cx)?;
            Ok(Outcome::Done(None))
        }
        Statement::ImportDatabase { folder } => {
            export::import(session, &folder, cx.constants.now_micros)?;
            Ok(Outcome::Done(None))
        }
        Statement::CreateIndex { table, index, if_not_exists } => {
            let what = (table.as_str(), &index);
            session.catalog.create_index(&cx.catalog, turn, what, if_not_exists)?;
            Ok(Outcome::Done(None))
        }
        other => define(session, other, turn, cx),
    }
}

/// Statements that change what objects there are, or how they are found.
fn define(
    session: &Session,
    statement: Statement,
    turn: Option<Turn>,
    cx: &StatementContext,
) -> Result<Outcome> {
    match statement {
        Statement::AlterTable { table, alteration } => {
            if let Some(alteration) = alteration {
                write::alter(session, &table, alteration, turn, cx)?;
            }
        }
        Statement::Use { name } => {
            attach::use_schema(session, &name, cx)?;
        }
        Statement::Attach { path, name, if_not_exists, options, span } => {
            let attachment = Attachment { path, name, if_not_exists, options, span };
            attach::attach(session, attachment)?;
        }
        Statement::Checkpoint { database } => {
            maintenance::checkpoint(session, database.as_deref(), cx)?;
        }
        Statement::Vacuum { table } => maintenance::vacuum(session, table.as_deref(), cx)?,
        Statement::Analyze { table } => maintenance::analyze(table.as_deref(), cx)?,
        Statement::Detach { name, if_exists } => {
            attach::detach(session, &name, if_exists)?;
        }
        Statement::CreateSchema { name, if_not_exists } => {
            session.catalog.create_schema(&cx.catalog, &name, if_not_exists)?;
        }
        Statement::CreateView { name, or_replace, if_not_exists, columns, sql, dialect } => {
            if !if_not_exists || !cx.catalog.is_taken(&name)? {
                let dialect = dialect.to_string();
                let view = ViewEntry { sql, columns, dialect, ..ViewEntry::default() };
                let new = NewObject { name: &name, or_replace };
                session.catalog.create_view(&cx.catalog, new, &view)?;
            }
        }
        Statement::CreateSequence { name, or_replace, if_not_exists, definition } => {
            if !if_not_exists || cx.catalog.find_sequence(&name)?.is_none() {
                let new = NewObject { name: &name, or_replace };
                session.catalog.create_sequence(&cx.catalog, new, &definition)?;
            }
        }
        Statement::CreateMacro { name, or_replace, if_not_exists, definition } => {
            if !if_not_exists || cx.catalog.macro_called(&name).is_none() {
                let new = NewObject { name: &name, or_replace };
                session.catalog.create_macro(&cx.catalog, new, &definition)?;
            }
        }
        Statement::CreateType { name, or_replace, if_not_exists, definition } => {
            if !if_not_exists || cx.catalog.type_called(&name).is_none() {
                let new = named_type(session, name, definition, cx)?;
                session.catalog.create_type(&cx.catalog, &new, or_replace)?;
            }
        }
        Statement::Comment { name, column, text } => {
            let what = (name.as_str(), column.as_deref());
            session.catalog.comment(&cx.catalog, turn, what, text)?;
        }
        Statement::Drop { kind, names, if_exists } => {
            let drop =
                |name: &String| session.catalog.drop_object(&cx.catalog, (kind, name), if_exists);
            names.iter().try_for_each(drop)?;
        }
        other => return execute_in_session(session, other, cx),
    }
    Ok(Outcome::Done(None))
}

/// Statements of the session's own state, and those that show what there is.
fn execute_in_session(
    session: &Session,
    statement: Statement,
    cx: &StatementContext,
) -> Result<Outcome> {
    match statement {
        Statement::Set { name, value } if SEARCH_PATH.contains(&name.as_str()) => {
            attach::set_search_path(session, &value)?;
            Ok(Outcome::Done(None))
        }
        Statement::Set { name, value } => session.set(&name, &value).map(|()| Outcome::Done(None)),
        Statement::Reset { name } => reset(session, &name).map(|()| Outcome::Done(None)),
        Statement::CreateSecret(secret) => {
            access::create_secret(session, *secret).map(|()| Outcome::Done(None))
        }
        Statement::DropSecret { name, if_exists } => {
            access::drop_secret(session, &name, if_exists).map(|()| Outcome::Done(None))
        }
        Statement::SetVariable { name, value } => {
            let rows = rows_of(session, value, cx)?;
            let data_type = rows.schema.types().next().cloned().unwrap_or(Type::Unknown);
            let variable = match rows.batches.first() {
                Some(batch) => Variable::of_cell(batch.column(0), 0, data_type, &session.pool)?,
                None => Variable::new(Value::Null, data_type, &session.pool)?,
            };
            session.state.set_variable(&name, variable);
            Ok(Outcome::Done(None))
        }
        Statement::ResetVariable { name } => {
            session.state.reset_variable(&name);
            Ok(Outcome::Done(None))
        }
        Statement::RenameView { name, if_exists, new } => {
            session.catalog.rename_view(&cx.catalog, &name, &new, if_exists)?;
            Ok(Outcome::Done(None))
        }
        Statement::Prepare { name, statement } => {
            session.keep_prepared(&name, prepared::checked(session, statement)?);
            Ok(Outcome::Done(None))
        }
        Statement::Execute { name, names, values, span } => {
            let values = rows_of(session, values, cx)?;
            cx.memory.take(values.batches.iter().map(Batch::retained_bytes).sum())?;
            let ran = prepared::execute(session, &name, (&names, &values), span);
            ran.map_err(|it| it.span(span))
        }
        Statement::Deallocate { name } => {
            session.forget_prepared(name.as_deref())?;
            Ok(Outcome::Done(None))
        }
        other => show(session, other).map(Outcome::Rows),
    }
}

fn transaction(session: &Session, step: TransactionStep, start_micros: i64) -> Result<()> {
    match step {
        TransactionStep::Begin => session.catalog.begin(start_micros),
        TransactionStep::Commit => session.catalog.commit(),
        TransactionStep::RollBack => session.catalog.roll_back(),
        TransactionStep::Save(name) => session.catalog.save(&name),
        TransactionStep::RollBackTo(name) => session.catalog.roll_back_to(&name),
        TransactionStep::Release(name) => session.catalog.release(&name),
    }
}

fn create_table(session: &Session, statement: Statement, cx: &StatementContext) -> Result<Outcome> {
    let Statement::CreateTable { name, or_replace, if_not_exists, columns, definition, query } =
        statement
    else {
        return Err(Error::internal("another statement than CREATE TABLE"));
    };
    if if_not_exists && cx.catalog.is_taken(&name)? {
        return Ok(Outcome::Done(None));
    }
    let mut planned = query.map(|it| plan_query(session, it.plan, cx)).transpose()?;
    let shown = name.clone();
    let replaces = Replaces::of(or_replace);
    let table = NewTable { name, replaces, columns, definition };
    let rows = session.catalog.create_table(&cx.catalog, &table, |transaction, id| {
        let Some(planned) = planned.take() else { return Ok(0) };
        let pool = session.pool.child("rows of a statement");
        let writer = transaction.writer(id, &WriteKind::insert(), &pool)?;
        let written = write::write_into(session, write_plan(planned, &shown, &[]), &writer)?;
        transaction.apply(id, writer)?;
        cx.constants.cancellation.check()?;
        Ok(written.rows)
    })?;
    Ok(Outcome::Done(Some(rows)))
}

/// Statements that show what there is.
fn show(session: &Session, statement: Statement) -> Result<ResultStream> {
    let text = |names: &[&str], rows: &[Vec<String>]| Ok(ResultStream::of_text(names, rows));
    match statement {
        Statement::ShowSetting { name } if SEARCH_PATH.contains(&name.as_str()) => {
            text(&[&name], &[vec![attach::search_path(session)]])
        }
        Statement::ShowSetting { name } => {
            let shared = access::get(session.files.gate(), &name);
            let value = match shared.or_else(|| cache_settings::get(session.files.cache(), &name)) {
                Some(value) => value,
                None => session.settings().get(&name)?,
            };
            text(&[&name], &[vec![value]])
        }
        Statement::ShowAll => {
            let mut rows = session.settings().list();
            rows.extend(access::settings(session.files.gate()));
            rows.extend(cache_settings::settings(session.files.cache()));
            rows.sort_unstable_by_key(|it| it.0);
            let rows = rows.into_iter().map(|it| vec![it.0.into(), it.1, it.2.into()]);
            text(&["name", "value", "description"], &rows.collect::<Vec<_>>())
        }
        Statement::ShowCache => {
            text(&cache_settings::CACHE_COLUMNS, &cache_settings::cache_rows(session.files.cache()))
        }
        Statement::ShowSecrets => {
            text(&access::SECRET_COLUMNS, &access::secret_rows(session.files.secrets()))
        }
        Statement::ShowTables => {
            let rows = session.tables().into_iter().map(|it| vec![it.0, it.1.to_owned()]);
            text(&["name", "kind"], &rows.collect::<Vec<_>>())
        }
        Statement::ShowFunctions { names } => {
            let columns = ["name", "package", "kind", "signature", "description"];
            text(&columns, &matching(functions(session), names.as_ref())?)
        }
        Statement::ShowSession { names } => {
            text(&SESSION_COLUMNS, &matching(session_rows(&session.settings()), names.as_ref())?)
        }
        Statement::DescribeFunction { name } => {
            text(&["property", "value"], &function(session, &name))
        }
        Statement::Describe { columns } => {
            let names = session.settings().type_names;
            let rows = columns.into_iter().map(|it| vec![it.0, names.name(&it.1)]);
            text(&["column_name", "column_type"], &rows.collect::<Vec<_>>())
        }
        _ => Err(Error::internal("a statement that shows nothing")),
    }
}

/// Gives a setting, or ALL of them, its default.
fn reset(session: &Session, name: &str) -> Result<()> {
    session.files.gate().check_unlocked()?;
    let of_engine = access::reset(name).or_else(|| cache_settings::reset(session, name));
    if let Some(changed) = of_engine {
        return changed;
    }
    if !name.eq_ignore_ascii_case("all") {
        return session.change_settings(|it| it.reset(name));
    }
    session.change_settings(|it| {
        *it = Settings::default();
        Ok(())
    })
}

pub(crate) fn start_query(
    session: &Session,
    query: Query,
    cx: &StatementContext,
) -> Result<ResultStream> {
    let schema = query.schema();
    session.start(plan_query(session, query.plan, cx)?, schema)
}

/// The rows of a query, charged to the session.
pub(crate) struct Collected {
    pub(crate) schema: Schema,
    pub(crate) batches: Vec<Batch>,
    /// What they are charged by.
    _charge: Reservation,
}

impl Collected {
    /// All rows, in batches that suit a table.
    pub(crate) fn of(mut result: ResultStream, session: &Session) -> Result<Collected> {
        let schema = result.schema().clone();
        let types: Vec<Type> = schema.types().cloned().collect();
        let mut charge = session.pool.child("rows of a statement").reservation();
        let (mut batches, mut small, mut small_rows) = (Vec::new(), Vec::new(), 0);
        while let Some(batch) = result.next()? {
            charge.grow(batch.retained_bytes())?;
            small_rows += batch.rows();
            small.push(batch);
            if small_rows >= TABLE_BATCH_ROWS {
                batches.push(Batch::concat(&types, &small)?);
                small.clear();
                small_rows = 0;
            }
        }
        if small_rows > 0 {
            batches.push(Batch::concat(&types, &small)?);
        }
        Ok(Collected { schema, batches, _charge: charge })
    }
}

/// All rows of a query.
pub(crate) fn rows_of(session: &Session, query: Query, cx: &StatementContext) -> Result<Collected> {
    Collected::of(start_query(session, query, cx)?, session)
}

/// The plan that writes a query's rows; its only row is the number of rows written.
pub(crate) fn copy_plan(
    session: &Session,
    query: Query,
    path: &str,
    format: &str,
    options: &[(String, String)],
    cx: &StatementContext,
) -> Result<Planned> {
    let sink = match FileFormat::of_name(format, &session.host.formats) {
        Ok(format) => format.sink_name().to_owned(),
        // It may be one that a program registered.
        Err(_) => format.to_owned(),
    };
    let is_text = ["csv", "json"].contains(&sink.as_str());
    let (location, options) = (path.to_owned(), options.to_vec());
    let target = WriteTarget { sink, location, options };
    let schema = query.schema();
    let column_names = copy::distinct_names(&schema);
    let columns = column_names.iter().zip(schema.types());
    let columns = columns.map(|(name, data_type)| Field::new(name, data_type.clone())).collect();
    // What is wrong with the options is known before the query runs.
    session.sinks.writer(&target, &columns)?;
    let mut planned = plan_query(session, query.plan, cx)?;
    let written = Schema::new(vec![Field::new("rows", Type::BigInt)]);
    planned.wrap(1 + u32::from(is_text), |plan| {
        let input = if is_text { shown(plan, &cx.constants.time_zone) } else { plan };
        Arc::new(PlanNode::TableWrite(TableWriteNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            target,
            column_names,
            checks: Vec::new(),
            schema: written,
        }))
    });
    Ok(planned)
}

/// The plan with a schema whose types write values as the zone's clocks show them.
fn shown(input: Arc<PlanNode>, zone: &Zone) -> Arc<PlanNode> {
    let schema = crate::session::shown(input.schema().clone(), zone);
    let columns = input.schema().types().enumerate();
    let exprs = columns.map(|(index, it)| Expr::column(index, it.clone())).collect();
    Arc::new(PlanNode::Project(ProjectNode {
        node_id: PlanNodeId::UNASSIGNED,
        input,
        exprs,
        schema,
    }))
}

fn functions(session: &Session) -> Vec<Vec<String>> {
    let row = |it: PackageDoc<'_>| {
        let (package, kind) = (it.package.name().to_owned(), it.kind.to_string());
        let (signature, description) = (it.doc.signature.clone(), it.doc.description.clone());
        vec![it.name.to_owned(), package, kind, signature, description]
    };
    session.registry.package_docs().into_iter().map(row).collect()
}

/// The documentation of one function, a line for each thing to say; of each package that has it.
fn function(session: &Session, wanted: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut add = |property: &str, value: &str| rows.push(vec![property.into(), value.into()]);
    let packages = session.settings().dialect.packages();
    let names = FunctionNames::new(&session.registry, packages).known(wanted);
    let docs = session.registry.docs();
    for (name, kind, doc) in names.iter().flat_map(|it| docs.iter().filter(move |doc| doc.0 == it))
    {
        add("signature", &doc.signature);
        add("package", Package::split(name).0.name());
        add("kind", &kind.to_string());
        add("category", &doc.category);
        add("description", &doc.description);
        for (call, result) in &doc.examples {
            add("example", &format!("{call} is {result}"));
        }
    }
    rows
}
