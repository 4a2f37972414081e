//! A connection to another worker: requests one after the other, made anew after a failure.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{
    HeaderMap, Method, Request, StatusCode,
    client::conn::http1::{self, SendRequest},
    header,
};
use hyper_util::rt::TokioIo;
use std::{error::Error as StdError, time::Duration};
use tokio::{net::TcpStream, time::timeout};

/// The largest answer: a page of Presto has less than 2 GiB.
const ANSWER_BYTES_MAX: usize = i32::MAX as usize;

/// How long a request may take, beyond the time that the other worker waits for pages.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Why a request failed, for messages.
pub(crate) type Reason = Box<dyn StdError + Send + Sync>;

/// A connection to one worker.
pub(crate) struct Connection {
    /// `host:port`.
    authority: String,
    sender: Option<SendRequest<Empty<Bytes>>>,
}

/// An answer.
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Connection {
    pub(crate) fn new(authority: &str) -> Connection {
        Connection { authority: authority.to_owned(), sender: None }
    }

    /// Sends a request without a body.
    ///
    /// # Errors
    ///
    /// What the network reports; no answer in time. The next request connects anew.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, String)],
    ) -> Result<Answer, Reason> {
        let sender = self.sender.take();
        let exchange = exchange(&self.authority, sender, method, path, headers);
        let (answer, sender) =
            timeout(TIMEOUT, exchange).await.map_err(|_| "no answer in time")??;
        self.sender = Some(sender);
        Ok(answer)
    }
}

async fn exchange(
    authority: &str,
    sender: Option<SendRequest<Empty<Bytes>>>,
    method: Method,
    path: &str,
    headers: &[(&str, String)],
) -> Result<(Answer, SendRequest<Empty<Bytes>>), Reason> {
    let mut sender = match sender {
        Some(sender) if !sender.is_closed() => sender,
        _ => connect(authority).await?,
    };
    sender.ready().await?;
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, authority);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let response = sender.send_request(request.body(Empty::new())?).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await?.to_bytes();
    Ok((Answer { status, headers, body }, sender))
}

async fn connect(authority: &str) -> Result<SendRequest<Empty<Bytes>>, Reason> {
    let stream = TcpStream::connect(authority).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Ends with the sender; what it reports, the sender reports, too.
    tokio::spawn(connection);
    Ok(sender)
}
