//! A session: tables, settings and queries.

use crate::{
    Outcome, ResultStream, SessionBuilder, Settings, access,
    attach::Openers,
    builder::SessionParts,
    cache_settings,
    catalog::SessionHost,
    catalog_tables::information_schema,
    distribution::{self, PageFormats},
    file_contents::add_file_contents,
    planning::{Planned, PlannedTables, StatementMemory},
    prepared::{self, Prepared, PreparedStatement},
    profiles::Profiles,
    readers::{add_readers, file_options},
    session_state::SessionState,
    sniff_csv::add_sniff_csv,
    statement,
};
use arrow_array::RecordBatch;
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};
use volley_catalog::{
    Databases, NewTable, Object, Replaces, SessionCatalog, StatementCatalog, TEMPORARY,
};
use volley_connector::{PlanTable, RowChanges, SinkFactory, SinkRegistry, Table, TableDefinition};
use volley_connector_hive::{FileFormat, FileSinkFactory, FileTable};
use volley_connector_memory::MemoryDatabase;
use volley_error::{Error, Result};
use volley_exec::{Executor, LoweringRegistry};
use volley_function::{QueryConstants, Registry};
use volley_io::FileSystems;
use volley_memory::{CancellationToken, Deadline, Pool, spill::SpillSpace, with_cancellation};
use volley_plan::{CustomNodes, PlanNode};
use volley_schedule::Platform;
use volley_sql::ParsedStatement;
use volley_types::{Field, Schema, Zone};
use volley_vector::arrow::{batch_from_arrow, schema_from_arrow};

/// Tables, settings and running queries of one user. Shared by reference among threads.
///
/// Rows come as a [`ResultStream`]: batch by batch, or as Arrow record batches. Settings are those
/// of SET; `SHOW ALL` lists them.
///
/// ```
/// use volley::Session;
///
/// # fn main() -> volley::Result<()> {
/// let session = Session::new()?;
/// session.set("threads", "2")?;
/// let mut rows = session.sql("SELECT 6 * 7 AS answer")?;
/// while let Some(batch) = rows.next()? {
///     assert_eq!(batch.rows(), 1);
/// }
/// # Ok(())
/// # }
/// ```
///
/// An error knows its kind, its place in the SQL text, and often what to do:
///
/// ```
/// use volley::{ErrorKind, Session};
///
/// # fn main() -> volley::Result<()> {
/// let session = Session::new()?;
/// session.sql("CREATE TABLE items AS SELECT 1 AS price")?;
/// let Err(error) = session.sql("SELECT prise FROM items") else { unreachable!() };
/// assert_eq!(error.kind(), ErrorKind::InvalidQuery);
/// assert_eq!(error.text_span().map(|it| it.start..it.end), Some(7..12));
/// assert_eq!(error.hint_text(), Some("did you mean price?"));
/// # Ok(())
/// # }
/// ```
pub struct Session {
    pub(crate) catalog: SessionCatalog,
    /// Files, functions in FROM, and the tables of `information_schema`.
    pub(crate) host: Arc<SessionHost>,
    pub(crate) registry: Arc<Registry>,
    /// What opens the databases of ATTACH.
    pub(crate) openers: Arc<Openers>,
    /// What COPY writes to.
    pub(crate) sinks: Arc<SinkRegistry>,
    pub(crate) page_formats: Arc<PageFormats>,
    pub(crate) lowerings: Arc<LoweringRegistry>,
    pub(crate) custom_nodes: Arc<CustomNodes>,
    pub(crate) pool: Pool,
    /// Where files are, and the threads that wait for them.
    pub(crate) files: FileSystems,
    /// The process that made the session: threads do not survive a fork.
    pub(crate) process: u32,
    /// Where rows go that do not fit.
    pub(crate) spill: SpillSpace,
    /// Settings and variables.
    pub(crate) state: Arc<SessionState>,
    executor: Mutex<Executor>,
    /// Parent of the tokens of the statements that run; replaced when it is cancelled.
    cancellation: Mutex<CancellationToken>,
    /// What PREPARE kept, by lower-case name.
    prepared: Mutex<BTreeMap<String, Arc<PreparedStatement>>>,
    /// Prepared statements that ran without a plan.
    pub(crate) direct_statements: AtomicU64,
    /// Progress and profiles of its queries.
    pub(crate) profiles: Arc<Profiles>,
    /// The processes that run its queries; `None`: this one.
    pub(crate) platform: Option<Arc<dyn Platform>>,
}

impl Session {
    /// A session with the default settings and all functions.
    ///
    /// # Errors
    ///
    /// When the threads cannot be started.
    pub fn new() -> Result<Session> {
        Session::with_settings(Settings::default())
    }

    /// A session with these settings.
    ///
    /// # Errors
    ///
    /// When the threads cannot be started.
    pub fn with_settings(settings: Settings) -> Result<Session> {
        Session::builder().settings(settings).build()
    }

    /// Makes a session with functions, types, operators and table functions of one's own.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }

    /// A session of what a builder collected.
    pub(crate) fn of_parts(parts: SessionParts) -> Result<Session> {
        let SessionParts { settings, registry, lowerings, custom_nodes, files, openers, .. } =
            parts;
        let platform = parts.platform;
        let (mut table_functions, mut sinks) = (parts.table_functions, parts.sinks);
        let formats = parts.formats;
        let files_sink: Arc<dyn SinkFactory> =
            Arc::new(FileSinkFactory { files: files.clone(), formats: formats.clone() });
        let own = FileFormat::SINKS.iter().map(|it| it.0);
        for name in own.chain(formats.names()) {
            sinks.add(name, Arc::clone(&files_sink))?;
        }
        let pool = Pool::root("process", settings.memory_limit_bytes);
        cache_settings::begin(files.cache(), &pool);
        let tables = pool.child("tables");
        let state = Arc::new(SessionState::new(settings.clone()));
        add_readers(&mut table_functions, &files, &formats, &tables, &state);
        add_file_contents(&mut table_functions, &files, &tables);
        add_sniff_csv(&mut table_functions, &files, &tables);
        let registry = Arc::new(registry);
        let databases = Arc::new(Databases::new(Arc::new(MemoryDatabase::new(&pool))));
        let spill = SpillSpace::new(&settings.spill_directory, settings.max_spill_bytes);
        let executor = Mutex::new(Executor::new(settings.threads)?);
        let host = SessionHost {
            by_name: Arc::new(table_functions),
            session: Arc::clone(&state),
            registry: Arc::clone(&registry),
            files: files.clone(),
            formats,
            pool: tables,
        };
        Ok(Session {
            catalog: SessionCatalog::new(databases, temporary_database(&pool)),
            host: Arc::new(host),
            registry,
            openers: Arc::new(openers),
            sinks: Arc::new(sinks),
            page_formats: Arc::new(parts.page_formats),
            lowerings: Arc::new(lowerings),
            custom_nodes: Arc::new(custom_nodes),
            pool,
            files,
            process: std::process::id(),
            spill,
            executor,
            state,
            cancellation: Mutex::default(),
            prepared: Mutex::default(),
            direct_statements: AtomicU64::default(),
            profiles: Arc::default(),
            platform,
        })
    }

    /// Another session on the same tables and views, with settings (now the same), transactions and
    /// prepared statements of its own. Threads (until SET), memory and the space for spilling are
    /// shared.
    ///
    /// A session that is in a transaction (BEGIN) sees the tables as they were then, and its own
    /// changes, which others see once COMMIT makes all of them at once.
    ///
    /// ```
    /// # fn main() -> volley::Result<()> {
    /// let session = volley::Session::new()?;
    /// session.sql("CREATE TABLE items (name VARCHAR)")?;
    /// let other = session.another();
    /// session.sql("BEGIN; INSERT INTO items VALUES ('bolt')")?;
    /// assert!(other.sql("FROM items")?.collect_values()?.is_empty());
    /// session.sql("COMMIT")?;
    /// assert_eq!(other.sql("FROM items")?.collect_values()?, [[volley::Value::text("bolt")]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn another(&self) -> Session {
        let databases = self.catalog.databases();
        let state = Arc::new(SessionState::new(self.settings()));
        let host = SessionHost { session: Arc::clone(&state), ..(*self.host).clone() };
        Session {
            catalog: SessionCatalog::new(Arc::clone(databases), temporary_database(&self.pool)),
            host: Arc::new(host),
            registry: Arc::clone(&self.registry),
            openers: Arc::clone(&self.openers),
            sinks: Arc::clone(&self.sinks),
            page_formats: Arc::clone(&self.page_formats),
            lowerings: Arc::clone(&self.lowerings),
            custom_nodes: Arc::clone(&self.custom_nodes),
            pool: self.pool.clone(),
            files: self.files.clone(),
            process: self.process,
            spill: self.spill.clone(),
            executor: Mutex::new(lock(&self.executor).clone()),
            state,
            cancellation: Mutex::default(),
            prepared: Mutex::default(),
            direct_statements: AtomicU64::default(),
            profiles: Arc::default(),
            platform: self.platform.clone(),
        }
    }

    /// Waits until all that cancelled queries held is given back, which may be a moment after their
    /// end. The next query waits for it itself.
    pub fn wait_released(&self) {
        self.executor().wait_released();
    }

    /// Runs statements separated by semicolons, one after the other; returns the rows of the last
    /// one (none, for statements without rows). Rows of earlier ones are read and dropped.
    ///
    /// # Errors
    ///
    /// The first error; later statements do not run.
    pub fn sql(&self, sql: &str) -> Result<ResultStream> {
        let mut last = ResultStream::empty();
        let (statements, memory) = self.parse_charged(sql)?;
        // A single statement is charged with its text itself.
        let _memory = (statements.len() > 1).then_some(memory);
        for parsed in &statements {
            while last.next()?.is_some() {}
            last = match self.run(parsed)? {
                Outcome::Rows(rows) => rows,
                Outcome::Done(_) => ResultStream::empty(),
            };
        }
        Ok(last)
    }

    /// Splits a text into statements, as [`parse`](crate::parse) does, if there is memory to read
    /// it.
    ///
    /// # Errors
    ///
    /// Syntax, with the place in the text; out of memory.
    pub fn parse(&self, sql: &str) -> Result<Vec<ParsedStatement>> {
        self.parse_charged(sql).map(|it| it.0)
    }

    fn parse_charged(&self, sql: &str) -> Result<(Vec<ParsedStatement>, StatementMemory)> {
        let memory = StatementMemory::new(self);
        memory.take(volley_sql::memory_bytes(sql))?;
        let statements = with_cancellation(&self.begin().cancellation, || volley_sql::parse(sql))?;
        Ok((statements, memory))
    }

    /// Runs one statement.
    ///
    /// # Errors
    ///
    /// What is wrong with it, with its place in the text that was parsed.
    pub fn run(&self, parsed: &ParsedStatement) -> Result<Outcome> {
        statement::run(self, parsed)
    }

    /// Prepares one statement with parameters: `$1`, `$2`, ... or `?` by position, or `$name`.
    /// Names and types are checked now and again when it runs, on the tables as they are then.
    ///
    /// ```
    /// use volley::{Session, Value};
    ///
    /// # fn main() -> volley::Result<()> {
    /// let session = Session::new()?;
    /// session.sql("CREATE TABLE items (id INTEGER PRIMARY KEY, name VARCHAR)")?;
    /// let insert = session.prepare("INSERT INTO items VALUES (?, ?)")?;
    /// insert.run(&[1.into(), "bolt".into()])?;
    /// insert.run(&[2.into(), None::<&str>.into()])?;
    /// let find = session.prepare("SELECT name FROM items WHERE id = $id")?;
    /// let rows = find.query_named(&[("id", 1.into())])?.collect_values()?;
    /// assert_eq!(rows, [[Value::text("bolt")]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// What is wrong with the statement, with its place in `sql`; invalid query: not exactly one
    /// statement.
    pub fn prepare(&self, sql: &str) -> Result<Prepared<'_>> {
        prepared::prepare(self, sql)
    }

    /// How many prepared statements of this session ran without a plan: those that read or write
    /// one row by its key, once the table has an index.
    ///
    /// ```
    /// # fn main() -> volley::Result<()> {
    /// let session = volley::Session::new()?;
    /// session.sql("CREATE TABLE items (id BIGINT PRIMARY KEY, name VARCHAR)")?;
    /// session.sql("INSERT INTO items SELECT i, 'item ' || i FROM range(1000) r(i)")?;
    /// let find = session.prepare("SELECT name FROM items WHERE id = ?")?;
    /// let rows = find.query(&[7_i64.into()])?.collect_values()?;
    /// assert_eq!(rows, [[volley::Value::text("item 7")]]);
    /// assert_eq!(session.direct_statements(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn direct_statements(&self) -> u64 {
        self.direct_statements.load(Ordering::Relaxed)
    }

    /// Keeps a statement for EXECUTE.
    pub(crate) fn keep_prepared(&self, name: &str, statement: Arc<ParsedStatement>) {
        let prepared = Arc::new(PreparedStatement::new(statement));
        lock(&self.prepared).insert(name.to_lowercase(), prepared);
    }

    /// The statement that PREPARE kept.
    pub(crate) fn kept_prepared(&self, name: &str) -> Result<Arc<PreparedStatement>> {
        let prepared = lock(&self.prepared);
        prepared.get(&name.to_lowercase()).cloned().ok_or_else(|| no_prepared(name))
    }

    /// Forgets a statement that PREPARE kept, or all of them.
    pub(crate) fn forget_prepared(&self, name: Option<&str>) -> Result<()> {
        let mut prepared = lock(&self.prepared);
        match name {
            None => prepared.clear(),
            Some(name) => {
                let removed = prepared.remove(&name.to_lowercase());
                removed.ok_or_else(|| no_prepared(name))?;
            }
        }
        Ok(())
    }

    /// Runs a plan; its scans read `tables`, found by their handles.
    ///
    /// ```
    /// use volley::{PlanBuilder, Session, Type, Value};
    ///
    /// # fn main() -> volley::Result<()> {
    /// let session = Session::new()?;
    /// let rows = vec![vec![Value::Integer(1)], vec![Value::Integer(2)]];
    /// let plan = PlanBuilder::new(session.registry())
    ///     .values(&[("n", Type::Integer)], rows)
    ///     .limit(0, 1)
    ///     .build()?;
    /// let result = session.run_plan(plan, [])?.collect_values()?;
    /// assert_eq!(result, [[Value::Integer(1)]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A table, column or function that does not exist, types that do not fit, and whatever else
    /// [`PlanNode::check`] refuses; I/O.
    pub fn run_plan(
        &self,
        plan: Arc<PlanNode>,
        tables: impl IntoIterator<Item = Arc<dyn Table>>,
    ) -> Result<ResultStream> {
        plan.check(&self.registry)?;
        let schema = plan.schema().clone();
        let tables = Arc::new(PlannedTables::from_tables(tables));
        let constants = self.begin();
        let (statement, estimates) = ("".into(), Vec::new());
        self.start(Planned { plan, tables, constants, sinks: None, statement, estimates }, schema)
    }

    /// The plan that [`PlanNode::to_bytes`] made bytes of, with the functions, types and nodes that
    /// this session knows.
    ///
    /// # Errors
    ///
    /// As [`PlanNode::from_bytes_with`].
    pub fn plan_from_bytes(&self, bytes: &[u8]) -> Result<Arc<PlanNode>> {
        PlanNode::from_bytes_with(bytes, &self.registry, &self.custom_nodes)
    }

    /// Makes a table of files: a path, a glob or a folder of Parquet, CSV or JSON files.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("day1.csv");
    /// # let glob = dir.path().join("*.csv");
    /// std::fs::write(&path, "level,text\ninfo,started\nerror,stopped\n")?;
    /// let session = volley::Session::new()?;
    /// session.register_files("logs", &glob.to_string_lossy())?;
    /// let errors = session.sql("SELECT text FROM logs WHERE level = 'error'")?;
    /// assert_eq!(errors.collect_values()?, [[volley::Value::text("stopped")]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// I/O, corruption, an unknown format.
    pub fn register_files(&self, name: &str, path: &str) -> Result<()> {
        let options = file_options(&self.files, &self.host.formats, &self.pool.child("tables"));
        self.register_table(name, Arc::new(FileTable::open(path, &options)?))
    }

    /// The locations of all files below a folder, also of a remote store; none if nothing is there.
    ///
    /// # Errors
    ///
    /// I/O: the location is that of a file. Invalid query: no file system, or access is denied.
    pub fn list_files(&self, folder: &str) -> Result<Vec<String>> {
        self.files.list_tree(folder)
    }

    /// Makes a table known, replacing what has its name in the database `memory`.
    ///
    /// # Errors
    ///
    /// A conflict with another session; a transaction that changed another database.
    pub fn register_table(&self, name: &str, table: Arc<dyn Table>) -> Result<()> {
        self.catalog.register(name, table)
    }

    /// Makes a table of what a plan makes, replacing what has its name: whoever reads it runs the
    /// plan, whose scans read `tables`. So SQL reaches what only plans can say.
    ///
    /// ```
    /// use volley::{PlanBuilder, Session, Type, Value};
    ///
    /// # fn main() -> volley::Result<()> {
    /// let session = Session::new()?;
    /// let rows = (1..4).map(|it| vec![Value::Integer(it)]).collect();
    /// let plan = PlanBuilder::new(session.registry())
    ///     .values(&[("n", Type::Integer)], rows)
    ///     .unique_id("id")
    ///     .build()?;
    /// session.register_plan("numbered", plan, [])?;
    /// let result = session.sql("SELECT max(id) FROM numbered WHERE n < 3")?.collect_values()?;
    /// assert_eq!(result, [[Value::BigInt(1)]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Unsupported: a plan with shared subplans. What [`PlanNode::check`] refuses.
    pub fn register_plan(
        &self,
        name: &str,
        plan: Arc<PlanNode>,
        tables: impl IntoIterator<Item = Arc<dyn Table>>,
    ) -> Result<()> {
        plan.check(&self.registry)?;
        self.register_table(name, Arc::new(PlanTable::new(name, plan, tables)?))
    }

    /// Makes a table in memory of Arrow record batches of the same schema, replacing what has its
    /// name. Values are not copied where the layouts agree.
    ///
    /// ```
    /// use arrow_array::{Int32Array, RecordBatch, StringArray};
    /// use std::sync::Arc;
    /// use volley::Session;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let batch = RecordBatch::try_from_iter([
    ///     ("n", Arc::new(Int32Array::from(vec![1, 2])) as _),
    ///     ("word", Arc::new(StringArray::from(vec!["one", "two"])) as _),
    /// ])?;
    /// let session = Session::new()?;
    /// session.register_arrow("words", &[batch])?;
    /// let result = session.sql("SELECT word FROM words WHERE n = 2")?.collect_arrow()?;
    /// assert_eq!(result[0].num_rows(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Unsupported types; out of memory; no batch at all.
    pub fn register_arrow(&self, name: &str, batches: &[RecordBatch]) -> Result<()> {
        let Some(first) = batches.first() else {
            let error = Error::invalid_value("a table needs at least one record batch");
            return Err(error.hint("RecordBatch::new_empty(schema) makes one without rows"));
        };
        if batches.iter().any(|it| it.schema() != first.schema()) {
            return Err(Error::invalid_value("record batches of different schemas"));
        }
        let schema = schema_from_arrow(&first.schema())?;
        let batches = batches.iter().map(batch_from_arrow).collect::<Result<Vec<_>>>()?;
        let (name, definition) = (name.to_owned(), TableDefinition::default());
        let table = NewTable { name, replaces: Replaces::Any, columns: schema, definition };
        let catalog = self.statement_catalog();
        self.catalog.create_table(&catalog, &table, |transaction, id| {
            let changes = RowChanges { inserted: batches.clone(), ..RowChanges::default() };
            transaction.change(id, changes).map(drop)
        })
    }

    /// Drops a table or view, whatever it is; false when there was none of that name. Queries that
    /// run already go on.
    ///
    /// # Errors
    ///
    /// I/O; a conflict with another session; a database that is read only.
    pub fn deregister(&self, name: &str) -> Result<bool> {
        self.catalog.deregister(&self.statement_catalog(), name)
    }

    /// Names of all tables and views, and which of the two they are.
    pub fn tables(&self) -> Vec<(String, &'static str)> {
        let catalog = self.statement_catalog();
        let kind = |it: &Object| if it.is_view() { "view" } else { "table" };
        // A database that cannot be read has no tables to be shown.
        let objects = catalog.objects().unwrap_or_default();
        let mut names: Vec<_> =
            objects.iter().map(|it| (catalog.short_name(it), kind(&it.object))).collect();
        names.sort_by_key(|it| it.0.to_lowercase());
        names
    }

    /// What a statement that begins now, and changes nothing, sees.
    pub(crate) fn statement_catalog(&self) -> StatementCatalog {
        self.catalog.statement(None, Arc::clone(&self.host) as _, self.settings().dialect)
    }

    /// The columns of a table or view; `None` when there is none of that name.
    ///
    /// # Errors
    ///
    /// A view that can no longer be bound.
    pub fn columns(&self, name: &str) -> Result<Option<Schema>> {
        let catalog = self.statement_catalog();
        Ok(match catalog.find_table(name)?.map(|it| it.object) {
            None => None,
            Some(Object::Registered(it)) => Some(it.table.schema().clone()),
            Some(Object::Table(it)) => Some(it.columns.clone()),
            Some(Object::View(_)) => {
                Some(information_schema::view_schema(&self.host, &catalog, name)?)
            }
        })
    }

    /// The functions that SQL and plans can call.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The pool that everything in this session is charged to.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Where this session's queries write rows that do not fit.
    pub fn spill_space(&self) -> &SpillSpace {
        &self.spill
    }

    /// The settings as they are now.
    pub fn settings(&self) -> Settings {
        self.state.settings()
    }

    /// Changes a setting, as SET does.
    ///
    /// # Errors
    ///
    /// No such setting, or not a value of it.
    pub fn set(&self, name: &str, value: &str) -> Result<()> {
        let gate = self.files.gate();
        gate.check_unlocked()?;
        if let Some(changed) = access::set(gate, name, value) {
            return changed;
        }
        if let Some(changed) = cache_settings::set(self, name, value) {
            return changed;
        }
        if let Some(changed) = distribution::set_added_pages(self, name, value) {
            return changed;
        }
        if name.eq_ignore_ascii_case("spill_directory") {
            gate.check(value.trim())?;
        }
        self.change_settings(|it| it.set(name, value))
    }

    pub(crate) fn change_settings(
        &self,
        change: impl FnOnce(&mut Settings) -> Result<()>,
    ) -> Result<()> {
        let mut settings = self.state.lock_settings();
        let mut changed = settings.clone();
        change(&mut changed)?;
        if changed.threads != settings.threads {
            *lock(&self.executor) = Executor::new(changed.threads)?;
        }
        // Other sessions share these, and may have set them since.
        if changed.memory_limit_bytes != settings.memory_limit_bytes {
            self.pool.set_limit(changed.memory_limit_bytes);
        }
        if changed.max_spill_bytes != settings.max_spill_bytes {
            self.spill.set_bytes_max(changed.max_spill_bytes);
        }
        if changed.spill_directory != settings.spill_directory {
            self.spill.set_directory(&changed.spill_directory);
        }
        *settings = changed;
        Ok(())
    }

    /// Stops all statements of this session, also those that are planned; each fails with the
    /// cancelled error. To stop a single query, see [`ResultStream::handle`].
    pub fn cancel(&self) {
        // Not under the lock: hooks run.
        let running = std::mem::take(&mut *lock(&self.cancellation));
        running.cancel();
    }

    /// The threads that run queries.
    pub(crate) fn executor(&self) -> Executor {
        lock(&self.executor).clone()
    }

    /// The parent of the tokens of statements that begin now.
    pub(crate) fn running_token(&self) -> CancellationToken {
        lock(&self.cancellation).clone()
    }

    /// What is the same for every row of the query of a statement that begins now.
    pub(crate) fn begin(&self) -> Arc<QueryConstants> {
        self.begin_with(None)
    }

    /// The same, cancelled by `parent` in place of the session's token.
    pub(crate) fn begin_with(&self, parent: Option<&CancellationToken>) -> Arc<QueryConstants> {
        let settings = self.settings();
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let clock_micros = i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX);
        let now_micros = self.catalog.transaction_start().unwrap_or(clock_micros);
        let deadline = settings.statement_timeout.and_then(Deadline::after);
        Arc::new(QueryConstants {
            now_micros,
            time_zone: settings.time_zone,
            cancellation: parent.unwrap_or(&self.running_token()).child_until(deadline),
            sequences: Arc::new(
                self.catalog.sequences(Arc::clone(&self.host) as _, settings.dialect),
            ),
        })
    }
}

/// What a session keeps temporary tables in.
fn temporary_database(pool: &Pool) -> Arc<MemoryDatabase> {
    Arc::new(MemoryDatabase::named(TEMPORARY, pool))
}

fn no_prepared(name: &str) -> Error {
    let error = Error::invalid_query(format!("no such prepared statement: {name}"));
    error.hint(format!("PREPARE {name} AS ... makes it"))
}

/// The schema with types that write values as the zone's clocks show them.
pub(crate) fn shown(schema: Schema, zone: &Zone) -> Schema {
    let fields = schema.fields.into_iter();
    fields.map(|it| Field { data_type: it.data_type.in_zone(zone), ..it }).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
