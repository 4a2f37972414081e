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

fn written_table(info: Option<&JsonValue>) -> Result<TableWrite> {
    TableWrite::new(info, TASK, &BTreeMap::new())
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
    let write = written_table(Some(&info(&format!("file:{}", path.display())))).unwrap();
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
    let write = written_table(Some(&info)).unwrap();
    let mut sink = writer(&write).open().unwrap();
    sink.write(&numbers(&[1])).unwrap();
    sink.finish().unwrap();
    let report = write.written.report(&counts(&[1]), COLUMNS).unwrap();
    let fragment = json_of(&report.column(2).to_values().unwrap()[1]);
    assert_eq!(fragment["updateMode"], "APPEND");
}

/// As [`info`], of a table with the key `k`.
fn partitioned(folder: &str, target: &str, table_type: &str) -> JsonValue {
    let mut info = info(folder);
    let handle = info.pointer_mut("/writerTarget/handle/connectorHandle").unwrap();
    handle["inputColumns"] = json!([
        {"name": "a", "columnType": "REGULAR"}, {"name": "k", "columnType": "PARTITION_KEY"}]);
    handle["locationHandle"]["targetPath"] = json!(target);
    handle["locationHandle"]["tableType"] = json!(table_type);
    info
}

fn keyed(rows: &[(i64, Option<&str>)]) -> Batch {
    let numbers: Vec<Value> = rows.iter().map(|it| Value::BigInt(it.0)).collect();
    let keys = rows.iter().map(|it| it.1.map_or(Value::Null, Value::text));
    let keys = Vector::from_values(Type::Varchar, &keys.collect::<Vec<_>>());
    Batch::new(vec![Vector::from_values(Type::BigInt, &numbers), keys], rows.len())
}

#[test]
fn each_partition_has_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (new, table) = (folder.path().join("new"), folder.path().join("table"));
    std::fs::create_dir_all(table.join("k=x")).unwrap();
    for (table_type, modes) in
        [("NEW", ["NEW", "NEW", "NEW"]), ("EXISTING", ["NEW", "NEW", "APPEND"])]
    {
        let (new, table) = (new.display().to_string(), table.display().to_string());
        let info = partitioned(&new, &table, table_type);
        let write = written_table(Some(&info)).unwrap();
        let schema = [Field::new("a", Type::BigInt), Field::new("k", Type::Varchar)];
        let schema: Schema = schema.into_iter().collect();
        let writer = write.sinks.writer(&WriteTarget::default(), &schema).unwrap();
        let mut sink = writer.open().unwrap();
        sink.write(&keyed(&[(1, Some("x")), (2, None), (3, Some("x")), (4, Some("a/b"))])).unwrap();
        sink.write(&keyed(&[(5, Some("x"))])).unwrap();
        sink.write(&keyed(&[(6, Some(""))])).unwrap();
        sink.finish().unwrap();
        let report = write.written.report(&counts(&[6]), COLUMNS).unwrap();
        let fragments = report.column(2).to_values().unwrap();
        let found: Vec<JsonValue> = fragments.iter().skip(1).map(json_of).collect();
        let shown = |it: &JsonValue| {
            (it["name"].as_str().unwrap().to_owned(), it["rowCount"].as_i64().unwrap())
        };
        let names: Vec<(String, i64)> = found.iter().map(shown).collect();
        let names: Vec<(&str, i64)> = names.iter().map(|it| (it.0.as_str(), it.1)).collect();
        assert_eq!(names, [("k=__HIVE_DEFAULT_PARTITION__", 2), ("k=a%2Fb", 1), ("k=x", 3)]);
        for (fragment, mode) in found.iter().zip(modes) {
            let name = fragment["name"].as_str().unwrap();
            assert_eq!(fragment["updateMode"], mode, "{name}");
            assert_eq!(fragment["targetPath"], format!("{table}/{name}"));
            let file = fragment["fileWriteInfos"][0]["writeFileName"].as_str().unwrap();
            assert!(std::fs::exists(format!("{new}/{name}/{file}")).unwrap());
        }
    }
}

/// The mode of rows of a partition that the table has, written below `new`.
fn mode_of_existing(new: &str, table: &str, behavior: Option<&str>) -> Result<String> {
    let info = partitioned(new, table, "EXISTING");
    let set = behavior.map(|it| ("insert_existing_partitions_behavior".to_owned(), it.to_owned()));
    let properties = [("hive".to_owned(), set.into_iter().collect())].into();
    let write = TableWrite::new(Some(&info), TASK, &properties)?;
    let schema = [Field::new("a", Type::BigInt), Field::new("k", Type::Varchar)];
    let schema: Schema = schema.into_iter().collect();
    let mut sink = write.sinks.writer(&WriteTarget::default(), &schema)?.open()?;
    sink.write(&keyed(&[(1, Some("x"))]))?;
    sink.finish()?;
    let report = write.written.report(&counts(&[1]), COLUMNS)?;
    let fragment = json_of(&report.column(2).to_values()?[1]);
    Ok(fragment["updateMode"].as_str().unwrap().to_owned())
}

#[test]
fn rows_of_existing_partitions_are_added_or_replace_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let [new, table] = ["new", "table"].map(|it| folder.path().join(it).display().to_string());
    std::fs::create_dir_all(format!("{table}/k=x")).unwrap();
    for (behavior, mode) in [
        (None, "APPEND"),
        (Some("APPEND"), "APPEND"),
        (Some("OVERWRITE"), "OVERWRITE"),
        (Some("ERROR"), "NEW"),
    ] {
        assert_eq!(mode_of_existing(&new, &table, behavior).unwrap(), mode);
    }
    assert!(mode_of_existing(&new, &table, Some("other")).is_err());
    // Written into the table itself, the folder tells nothing.
    assert_eq!(mode_of_existing(&table, &table, None).unwrap(), "NEW");
    std::fs::write(format!("{table}/k=x/.prestoSchema"), "{}").unwrap();
    assert_eq!(mode_of_existing(&table, &table, None).unwrap(), "APPEND");
}

#[test]
fn partitions_have_limits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().display().to_string();
    let write = written_table(Some(&partitioned(&folder, &folder, "NEW"))).unwrap();
    let open = |key: Type| {
        let schema = [Field::new("a", Type::BigInt), Field::new("k", key)];
        let schema: Schema = schema.into_iter().collect();
        write.sinks.writer(&WriteTarget::default(), &schema).unwrap().open()
    };
    let error = open(Type::Double).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let keys: Vec<String> = (0..101).map(|it| it.to_string()).collect();
    let rows: Vec<(i64, Option<&str>)> = keys.iter().map(|it| (1, Some(it.as_str()))).collect();
    let mut sink = open(Type::Varchar).unwrap();
    sink.write(&keyed(&rows[..100])).unwrap();
    let error = sink.write(&keyed(&rows)).unwrap_err();
    assert!(error.message().contains("limit of 100 open writers"), "{error}");
}

#[test]
fn a_sink_that_is_dropped_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = written_table(Some(&info(&folder.path().display().to_string()))).unwrap();
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
        written_table(Some(&info)).map(drop).unwrap_err()
    };
    let handle = "/writerTarget/handle/connectorHandle";
    for (member, value, message) in [
        ("inputColumns/0/columnType", json!("SYNTHESIZED"), "SYNTHESIZED"),
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
    assert_eq!(written_table(None).map(drop).unwrap_err().kind(), ErrorKind::InvalidValue);
}
