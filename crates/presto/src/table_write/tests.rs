use super::*;
use volley_connector::{RowSink, TableWriter};
use volley_error::ErrorKind;
use volley_plan::WriteTarget;
use volley_types::{Field, Schema};

const TASK: &str = "20260101_000000_00000_abcde.1.0.0.0";

fn info(folder: &str) -> JsonValue {
    json!({"writerTarget": {"@type": "CreateHandle", "handle": {"connectorId": "hive",
        "connectorHandle": {"@type": "hive-hadoop2", "schemaName": "s", "tableName": "t",
            "inputColumns": [{"name": "a", "columnType": "REGULAR"}],
            "locationHandle": {"targetPath": "file:/target", "writePath": folder,
                "tableType": "NEW", "writeMode": "STAGE_AND_MOVE_TO_TARGET_DIRECTORY"},
            "actualStorageFormat": "PARQUET", "compressionCodec": "SNAPPY", "partitionedBy": [],
            "bucketProperty": null}}}})
}

fn writer(write: &TableWrite) -> Arc<dyn TableWriter> {
    let schema: Schema = [Field::new("a", Type::BigInt)].into_iter().collect();
    write.sinks.writer(&WriteTarget::default(), &schema).unwrap()
}

fn numbers(values: &[i64]) -> Batch {
    let values: Vec<Value> = values.iter().map(|it| Value::BigInt(*it)).collect();
    Batch::new(vec![Vector::from_values(Type::BigInt, &values)], values.len())
}

/// Counts of rows, as the plan returns them.
fn counts(values: &[i64]) -> Batch {
    let numbers = numbers(values);
    let nulls = || Vector::constant(Type::Varbinary, &Value::Null, values.len());
    Batch::new(vec![nulls(), numbers.column(0).clone(), nulls()], values.len())
}

const COLUMNS: WriteColumns = WriteColumns { rows: 1, fragment: 2, commit_context: 0 };

fn json_of(value: &Value) -> JsonValue {
    let Value::Varbinary(bytes) = value else { panic!("{value:?}") };
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn files_are_reported_to_the_coordinator() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let write = TableWrite::new(Some(&info(&format!("file:{}", path.display()))), TASK).unwrap();
    let writer = writer(&write);
    assert!(writer.sinks_max() > 1);
    let mut first = writer.open().unwrap();
    let mut second: Box<dyn RowSink> = writer.open().unwrap();
    first.write(&numbers(&[1, 2])).unwrap();
    first.write(&numbers(&[3])).unwrap();
    first.finish().unwrap();
    // A driver without rows makes no file.
    second.finish().unwrap();
    let report = write.written.report(&counts(&[3, 0]), COLUMNS).unwrap();
    assert_eq!(report.rows(), 2);
    assert_eq!(report.column(1).to_values().unwrap(), [Value::BigInt(3), Value::Null]);
    let fragments = report.column(2).to_values().unwrap();
    assert_eq!(fragments[0], Value::Null);
    let fragment = json_of(&fragments[1]);
    assert_eq!(
        (&fragment["rowCount"], &fragment["targetPath"]),
        (&json!(3), &json!("file:/target"))
    );
    assert_eq!(fragment["updateMode"], "NEW");
    let name = fragment["fileWriteInfos"][0]["writeFileName"].as_str().unwrap();
    assert!(name.starts_with("20260101_000000_00000_abcde_"), "{name}");
    let size = std::fs::metadata(path.join(name)).unwrap().len();
    assert_eq!(fragment["fileWriteInfos"][0]["fileSize"], size);
    let context = json_of(&report.column(0).to_values().unwrap()[1]);
    assert_eq!((&context["taskId"], &context["lastPage"]), (&json!(TASK), &json!(true)));
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 1);
    // Each file is reported once.
    assert_eq!(write.written.report(&counts(&[0]), COLUMNS).unwrap().rows(), 1);
}

#[test]
fn files_of_an_existing_table_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let mut info = info(&folder.path().display().to_string());
    let location = "/writerTarget/handle/connectorHandle/locationHandle/tableType";
    *info.pointer_mut(location).unwrap() = json!("EXISTING");
    info["writerTarget"]["@type"] = json!("InsertHandle");
    let write = TableWrite::new(Some(&info), TASK).unwrap();
    let mut sink = writer(&write).open().unwrap();
    sink.write(&numbers(&[1])).unwrap();
    sink.finish().unwrap();
    let report = write.written.report(&counts(&[1]), COLUMNS).unwrap();
    let fragment = json_of(&report.column(2).to_values().unwrap()[1]);
    assert_eq!(fragment["updateMode"], "APPEND");
}

#[test]
fn a_sink_that_is_dropped_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = TableWrite::new(Some(&info(&folder.path().display().to_string())), TASK).unwrap();
    let mut sink = writer(&write).open().unwrap();
    sink.write(&numbers(&[1])).unwrap();
    drop(sink);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(write.written.report(&counts(&[0]), COLUMNS).unwrap().rows(), 1);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let changed = |pointer: &str, value: JsonValue| {
        let mut info = info("file:/a");
        *info.pointer_mut(pointer).unwrap() = value;
        TableWrite::new(Some(&info), TASK).map(drop).unwrap_err()
    };
    let handle = "/writerTarget/handle/connectorHandle";
    for (member, value, message) in [
        ("inputColumns/0/columnType", json!("PARTITION_KEY"), "a partitioned table"),
        ("bucketProperty", json!({}), "bucketProperty"),
        ("actualStorageFormat", json!("TEXTFILE"), "TEXTFILE"),
        ("locationHandle/writePath", json!("s3://a/b"), "local folder"),
    ] {
        let error = changed(&format!("{handle}/{member}"), value);
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
    let error = changed("/writerTarget/@type", json!("DeleteHandle"));
    assert_eq!(error.message(), "writing to a target DeleteHandle");
    let error = changed("/writerTarget/handle", json!(1));
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    assert_eq!(TableWrite::new(None, TASK).map(drop).unwrap_err().kind(), ErrorKind::InvalidValue);
}
