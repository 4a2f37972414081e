//! `volley presto-worker`: a worker for Presto.

use crate::{
    allocator::FreeFirst,
    args::{PrestoWorkerArgs, SessionArgs},
    error_text::Failure,
};
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use volley::{Error, Settings};
use volley_memory::{Pool, spill::SpillSpace};
use volley_presto::{Worker, WorkerConfig, WorkerParts};

/// Threads that serve requests; queries have their own.
const SERVER_THREADS: usize = 2;

/// Serves until the coordinator shuts the worker down, or until SIGINT or SIGTERM.
pub fn main(args: &PrestoWorkerArgs, session_args: &SessionArgs) -> Result<(), Failure> {
    let config = WorkerConfig::read(&args.etc).map_err(|it| Failure::of_error(&it))?;
    let mut settings = Settings::default();
    let given = [("threads", &session_args.threads), ("memory_limit", &session_args.memory_limit)];
    for (name, value) in given {
        if let Some(value) = value {
            settings.set(name, value).map_err(|it| Failure::usage(&it))?;
        }
    }
    let is_given = session_args.memory_limit.is_some();
    let limit = config.memory_limit_bytes.filter(|_| !is_given).or(settings.memory_limit_bytes);
    let pool = Pool::root("worker", limit);
    pool.set_arbitration_policy(Arc::new(FreeFirst));
    let parts = WorkerParts {
        lowerings: volley_operators::registry(),
        spill: SpillSpace::new(&settings.spill_directory, settings.max_spill_bytes),
        pool,
        threads: settings.threads,
    };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(SERVER_THREADS).enable_all().build();
    let runtime = runtime.map_err(|it| Failure::of_error(&Error::io("the server threads", it)))?;
    runtime.block_on(serve(config, parts)).map_err(|it| Failure::of_error(&it))
}

async fn serve(config: WorkerConfig, parts: WorkerParts) -> Result<(), Error> {
    let no_signals = |it| Error::io("signals", it);
    let mut interrupted = signal(SignalKind::interrupt()).map_err(no_signals)?;
    let mut terminated = signal(SignalKind::terminate()).map_err(no_signals)?;
    let worker = Worker::bind(config, parts).await?;
    eprintln!("a worker for Presto listens on {}", worker.address()?);
    let stop = async {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    };
    worker.run(stop, |it| eprint!("{}", Failure::of_error(it).text())).await
}
