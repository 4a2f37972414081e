//! Where the pages of another task are.

use serde::Deserialize;
use serde_json::Value;
use std::fmt;
use volley_error::{Error, Result};

/// One output buffer of a task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    /// `host:port`.
    authority: String,
    /// `/v1/task/{task}/results/{buffer}`.
    path: String,
    /// The identity of the task, if the coordinator names it.
    task: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RemoteSplitJson {
    location: LocationJson,
    remote_source_task_id: Option<String>,
}

/// A text, or an object with one.
#[derive(Deserialize)]
#[serde(untagged)]
enum LocationJson {
    Text(String),
    Object { location: String },
}

impl Location {
    /// The location of the JSON of a split of `$remote`.
    ///
    /// # Errors
    ///
    /// Invalid value: malformed JSON or URL. Unsupported: another scheme than `http`.
    pub(crate) fn of_split(split: &Value) -> Result<Location> {
        let malformed =
            |it| Error::invalid_value(format!("malformed JSON of a remote split: {it}"));
        let split = RemoteSplitJson::deserialize(split).map_err(malformed)?;
        let (LocationJson::Text(url) | LocationJson::Object { location: url }) = split.location;
        let Some(rest) = url.strip_prefix("http://") else {
            let error = Error::unsupported("a location of pages that does not begin with http://");
            return Err(error.at("location", url));
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_printable = rest.bytes().all(|it| it.is_ascii_graphic());
        if authority.is_empty() || !path.contains("/results/") || !is_printable {
            return Err(Error::invalid_value("a malformed location of pages").at("location", url));
        }
        Ok(Location {
            authority: authority.to_owned(),
            path: path.trim_end_matches('/').to_owned(),
            task: split.remote_source_task_id,
        })
    }

    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn task(&self) -> Option<&str> {
        self.task.as_deref()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}
