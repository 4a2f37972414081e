//! The HTTP interface of a worker.

use crate::{
    protocol::{TaskInfo, TaskStatus, TaskUpdateRequest},
    task::{Stop, WorkerTask},
    task_manager::TaskManager,
    units::{parse_data_size, parse_duration},
    worker::{Lifecycle, NodeState},
};
use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, Path, RawQuery, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{sync::watch, time::timeout};
use volley_error::Error;

/// The largest request: fragments have at most 16 MB, plus a third in base64, plus splits.
const REQUEST_BYTES_MAX: usize = 64 << 20;

/// How long a request waits for a change at most.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// How long a request for results waits for pages if it does not say it.
const RESULTS_WAIT: Duration = Duration::from_secs(1);

/// The bytes of pages in an answer if the request does not say it.
const RESULTS_BYTES: usize = 1 << 20;

const CURRENT_STATE: &str = "X-Presto-Current-State";
const MAX_WAIT: &str = "X-Presto-Max-Wait";
const MAX_SIZE: &str = "X-Presto-Max-Size";

/// What handlers use.
pub(crate) struct Service {
    pub tasks: TaskManager,
    pub lifecycle: Lifecycle,
    pub environment: String,
    pub version: String,
    pub node_id: String,
    pub address: String,
    pub started: Instant,
}

type Shared = State<Arc<Service>>;

/// The routes of a worker.
pub(crate) fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/v1/info", get(info))
        .route("/v1/info/state", get(node_state).put(set_node_state))
        .route("/v1/info/stats", get(node_stats))
        .route("/v1/status", get(status))
        .route("/v1/memory", get(memory).post(memory))
        .route("/v1/task", get(all_tasks))
        .route("/v1/task/{task}", post(update_task).get(task_info).delete(stop_task))
        .route("/v1/task/{task}/status", get(task_status))
        .route("/v1/task/{task}/results/{buffer}", delete(destroy_results))
        .route("/v1/task/{task}/results/{buffer}/{token}", get(results))
        .route("/v1/task/{task}/results/{buffer}/{token}/acknowledge", get(acknowledge))
        .route("/v1/task/{task}/remote-source/{source}", delete(remove_remote_source))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .with_state(service)
}

/// An answer as JSON.
struct Json<T>(T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => ([("Content-Type", "application/json")], body).into_response(),
            Err(error) => Refusal::from(Error::internal(error.to_string())).into_response(),
        }
    }
}

/// An answer that is no success.
struct Refusal(StatusCode, String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, self.1).into_response()
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

fn bad_request(message: impl Into<String>) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, message.into())
}

type Answer<T> = Result<T, Refusal>;

async fn info(State(service): Shared) -> Json<Value> {
    let uptime = service.started.elapsed().as_secs_f64();
    Json(json!({
        "nodeVersion": {"version": service.version},
        "environment": service.environment,
        "coordinator": false,
        "starting": false,
        "uptime": format!("{uptime:.2}s"),
    }))
}

async fn node_state(State(service): Shared) -> Json<&'static str> {
    Json(service.lifecycle.state().name())
}

async fn node_stats(State(service): Shared) -> Json<Value> {
    Json(json!({"nodeState": service.lifecycle.state().name()}))
}

/// `"SHUTTING_DOWN"`: the worker ends once its tasks have ended.
async fn set_node_state(State(service): Shared, body: Bytes) -> Answer<()> {
    let state: String = serde_json::from_slice(&body)
        .map_err(|it| bad_request(format!("malformed JSON of a node state: {it}")))?;
    match state.as_str() {
        "ACTIVE" if service.lifecycle.state() == NodeState::Active => Ok(()),
        "SHUTTING_DOWN" => {
            service.lifecycle.shut_down();
            Ok(())
        }
        other => Err(bad_request(format!("a node state that cannot be set: {other}"))),
    }
}

async fn status(State(service): Shared) -> Json<Value> {
    let pool = service.tasks.engine().pool.stats();
    let limit = service.tasks.engine().memory_limit_bytes();
    Json(json!({
        "nodeId": service.node_id,
        "nodeVersion": {"version": service.version},
        "environment": service.environment,
        "coordinator": false,
        "uptime": format!("{:.2}s", service.started.elapsed().as_secs_f64()),
        "externalAddress": service.address,
        "internalAddress": service.address,
        "memoryInfo": memory_json(&service),
        "processors": service.tasks.engine().drivers,
        "processCpuLoad": 0.0,
        "systemCpuLoad": 0.0,
        "heapUsed": pool.bytes,
        "heapAvailable": limit,
        "nonHeapUsed": 0,
    }))
}

async fn memory(State(service): Shared) -> Json<Value> {
    Json(memory_json(&service))
}

fn memory_json(service: &Service) -> Value {
    let engine = service.tasks.engine();
    let limit = engine.memory_limit_bytes();
    let tasks = service.tasks.all();
    let mut by_query: BTreeMap<&str, usize> = BTreeMap::new();
    for (query, bytes) in tasks.iter().map(|it| it.reservation()).filter(|it| it.1 > 0) {
        *by_query.entry(query).or_default() += bytes;
    }
    json!({
        "totalNodeMemory": format!("{limit}B"),
        "pools": {"general": {
            "maxBytes": limit,
            "reservedBytes": engine.pool.stats().bytes,
            "reservedRevocableBytes": 0,
            "queryMemoryReservations": by_query,
            "queryMemoryAllocations": {},
            "queryMemoryRevocableReservations": {},
        }},
    })
}

async fn all_tasks(State(service): Shared) -> Json<Vec<TaskInfo>> {
    Json(service.tasks.all().iter().map(|it| it.info()).collect())
}

async fn update_task(
    State(service): Shared,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer<Json<TaskInfo>> {
    check_task_id(&id)?;
    let request: TaskUpdateRequest = serde_json::from_slice(&body)
        .map_err(|it| bad_request(format!("malformed JSON of a task update: {it}")))?;
    // Translation and the start of a plan block.
    let shared = Arc::clone(&service);
    let updated = tokio::task::spawn_blocking(move || shared.tasks.update(&id, &request)).await;
    let panicked = |_| Error::internal("the update of a task panicked");
    let task = updated.map_err(panicked)??;
    Ok(Json(task.info()))
}

async fn task_info(
    State(service): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer<Json<TaskInfo>> {
    let task = find(&service, &id)?;
    wait_for_change(&task, &headers).await?;
    Ok(Json(task.info()))
}

async fn task_status(
    State(service): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer<Json<TaskStatus>> {
    let task = find(&service, &id)?;
    wait_for_change(&task, &headers).await?;
    Ok(Json(task.status()))
}

async fn stop_task(
    State(service): Shared,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Answer<Json<TaskInfo>> {
    let task = find(&service, &id)?;
    let is_cancel = query.is_some_and(|it| it.split('&').any(|it| it == "abort=false"));
    task.stop(if is_cancel { Stop::Cancel } else { Stop::Abort });
    Ok(Json(task.info()))
}

async fn results(
    State(service): Shared,
    Path((id, buffer, token)): Path<(String, String, u64)>,
    headers: HeaderMap,
) -> Answer<Response> {
    let task = find_for_reader(&service, &id)?;
    let bytes_max = match header(&headers, MAX_SIZE)? {
        Some(size) => parse_data_size(size).ok_or_else(|| malformed_header(MAX_SIZE))?,
        None => RESULTS_BYTES,
    };
    // Also for a task that failed: its reader must not ask again at once.
    let wait = max_wait(&headers)?.unwrap_or(RESULTS_WAIT);
    let mut changes = task.buffers.subscribe();
    let deadline = tokio::time::Instant::now() + wait;
    let found = loop {
        changes.borrow_and_update();
        let found = task.buffers.get(&buffer, token, bytes_max);
        let is_answer = !found.pages.is_empty() || found.is_complete;
        if is_answer || tokio::time::timeout_at(deadline, changes.changed()).await.is_err() {
            break found;
        }
    };
    task.finish_if_drained();
    let status = if found.pages.is_empty() { StatusCode::NO_CONTENT } else { StatusCode::OK };
    let response = Response::builder()
        .status(status)
        .header("Content-Type", "application/X-presto-pages")
        .header("X-Presto-Task-Instance-Id", task.instance_uuid())
        .header("X-Presto-Page-Sequence-Id", found.token)
        .header("X-Presto-Page-End-Sequence-Id", found.next_token)
        .header("X-Presto-Buffer-Complete", found.is_complete.to_string())
        .header("X-Presto-Buffer-Remaining-Bytes", found.remaining_bytes);
    let body = match found.pages.len() {
        0 => Body::empty(),
        _ => Body::from(found.pages.concat()),
    };
    let malformed = |it| Refusal::from(Error::internal(format!("an answer with results: {it}")));
    response.body(body).map_err(malformed)
}

async fn acknowledge(
    State(service): Shared,
    Path((id, buffer, token)): Path<(String, String, u64)>,
) -> Answer<StatusCode> {
    let task = find_for_reader(&service, &id)?;
    task.buffers.acknowledge(&buffer, token);
    Ok(StatusCode::NO_CONTENT)
}

async fn destroy_results(
    State(service): Shared,
    Path((id, buffer)): Path<(String, String)>,
) -> Answer<StatusCode> {
    let task = find_for_reader(&service, &id)?;
    task.buffers.destroy(&buffer);
    task.finish_if_drained();
    Ok(StatusCode::NO_CONTENT)
}

/// The pages of another task are no longer needed.
async fn remove_remote_source(
    State(service): Shared,
    Path((id, source)): Path<(String, String)>,
) -> Answer<StatusCode> {
    find(&service, &id)?.remove_remote_source(&source);
    Ok(StatusCode::NO_CONTENT)
}

fn find(service: &Service, id: &str) -> Answer<Arc<WorkerTask>> {
    check_task_id(id)?;
    Ok(service.tasks.task(id)?)
}

fn find_for_reader(service: &Service, id: &str) -> Answer<Arc<WorkerTask>> {
    check_task_id(id)?;
    Ok(service.tasks.task_for_reader(id)?)
}

/// `queryId.stage.stageExecution.task.attempt`; older versions have no attempt.
fn check_task_id(id: &str) -> Answer<()> {
    let mut parts = id.split('.');
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let query = parts.next().unwrap_or_default();
    let numbers: Vec<&str> = parts.collect();
    let are_numbers = numbers.iter().all(|it| it.parse::<u32>().is_ok());
    match !query.is_empty() && query.chars().all(is_word) && are_numbers {
        true if (3..=4).contains(&numbers.len()) => Ok(()),
        _ => Err(bad_request(format!("malformed task id: {id}"))),
    }
}

/// Waits while the task is in the state that the request names, as long as the request wants.
async fn wait_for_change(task: &WorkerTask, headers: &HeaderMap) -> Answer<()> {
    let (Some(state), Some(wait)) = (header(headers, CURRENT_STATE)?, max_wait(headers)?) else {
        return Ok(());
    };
    let mut changes: watch::Receiver<u64> = task.subscribe();
    let changed = async {
        loop {
            changes.borrow_and_update();
            let current = task.state();
            if current.name() != state || current.is_done() || changes.changed().await.is_err() {
                return;
            }
        }
    };
    // Without a change in time, the answer is the same state.
    let _ = timeout(wait, changed).await;
    Ok(())
}

fn max_wait(headers: &HeaderMap) -> Answer<Option<Duration>> {
    let Some(text) = header(headers, MAX_WAIT)? else { return Ok(None) };
    let wait = parse_duration(text).ok_or_else(|| malformed_header(MAX_WAIT))?;
    Ok(Some(wait.min(WAIT_MAX)))
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Answer<Option<&'a str>> {
    let text = headers.get(name).map(|it| it.to_str());
    text.transpose().map_err(|_| malformed_header(name))
}

fn malformed_header(name: &str) -> Refusal {
    bad_request(format!("malformed header {name}"))
}
