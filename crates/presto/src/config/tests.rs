use super::*;

const CONFIG: &str = "# a worker\ncoordinator=false\nhttp-server.http.port = 18082\n\
                      discovery.uri=http://127.0.0.1:18080/\npresto.version=testversion\n\
                      query.max-memory-per-node=1GB\n";
const NODE: &str = "node.environment=testing\nnode.id=one\n";

fn config(config: &str, node: &str) -> Result<WorkerConfig> {
    let config = Properties::parse(config, "config.properties")?;
    let node = Properties::parse(node, "node.properties")?;
    WorkerConfig::of_properties(&config, &node, BTreeMap::new())
}

#[test]
fn files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.properties"), CONFIG).unwrap();
    fs::write(folder.path().join("node.properties"), NODE).unwrap();
    fs::create_dir(folder.path().join("catalog")).unwrap();
    let tpch = "connector.name=tpch\n";
    fs::write(folder.path().join("catalog/tpch.properties"), tpch).unwrap();
    fs::write(folder.path().join("catalog/notes.txt"), "not a catalog").unwrap();
    let config = WorkerConfig::read(folder.path()).unwrap();
    assert_eq!((config.http_port, config.node_id.as_str()), (18082, "one"));
    assert_eq!(config.discovery_authority, "127.0.0.1:18080");
    assert!(config.memory_limit_bytes.is_some_and(|it| it >= 1_000_000_000));
    assert_eq!(config.catalogs.keys().collect::<Vec<_>>(), ["tpch"]);
    assert_eq!(config.catalogs["tpch"].get("connector.name"), Some("tpch"));
}

#[test]
fn missing_and_malformed_properties_are_named() {
    let message = |changed: &str, node: &str| {
        let error = config(changed, node).unwrap_err();
        format!("{error} {}", error.hint_text().unwrap_or_default())
    };
    let check = |message: String, parts: &[&str]| {
        assert!(parts.iter().all(|it| message.contains(it)), "{message}");
    };
    check(message(CONFIG, "node.id=one"), &["node.environment", "node.properties"]);
    check(message(&CONFIG.replace("18082", "many"), NODE), &["http-server.http.port", "many"]);
    check(message(&CONFIG.replace("http:", "ftp:"), NODE), &["discovery.uri", "http://HOST:PORT"]);
    check(message(&CONFIG.replace("1GB", "much"), NODE), &["query.max-memory-per-node"]);
    check(
        message(&CONFIG.replace("coordinator=false", "coordinator=true"), NODE),
        &["coordinator"],
    );
    check(message("a line", NODE), &["line 1", "config.properties"]);
    let codec = format!("{CONFIG}exchange.compression-codec=LZO\n");
    check(message(&codec, NODE), &["exchange.compression-codec", "LZO", "ZSTD"]);
}

#[test]
fn exchanges_are_configured() {
    let with = |lines: &str| config(&format!("{CONFIG}{lines}"), NODE).unwrap();
    assert_eq!(with("").page_compression, PageCompression::None);
    assert!(!with("").has_page_checksums);
    let old = with("exchange.compression-enabled=true\nexchange.checksum-enabled=true\n");
    assert_eq!((old.page_compression, old.has_page_checksums), (PageCompression::Lz4, true));
    let new = with("exchange.compression-codec=zstd\nsink.max-buffer-size=1MB\n");
    assert_eq!(new.page_compression, PageCompression::Zstd);
    assert!(new.output_buffer_bytes <= 1 << 20);
}
