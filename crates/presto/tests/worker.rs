//! A worker as a coordinator sees it: announcements, tasks, results, errors.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "worker/harness.rs"]
mod harness;

#[path = "worker/merge.rs"]
mod merge;

use harness::*;
use hyper::{Method, StatusCode};
use serde_json::{Value as Json, json};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    thread,
};
use tokio::sync::mpsc;
use volley_types::{Type, Value};
use volley_wire::presto_page::{PageReader, PrestoPageOptions};

#[tokio::test]
async fn a_worker_announces_itself_and_answers_about_itself() {
    let mut worker = start().await;
    let announced = worker.announced.recv().await.unwrap();
    assert!(announced.starts_with("PUT /v1/announcement/one "), "{announced}");
    let body: Json = serde_json::from_str(announced.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let properties = &body["services"][0]["properties"];
    assert_eq!(properties["connectorIds"], "tpch");
    assert_eq!(properties["http"], format!("http://{}", worker.address));
    assert_eq!(worker.get("/v1/info/state").await.json(), "ACTIVE");
    assert_eq!(worker.get("/v1/info").await.json()["nodeVersion"]["version"], "testversion");
    assert_eq!(worker.get("/v1/status").await.json()["nodeId"], "one");
    let head = worker.send(Method::HEAD, "/v1/status", &[], "").await;
    assert_eq!((head.status, head.body.len()), (StatusCode::OK, 0));
    let memory = worker.send(Method::POST, "/v1/memory", &[], "{}").await.json();
    assert_eq!(memory["pools"]["general"]["maxBytes"], 256 << 20);
    assert_eq!(worker.get("/v1/nothing").await.status, StatusCode::NOT_FOUND);
    worker.end().await;
}

#[tokio::test]
async fn a_task_runs_from_its_fragment_to_its_last_page() {
    let worker = start().await;
    // A request that comes before the task.
    let early = worker.get(&format!("/v1/task/{TASK}/status")).await.json();
    assert_eq!(early["state"], "PLANNED");
    let info = worker.post(TASK, &update(Some(&nation()), &[split(0)], false)).await.json();
    assert_eq!(
        (&info["taskStatus"]["state"], &info["needsPlan"]),
        (&json!("RUNNING"), &json!(false))
    );
    // The same split again, as after a lost answer.
    worker.post(TASK, &update(None, &[split(0)], true)).await.json();
    let results = |token: u64| format!("/v1/task/{TASK}/results/0/{token}");
    let (mut token, mut rows) = (0, Vec::new());
    let types = [Type::BigInt, Type::Varchar];
    loop {
        let answer = worker.get(&results(token)).await;
        assert_eq!(answer.header("X-Presto-Page-Sequence-Id"), token.to_string());
        for page in PageReader::new(&answer.body, &types, PrestoPageOptions::default()) {
            let page = page.unwrap();
            rows.extend(page.column(0).to_values().unwrap());
        }
        token = answer.header("X-Presto-Page-End-Sequence-Id").parse().unwrap();
        if answer.header("X-Presto-Buffer-Complete") == "true" {
            assert_eq!(answer.status, StatusCode::NO_CONTENT);
            break;
        }
        let acknowledge = format!("{}/acknowledge", results(token));
        assert_eq!(worker.get(&acknowledge).await.status, StatusCode::NO_CONTENT);
    }
    assert_eq!(rows, (0..25).map(Value::BigInt).collect::<Vec<_>>());
    let delete = worker.send(Method::DELETE, &format!("/v1/task/{TASK}/results/0"), &[], "").await;
    assert_eq!(delete.status, StatusCode::NO_CONTENT);
    let status = worker.status_after(TASK, "RUNNING").await;
    assert_eq!(status["state"], "FINISHED");
    assert_eq!(status["self"], format!("http://{}/v1/task/{TASK}", worker.address));
    // Deleting a finished task changes nothing.
    let info = worker.send(Method::DELETE, &format!("/v1/task/{TASK}"), &[], "").await.json();
    assert_eq!(info["taskStatus"]["state"], "FINISHED");
    worker.end().await;
}

#[tokio::test]
async fn what_is_missing_fails_the_task_with_a_code_of_presto() {
    let worker = start().await;
    let mut fragment = nation();
    fragment["root"] = json!({"@type": "com.facebook.presto.spi.plan.SpatialJoinNode", "id": "9"});
    let info = worker.post(TASK, &update(Some(&fragment), &[], true)).await.json();
    let status = &info["taskStatus"];
    assert_eq!(status["state"], "FAILED");
    let failure = &status["failures"][0];
    assert!(failure["message"].as_str().unwrap().contains("SpatialJoinNode"), "{failure}");
    assert_eq!(
        failure["errorCode"],
        json!({"code": 13, "name": "NOT_SUPPORTED", "type": "USER_ERROR"})
    );
    // Its results are never complete.
    let results = worker.get(&format!("/v1/task/{TASK}/results/0/0")).await;
    assert_eq!(results.header("X-Presto-Buffer-Complete"), "false");
    worker.end().await;
}

#[tokio::test]
async fn tasks_are_cancelled_and_aborted() {
    let worker = start().await;
    for (query, state) in [("?abort=false", "CANCELED"), ("", "ABORTED")] {
        let task = format!("q{state}.0.0.0.0");
        worker.post(&task, &update(Some(&nation()), &[], false)).await.json();
        let path = format!("/v1/task/{task}{query}");
        let info = worker.send(Method::DELETE, &path, &[], "").await.json();
        assert_eq!(info["taskStatus"]["state"], state);
        // An update that comes too late.
        let late = worker.post(&task, &update(None, &[split(0)], true)).await.json();
        assert_eq!(late["taskStatus"]["state"], state);
    }
    // A reader that needs no more rows.
    worker.post(TASK, &update(Some(&nation()), &[], false)).await.json();
    worker.send(Method::DELETE, &format!("/v1/task/{TASK}/results/0"), &[], "").await;
    assert_eq!(worker.status_after(TASK, "RUNNING").await["state"], "FINISHED");
    worker.end().await;
}

#[tokio::test]
async fn tasks_of_a_coordinator_that_disappeared_end() {
    let worker = start_with("task.client.timeout=100ms\n").await;
    // It waits for splits that never come.
    let info = worker.post(TASK, &update(Some(&nation()), &[], false)).await.json();
    assert_eq!(info["taskStatus"]["state"], "RUNNING");
    // Neither a reader of pages nor a look at all tasks is a sign of the coordinator.
    let results = format!("/v1/task/{TASK}/results/0/0");
    loop {
        worker.send(Method::GET, &results, &[("X-Presto-Max-Wait", "10ms")], "").await;
        let tasks = worker.get("/v1/task").await.json();
        if tasks[0]["taskStatus"]["state"] == "ABORTED" {
            break;
        }
    }
    let reserved = async || {
        let memory = worker.send(Method::POST, "/v1/memory", &[], "{}").await.json();
        memory["pools"]["general"]["reservedBytes"].clone()
    };
    while reserved().await != 0 {}
    worker.end().await;
}

#[tokio::test]
async fn malformed_requests_are_refused_and_the_worker_lives() {
    let worker = start().await;
    let bad = |it: &Answer| assert_eq!(it.status, StatusCode::BAD_REQUEST, "{:?}", it.body);
    bad(&worker.post("no-task-id", &update(None, &[], false)).await);
    let path = format!("/v1/task/{TASK}");
    for body in ["", "{", "[]", "{\"session\": 1}"] {
        bad(&worker.send(Method::POST, &path, &[], body).await);
    }
    bad(&worker.get(&format!("{path}/results/0/x")).await);
    bad(&worker.get("/v1/task/a.b/status").await);
    let wait = [("X-Presto-Current-State", "PLANNED"), ("X-Presto-Max-Wait", "soon")];
    bad(&worker.send(Method::GET, &format!("{path}/status"), &wait, "").await);
    let size = [("X-Presto-Max-Size", "big")];
    bad(&worker.send(Method::GET, &format!("{path}/results/0/0"), &size, "").await);
    bad(&worker.send(Method::PUT, "/v1/info/state", &[], "\"NONSENSE\"").await);
    // A fragment that is no base64 is an error of the query.
    let mut update = update(None, &[], false);
    update["fragment"] = json!("%%%");
    let info = worker.post(TASK, &update).await.json();
    assert_eq!(info["taskStatus"]["state"], "FAILED");
    assert_eq!(worker.get("/v1/info/state").await.json(), "ACTIVE");
    worker.end().await;
}

#[tokio::test]
async fn a_worker_that_shuts_down_waits_for_its_tasks() {
    let mut worker = start().await;
    worker.post(TASK, &update(Some(&nation()), &[split(0)], true)).await.json();
    let put = worker.send(Method::PUT, "/v1/info/state", &[], "\"SHUTTING_DOWN\"").await;
    assert_eq!(put.status, StatusCode::OK);
    assert_eq!(worker.get("/v1/info/state").await.json(), "SHUTTING_DOWN");
    assert!(!worker.ended.is_finished());
    let results = worker.get(&format!("/v1/task/{TASK}/results/0/0")).await;
    assert!(!results.body.is_empty());
    worker.send(Method::DELETE, &format!("/v1/task/{TASK}/results/0"), &[], "").await;
    worker.ended.await.unwrap().unwrap();
    let mut last = String::new();
    while let Ok(text) = worker.announced.try_recv() {
        last = text;
    }
    assert!(last.starts_with("DELETE /v1/announcement/one "), "{last}");
}

const PRODUCER: &str = "q.1.0.0.0";

/// The fragment with its rows partitioned by the column `k`.
fn partitioned(mut fragment: Json) -> Json {
    let scheme = &mut fragment["partitioningScheme"];
    scheme["partitioning"] = json!({"handle": {"connectorHandle":
        {"@type": "$remote", "partitioning": "FIXED", "function": "HASH"}},
        "arguments": [variable("k", "bigint")]});
    scheme["bucketToPartition"] = json!([0, 1]);
    fragment
}

fn with_buffers(mut update: Json, kind: &str, buffers: &Json, no_more_buffer_ids: bool) -> Json {
    update["outputIds"] = json!({"type": kind, "version": 1, "buffers": buffers,
        "noMoreBufferIds": no_more_buffer_ids});
    update
}

/// A fragment that returns the rows of nation which other tasks wrote.
fn receiver() -> Json {
    let mut fragment = nation();
    let columns = [variable("k", "bigint"), variable("n", "varchar(25)")];
    fragment["root"]["source"] = json!({
        "@type": "com.facebook.presto.sql.planner.plan.RemoteSourceNode", "id": "0",
        "sourceFragmentIds": ["1"], "outputVariables": columns, "exchangeType": "GATHER"});
    fragment
}

fn remote_split(sequence: i64, url: &str) -> Json {
    json!({"sequenceId": sequence, "planNodeId": "0", "split": {
        "connectorId": "$remote", "transactionHandle": {"@type": "$remote"},
        "connectorSplit": {"@type": "$remote", "location": {"location": url},
            "remoteSourceTaskId": PRODUCER},
        "lifespan": "TaskWide"}})
}

impl Running {
    /// The values of the first column of all pages of a buffer.
    async fn read_all(&self, task: &str, buffer: &str) -> Vec<Value> {
        let (mut token, mut values) = (0, Vec::new());
        let types = [Type::BigInt, Type::Varchar];
        loop {
            let answer = self.get(&format!("/v1/task/{task}/results/{buffer}/{token}")).await;
            for page in PageReader::new(&answer.body, &types, PrestoPageOptions::default()) {
                values.extend(page.unwrap().column(0).to_values().unwrap());
            }
            token = answer.header("X-Presto-Page-End-Sequence-Id").parse().unwrap();
            if answer.header("X-Presto-Buffer-Complete") == "true" {
                return values;
            }
        }
    }

    /// Waits until the worker has no memory reserved.
    async fn wait_until_empty(&self) {
        loop {
            let memory = self.send(Method::POST, "/v1/memory", &[], "{}").await.json();
            if memory["pools"]["general"]["reservedBytes"] == 0 {
                return;
            }
            tokio::task::yield_now().await;
        }
    }
}

fn sorted(mut values: Vec<Value>) -> Vec<i64> {
    values.sort_by_key(|it| it.as_i128());
    values.iter().filter_map(|it| it.as_i128()).map(|it| it as i64).collect()
}

#[tokio::test]
async fn rows_go_to_the_partition_of_prestos_hash() {
    let worker = start().await;
    let update = update(Some(&partitioned(nation())), &[split(0)], true);
    let update = with_buffers(update, "PARTITIONED", &json!({"a": 0, "b": 1}), true);
    worker.post(PRODUCER, &update).await.json();
    let first = worker.read_all(PRODUCER, "a").await;
    let second = worker.read_all(PRODUCER, "b").await;
    // The hashes of 0 and 1 are 0 and 7f0e345be3649cd2.
    assert!(first.contains(&Value::BigInt(0)) && second.contains(&Value::BigInt(1)));
    let all = sorted([first, second].concat());
    assert_eq!(all, (0..25).collect::<Vec<_>>());
    assert_eq!(worker.status_after(PRODUCER, "RUNNING").await["state"], "FINISHED");
    worker.wait_until_empty().await;
    worker.end().await;
}

#[tokio::test]
async fn each_reader_of_a_broadcast_gets_all_rows() {
    let worker = start().await;
    let none =
        with_buffers(update(Some(&nation()), &[split(0)], true), "BROADCAST", &json!({}), false);
    worker.post(PRODUCER, &none).await.json();
    let buffers =
        |last| with_buffers(update(None, &[], true), "BROADCAST", &json!({"0": 0, "1": 0}), last);
    worker.post(PRODUCER, &buffers(false)).await.json();
    assert_eq!(worker.read_all(PRODUCER, "0").await.len(), 25);
    assert_eq!(worker.read_all(PRODUCER, "1").await.len(), 25);
    // More readers may come, until the coordinator says that there are none.
    let status = worker.get(&format!("/v1/task/{PRODUCER}/status")).await.json();
    assert_eq!(status["state"], "RUNNING");
    worker.post(PRODUCER, &buffers(true)).await.json();
    assert_eq!(worker.status_after(PRODUCER, "RUNNING").await["state"], "FINISHED");
    worker.end().await;
}

#[tokio::test]
async fn a_task_reads_the_pages_of_other_tasks() {
    let (worker, other) = (start().await, start().await);
    let produce = update(Some(&partitioned(nation())), &[split(0)], true);
    let produce = with_buffers(produce, "PARTITIONED", &json!({"0": 0, "1": 1}), true);
    // The consumer comes first, and the same location comes twice.
    let url = |buffer: u32| format!("http://{}/v1/task/{PRODUCER}/results/{buffer}", other.address);
    let consume = update(Some(&receiver()), &[remote_split(0, &url(0))], false);
    worker.post(TASK, &consume).await.json();
    other.post(PRODUCER, &produce).await.json();
    let splits = [remote_split(0, &url(0)), remote_split(1, &url(1))];
    worker.post(TASK, &update(None, &splits, true)).await.json();
    let found = sorted(worker.read_all(TASK, "0").await);
    assert_eq!(found, (0..25).collect::<Vec<_>>());
    // The consumer told that it has all.
    assert_eq!(other.status_after(PRODUCER, "RUNNING").await["state"], "FINISHED");
    for worker in [worker, other] {
        worker.wait_until_empty().await;
        worker.end().await;
    }
}

#[tokio::test]
async fn a_worker_that_is_away_fails_the_task() {
    let worker = start_with("exchange.max-error-duration=0s\n").await;
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{closed}/v1/task/{PRODUCER}/results/0");
    let update = update(Some(&receiver()), &[remote_split(0, &url)], true);
    worker.post(TASK, &update).await.json();
    let status = worker.status_after(TASK, "RUNNING").await;
    assert_eq!(status["state"], "FAILED");
    let failure = &status["failures"][0];
    assert_eq!(failure["errorCode"]["name"], "PAGE_TRANSPORT_TIMEOUT");
    assert!(failure["message"].as_str().unwrap().contains(&url), "{failure}");
    worker.wait_until_empty().await;
    worker.end().await;
}

/// Answers each request with this text, and reports the requests' first lines.
fn fake_worker(answer: String) -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, requests) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (answer, sender) = (answer.clone(), sender.clone());
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(count) = stream.read(&mut buffer) {
                    let text = String::from_utf8_lossy(&buffer[..count]);
                    let line = text.lines().next().unwrap_or_default().to_owned();
                    if count == 0 || sender.send(line).is_err() {
                        return;
                    }
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    (address, requests)
}

fn results_text(status: &str, token: u32, next: u32, instance: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nX-Presto-Task-Instance-Id: {instance}\r\n\
         X-Presto-Page-Sequence-Id: {token}\r\nX-Presto-Page-End-Sequence-Id: {next}\r\n\
         X-Presto-Buffer-Complete: false\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn answers_that_are_no_pages_fail_the_task() {
    let worker = start_with("exchange.max-error-duration=0s\n").await;
    let cases = [
        (results_text("200 OK", 0, 1, "i", "no page"), "CORRUPT_PAGE"),
        (results_text("200 OK", 5, 6, "i", "no page"), "CORRUPT_PAGE"),
        (results_text("200 OK", 0, 0, "i", "no page"), "CORRUPT_PAGE"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned(), "CORRUPT_PAGE"),
        ("HTTP/1.1 404 Gone\r\nContent-Length: 0\r\n\r\n".to_owned(), "PAGE_TRANSPORT_ERROR"),
        ("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n".to_owned(), "PAGE_TRANSPORT_TIMEOUT"),
    ];
    for (number, (answer, code)) in cases.into_iter().enumerate() {
        let (address, _requests) = fake_worker(answer.clone());
        let url = format!("http://{address}/v1/task/{PRODUCER}/results/0");
        let task = format!("q.0.0.{number}.0");
        let update = update(Some(&receiver()), &[remote_split(0, &url)], true);
        worker.post(&task, &update).await.json();
        let status = worker.status_after(&task, "RUNNING").await;
        assert_eq!(status["failures"][0]["errorCode"]["name"], code, "{answer}");
    }
    worker.wait_until_empty().await;
    worker.end().await;
}

#[tokio::test]
async fn an_aborted_task_tells_its_producers() {
    let worker = start().await;
    let (address, mut requests) = fake_worker(results_text("204 No Content", 0, 0, "i", ""));
    let url = format!("http://{address}/v1/task/{PRODUCER}/results/0");
    let update = update(Some(&receiver()), &[remote_split(0, &url)], true);
    worker.post(TASK, &update).await.json();
    let get = format!("GET /v1/task/{PRODUCER}/results/0/0 HTTP/1.1");
    assert_eq!(requests.recv().await, Some(get));
    worker.send(Method::DELETE, &format!("/v1/task/{TASK}"), &[], "").await;
    let delete = format!("DELETE /v1/task/{PRODUCER}/results/0 HTTP/1.1");
    while requests.recv().await.unwrap() != delete {}
    worker.wait_until_empty().await;
    worker.end().await;
}

#[tokio::test]
async fn a_remote_source_that_is_removed_has_ended() {
    let worker = start().await;
    let (address, mut requests) = fake_worker(results_text("204 No Content", 0, 0, "i", ""));
    let url = format!("http://{address}/v1/task/{PRODUCER}/results/0");
    let update = update(Some(&receiver()), &[remote_split(0, &url)], true);
    worker.post(TASK, &update).await.json();
    requests.recv().await.unwrap();
    let path = format!("/v1/task/{TASK}/remote-source/{PRODUCER}");
    let removed = worker.send(Method::DELETE, &path, &[], "").await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT);
    assert!(worker.read_all(TASK, "0").await.is_empty());
    worker.end().await;
}

/// A fragment that scans a key and a text of lineitem at scale 0.01: 60175 rows.
fn lineitem() -> Json {
    let mut fragment = nation();
    let scan = &mut fragment["root"]["source"];
    let column = |name: &str| json!({"@type": "tpch", "columnName": name, "type": "bigint"});
    scan["table"]["connectorHandle"]["tableName"] = json!("lineitem");
    scan["assignments"] =
        json!({"k<bigint>": column("orderkey"), "n<varchar(25)>": column("comment")});
    fragment
}

#[tokio::test]
async fn a_slow_reader_holds_its_producer_back() {
    // The buffer, or one page of any size.
    const BYTES_MAX: u64 = 1 << 20;
    let worker = start_with("sink.max-buffer-size=256kB\n").await;
    let mut split = split(0);
    split["split"]["connectorSplit"]["tableHandle"]["tableName"] = json!("lineitem");
    worker.post(TASK, &update(Some(&lineitem()), &[split], true)).await.json();
    let types = [Type::BigInt, Type::Varchar];
    let (mut token, mut rows, mut bytes) = (0, 0, 0);
    loop {
        let path = format!("/v1/task/{TASK}/results/0/{token}");
        // One page at a time.
        let answer = worker.send(Method::GET, &path, &[("X-Presto-Max-Size", "1B")], "").await;
        let pages = PageReader::new(&answer.body, &types, PrestoPageOptions::default());
        let pages: Vec<_> = pages.map(|it| it.unwrap().rows()).collect();
        assert!(pages.len() <= 1);
        rows += pages.iter().sum::<usize>();
        bytes += answer.body.len() as u64;
        token = answer.header("X-Presto-Page-End-Sequence-Id").parse().unwrap();
        if answer.header("X-Presto-Buffer-Complete") == "true" {
            break;
        }
        let info = worker.get(&format!("/v1/task/{TASK}")).await.json();
        let buffered = info["outputBuffers"]["totalBufferedBytes"].as_u64().unwrap();
        assert!(buffered <= BYTES_MAX, "{buffered} bytes");
    }
    // The result did not fit in the buffer.
    assert!(rows == 60175 && bytes > 2 * BYTES_MAX, "{rows} rows, {bytes} bytes");
    worker.wait_until_empty().await;
    worker.end().await;
}

#[tokio::test]
async fn an_empty_split_has_no_rows() {
    let worker = start().await;
    let mut empty = split(0);
    empty["split"]["connectorSplit"] = json!({"@type": "$empty", "connectorId": "tpch"});
    worker.post(TASK, &update(Some(&nation()), &[empty], true)).await.json();
    assert!(worker.read_all(TASK, "0").await.is_empty());
    assert_eq!(worker.status_after(TASK, "RUNNING").await["state"], "FINISHED");
    worker.end().await;
}

#[tokio::test]
async fn reports_tell_memory_splits_and_time() {
    let worker = start().await;
    // No reader: the pages stay in the buffer.
    worker.post(PRODUCER, &update(Some(&nation()), &[split(0)], true)).await.json();
    loop {
        let path = format!("/v1/task/{PRODUCER}");
        let info = worker.get(&path).await.json();
        if info["outputBuffers"]["totalBufferedPages"] == 1 {
            let status = &info["taskStatus"];
            assert!(status["memoryReservationInBytes"].as_u64() > Some(0), "{info}");
            assert!(status["totalCpuTimeInNanos"].as_u64() > Some(0), "{info}");
            assert!(info["stats"]["totalCpuTimeInNanos"].as_u64() > Some(0), "{info}");
            break;
        }
        tokio::task::yield_now().await;
    }
    let memory = worker.send(Method::POST, "/v1/memory", &[], "{}").await.json();
    let pool = &memory["pools"]["general"];
    assert!(pool["queryMemoryReservations"]["q"].as_u64() > Some(0), "{memory}");
    assert!(pool["reservedBytes"].as_u64() >= pool["queryMemoryReservations"]["q"].as_u64());
    worker.read_all(PRODUCER, "0").await;
    worker.wait_until_empty().await;
    let status = worker.status_after(PRODUCER, "RUNNING").await;
    assert_eq!(status["queuedPartitionedSplitsWeight"], 0);
    assert!(status["totalCpuTimeInNanos"].as_u64() > Some(0), "{status}");
    worker.end().await;
}

#[tokio::test]
async fn malformed_locations_fail_the_task() {
    let worker = start().await;
    let urls = ["https://a:1/v1/task/t/results/0", "http:///results/0", "http://a:1/x", "a b"];
    for (number, url) in urls.into_iter().enumerate() {
        let task = format!("q.0.0.{number}.0");
        let update = update(Some(&receiver()), &[remote_split(0, url)], true);
        let info = worker.post(&task, &update).await.json();
        assert_eq!(info["taskStatus"]["state"], "FAILED", "{url}");
    }
    worker.end().await;
}
