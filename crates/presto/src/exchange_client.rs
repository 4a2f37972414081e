//! Reads the pages of other tasks into a task.
//!
//! ```text
//! location ── GET token ──> pages ── decode ──> TaskInput, or SortedInput ── drivers
//!     └── the next GET waits for room in the input; the pages before it are acknowledged at once
//! end of the pages, or no driver reads any more: DELETE
//! ```
//!
//! Requests that fail are repeated with growing pauses until [`ExchangeConfig::error_time_max`] has
//! passed; then the task fails. An answer without pages that comes at once is followed by a pause.
//! One loop per location runs; those of sorted rows start once all locations are known.

mod location;
mod rows;

pub(crate) use location::Location;
pub(crate) use rows::RemoteRows;
use rows::RowWriter;

use crate::connection::{Answer, Connection, Reason};
use bytes::Bytes;
use hyper::{Method, StatusCode};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
    time::{Duration, Instant},
};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, watch},
    time::sleep,
};
use volley_error::{Error, ErrorKind, Result};
use volley_exec::InputState;
use volley_memory::Pool;
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};
use volley_wire::presto_page::{PageReader, PrestoPageOptions};

/// The pauses after failures one after the other; the last one repeats.
const PAUSES_MS: [u64; 6] = [0, 50, 100, 200, 500, 1000];

/// How often a request is tried at least.
const TRIES_MIN: usize = 3;

/// How long the other task waits for pages.
const WAIT: &str = "1.00s";

/// The pause after an answer without pages that came at once.
const EMPTY_PAUSE: Duration = Duration::from_millis(50);

/// The most bytes of pages that are asked for at a time where rows are merged: as many as wait for
/// the merge at each location.
const SORTED_ANSWER_BYTES_MAX: usize = 2 << 20;

/// What the message of an error says, by which it gets its code of Presto.
pub(crate) const NO_ANSWER: &str = "another worker does not answer";
pub(crate) const REFUSED: &str = "another worker refuses a request for pages";
pub(crate) const OTHER_INSTANCE: &str = "another worker restarted a task";

/// How tasks read pages of other tasks.
pub(crate) struct ExchangeConfig {
    /// Where requests are made.
    pub runtime: Handle,
    pub format: PrestoPageOptions,
    /// Bytes of pages in an answer, beyond the first page.
    pub answer_bytes: usize,
    /// How long requests may fail (`exchange.max-error-duration`).
    pub error_time_max: Duration,
    /// Pages that are decoded at a time.
    pub decoders: Semaphore,
}

/// The pages that one plan node of a task reads.
pub(crate) struct RemoteSource {
    config: Arc<ExchangeConfig>,
    rows: RemoteRows,
    /// The types of the columns in pages.
    types: Arc<[Type]>,
    pool: Pool,
    state: Mutex<State>,
    /// Turns true when the task needs no more pages.
    closed: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    /// Locations that are read, with what ends each.
    open: BTreeMap<Location, watch::Sender<bool>>,
    /// All locations so far: the coordinator may repeat them.
    known: BTreeSet<Location>,
    /// Whether the coordinator named all locations.
    are_all_known: bool,
}

/// How the pages of a location ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Complete,
    /// The task needs no more.
    NotNeeded,
}

impl RemoteSource {
    /// A source of pages with columns of `types` for `rows`. What is being decoded is charged to
    /// `pool`.
    pub(crate) fn new(
        config: &Arc<ExchangeConfig>,
        rows: RemoteRows,
        types: Arc<[Type]>,
        pool: &Pool,
    ) -> Arc<RemoteSource> {
        Arc::new(RemoteSource {
            config: Arc::clone(config),
            rows,
            types,
            pool: pool.clone(),
            state: Mutex::default(),
            closed: watch::Sender::new(false),
        })
    }

    /// Begins to read a location, unless that was done already.
    pub(crate) fn add(self: &Arc<Self>, location: Location) {
        let mut state = self.lock();
        if state.are_all_known || !state.known.insert(location.clone()) {
            return;
        }
        let removed = watch::Sender::new(false);
        let receiver = removed.subscribe();
        state.open.insert(location.clone(), removed);
        drop(state);
        if let RemoteRows::AnyOrder(input) = &self.rows {
            self.start(location, RowWriter::AnyOrder(input.clone()), receiver);
        }
    }

    /// Tells that there are no more locations.
    pub(crate) fn no_more_locations(self: &Arc<Self>) {
        let mut state = self.lock();
        if std::mem::replace(&mut state.are_all_known, true) {
            return;
        }
        match &self.rows {
            RemoteRows::AnyOrder(_) => self.finish_if_done(&state),
            RemoteRows::Sorted(input) => {
                let all = state.open.iter().map(|it| (it.0.clone(), it.1.subscribe()));
                let all: Vec<_> = all.collect();
                drop(state);
                let queues = input.start(all.len()).unwrap_or_else(|error| {
                    input.fail(error);
                    Vec::new()
                });
                for ((location, removed), queue) in all.into_iter().zip(queues) {
                    self.start(location, RowWriter::Sorted(queue), removed);
                }
            }
        }
    }

    /// Starts to read a location.
    fn start(
        self: &Arc<Self>,
        location: Location,
        writer: RowWriter,
        removed: watch::Receiver<bool>,
    ) {
        let source = Arc::clone(self);
        self.config.runtime.spawn(async move { source.read(location, writer, removed).await });
    }

    /// Reads no more pages of the task `id`, as if they had ended.
    pub(crate) fn remove_task(&self, id: &str) {
        for (_, removed) in self.lock().open.iter().filter(|it| it.0.task() == Some(id)) {
            removed.send_replace(true);
        }
    }

    /// Stops reading: the task has ended.
    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
    }

    async fn read(
        self: Arc<Self>,
        location: Location,
        writer: RowWriter,
        mut removed: watch::Receiver<bool>,
    ) {
        let mut closed = self.closed.subscribe();
        let mut connection = Connection::new(location.authority());
        let outcome = tokio::select! {
            outcome = self.pull(&location, &writer, &mut connection) => outcome,
            // The senders live as long as the source and the location.
            _ = closed.wait_for(|it| *it) => Ok(Ended::NotNeeded),
            _ = removed.wait_for(|it| *it) => Ok(Ended::NotNeeded),
        };
        match outcome {
            Ok(_) => {
                // A producer that is away needs not be told.
                let _ = connection.send(Method::DELETE, location.path(), &[]).await;
            }
            Err(error) => self.rows.fail(error.at("location", &location)),
        }
        writer.finish();
        let mut state = self.lock();
        state.open.remove(&location);
        self.finish_if_done(&state);
    }

    /// Reads all pages of a location.
    async fn pull(
        &self,
        location: &Location,
        writer: &RowWriter,
        connection: &mut Connection,
    ) -> Result<Ended> {
        let answer_bytes = match writer {
            RowWriter::AnyOrder(_) => self.config.answer_bytes,
            RowWriter::Sorted(_) => self.config.answer_bytes.min(SORTED_ANSWER_BYTES_MAX),
        };
        let mut reader =
            LocationReader { location, connection, answer_bytes, token: 0, instance: None };
        loop {
            if writer.poll_room(Waker::noop()).is_pending() {
                reader.acknowledge().await;
            }
            if writer.room().await == InputState::Closed {
                return Ok(Ended::NotNeeded);
            }
            let asked = Instant::now();
            let results = reader.next(&self.config).await?;
            if !results.body.is_empty() {
                self.decode(results.body, writer).await?;
            } else if !results.is_complete && asked.elapsed() < EMPTY_PAUSE {
                sleep(EMPTY_PAUSE).await;
            }
            if results.is_complete {
                return Ok(Ended::Complete);
            }
        }
    }

    /// Gives the rows of pages to the task.
    async fn decode(&self, body: Bytes, writer: &RowWriter) -> Result<()> {
        let mut charge = self.pool.reservation();
        charge.resize(body.len())?;
        let ended = |_| Error::cancelled();
        let _permit = self.config.decoders.acquire().await.map_err(ended)?;
        let (types, format) = (Arc::clone(&self.types), self.config.format);
        let decode = move || decode_pages(&body, &types, format);
        let decoded = tokio::task::spawn_blocking(decode).await;
        let panicked = |_| Error::internal("decoding a page panicked");
        for batch in decoded.map_err(panicked)?? {
            writer.push(batch)?;
        }
        Ok(())
    }

    /// Ends rows in any order once all locations have ended; sorted rows end one by one.
    fn finish_if_done(&self, state: &State) {
        if let RemoteRows::AnyOrder(input) = &self.rows
            && state.are_all_known
            && state.open.is_empty()
        {
            input.finish();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rows of pages. Pages without columns get one of nulls, which tells the number of rows.
fn decode_pages(body: &[u8], types: &[Type], format: PrestoPageOptions) -> Result<Vec<Batch>> {
    let mut batches = Vec::new();
    for page in PageReader::new(body, types, format) {
        let mut batch = page?;
        if types.is_empty() {
            let nulls = Vector::constant(Type::Boolean, &Value::Null, batch.rows());
            batch = Batch::new(vec![nulls], batch.rows());
        }
        if batch.rows() > 0 {
            batches.push(batch);
        }
    }
    Ok(batches)
}

/// Requests for the pages of one location.
struct LocationReader<'a> {
    location: &'a Location,
    connection: &'a mut Connection,
    /// Bytes of pages in an answer, beyond the first page.
    answer_bytes: usize,
    /// The token of the next page.
    token: u64,
    /// The identity of the other task, which must not change.
    instance: Option<String>,
}

struct Results {
    body: Bytes,
    is_complete: bool,
}

impl LocationReader<'_> {
    /// The next pages; waits a while for them.
    async fn next(&mut self, config: &ExchangeConfig) -> Result<Results> {
        let path = format!("{}/{}", self.location.path(), self.token);
        let headers = [
            ("X-Presto-Max-Size", format!("{}B", self.answer_bytes)),
            ("X-Presto-Max-Wait", WAIT.to_owned()),
        ];
        let (mut failed, mut tries) = (None, 0);
        loop {
            let answer = self.connection.send(Method::GET, &path, &headers).await;
            let reason: Reason = match answer {
                Ok(answer) if matches!(answer.status, StatusCode::OK | StatusCode::NO_CONTENT) => {
                    return self.results(answer);
                }
                Ok(answer) if answer.status.is_client_error() => {
                    let error = Error::new(ErrorKind::Io, REFUSED);
                    return Err(error.at("status", answer.status));
                }
                Ok(answer) => format!("status {}", answer.status).into(),
                Err(reason) => reason,
            };
            tries += 1;
            let since: Instant = *failed.get_or_insert_with(Instant::now);
            if tries >= TRIES_MIN && since.elapsed() >= config.error_time_max {
                let error = Error::new(ErrorKind::Io, NO_ANSWER).at("reason", reason);
                return Err(error.hint("the process of the worker ended, or the network failed"));
            }
            let pause = PAUSES_MS.get(tries - 1).or(PAUSES_MS.last()).copied().unwrap_or(0);
            sleep(Duration::from_millis(pause).min(config.error_time_max)).await;
        }
    }

    /// Checks an answer against the request.
    fn results(&mut self, answer: Answer) -> Result<Results> {
        let header = |name: &str| {
            let found = answer.headers.get(name).and_then(|it| it.to_str().ok());
            found.ok_or_else(|| Error::corruption(format!("results without the header {name}")))
        };
        let number = |name: &str| {
            let malformed = |_| Error::corruption(format!("malformed header {name} of results"));
            header(name)?.parse::<u64>().map_err(malformed)
        };
        let instance = header("X-Presto-Task-Instance-Id")?;
        match &self.instance {
            Some(known) if known != instance => {
                return Err(Error::new(ErrorKind::Io, OTHER_INSTANCE));
            }
            _ => self.instance = Some(instance.to_owned()),
        }
        let (token, next) =
            (number("X-Presto-Page-Sequence-Id")?, number("X-Presto-Page-End-Sequence-Id")?);
        let is_complete = header("X-Presto-Buffer-Complete")? == "true";
        if token != self.token || next < token || (next == token) != answer.body.is_empty() {
            let message = format!("results {token} to {next} where {} was asked for", self.token);
            return Err(Error::corruption(message));
        }
        self.token = next;
        // The end is told again when the last pages are acknowledged.
        let is_complete = is_complete && answer.body.is_empty();
        Ok(Results { body: answer.body, is_complete })
    }

    /// Frees the pages that were read. They are freed later if this fails.
    async fn acknowledge(&mut self) {
        if self.token > 0 {
            let path = format!("{}/{}/acknowledge", self.location.path(), self.token);
            let _ = self.connection.send(Method::GET, &path, &[]).await;
        }
    }
}
