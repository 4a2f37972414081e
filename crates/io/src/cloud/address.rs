//! Which store a location names, and which object in it.

use object_store::path::Path;
use volley_error::{Error, Result};

/// The protocols of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum StoreKind {
    /// Amazon S3 and what speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage and Data Lake Storage.
    Azure,
    /// Files of an HTTP server, which can be read.
    Http,
}

/// Schemes of locations, and the protocol of each.
pub(super) const SCHEMES: [(&str, StoreKind); 13] = [
    ("s3", StoreKind::S3),
    ("s3a", StoreKind::S3),
    ("s3n", StoreKind::S3),
    ("r2", StoreKind::S3),
    ("gs", StoreKind::Gcs),
    ("gcs", StoreKind::Gcs),
    ("az", StoreKind::Azure),
    ("azure", StoreKind::Azure),
    ("adl", StoreKind::Azure),
    ("abfs", StoreKind::Azure),
    ("abfss", StoreKind::Azure),
    ("http", StoreKind::Http),
    ("https", StoreKind::Http),
];

/// A parsed location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub store: StoreAddress,
    /// The object; empty for the root of the store.
    pub key: Path,
}

/// A bucket, a container, or an HTTP server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StoreAddress {
    pub kind: StoreKind,
    /// How its locations begin, as the user wrote it: `s3://bucket`.
    pub root: String,
    /// The bucket or container; the host and port of an HTTP server.
    pub container: String,
    /// The host of an Azure account, if the location names it.
    pub account_host: Option<String>,
    /// What follows `?` in the URL of an HTTP server.
    pub query: Option<String>,
}

impl Address {
    /// Parses a location.
    ///
    /// # Errors
    ///
    /// Invalid query: not a location of these stores.
    pub fn parse(location: &str) -> Result<Address> {
        let wrong = || Error::invalid_query(format!("not the location of an object: {location}"));
        let (scheme, rest) = location.split_once("://").ok_or_else(wrong)?;
        let lower = scheme.to_ascii_lowercase();
        let found = SCHEMES.iter().find(|it| it.0 == lower);
        let kind = found.map(|it| it.1).ok_or_else(wrong)?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty() {
            return Err(wrong().hint(form_of(kind)));
        }
        let bad_path = |it: object_store::path::Error| wrong().caused_by(it);
        if kind == StoreKind::Http {
            let (path, query) = match path.split_once('?') {
                Some((path, query)) => (path, Some(query.to_owned())),
                None => (path, None),
            };
            let store = StoreAddress {
                query,
                ..StoreAddress::new(kind, format!("{scheme}://{authority}"), authority)
            };
            return Ok(Address { store, key: Path::from_url_path(path).map_err(bad_path)? });
        }
        let (store, path) = match authority.split_once('@') {
            Some((container, host)) if kind == StoreKind::Azure => {
                let root = format!("{scheme}://{authority}");
                let mut store = StoreAddress::new(kind, root, container);
                store.account_host = Some(host.to_owned());
                (store, path)
            }
            // A host, as containers have no dots.
            None if kind == StoreKind::Azure && authority.contains('.') => {
                let (container, path) = path.split_once('/').unwrap_or((path, ""));
                let root = format!("{scheme}://{authority}/{container}");
                let mut store = StoreAddress::new(kind, root, container);
                store.account_host = Some(authority.to_owned());
                (store, path)
            }
            _ => (StoreAddress::new(kind, format!("{scheme}://{authority}"), authority), path),
        };
        if store.container.is_empty() {
            return Err(wrong().hint(form_of(kind)));
        }
        Ok(Address { store, key: Path::parse(path).map_err(bad_path)? })
    }

    /// Whether it can only be a folder: the root, or with a slash at its end.
    pub fn is_folder(&self, location: &str) -> bool {
        self.key.is_root() || location.ends_with('/')
    }
}

impl StoreAddress {
    fn new(kind: StoreKind, root: String, container: &str) -> StoreAddress {
        let container = container.to_owned();
        StoreAddress { kind, root, container, account_host: None, query: None }
    }

    /// The location of an object.
    pub fn location(&self, key: &Path) -> String {
        format!("{}/{key}", self.root)
    }
}

fn form_of(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::S3 => "locations are s3://BUCKET/PATH",
        StoreKind::Gcs => "locations are gs://BUCKET/PATH",
        StoreKind::Azure => {
            "locations are az://CONTAINER/PATH, az://ACCOUNT.blob.core.windows.net/CONTAINER/PATH \
             or abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"
        }
        StoreKind::Http => "locations are https://HOST/PATH",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(location: &str) -> (String, String, String) {
        let address = Address::parse(location).unwrap();
        (address.store.root, address.store.container, address.key.to_string())
    }

    #[test]
    fn locations_name_a_store_and_an_object() {
        let check = |location: &str, root: &str, container: &str, key: &str| {
            assert_eq!(parse(location), (root.into(), container.into(), key.into()));
        };
        check("s3://b/a/b.csv", "s3://b", "b", "a/b.csv");
        check("S3A://b", "S3A://b", "b", "");
        check("gs://b/é x%20/", "gs://b", "b", "é x%20");
        check("az://c/p", "az://c", "c", "p");
        let host = "a.blob.core.windows.net";
        check(&format!("az://{host}/c/p"), &format!("az://{host}/c"), "c", "p");
        check("abfss://c@a.dfs.core.windows.net/p", "abfss://c@a.dfs.core.windows.net", "c", "p");
        check("http://h:80/a%20b?x=1/2", "http://h:80", "h:80", "a b");
        let query = Address::parse("http://h/a?x=1/2").unwrap().store.query;
        assert_eq!(query.as_deref(), Some("x=1/2"));
    }

    #[test]
    fn other_texts_are_errors() {
        for wrong in
            ["s3://", "s3:///a", "ftp://a/b", "a/b", "s3://b/a//b", "az://a.b.c", "s3://b/../c"]
        {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
    }
}
