//! A worker, and a coordinator that asks it.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Method, Request, StatusCode, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    thread,
};
use tokio::{
    net::TcpStream,
    sync::{mpsc, oneshot},
};
use volley_memory::{Pool, spill::SpillSpace};
use volley_presto::{Worker, WorkerConfig, WorkerParts};

pub const TASK: &str = "20260101_000000_00000_abcde.0.0.0.0";

/// A worker that runs, and what its discovery service gets.
pub struct Running {
    pub address: SocketAddr,
    pub announced: mpsc::UnboundedReceiver<String>,
    pub stop: oneshot::Sender<()>,
    pub ended: tokio::task::JoinHandle<volley_error::Result<()>>,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> Json {
        assert_eq!(self.status, StatusCode::OK, "{:?}", self.body);
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap().to_str().unwrap()
    }
}

/// Accepts announcements, one per connection, and reports the requests.
pub fn discovery(listener: &TcpListener, sender: &mpsc::UnboundedSender<String>) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let count = stream.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..count]);
            let text = String::from_utf8_lossy(&request).into_owned();
            let is_whole = text.starts_with("DELETE") || text.ends_with("}]}");
            if count == 0 || is_whole {
                if sender.send(text).is_err() {
                    return;
                }
                break;
            }
        }
        let _ = stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    }
}

pub fn write_config(folder: &Path, discovery: SocketAddr, further: &str) {
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write(
        "config.properties",
        &format!(
            "coordinator=false\nhttp-server.http.port=0\ndiscovery.uri=http://{discovery}\n\
             presto.version=testversion\nexchange.checksum-enabled=true\n{further}"
        ),
    );
    write(
        "node.properties",
        "node.environment=testing\nnode.id=one\nnode.bind-ip=127.0.0.1\n\
         node.internal-address=127.0.0.1\n",
    );
    fs::create_dir(folder.join("catalog")).unwrap();
    write("catalog/tpch.properties", "connector.name=tpch\n");
}

pub async fn start() -> Running {
    start_with("").await
}

/// A worker with further properties.
pub async fn start_with(further: &str) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    write_config(folder.path(), listener.local_addr().unwrap(), further);
    let (sender, announced) = mpsc::unbounded_channel();
    thread::spawn(move || discovery(&listener, &sender));
    let parts = WorkerParts {
        lowerings: volley_operators::registry(),
        spill: SpillSpace::new(std::env::temp_dir(), None),
        pool: Pool::root("worker", Some(256 << 20)),
        threads: 2,
    };
    let config = WorkerConfig::read(folder.path()).unwrap();
    let worker = Worker::bind(config, parts).await.unwrap();
    let address = worker.address().unwrap();
    let (stop, stopped) = oneshot::channel();
    let run = async move {
        let stop = async {
            let _ = stopped.await;
        };
        worker.run(stop, |it| panic!("{it}")).await
    };
    Running { address, announced, stop, ended: tokio::spawn(run) }
}

impl Running {
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header("Host", "worker");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
        let response = sender.send_request(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.into_body().collect().await.unwrap().to_bytes();
        Answer { status, headers, body }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], "").await
    }

    pub async fn post(&self, task: &str, body: &Json) -> Answer {
        self.send(Method::POST, &format!("/v1/task/{task}?summarize"), &[], &body.to_string()).await
    }

    /// Waits until the task is in another state than `state`; its status.
    pub async fn status_after(&self, task: &str, state: &str) -> Json {
        loop {
            let headers = [("X-Presto-Current-State", state), ("X-Presto-Max-Wait", "1.00s")];
            let path = format!("/v1/task/{task}/status");
            let status = self.send(Method::GET, &path, &headers, "").await.json();
            if status["state"] != state {
                return status;
            }
        }
    }

    pub async fn end(self) {
        self.stop.send(()).unwrap();
        self.ended.await.unwrap().unwrap();
    }
}

pub fn variable(name: &str, signature: &str) -> Json {
    json!({"@type": "variable", "name": name, "type": signature})
}

/// A fragment that scans two columns of nation.
pub fn nation() -> Json {
    let column = |name: &str| json!({"@type": "tpch", "columnName": name, "type": "bigint"});
    let columns = [variable("k", "bigint"), variable("n", "varchar(25)")];
    let scan = json!({
        "@type": ".TableScanNode", "id": "0",
        "table": {"connectorId": "tpch",
            "connectorHandle": {"@type": "tpch", "tableName": "nation", "scaleFactor": 0.01}},
        "outputVariables": columns,
        "assignments": {"k<bigint>": column("nationkey"), "n<varchar(25)>": column("name")}});
    let output = json!({"@type": ".OutputNode", "id": "1", "source": scan,
        "columnNames": ["k", "n"], "outputVariables": columns});
    json!({"id": "0", "root": output, "partitioningScheme": {
        "partitioning": {"handle": {"connectorHandle":
            {"@type": "$remote", "partitioning": "SINGLE", "function": "SINGLE"}}, "arguments": []},
        "outputLayout": columns}})
}

pub fn update(fragment: Option<&Json>, splits: &[Json], no_more_splits: bool) -> Json {
    let mut update = json!({
        "session": {"queryId": "q", "user": "u", "timeZoneKey": 0, "startTime": 0},
        "extraCredentials": {},
        "sources": [{"planNodeId": "0", "splits": splits, "noMoreSplitsForLifespan": [],
            "noMoreSplits": no_more_splits}],
        "outputIds": {"type": "PARTITIONED", "version": 1, "noMoreBufferIds": true,
            "buffers": {"0": 0}},
        "tableWriteInfo": {}});
    if let Some(fragment) = fragment {
        update["fragment"] = json!(STANDARD.encode(fragment.to_string()));
    }
    update
}

pub fn split(sequence: i64) -> Json {
    json!({"sequenceId": sequence, "planNodeId": "0", "split": {
        "connectorId": "tpch", "transactionHandle": ["tpch", "INSTANCE"],
        "connectorSplit": {"@type": "tpch",
            "tableHandle": {"@type": "tpch", "tableName": "nation", "scaleFactor": 0.01},
            "partNumber": 0, "totalParts": 1, "addresses": [], "predicate": {"columnDomains": []}},
        "lifespan": "TaskWide"}})
}
