//! The clients of stores, which are made on first use.

use super::{
    address::{StoreAddress, StoreKind},
    azure::azure_store,
    connect::{self, Connector},
    environment::CloudEnvironment,
    google::google_store,
    s3::s3_store,
    throttle::Throttle,
};
use crate::secret::{Secret, Secrets};
use object_store::{
    BackoffConfig, HeaderMap, HeaderValue, ObjectStore, RetryConfig, http::HttpBuilder,
};
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};
use volley_error::{Error, Result};

/// More stores than this are not kept: an HTTP server with many signed URLs is as many stores.
const STORES_MAX: usize = 256;

/// One bucket, container or server.
#[derive(Debug)]
pub(super) struct Store {
    pub kind: StoreKind,
    pub objects: Arc<dyn ObjectStore>,
    pub throttle: Arc<Throttle>,
}

/// All stores of an engine.
pub(super) struct Stores {
    environment: CloudEnvironment,
    secrets: Secrets,
    client: OnceLock<reqwest::Client>,
    known: Mutex<HashMap<(StoreAddress, Option<String>), Known>>,
}

/// A store, and the secrets of the time when it was made.
struct Known {
    generation: u64,
    store: Arc<Store>,
}

impl Stores {
    pub fn new(environment: CloudEnvironment, secrets: Secrets) -> Stores {
        Stores { environment, secrets, client: OnceLock::new(), known: Mutex::default() }
    }

    /// The store of a location.
    ///
    /// # Errors
    ///
    /// Invalid query: a secret or the environment has a value that cannot be used. I/O: no
    /// certificates.
    pub fn get(&self, location: &str, address: &StoreAddress) -> Result<Arc<Store>> {
        let generation = self.secrets.generation();
        let secret = self.secrets.find(location);
        let key = (address.clone(), secret.as_ref().map(|it| it.name().to_owned()));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&key).filter(|it| it.generation == generation) {
            return Ok(Arc::clone(&found.store));
        }
        let store = Arc::new(self.make(address, secret.as_deref())?);
        if known.len() >= STORES_MAX {
            known.clear();
        }
        known.insert(key, Known { generation, store: Arc::clone(&store) });
        Ok(store)
    }

    fn make(&self, address: &StoreAddress, secret: Option<&Secret>) -> Result<Store> {
        let client = match self.client.get() {
            Some(client) => client.clone(),
            None => {
                let client = connect::client()?;
                self.client.get_or_init(|| client).clone()
            }
        };
        let throttle = Arc::new(Throttle::new());
        let headers = match address.kind {
            StoreKind::Http => headers_of(secret)?,
            _ => HeaderMap::new(),
        };
        let connector = Connector { client, throttle: Arc::clone(&throttle), headers };
        let source = ValueSource { secret, environment: &self.environment };
        let objects: Arc<dyn ObjectStore> = match address.kind {
            StoreKind::S3 => Arc::new(s3_store(address, &source, connector)?),
            StoreKind::Gcs => google_store(address, &source, connector)?,
            StoreKind::Azure => Arc::new(azure_store(address, &source, connector)?),
            StoreKind::Http => Arc::new(http_store(address, connector)?),
        };
        Ok(Store { kind: address.kind, objects, throttle })
    }
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stores({:?})", self.secrets)
    }
}

/// Where the values for a store come from: a secret alone, or the environment without one.
pub(super) struct ValueSource<'s> {
    pub secret: Option<&'s Secret>,
    pub environment: &'s CloudEnvironment,
}

impl ValueSource<'_> {
    /// A value of the secret.
    pub fn secret(&self, parameter: &str) -> Option<String> {
        self.secret.and_then(|it| it.value(parameter)).map(str::to_owned)
    }

    /// Whether the secret has all values: nothing is read of the environment.
    pub fn is_complete(&self) -> bool {
        self.secret.is_some_and(|it| it.provider() == crate::SecretProvider::Config)
    }

    /// Whether the metadata server of a cloud's machine may be asked.
    pub fn may_ask_machine(&self) -> bool {
        self.secret.is_some_and(|it| it.provider() == crate::SecretProvider::CredentialChain)
    }

    /// A value of the secret, or of the first variable that is set.
    pub fn value(&self, parameter: &str, variables: &[&str]) -> Option<String> {
        self.secret(parameter).or_else(|| self.variable(variables))
    }

    /// The first variable that is set, unless the secret has all values.
    pub fn variable(&self, variables: &[&str]) -> Option<String> {
        if self.is_complete() { None } else { self.environment.first(variables) }
    }
}

/// How requests are repeated. Each is sent again at least twice before a statement fails.
pub(super) fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(50),
            max_backoff: Duration::from_secs(5),
            base: 2.0,
        },
        max_retries: 8,
        retry_timeout: Duration::from_secs(60),
    }
}

/// The error of a store whose client cannot be made. Values may be secrets: they are not in it.
pub(super) fn bad_configuration(address: &StoreAddress, what: &str) -> Error {
    Error::invalid_query(format!("cannot use the store {}: {what}", address.root))
}

/// Of the errors of builders, those without a value in their text.
pub(super) fn build_error(address: &StoreAddress, error: &object_store::Error) -> Error {
    let text = error.to_string();
    let what = if text.contains("issing") { text.as_str() } else { "its configuration is wrong" };
    bad_configuration(address, what)
}

fn headers_of(secret: Option<&Secret>) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    if let Some(token) = secret.and_then(|it| it.value("bearer_token")) {
        let wrong =
            |_| Error::invalid_query("the bearer token of a secret is not a header's value");
        let mut value: HeaderValue = format!("Bearer {token}").parse().map_err(wrong)?;
        value.set_sensitive(true);
        headers.insert("authorization", value);
    }
    Ok(headers)
}

fn http_store(
    address: &StoreAddress,
    connector: Connector,
) -> Result<object_store::http::HttpStore> {
    let query = address.query.as_ref().map(|it| format!("/?{it}")).unwrap_or_default();
    HttpBuilder::new()
        .with_url(format!("{}{query}", address.root))
        .with_config(object_store::ClientConfigKey::AllowHttp, "true")
        .with_retry(retries())
        .with_http_connector(connector)
        .build()
        .map_err(|it| build_error(address, &it))
}
