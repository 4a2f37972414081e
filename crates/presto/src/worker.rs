//! The worker: its engine, its server, its announcements.

use crate::{
    announce::{Announcement, INTERVAL},
    catalog::Catalogs,
    config::WorkerConfig,
    exchange_client::ExchangeConfig,
    server::{Service, router},
    task_manager::{Expiry, TaskManager},
};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};
use tokio::{
    net::TcpListener,
    runtime::Handle,
    sync::{Semaphore, watch},
    time,
};
use volley_connector::{SinkFactory, TableWriter};
use volley_error::{Error, ErrorKind, Result};
use volley_exec::{Executor, LoweringRegistry, Task};
use volley_function::Registry;
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::WriteTarget;
use volley_types::Schema;
use volley_wire::presto_page::PrestoPageOptions;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

/// How often the worker looks for tasks whose coordinator disappeared: a quarter of their time-out,
/// within these bounds.
const EXPIRY_INTERVAL_MIN: Duration = Duration::from_millis(50);
const EXPIRY_INTERVAL_MAX: Duration = Duration::from_secs(10);

/// How often a worker that shuts down looks whether its tasks have ended.
const DRAIN_INTERVAL: Duration = Duration::from_millis(200);

/// What a worker is made of, beyond its configuration.
pub struct WorkerParts {
    /// How plan nodes run.
    pub lowerings: LoweringRegistry,
    /// Where rows go that do not fit in memory.
    pub spill: SpillSpace,
    /// What all queries charge; limited by [`WorkerConfig::memory_limit_bytes`] if that is set.
    pub pool: Pool,
    /// Threads that run queries; at least one.
    pub threads: usize,
}

/// A worker that listens.
///
/// # Examples
///
/// See `volley presto-worker`.
pub struct Worker {
    service: Arc<Service>,
    listener: TcpListener,
    announcement: Announcement,
    expiry_interval: Duration,
}

/// What runs tasks.
pub(crate) struct Engine {
    pub node_id: String,
    pub pool: Pool,
    pub registry: Arc<Registry>,
    pub lowerings: Arc<LoweringRegistry>,
    pub sinks: Arc<dyn SinkFactory>,
    pub catalogs: Catalogs,
    pub executor: Executor,
    pub spill: SpillSpace,
    pub drivers: usize,
    pub batch_rows: usize,
    pub page_format: PrestoPageOptions,
    pub output_buffer_bytes: usize,
    /// How tasks read pages of other tasks.
    pub exchange: Arc<ExchangeConfig>,
    released: Mutex<mpsc::Sender<Arc<Task>>>,
}

/// Whether a worker takes tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeState {
    Active,
    ShuttingDown,
}

/// The state of the worker.
pub(crate) struct Lifecycle(watch::Sender<NodeState>);

impl NodeState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            NodeState::Active => "ACTIVE",
            NodeState::ShuttingDown => "SHUTTING_DOWN",
        }
    }
}

impl Lifecycle {
    pub(crate) fn state(&self) -> NodeState {
        *self.0.borrow()
    }

    pub(crate) fn shut_down(&self) {
        self.0.send_replace(NodeState::ShuttingDown);
    }

    async fn shutting_down(&self) {
        let mut state = self.0.subscribe();
        // The sender lives as long as the worker.
        let _ = state.wait_for(|it| *it == NodeState::ShuttingDown).await;
    }
}

impl Worker {
    /// Starts the threads of the engine and listens.
    ///
    /// # Errors
    ///
    /// Invalid value: a catalog of an unknown connector. I/O: the address is in use.
    pub async fn bind(config: WorkerConfig, parts: WorkerParts) -> Result<Worker> {
        let address = format!("{}:{}", config.bind_address, config.http_port);
        let in_use = |it| Error::io(&address, it);
        let listener = TcpListener::bind(&address).await.map_err(in_use)?;
        let port = listener.local_addr().map_err(in_use)?.port();
        let http = format!("http://{}:{port}", config.internal_address);
        let catalogs = Catalogs::new(&config)?;
        let announcement = Announcement::new(&config, &http, &catalogs.names())?;
        let engine = Arc::new(Engine::new(&config, parts, catalogs)?);
        let expiry =
            Expiry { client_timeout: config.client_timeout, info_age_max: config.info_age_max };
        let interval = config.client_timeout / 4;
        let expiry_interval = interval.clamp(EXPIRY_INTERVAL_MIN, EXPIRY_INTERVAL_MAX);
        let service = Arc::new(Service {
            tasks: TaskManager::new(engine, http, expiry),
            lifecycle: Lifecycle(watch::Sender::new(NodeState::Active)),
            environment: config.environment,
            version: config.version,
            node_id: config.node_id,
            address: config.internal_address,
            started: Instant::now(),
        });
        Ok(Worker { service, listener, announcement, expiry_interval })
    }

    /// The address on which the worker listens.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().map_err(|it| Error::io("the listener", it))
    }

    /// Serves until the coordinator sends SHUTTING_DOWN and all tasks have ended, or until `stop`
    /// is ready; then all tasks are aborted. `report` gets what goes wrong meanwhile.
    ///
    /// # Errors
    ///
    /// I/O of the listener.
    pub async fn run(
        self,
        stop: impl Future<Output = ()>,
        report: impl Fn(&Error) + Send + 'static,
    ) -> Result<()> {
        let Worker { service, listener, announcement, expiry_interval } = self;
        let announcement = Arc::new(announcement);
        let announcer = tokio::spawn(announce(Arc::clone(&announcement), report));
        let expiry = tokio::spawn(expire(Arc::clone(&service), expiry_interval));
        let server = axum::serve(listener, router(Arc::clone(&service)));
        let outcome = tokio::select! {
            served = server => served.map_err(|it| Error::io("the listener", it)),
            () = drained(&service) => Ok(()),
            () = stop => Ok(()),
        };
        announcer.abort();
        expiry.abort();
        // A coordinator that is away needs no withdrawal.
        let _ = announcement.withdraw().await;
        service.tasks.stop_all();
        outcome
    }
}

/// Announces the worker again and again; reports the first failure after a success.
async fn announce(announcement: Arc<Announcement>, report: impl Fn(&Error)) {
    let mut interval = time::interval(INTERVAL);
    let mut is_failing = false;
    loop {
        interval.tick().await;
        match announcement.send().await {
            Ok(()) => is_failing = false,
            Err(error) if !is_failing => {
                is_failing = true;
                report(&error);
            }
            Err(_) => {}
        }
    }
}

async fn expire(service: Arc<Service>, every: Duration) {
    let mut interval = time::interval(every);
    loop {
        interval.tick().await;
        service.tasks.expire();
    }
}

/// Waits until the worker shuts down and its tasks have ended.
async fn drained(service: &Service) {
    service.lifecycle.shutting_down().await;
    while service.tasks.running() > 0 {
        time::sleep(DRAIN_INTERVAL).await;
    }
}

impl Engine {
    /// Called in the runtime in which requests to other workers are made.
    pub(crate) fn new(
        config: &WorkerConfig,
        parts: WorkerParts,
        catalogs: Catalogs,
    ) -> Result<Engine> {
        let mut registry = Registry::new();
        volley_functions::register(&mut registry);
        volley_functions_presto::register(&mut registry);
        let threads = parts.threads.max(1);
        let page_format = PrestoPageOptions {
            compression: config.page_compression,
            has_checksum: config.has_page_checksums,
            ..PrestoPageOptions::default()
        };
        let exchange = ExchangeConfig {
            runtime: Handle::current(),
            format: page_format,
            answer_bytes: config.exchange_answer_bytes,
            error_time_max: config.exchange_error_time,
            decoders: Semaphore::new(threads),
        };
        Ok(Engine {
            node_id: config.node_id.clone(),
            pool: parts.pool,
            registry: Arc::new(registry),
            lowerings: Arc::new(parts.lowerings),
            sinks: Arc::new(NoSinks),
            catalogs,
            executor: Executor::new(threads)?,
            spill: parts.spill,
            drivers: config.task_concurrency.unwrap_or(threads).max(1),
            batch_rows: BATCH_ROWS,
            page_format,
            output_buffer_bytes: config.output_buffer_bytes,
            exchange: Arc::new(exchange),
            released: Mutex::new(dropping_thread()?),
        })
    }

    /// Drops a task elsewhere: that waits until no driver runs.
    pub(crate) fn release(&self, task: Arc<Task>) {
        let released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        // The thread ends after the last sender.
        let _ = released.send(task);
    }

    /// The memory limit; all memory that can be addressed without one.
    pub(crate) fn memory_limit_bytes(&self) -> usize {
        self.pool.limit_bytes().min(i64::MAX as usize)
    }
}

/// The thread that drops tasks.
fn dropping_thread() -> Result<mpsc::Sender<Arc<Task>>> {
    let (sender, tasks) = mpsc::channel::<Arc<Task>>();
    let thread = thread::Builder::new().name("drop tasks".to_owned());
    let run = move || tasks.into_iter().for_each(drop);
    let failed = |it| Error::new(ErrorKind::Io, "a thread cannot be started").caused_by(it);
    thread.spawn(run).map_err(failed)?;
    Ok(sender)
}

/// A random identity.
///
/// # Errors
///
/// Internal: no random numbers.
pub(crate) fn random_uuid() -> Result<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)
        .map_err(|it| Error::internal(format!("no random numbers: {it}")))?;
    Ok(uuid_of(u128::from_le_bytes(random)))
}

/// The groups of digits of a UUID.
pub(crate) fn uuid_of(bits: u128) -> String {
    let [a, b, c, d] = [bits >> 96, bits >> 80, bits >> 64, bits >> 48];
    let group = |it: u128| it & 0xffff;
    let (last, first) = (bits & 0xffff_ffff_ffff, a);
    format!("{first:08x}-{:04x}-{:04x}-{:04x}-{last:012x}", group(b), group(c), group(d))
}

/// Tables are not written yet.
struct NoSinks;

impl SinkFactory for NoSinks {
    fn writer(&self, _target: &WriteTarget, _input: &Schema) -> Result<Arc<dyn TableWriter>> {
        Err(Error::unsupported("writing tables in a worker of Presto"))
    }
}
