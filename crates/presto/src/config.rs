//! Presto's own configuration files: `config.properties`, `node.properties` and
//! `catalog/*.properties`.

#[cfg(test)]
mod tests;

use crate::units::parse_duration;
use std::{collections::BTreeMap, fs, path::Path, time::Duration};
use volley_error::{Error, Result};
use volley_memory::parse_bytes;
use volley_wire::presto_page::PageCompression;

/// What a worker is configured with.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// `node.id`: the identity of the worker.
    pub node_id: String,
    /// `node.environment`: must be that of the coordinator.
    pub environment: String,
    /// `presto.version`: must be that of the coordinator, which drops other nodes.
    pub version: String,
    /// `discovery.uri`: where the worker announces itself; `host:port`.
    pub discovery_authority: String,
    /// `node.internal-address`: where other nodes reach the worker.
    pub internal_address: String,
    /// `node.bind-ip`, or all addresses.
    pub bind_address: String,
    /// `http-server.http.port`; 0 for any free port.
    pub http_port: u16,
    /// `query.max-memory-per-node` in bytes, or `system-memory-gb`; `None` for no limit.
    pub memory_limit_bytes: Option<usize>,
    /// `task.concurrency`: drivers of a pipeline; `None` for the number of CPUs.
    pub task_concurrency: Option<usize>,
    /// `exchange.compression-codec`.
    pub page_compression: PageCompression,
    /// `exchange.checksum-enabled`.
    pub has_page_checksums: bool,
    /// `sink.max-buffer-size` in bytes: what the output buffers of a task hold.
    pub output_buffer_bytes: usize,
    /// `exchange.max-response-size` in bytes: the pages of an answer of another worker.
    pub exchange_answer_bytes: usize,
    /// `exchange.max-error-duration`: how long requests for pages of another worker may fail.
    pub exchange_error_time: Duration,
    /// `task.client.timeout`: a task whose coordinator does not ask for it is aborted after this
    /// time.
    pub client_timeout: Duration,
    /// `task.info.max-age`: a task that has ended is forgotten after this time.
    pub info_age_max: Duration,
    /// The catalogs: name, and the properties of its file.
    pub catalogs: BTreeMap<String, Properties>,
}

/// The properties of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    path: String,
    values: BTreeMap<String, String>,
}

/// What the output buffers of a task hold if nothing is configured: Presto's 32 MB.
const OUTPUT_BUFFER_BYTES: usize = 32 << 20;

/// The pages of an answer of another worker, in bytes, if nothing is configured.
const EXCHANGE_ANSWER_BYTES: usize = 4 << 20;

/// How long requests for pages may fail if nothing is configured: Presto's minute.
const EXCHANGE_ERROR_TIME: Duration = Duration::from_secs(60);

/// Presto's default of `task.client.timeout`.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(2 * 60);

/// Presto's default of `task.info.max-age`.
const INFO_AGE_MAX: Duration = Duration::from_secs(15 * 60);

impl WorkerConfig {
    /// Reads the files below `folder`, as Presto does.
    ///
    /// # Errors
    ///
    /// I/O; a property that is missing or malformed, with its file.
    pub fn read(folder: &Path) -> Result<WorkerConfig> {
        let config = Properties::read(&folder.join("config.properties"))?;
        let node = Properties::read(&folder.join("node.properties"))?;
        let mut catalogs = BTreeMap::new();
        let catalog_folder = folder.join("catalog");
        if catalog_folder.is_dir() {
            let at_folder = |it| Error::io(catalog_folder.display(), it);
            for entry in fs::read_dir(&catalog_folder).map_err(at_folder)? {
                let path = entry.map_err(at_folder)?.path();
                let name = path.file_stem().and_then(|it| it.to_str()).map(str::to_owned);
                if path.extension().is_some_and(|it| it == "properties")
                    && let Some(name) = name
                {
                    catalogs.insert(name, Properties::read(&path)?);
                }
            }
        }
        WorkerConfig::of_properties(&config, &node, catalogs)
    }

    /// The configuration of `config.properties`, `node.properties` and the files of catalogs.
    ///
    /// # Errors
    ///
    /// A property that is missing or malformed, with its file.
    pub fn of_properties(
        config: &Properties,
        node: &Properties,
        catalogs: BTreeMap<String, Properties>,
    ) -> Result<WorkerConfig> {
        if config.get("coordinator") == Some("true") {
            let error = Error::invalid_value("this worker is no coordinator: coordinator=true");
            return Err(error.at("file", &config.path).hint("set coordinator=false"));
        }
        let uri = config.required("discovery.uri")?;
        let authority = uri.strip_prefix("http://").map(|it| it.trim_end_matches('/'));
        let discovery_authority = authority.filter(|it| !it.is_empty() && !it.contains('/'));
        let discovery_authority = discovery_authority
            .ok_or_else(|| config.malformed("discovery.uri", "http://HOST:PORT"))?
            .to_owned();
        let address = node.get("node.internal-address").unwrap_or("127.0.0.1");
        Ok(WorkerConfig {
            node_id: node.required("node.id")?.to_owned(),
            environment: node.required("node.environment")?.to_owned(),
            version: config.required("presto.version")?.to_owned(),
            discovery_authority,
            internal_address: address.to_owned(),
            bind_address: node.get("node.bind-ip").unwrap_or("0.0.0.0").to_owned(),
            http_port: config.number("http-server.http.port")?.unwrap_or(8080),
            memory_limit_bytes: memory_limit(config)?,
            task_concurrency: config.number("task.concurrency")?,
            page_compression: page_compression(config)?,
            has_page_checksums: config.flag("exchange.checksum-enabled")?.unwrap_or(false),
            output_buffer_bytes: config
                .bytes("sink.max-buffer-size")?
                .unwrap_or(OUTPUT_BUFFER_BYTES),
            exchange_answer_bytes: config
                .bytes("exchange.max-response-size")?
                .unwrap_or(EXCHANGE_ANSWER_BYTES),
            exchange_error_time: config
                .duration("exchange.max-error-duration")?
                .unwrap_or(EXCHANGE_ERROR_TIME),
            client_timeout: config.duration("task.client.timeout")?.unwrap_or(CLIENT_TIMEOUT),
            info_age_max: config.duration("task.info.max-age")?.unwrap_or(INFO_AGE_MAX),
            catalogs,
        })
    }
}

fn memory_limit(config: &Properties) -> Result<Option<usize>> {
    if let Some(gigabytes) = config.number::<usize>("system-memory-gb")? {
        return Ok(Some(gigabytes.saturating_mul(1 << 30)));
    }
    config.bytes("query.max-memory-per-node")
}

fn page_compression(config: &Properties) -> Result<PageCompression> {
    const CODEC: &str = "exchange.compression-codec";
    if let Some(name) = config.get(CODEC) {
        let known = "NONE, LZ4, SNAPPY, ZSTD, GZIP or ZLIB";
        return PageCompression::from_name(name).ok_or_else(|| config.malformed(CODEC, known));
    }
    Ok(match config.flag("exchange.compression-enabled")? {
        Some(true) => PageCompression::Lz4,
        _ => PageCompression::None,
    })
}

impl Properties {
    /// Reads a file of lines `name=value`; `#` and `!` start comments.
    ///
    /// # Errors
    ///
    /// I/O; a line of another form.
    pub fn read(path: &Path) -> Result<Properties> {
        let text = fs::read_to_string(path).map_err(|it| Error::io(path.display(), it))?;
        Properties::parse(&text, &path.display().to_string())
    }

    /// Parses lines `name=value` of the file `path`; `#` and `!` start comments.
    ///
    /// # Errors
    ///
    /// A line of another form.
    pub fn parse(text: &str, path: &str) -> Result<Properties> {
        let mut values = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', '!']) {
                continue;
            }
            let Some((name, value)) = line.split_once(['=', ':']) else {
                let error = Error::invalid_value(format!("line {} is not name=value", number + 1));
                return Err(error.at("file", path));
            };
            values.insert(name.trim().to_owned(), value.trim().to_owned());
        }
        Ok(Properties { path: path.to_owned(), values })
    }

    /// The value of a property.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    fn required(&self, name: &str) -> Result<&str> {
        self.get(name).ok_or_else(|| {
            Error::invalid_value(format!("the property {name} is missing")).at("file", &self.path)
        })
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>> {
        let parse = |it: &str| it.parse().map_err(|_| self.malformed(name, "a number"));
        self.get(name).map(parse).transpose()
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.number(name).map_err(|_| self.malformed(name, "true or false"))
    }

    fn bytes(&self, name: &str) -> Result<Option<usize>> {
        let parse = |it: &str| parse_bytes(it).map_err(|_| self.malformed(name, "such as 512MB"));
        self.get(name).map(parse).transpose()
    }

    fn duration(&self, name: &str) -> Result<Option<Duration>> {
        let parse = |it| parse_duration(it).ok_or_else(|| self.malformed(name, "such as 1m"));
        self.get(name).map(parse).transpose()
    }

    fn malformed(&self, name: &str, expected: &str) -> Error {
        let value = self.get(name).unwrap_or_default();
        let error = Error::invalid_value(format!("the property {name} is {value:?}"));
        error.at("file", &self.path).hint(format!("it must be {expected}"))
    }
}
