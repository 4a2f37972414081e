//! Secrets: what stores ask of those who read and write them.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};
use volley_error::{Error, Result};

/// What a secret is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretKind {
    /// Amazon S3 and what speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage and Data Lake Storage.
    Azure,
    /// HTTP servers.
    Http,
}

/// A kind, its name, its scope without another one, and the parameters that secrets of it have.
struct KindFacts {
    kind: SecretKind,
    name: &'static str,
    schemes: &'static [&'static str],
    parameters: &'static [&'static str],
}

const KINDS: [KindFacts; 4] = [
    KindFacts {
        kind: SecretKind::S3,
        name: "s3",
        schemes: &["s3", "s3a", "s3n", "r2"],
        parameters: &[
            "key_id",
            "secret",
            "session_token",
            "region",
            "endpoint",
            "url_style",
            "use_ssl",
            "kms_key_id",
            "requester_pays",
            "profile",
        ],
    },
    KindFacts {
        kind: SecretKind::Gcs,
        name: "gcs",
        schemes: &["gs", "gcs"],
        parameters: &["key_id", "secret", "bearer_token", "service_account_key", "endpoint"],
    },
    KindFacts {
        kind: SecretKind::Azure,
        name: "azure",
        schemes: &["az", "azure", "adl", "abfs", "abfss"],
        parameters: &[
            "connection_string",
            "account_name",
            "account_key",
            "sas_token",
            "tenant_id",
            "client_id",
            "client_secret",
            "endpoint",
        ],
    },
    KindFacts {
        kind: SecretKind::Http,
        name: "http",
        schemes: &["http", "https"],
        parameters: &["bearer_token"],
    },
];

impl SecretKind {
    /// The kind of this name, in any case.
    ///
    /// # Errors
    ///
    /// Invalid query: no kind has this name.
    pub fn of(name: &str) -> Result<SecretKind> {
        let found = KINDS.iter().find(|it| it.name.eq_ignore_ascii_case(name));
        found.map(|it| it.kind).ok_or_else(|| {
            let names: Vec<&str> = KINDS.iter().map(|it| it.name).collect();
            let error = Error::invalid_query(format!("no type of secrets: {name}"));
            error.hint(format!("the types are {}", names.join(", ")))
        })
    }

    /// The name.
    pub fn name(self) -> &'static str {
        self.facts().map_or("", |it| it.name)
    }

    fn facts(self) -> Option<&'static KindFacts> {
        KINDS.iter().find(|it| it.kind == self)
    }

    fn schemes(self) -> &'static [&'static str] {
        self.facts().map_or(&[], |it| it.schemes)
    }
}

/// Where the values of a secret come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretProvider {
    /// The statement that made it.
    Config,
    /// The environment, profiles and, on machines of a cloud, its metadata server; the statement's
    /// parameters take precedence.
    CredentialChain,
}

impl SecretProvider {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            SecretProvider::Config => "config",
            SecretProvider::CredentialChain => "credential_chain",
        }
    }
}

/// Credentials and other facts of stores, for locations within its scopes. Its values cannot be
/// shown: they are read only to make requests.
#[derive(Clone)]
pub struct Secret {
    name: String,
    kind: SecretKind,
    provider: SecretProvider,
    scopes: Vec<Scope>,
    values: BTreeMap<String, String>,
}

impl Secret {
    /// A secret. `values` are by the lower-case names of parameters. Without `scopes` it is for all
    /// locations of its kind.
    ///
    /// # Errors
    ///
    /// Invalid query: an unknown parameter, a scope of another kind.
    pub fn new(
        name: &str,
        kind: SecretKind,
        provider: SecretProvider,
        scopes: &[String],
        values: BTreeMap<String, String>,
    ) -> Result<Secret> {
        let known = kind.facts().map_or(&[][..], |it| it.parameters);
        if let Some(wrong) = values.keys().find(|it| !known.contains(&it.as_str())) {
            let message = format!("secrets of type {} have no parameter {wrong}", kind.name());
            let hint = format!("the parameters are {}", known.join(", "));
            return Err(Error::invalid_query(message).hint(hint));
        }
        let scopes: Vec<Scope> = match scopes {
            [] => kind.schemes().iter().map(|it| Scope::of_scheme(it)).collect(),
            _ => scopes.iter().map(|it| Scope::parse(it, kind)).collect::<Result<_>>()?,
        };
        let name = name.to_ascii_lowercase();
        Ok(Secret { name, kind, provider, scopes, values })
    }

    /// The name, in lower case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for.
    pub fn kind(&self) -> SecretKind {
        self.kind
    }

    /// Where its values come from.
    pub fn provider(&self) -> SecretProvider {
        self.provider
    }

    /// The beginnings of the locations that it is for.
    pub fn scopes(&self) -> impl Iterator<Item = String> {
        self.scopes.iter().map(ToString::to_string)
    }

    /// The names of the parameters that it has, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// A value, for requests: never for messages, statistics or results.
    #[cfg_attr(not(feature = "cloud"), expect(dead_code, reason = "clients of stores read it"))]
    pub(crate) fn value(&self, parameter: &str) -> Option<&str> {
        self.values.get(parameter).map(String::as_str)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({}, {})", self.name, self.kind.name())
    }
}

/// The secrets of an engine, by name. Clones are the same.
#[derive(Clone, Default)]
pub struct Secrets(Arc<RwLock<Stored>>);

#[derive(Default)]
struct Stored {
    by_name: BTreeMap<String, Arc<Secret>>,
    /// Changes with every change.
    generation: u64,
}

/// What happens to a secret of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExistingSecret {
    /// It stays, and the new one is an error.
    Fail,
    /// It stays, and the new one is not added.
    Keep,
    /// The new one replaces it.
    Replace,
}

impl Secrets {
    /// Adds a secret.
    ///
    /// # Errors
    ///
    /// Invalid query: there is one of this name, and it is to stay.
    pub fn add(&self, secret: Secret, existing: OnExistingSecret) -> Result<()> {
        let mut stored = self.write();
        if stored.by_name.contains_key(&secret.name) {
            match existing {
                OnExistingSecret::Keep => return Ok(()),
                OnExistingSecret::Replace => {}
                OnExistingSecret::Fail => {
                    let message = format!("there is already a secret {}", secret.name);
                    let hint = "CREATE OR REPLACE SECRET replaces it";
                    return Err(Error::invalid_query(message).hint(hint));
                }
            }
        }
        stored.generation += 1;
        stored.by_name.insert(secret.name.clone(), Arc::new(secret));
        Ok(())
    }

    /// Removes the secret of a name in any case; whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        let mut stored = self.write();
        stored.generation += 1;
        stored.by_name.remove(&name.to_ascii_lowercase()).is_some()
    }

    /// All, in order of their names.
    pub fn list(&self) -> Vec<Arc<Secret>> {
        self.read().by_name.values().cloned().collect()
    }

    /// The secret for a location: that with the longest scope around it; of several, the first by
    /// name.
    pub fn find(&self, location: &str) -> Option<Arc<Secret>> {
        let wanted = Scope::split(location)?;
        let stored = self.read();
        let mut found: Option<(usize, &Arc<Secret>)> = None;
        for secret in stored.by_name.values() {
            let within = secret.scopes.iter().filter(|it| it.contains(&wanted));
            let Some(len) = within.map(Scope::len).max() else { continue };
            if found.is_none_or(|it| it.0 < len) {
                found = Some((len, secret));
            }
        }
        found.map(|it| Arc::clone(it.1))
    }

    /// A number that changes when any secret does.
    pub fn generation(&self) -> u64 {
        self.read().generation
    }

    fn read(&self) -> RwLockReadGuard<'_, Stored> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Stored> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.read().by_name.values()).finish()
    }
}

/// Beginnings of locations, compared as their parts: `s3://a` is not around `s3://ab`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    scheme: String,
    /// `None`: any.
    host: Option<String>,
    port: Option<u16>,
    /// Folders below the host.
    path: Vec<String>,
}

impl Scope {
    fn of_scheme(scheme: &str) -> Scope {
        Scope { scheme: scheme.to_owned(), host: None, port: None, path: Vec::new() }
    }

    fn parse(text: &str, kind: SecretKind) -> Result<Scope> {
        let scope = Scope::split(text).filter(|it| kind.schemes().contains(&it.scheme.as_str()));
        scope.ok_or_else(|| {
            let message = format!("not a scope of a secret of type {}: {text}", kind.name());
            let schemes: Vec<String> = kind.schemes().iter().map(|it| format!("{it}://")).collect();
            let hint = format!("scopes begin with one of {}", schemes.join(", "));
            Error::invalid_query(message).hint(hint)
        })
    }

    /// The parts of a location with a scheme. A port that its scheme has anyway is none.
    pub fn split(text: &str) -> Option<Scope> {
        let (scheme, rest) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = path.split_once('?').map_or(path, |it| it.0);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse::<u16>().ok()?)),
            None => (authority, None),
        };
        let usual = match scheme.as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        Some(Scope {
            host: (!host.is_empty()).then(|| host.to_ascii_lowercase()),
            port: port.filter(|it| Some(*it) != usual),
            path: path.split('/').filter(|it| !it.is_empty()).map(str::to_owned).collect(),
            scheme,
        })
    }

    /// Whether a location is within.
    pub fn contains(&self, location: &Scope) -> bool {
        let is_same_host =
            self.host.is_none() || (self.host == location.host && self.port == location.port);
        self.scheme == location.scheme
            && is_same_host
            && location.is_plain()
            && location.path.starts_with(&self.path)
    }

    /// Whether no folder goes up.
    pub fn is_plain(&self) -> bool {
        !self.path.iter().any(|it| matches!(it.as_str(), ".." | "."))
    }

    fn len(&self) -> usize {
        usize::from(self.host.is_some()) + self.path.len()
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host.as_deref().unwrap_or_default())?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        self.path.iter().try_for_each(|it| write!(f, "/{it}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: &str, scopes: &[&str]) -> Secret {
        let scopes: Vec<String> = scopes.iter().map(|it| (*it).to_owned()).collect();
        let values = BTreeMap::from([("secret".to_owned(), "hidden".to_owned())]);
        Secret::new(name, SecretKind::S3, SecretProvider::Config, &scopes, values).unwrap()
    }

    #[test]
    fn the_longest_scope_around_a_location_is_found() {
        let secrets = Secrets::default();
        let add = |it| secrets.add(it, OnExistingSecret::Fail).unwrap();
        add(secret("any", &[]));
        add(secret("bucket", &["s3://a"]));
        add(secret("folder", &["s3://a/x/y", "s3://other:9000/"]));
        let check = |location: &str, name: Option<&str>| {
            let found = secrets.find(location).map(|it| it.name().to_owned());
            assert_eq!(found.as_deref(), name, "{location}");
        };
        check("s3://ab/x", Some("any"));
        check("s3a://a/x", Some("any"));
        check("S3://A/x", Some("bucket"));
        check("s3://a/x/yz", Some("bucket"));
        check("s3://a/x/y/z", Some("folder"));
        check("s3://a/x/y/../z", None);
        check("s3://other:9000/x", Some("folder"));
        check("s3://other:90/x", Some("any"));
        check("gs://a/x", None);
        check("a/x", None);
        assert!(secrets.add(secret("ANY", &[]), OnExistingSecret::Fail).is_err());
        secrets.add(secret("any", &["s3://z"]), OnExistingSecret::Replace).unwrap();
        check("s3://ab/x", None);
        assert!(secrets.remove("Bucket") && !secrets.remove("bucket"));
        check("s3://a/x", None);
    }

    #[test]
    fn usual_ports_are_no_difference_and_values_are_never_shown() {
        let scopes = ["https://host:443/a".to_owned()];
        let values = BTreeMap::from([("bearer_token".to_owned(), "hidden".to_owned())]);
        let new = |scopes: &[String], values| {
            Secret::new("w", SecretKind::Http, SecretProvider::Config, scopes, values)
        };
        let made = new(&scopes, values.clone()).unwrap();
        let secrets = Secrets::default();
        secrets.add(made.clone(), OnExistingSecret::Fail).unwrap();
        assert!(secrets.find("https://HOST/a/b?c").is_some());
        assert!(secrets.find("http://host:443/a/b").is_none());
        assert!(!format!("{secrets:?} {made:?}").contains("hidden"));
        assert!(new(&["s3://a".to_owned()], values).is_err());
        let unknown = BTreeMap::from([("sekret".to_owned(), "hidden".to_owned())]);
        let error = new(&[], unknown).unwrap_err();
        assert!(!format!("{error:?}").contains("hidden"));
        assert_eq!(error.message(), "secrets of type http have no parameter sekret");
        assert!(SecretKind::of("S3").is_ok() && SecretKind::of("ftp").is_err());
    }
}
