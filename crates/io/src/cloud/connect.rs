//! The HTTP client of stores: `reqwest` with `rustls` and `ring`.

use super::throttle::Throttle;
use object_store::{
    ClientOptions, HeaderMap,
    client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService},
};
use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring::default_provider},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use rustls_platform_verifier::Verifier;
use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, OnceLock},
    time::Duration,
};
use volley_error::{Error, Result};

/// A server that does not accept a connection by then is asked again.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection without any byte for this long is given up, and the request sent again.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// Idle connections to keep.
const IDLE_CONNECTIONS: usize = 64;

/// A client, whose connections all stores of an engine share.
///
/// # Errors
///
/// I/O: the client cannot be made.
pub(super) fn client() -> Result<reqwest::Client> {
    let wrong = |it: &dyn std::fmt::Display| {
        Error::io("HTTP client", std::io::Error::other(it.to_string()))
    };
    // The provider is named here: no provider of the process is set or used.
    let provider = Arc::new(default_provider());
    let verifier = PlatformVerifier { provider: Arc::clone(&provider), made: OnceLock::new() };
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|it| wrong(&it))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .http1_only()
        .user_agent(concat!("volley/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .tcp_nodelay(true)
        .build()
        .map_err(|it| wrong(&it))
}

/// The verifier of the platform, made for the first certificate: it reads the certificates of the
/// system, which takes longer than some queries, and stores without TLS need none.
#[derive(Debug)]
struct PlatformVerifier {
    provider: Arc<CryptoProvider>,
    made: OnceLock<Result<Verifier, rustls::Error>>,
}

impl PlatformVerifier {
    fn get(&self) -> Result<&Verifier, rustls::Error> {
        let made = self.made.get_or_init(|| Verifier::new(Arc::clone(&self.provider)));
        made.as_ref().map_err(Clone::clone)
    }
}

impl ServerCertVerifier for PlatformVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verifier = self.get()?;
        verifier.verify_server_cert(certificate, intermediates, server, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.get()?.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.get()?.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The client of one store: watches for answers that it is too busy.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    pub client: reqwest::Client,
    pub throttle: Arc<Throttle>,
    /// Sent with each request; marked as sensitive where they are secrets.
    pub headers: HeaderMap,
}

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

type Response<'c> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'c>>;

impl HttpService for Connector {
    fn call<'c, 'r>(&'c self, mut request: HttpRequest) -> Response<'r>
    where
        'c: 'r,
        Self: 'r,
    {
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        Box::pin(async move {
            let answer = self.client.call(request).await;
            match &answer {
                Ok(answer) if matches!(answer.status().as_u16(), 429 | 503) => {
                    self.throttle.too_busy();
                }
                _ => self.throttle.answered(),
            }
            answer
        })
    }
}
