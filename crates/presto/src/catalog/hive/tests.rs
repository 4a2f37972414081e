use super::*;
use serde_json::json;
use volley_connector_hive::{FileFormat, FileRange};
use volley_error::ErrorKind;

fn registry() -> Registry {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    registry
}

fn handle(name: &str, signature: &str, place: i64, kind: &str) -> serde_json::Value {
    json!({"@type": "hive-hadoop2", "name": name, "hiveType": "int", "typeSignature": signature,
        "hiveColumnIndex": place, "columnType": kind, "requiredSubfields": []})
}

fn scanned(handles: &[serde_json::Value]) -> Result<HiveTable> {
    let table = json!({"connectorId": "hive", "connectorHandle": {"@type": "hive-hadoop2",
        "schemaName": "s", "tableName": "t"}})
    .to_string();
    let texts: Vec<String> = handles.iter().map(ToString::to_string).collect();
    let assignments: Vec<(String, Json<'_>)> =
        texts.iter().map(|it| (String::new(), Json::new(it))).collect();
    let catalog = HiveCatalog { finds_parquet_by_name: false, finds_orc_by_name: false };
    let pool = Pool::root("test", None);
    let object = Json::new(&table).object("a table")?;
    let context = TableContext { registry: &registry(), pool: &pool };
    HiveTable::of_scan(&catalog, &object, &assignments, &context)
}

fn split(path: &str, format: &str) -> serde_json::Value {
    json!({"@type": "hive-hadoop2", "fileSplit": {"path": path, "start": 4, "length": 100,
        "fileSize": 104, "fileModifiedTime": 1_600_000_000_000u64, "customSplitInfo": {}}, "database": "s", "table": "t",
        "storage": {"storageFormat": {"serDe": "x",
            "inputFormat": format!("org.apache.hadoop.{format}")}},
        "partitionKeys": [{"name": "k", "value": "ü"}, {"name": "n", "value": null}]})
}

#[test]
fn splits_come_back_from_their_bytes() {
    let json = split("file:/a/b", "MapredParquetInputFormat");
    let (schema, table, split) = HiveSplit::of_json(&json).unwrap();
    assert_eq!((schema.as_str(), table.as_str()), ("s", "t"));
    let expected = HiveSplit {
        path: "/a/b".to_owned(),
        format: FileFormat::Parquet,
        range: FileRange { start: 4, bytes: 100 },
        file_bytes: 104,
        modified_millis: 1_600_000_000_000,
        keys: vec![("k".to_owned(), Some("ü".to_owned())), ("n".to_owned(), None)],
    };
    assert_eq!(split, expected);
    let bytes = split.to_split();
    assert_eq!(HiveSplit::of_split(&bytes, &registry()).unwrap(), split);
    let cut = Split::new(bytes.bytes[..bytes.bytes.len() - 1].to_vec(), "cut");
    let error = HiveSplit::of_split(&cut, &registry()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
}

#[test]
fn other_formats_and_file_systems_are_unsupported() {
    for (path, format) in [("file:/a", "TextInputFormat"), ("s3://a/b", "OrcInputFormat")] {
        let error = HiveSplit::of_json(&split(path, format)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    let error = HiveSplit::of_json(&json!({"fileSplit": 1})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
}

#[test]
fn columns_are_those_of_the_handles() {
    let table = scanned(&[
        handle("a", "bigint", 3, "REGULAR"),
        handle("k", "varchar(5)", -13, "PARTITION_KEY"),
        handle("a", "bigint", 3, "REGULAR"),
        handle("$path", "varchar", -11, "SYNTHESIZED"),
    ])
    .unwrap();
    let names: Vec<&str> = table.schema().fields.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["a", "k", "$path"]);
    let a = handle("a", "bigint", 3, "REGULAR").to_string();
    assert_eq!(table.column(Json::new(&a)).unwrap(), 0);
    assert_eq!(table.column(Json::new("\"k\"")).unwrap(), 1);
    assert_eq!(table.column(Json::new("\"z\"")).unwrap_err().message(), "no such column of s.t: z");
    for (handle, message) in [
        (handle("$bucket", "integer", -11, "SYNTHESIZED"), "the column $bucket"),
        (handle("a", "geometry", 0, "REGULAR"), "geometry"),
        (handle("a", "bigint", -1, "REGULAR"), "a column without a place"),
    ] {
        let error = scanned(&[handle]).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn splits_of_other_tables_are_refused() {
    let table = scanned(&[]).unwrap();
    let mut json = split("file:/a", "OrcInputFormat");
    assert!(table.split(&json).is_ok());
    json["table"] = json!("u");
    assert_eq!(table.split(&json).unwrap_err().message(), "a split of s.u for a scan of s.t");
}
