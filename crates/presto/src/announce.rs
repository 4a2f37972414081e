//! Announces the worker to the coordinator's discovery service.

use crate::{config::WorkerConfig, worker::random_uuid};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request, StatusCode, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde_json::json;
use std::time::Duration;
use tokio::{net::TcpStream, time::timeout};
use volley_error::{Error, ErrorKind, Result};

/// How often the worker announces itself.
pub(crate) const INTERVAL: Duration = Duration::from_secs(5);

/// How long an announcement may take.
const TIMEOUT: Duration = Duration::from_secs(3);

/// What a worker announces.
pub(crate) struct Announcement {
    /// The discovery service, as `host:port`.
    authority: String,
    path: String,
    body: Bytes,
}

impl Announcement {
    /// The announcement of a worker that answers at `http`, such as `http://127.0.0.1:8080`.
    ///
    /// # Errors
    ///
    /// Internal: no random numbers.
    pub(crate) fn new(config: &WorkerConfig, http: &str, catalogs: &[String]) -> Result<Self> {
        let body = json!({
            "environment": config.environment,
            "nodeId": config.node_id,
            "location": format!("/{}", config.node_id),
            "pool": "general",
            "services": [{
                "id": random_uuid()?,
                "type": "presto",
                "properties": {
                    "node_version": config.version,
                    "coordinator": "false",
                    "connectorIds": catalogs.join(","),
                    "http": http,
                },
            }],
        });
        Ok(Announcement {
            authority: config.discovery_authority.clone(),
            path: format!("/v1/announcement/{}", config.node_id),
            body: body.to_string().into(),
        })
    }

    /// Tells the coordinator that the worker is there.
    ///
    /// # Errors
    ///
    /// I/O: no answer, or another one than success.
    pub(crate) async fn send(&self) -> Result<()> {
        self.request(Method::PUT, self.body.clone()).await
    }

    /// Tells the coordinator that the worker goes away.
    ///
    /// # Errors
    ///
    /// As [`Announcement::send`].
    pub(crate) async fn withdraw(&self) -> Result<()> {
        self.request(Method::DELETE, Bytes::new()).await
    }

    async fn request(&self, method: Method, body: Bytes) -> Result<()> {
        let status = match timeout(TIMEOUT, self.exchange(method, body)).await {
            Ok(answer) => answer.map_err(|it| self.failed(&it.to_string()))?,
            Err(_) => return Err(self.failed("no answer in time")),
        };
        match status.is_success() {
            true => Ok(()),
            false => Err(self.failed(&format!("status {status}"))),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        body: Bytes,
    ) -> std::result::Result<StatusCode, Box<dyn std::error::Error + Send + Sync>> {
        let stream = TcpStream::connect(&self.authority).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let request = Request::builder()
            .method(method)
            .uri(&self.path)
            .header(header::HOST, &self.authority)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))?;
        let driver = tokio::spawn(connection);
        let response = sender.send_request(request).await?;
        driver.abort();
        Ok(response.status())
    }

    fn failed(&self, reason: &str) -> Error {
        let error = Error::new(ErrorKind::Io, format!("the announcement failed: {reason}"));
        error.at("coordinator", &self.authority)
    }
}
