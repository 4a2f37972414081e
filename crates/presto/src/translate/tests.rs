use super::*;
use crate::{
    catalog::Catalogs,
    config::WorkerConfig,
    partition::{PartitionFunction, PartitionKey},
};
use serde_json::{Value as JsonValue, json};
use volley_error::ErrorKind;
use volley_types::{SortKey, Value};
use volley_vector::Vector;
use volley_wire::presto_page::write_block;

fn registry() -> Arc<Registry> {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    volley_functions_presto::register(&mut registry);
    Arc::new(registry)
}

fn catalogs() -> Catalogs {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("config.properties", "discovery.uri=http://a:1\npresto.version=1\n");
    write("node.properties", "node.id=n\nnode.environment=e\n");
    std::fs::create_dir(folder.path().join("catalog")).unwrap();
    write("catalog/tpch.properties", "connector.name=tpch\n");
    write("catalog/files.properties", "connector.name=hive-hadoop2\n");
    Catalogs::new(&WorkerConfig::read(folder.path()).unwrap()).unwrap()
}

fn variable(name: &str, signature: &str) -> JsonValue {
    json!({"@type": "variable", "name": name, "type": signature})
}

fn constant(value: Value, data_type: &Type, signature: &str) -> JsonValue {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let mut block = Vec::new();
    write_block(&Vector::from_values(data_type.clone(), &[value]), &mut block).unwrap();
    json!({"@type": "constant", "valueBlock": STANDARD.encode(block), "type": signature})
}

fn bigint(value: i64) -> JsonValue {
    constant(Value::BigInt(value), &Type::BigInt, "bigint")
}

fn text(value: &str) -> JsonValue {
    constant(Value::text(value), &Type::Varchar, "varchar")
}

fn handle(name: &str, types: &[&str], returns: &str) -> JsonValue {
    json!({"@type": "$static", "signature": {"name": format!("presto.default.{name}"),
        "kind": "SCALAR", "returnType": returns, "argumentTypes": types, "variableArity": false}})
}

fn call(name: &str, types: &[&str], returns: &str, arguments: &[JsonValue]) -> JsonValue {
    json!({"@type": "call", "displayName": name, "functionHandle": handle(name, types, returns),
        "returnType": returns, "arguments": arguments})
}

fn special(form: &str, returns: &str, arguments: &[JsonValue]) -> JsonValue {
    json!({"@type": "special", "form": form, "returnType": returns, "arguments": arguments})
}

/// A scan of three columns of orders.
fn orders() -> JsonValue {
    let column = |name: &str| json!({"@type": "tpch", "columnName": name, "type": "bigint"});
    json!({
        "@type": ".TableScanNode", "id": "7",
        "table": {"connectorId": "tpch",
            "connectorHandle": {"@type": "tpch", "tableName": "orders", "scaleFactor": 0.01}},
        "outputVariables": [variable("k", "bigint"), variable("s", "varchar(1)"),
            variable("p", "double")],
        "assignments": {"p<double>": column("totalprice"), "k<bigint>": column("o_orderkey"),
            "s<varchar(1)>": column("orderstatus")},
    })
}

fn fragment(root: JsonValue, layout: &[JsonValue]) -> String {
    json!({"id": "0", "root": root, "partitioningScheme": {
        "partitioning": {"handle": {"connectorHandle":
            {"@type": "$remote", "partitioning": "SINGLE", "function": "SINGLE"}}, "arguments": []},
        "outputLayout": layout}})
    .to_string()
}

fn translate_json(json: &str) -> Result<TranslatedFragment> {
    translate_in(json, &SessionTime::default())
}

fn translate_in(json: &str, time: &SessionTime) -> Result<TranslatedFragment> {
    let (catalogs, registry) = (catalogs(), registry());
    let pool = Pool::root("test", None);
    let context = FragmentContext {
        catalogs: &catalogs,
        registry: &registry,
        pool: &pool,
        first_unique_id: 1 << 40,
        time,
    };
    translate(json, &context)
}

fn translated(root: JsonValue, layout: &[JsonValue]) -> Result<String> {
    Ok(translate_json(&fragment(root, layout))?.plan.to_string())
}

/// The plan of `expr` over the columns of orders.
fn expr(expr: JsonValue, signature: &str) -> Result<String> {
    let key = format!("x<{signature}>");
    let root = json!({"@type": "com.facebook.presto.spi.plan.ProjectNode", "id": "1",
        "source": orders(), "assignments": {"assignments": {key: expr}}});
    let plan = translated(root, &[variable("x", signature)])?;
    Ok(plan.lines().next().unwrap_or_default().to_owned())
}

fn check_expr(json: JsonValue, signature: &str, expected: &str) {
    assert_eq!(expr(json, signature).unwrap(), expected);
}

fn unsupported(result: Result<String>, name: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains(name), "{error}");
}

#[test]
fn scans_know_their_node_and_columns() {
    let layout = [variable("p", "double"), variable("k", "bigint")];
    let json = fragment(orders(), &layout);
    let translated = translate_json(&json).unwrap();
    assert_eq!(translated.scans.keys().collect::<Vec<_>>(), ["7"]);
    let plan = translated.plan.to_string();
    assert!(plan.starts_with("Project #2 as , #0 as \n  TableScan"), "{plan}");
}

#[test]
fn expressions_are_translated() {
    let (k, p) = (variable("k", "bigint"), variable("p", "double"));
    let compare =
        call("$operator$less_than", &["bigint", "bigint"], "boolean", &[k.clone(), bigint(3)]);
    check_expr(compare.clone(), "boolean", "Project lt(#0, 3) as ");
    let casted = call("$operator$cast", &["bigint"], "double", std::slice::from_ref(&k));
    let sum = call("$operator$add", &["double", "double"], "double", &[casted, p.clone()]);
    let plan = expr(sum, "double").unwrap();
    assert!(plan.contains("plus(cast(#0 as DOUBLE), #2)"), "{plan}");
    let when = special("WHEN", "bigint", &[compare.clone(), bigint(1)]);
    let truth = constant(Value::Boolean(true), &Type::Boolean, "boolean");
    let switch = special("SWITCH", "bigint", &[truth, when, bigint(0)]);
    let searched = expr(switch, "bigint").unwrap();
    let matched = special("WHEN", "bigint", &[bigint(3), bigint(1)]);
    let simple =
        expr(special("SWITCH", "bigint", &[k.clone(), matched, bigint(0)]), "bigint").unwrap();
    assert!(searched.contains("lt(#0, 3)") && simple.contains("eq(#0, 3)"), "{searched} {simple}");
    let is_in = special("IN", "boolean", &[k.clone(), bigint(1), bigint(2)]);
    check_expr(is_in, "boolean", "Project in(#0, 1, 2) as ");
}

#[test]
fn patterns_stay_texts() {
    let s = variable("s", "varchar(1)");
    let pattern = call("$operator$cast", &["varchar"], "LikePattern", &[text("%a")]);
    let like = call("like", &["varchar", "LikePattern"], "boolean", &[s.clone(), pattern]);
    let plan = expr(like, "boolean").unwrap();
    assert!(plan.contains("like(#1, %a)"), "{plan}");
    let escaped =
        call("like_pattern", &["varchar", "varchar"], "LikePattern", &[text("a!%"), text("!")]);
    let like = call("like", &["varchar", "LikePattern"], "boolean", &[s, escaped]);
    let plan = expr(like, "boolean").unwrap();
    assert!(plan.contains("a!%, !"), "{plan}");
}

#[test]
fn lambdas_are_translated() {
    let k = variable("k", "bigint");
    let product = call(
        "$operator$multiply",
        &["bigint", "bigint"],
        "bigint",
        &[variable("y", "bigint"), k.clone()],
    );
    let lambda = json!({"@type": "lambda", "argumentTypes": ["bigint"], "arguments": ["y"],
        "body": product});
    let array = call("array_constructor", &["bigint"], "array(bigint)", &[k]);
    let types = ["array(bigint)", "function(bigint,bigint)"];
    let transform = call("transform", &types, "array(bigint)", &[array, lambda]);
    let plan = expr(transform, "array(bigint)").unwrap();
    assert!(plan.contains("transform") && plan.contains("multiply"), "{plan}");
}

#[test]
fn aggregations_in_two_steps_meet_in_an_exchange() {
    let aggregation = |step: &str, source: JsonValue, argument: JsonValue, result: &str| {
        json!({"@type": ".AggregationNode", "id": "3", "source": source, "step": step,
            "aggregations": {result: {"call": {"@type": "call", "displayName": "avg",
                "functionHandle": handle("avg", &["double"], "double"), "returnType": "double",
                "arguments": [argument]}, "distinct": false}},
            "groupingSets": {"groupingKeys": [variable("s", "varchar(1)")], "groupingSetCount": 1,
                "globalGroupingSets": []}, "preGroupedVariables": []})
    };
    let state = "row(field0 double,field1 bigint)";
    let partial = aggregation("PARTIAL", orders(), variable("p", "double"), &format!("a<{state}>"));
    let columns = [variable("s", "varchar(1)"), variable("a", state)];
    let exchange = json!({"@type": "com.facebook.presto.sql.planner.plan.ExchangeNode", "id": "4",
        "type": "REPARTITION", "scope": "LOCAL", "sources": [partial], "inputs": [columns],
        "partitioningScheme": {"outputLayout": columns}});
    let root = aggregation("FINAL", exchange, variable("a", state), "b<double>");
    let plan = translated(root, &[variable("b", "double")]).unwrap();
    let kinds: Vec<&str> = plan.lines().filter_map(|it| it.split_whitespace().next()).collect();
    let expected = ["Project", "Aggregation", "LocalExchange", "Aggregation", "TableScan"];
    assert_eq!(kinds, expected, "{plan}");
}

#[test]
fn reduce_agg_folds_what_it_collects() {
    let sum = |left: &str, right: &str| {
        let arguments = [variable(left, "bigint"), variable(right, "bigint")];
        let body = call("$operator$add", &["bigint", "bigint"], "bigint", &arguments);
        json!({"@type": "lambda", "argumentTypes": ["bigint", "bigint"],
            "arguments": [left, right], "body": body})
    };
    let aggregation = |step: &str, source: JsonValue, arguments: Vec<JsonValue>, result: &str| {
        let function = "function(bigint,bigint,bigint)";
        json!({"@type": ".AggregationNode", "id": "3", "source": source, "step": step,
            "aggregations": {result: {"call": {"@type": "call", "displayName": "reduce_agg",
                "functionHandle": handle("reduce_agg", &["bigint", "bigint", function, function],
                    "bigint"),
                "returnType": "bigint", "arguments": arguments}, "distinct": false}},
            "groupingSets": {"groupingKeys": [variable("s", "varchar(1)")], "groupingSetCount": 1,
                "globalGroupingSets": []}, "preGroupedVariables": []})
    };
    let arguments = vec![variable("k", "bigint"), bigint(5), sum("s", "x"), sum("a", "b")];
    let columns = [variable("s", "varchar(1)"), variable("r", "bigint")];
    let partial = aggregation("PARTIAL", orders(), arguments.clone(), "r<bigint>");
    let written = translate_json(&fragment(partial, &columns)).unwrap();
    let types: Vec<Type> = written.plan.schema().types().cloned().collect();
    assert_eq!(types, [Type::Varchar, Type::BigInt]);
    let single = aggregation("SINGLE", orders(), arguments, "r<bigint>");
    let plan = translated(single, &columns).unwrap();
    assert!(
        plan.contains("reduce(") && plan.contains("reduce_agg(") && plan.contains('5'),
        "{plan}"
    );
    let remote = json!({"@type": ".RemoteSourceNode", "id": "8", "sourceFragmentIds": ["1"],
        "outputVariables": columns});
    let arguments = vec![variable("r", "bigint"), sum("s", "x"), sum("a", "b")];
    let last = aggregation("FINAL", remote, arguments, "c<bigint>");
    let layout = [variable("c", "bigint")];
    let read = translate_json(&fragment(last, &layout)).unwrap();
    assert_eq!(read.remote_sources["8"].types.as_ref(), types);
    let plan = read.plan.to_string();
    assert!(plan.contains("slice(") && plan.contains("element_at("), "{plan}");
    let without_lambdas = aggregation("SINGLE", orders(), vec![bigint(1)], "r<bigint>");
    assert!(translated(without_lambdas, &columns).is_err());
}

#[test]
fn domains_are_filters_of_the_scan() {
    let block = |it: &str| text(it)["valueBlock"].clone();
    let point = |it: &str| {
        json!({"low": {"valueBlock": block(it), "bound": "EXACTLY"},
        "high": {"valueBlock": block(it), "bound": "EXACTLY"}})
    };
    let domain = |ranges: JsonValue, nulls: bool| {
        json!({"columnDomains": [{
        "column": {"@type": "tpch", "columnName": "o_orderstatus", "type": "varchar(1)"},
        "domain": {"values": {"@type": "sortable", "type": "varchar(1)", "ranges": ranges},
            "nullAllowed": nulls}}]})
    };
    let scan = |predicate: JsonValue| {
        let mut root = orders();
        root["table"]["connectorTableLayout"] = json!({"@type": "tpch", "predicate": predicate});
        translated(root, &[variable("k", "bigint")]).unwrap()
    };
    let points = scan(domain(json!([point("F"), point("O")]), false));
    assert!(points.contains("in(#2, F, O)"), "{points}");
    let open =
        json!([{"low": {"valueBlock": block("F"), "bound": "ABOVE"}, "high": {"bound": "BELOW"}}]);
    let above = scan(domain(open, true));
    assert!(above.contains("gt(#2, F)") && above.to_lowercase().contains("null"), "{above}");
    let all = json!([{"low": {"bound": "ABOVE"}, "high": {"bound": "BELOW"}}]);
    assert!(!scan(domain(all, true)).contains("#2"));
    assert!(scan(json!({"columnDomains": null})).contains("false"));
}

#[test]
fn what_is_missing_is_named() {
    let k = [variable("k", "bigint")];
    unsupported(translated(json!({"@type": ".SpatialJoinNode", "id": "5"}), &k), "SpatialJoinNode");
    unsupported(expr(special("BIND", "bigint", &k), "bigint"), "BIND");
    unsupported(expr(call("f", &["bigint"], "geometry", &k), "geometry"), "geometry");
    let mut own = call("f", &["bigint"], "bigint", &k);
    own["functionHandle"] = json!({"@type": "sql_function", "functionId": "a.b.f"});
    unsupported(expr(own, "bigint"), "f");
    let missing = expr(call("no_such_thing", &["bigint"], "bigint", &k), "bigint").unwrap_err();
    assert!(missing.message().contains("no such function: no_such_thing"), "{missing}");
    let unknown = translated(orders(), &[variable("z", "bigint")]).unwrap_err();
    assert!(unknown.message().contains("no such variable: z"), "{unknown}");
    let mut other = orders();
    other["table"]["connectorId"] = json!("hive");
    assert!(translated(other, &k).unwrap_err().message().contains("no such catalog: hive"));
    let other = fragment(orders(), &k).replace("\"function\":\"SINGLE\"", "\"function\":\"X\"");
    let error = translate_json(&other).map(drop).unwrap_err();
    assert_eq!(error.message(), "output partitioning X");
}

#[test]
fn deep_plans_and_expressions_need_no_deep_stack() {
    let limit = |source: String| {
        format!(r#"{{"@type":".EnforceSingleRowNode","id":"1","source":{source}}}"#)
    };
    let nested = |depth: usize| (0..depth).fold(orders().to_string(), |it, _| limit(it));
    let with_root = |root: &str| {
        let whole = fragment(json!("ROOT"), &[variable("k", "bigint")]);
        translate_json(&whole.replace("\"ROOT\"", root)).map(drop)
    };
    with_root(&nested(500)).unwrap();
    let too_deep = with_root(&nested(3000)).unwrap_err();
    assert_eq!(too_deep.kind(), ErrorKind::Unsupported, "{too_deep}");
    let not = |it: String| {
        let text = call("not", &["boolean"], "boolean", &[json!("ARG")]).to_string();
        text.replace("\"ARG\"", &it)
    };
    let k = special("IS_NULL", "boolean", &[variable("k", "bigint")]).to_string();
    let predicate = (0..800).fold(k, |it, _| not(it));
    let filter = format!(
        r#"{{"@type":".FilterNode","id":"1","source":{},"predicate":{predicate}}}"#,
        orders()
    );
    with_root(&filter).unwrap();
}

#[test]
fn cut_and_changed_fragments_are_errors_or_plans() {
    let k = variable("k", "bigint");
    let compare =
        call("$operator$equal", &["bigint", "bigint"], "boolean", &[k.clone(), bigint(3)]);
    let filter =
        json!({"@type": ".FilterNode", "id": "2", "source": orders(), "predicate": compare});
    let json = fragment(filter, &[k]);
    let (catalogs, registry) = (catalogs(), registry());
    let pool = Pool::root("test", None);
    let context = FragmentContext {
        catalogs: &catalogs,
        registry: &registry,
        pool: &pool,
        first_unique_id: 0,
        time: &SessionTime::default(),
    };
    assert!(translate(&json, &context).is_ok());
    let refused = |json: &str| translate(json, &context).err().map(|it| it.kind());
    for at in (0..json.len()).step_by(3) {
        assert!(refused(&json[..at]).is_some(), "cut at {at}");
        for with in ["}", "\"", "null", "9", ""] {
            let changed = format!("{}{with}{}", &json[..at], &json[at + 1..]);
            assert_ne!(refused(&changed), Some(ErrorKind::Internal), "{changed}");
        }
    }
}

fn sum_of(step: &str, source: JsonValue, argument: JsonValue, result: &str) -> JsonValue {
    json!({"@type": ".AggregationNode", "id": "3", "source": source, "step": step,
        "aggregations": {result: {"call": {"@type": "call", "displayName": "sum",
            "functionHandle": handle("sum", &["bigint"], "bigint"), "returnType": "bigint",
            "arguments": [argument]}, "distinct": false}},
        "groupingSets": {"groupingKeys": [variable("s", "varchar(1)")], "groupingSetCount": 1,
            "globalGroupingSets": []}, "preGroupedVariables": []})
}

#[test]
fn states_have_the_same_types_in_both_fragments() {
    let columns = [variable("s", "varchar(1)"), variable("a", "bigint")];
    let partial = sum_of("PARTIAL", orders(), variable("k", "bigint"), "a<bigint>");
    let written = translate_json(&fragment(partial, &columns)).unwrap();
    let types: Vec<Type> = written.plan.schema().types().cloned().collect();
    // The state is a HUGEINT, which pages do not have.
    assert_eq!(types, [Type::Varchar, Type::decimal(38, 0)]);
    let remote = json!({"@type": ".RemoteSourceNode", "id": "8", "sourceFragmentIds": ["1"],
        "outputVariables": columns});
    let exchange = json!({"@type": ".ExchangeNode", "id": "4", "type": "REPARTITION",
        "scope": "LOCAL", "sources": [remote], "inputs": [columns],
        "partitioningScheme": {"outputLayout": [variable("s", "varchar(1)"),
            variable("b", "bigint")]}});
    let last = sum_of("FINAL", exchange, variable("b", "bigint"), "c<bigint>");
    let read = translate_json(&fragment(last, &[variable("c", "bigint")])).unwrap();
    let source = &read.remote_sources["8"];
    assert_eq!(source.types.as_ref(), types);
    assert!(source.node.is_some());
}

#[test]
fn remote_sources_of_equal_plans_are_not_shared() {
    let remote = |id: &str| {
        json!({"@type": ".RemoteSourceNode", "id": id, "sourceFragmentIds": ["1"],
            "outputVariables": [variable("k", "bigint"), variable("s", "varchar(1)")]})
    };
    let counted = |id: &str, name: &str| {
        let mut sum = sum_of("SINGLE", remote(id), variable("k", "bigint"), name);
        sum["groupingSets"]["groupingKeys"] = json!([]);
        sum
    };
    let join = json!({"@type": ".JoinNode", "id": "9", "type": "INNER", "criteria": [],
        "left": counted("1", "a<bigint>"), "right": counted("2", "b<bigint>"),
        "outputVariables": [variable("a", "bigint"), variable("b", "bigint")]});
    let layout = [variable("a", "bigint"), variable("b", "bigint")];
    let translated = translate_json(&fragment(join, &layout)).unwrap();
    let nodes: Vec<_> = translated.remote_sources.values().map(|it| it.node.unwrap()).collect();
    assert!(nodes.len() == 2 && nodes[0] != nodes[1], "{}", translated.plan);
}

#[test]
fn rows_without_columns_are_read() {
    let remote = json!({"@type": ".RemoteSourceNode", "id": "8", "sourceFragmentIds": ["1"],
        "outputVariables": []});
    let translated = translate_json(&fragment(remote, &[])).unwrap();
    let source = &translated.remote_sources["8"];
    assert!(source.node.is_some() && source.types.is_empty());
}

#[test]
fn partitioning_keys_are_columns_or_constants_of_the_output() {
    let layout = [variable("s", "varchar(1)"), variable("k", "bigint")];
    let with = |arguments: &[JsonValue]| {
        let mut json: JsonValue = serde_json::from_str(&fragment(orders(), &layout)).unwrap();
        let scheme = &mut json["partitioningScheme"];
        scheme["partitioning"]["handle"]["connectorHandle"]["function"] = json!("HASH");
        scheme["partitioning"]["arguments"] = json!(arguments);
        scheme["replicateNullsAndAny"] = json!(true);
        scheme["bucketToPartition"] = json!([0, 1]);
        translate_json(&json.to_string()).map(|it| it.partitioning)
    };
    let keys = [variable("k", "bigint"), bigint(7)];
    let expected = OutputPartitioning {
        function: PartitionFunction::Hash(vec![
            PartitionKey::Column(1),
            PartitionKey::Constant(Value::BigInt(7), Type::BigInt),
        ]),
        bucket_to_partition: Some(vec![0, 1]),
        replicates_nulls_and_any: true,
    };
    assert_eq!(with(&keys).unwrap(), expected);
    let error = with(&[variable("p", "double")]).unwrap_err();
    assert_eq!(error.message(), "rows partitioned by p, which is no output");
}

#[test]
fn sorted_remote_sources_are_merged_without_another_sort() {
    let columns = [variable("k", "bigint"), variable("s", "varchar(1)")];
    let order = json!({"orderBy": [{"variable": columns[1], "sortOrder": "DESC_NULLS_FIRST"},
        {"variable": columns[0], "sortOrder": "ASC_NULLS_LAST"}]});
    let remote = json!({"@type": ".RemoteSourceNode", "id": "8", "sourceFragmentIds": ["1"],
        "outputVariables": columns, "orderingScheme": order});
    let read = translate_json(&fragment(remote, &columns)).unwrap();
    let source = &read.remote_sources["8"];
    assert!(source.node.is_some() && source.order == RemoteOrder::Sorted);
    let PlanNode::PageSource(node) = read.plan.as_ref() else { panic!("{}", read.plan) };
    let key = |column, descending| SortKey { column, descending, nulls_first: descending };
    assert_eq!(node.merge, [key(1, true), key(0, false)]);

    // A task that sends its rows sorts them once.
    let sort = json!({"@type": ".SortNode", "id": "3", "isPartial": true, "source": orders(),
        "orderingScheme": order});
    let exchange = json!({"@type": ".ExchangeNode", "id": "4", "type": "GATHER", "scope": "LOCAL",
        "sources": [sort], "inputs": [columns], "partitioningScheme": {"outputLayout": columns},
        "orderingScheme": order});
    for root in [sort, exchange] {
        let sent = translated(root, &columns).unwrap();
        assert_eq!(sent.matches("OrderBy").count(), 1, "{sent}");
    }
}

#[test]
fn timestamps_of_tables_follow_the_zone_of_the_session() {
    let column = |name: &str, signature: &str, place: i64| {
        json!({"@type": "hive-hadoop2", "name": name, "hiveType": "x", "typeSignature": signature,
            "hiveColumnIndex": place, "columnType": "REGULAR", "requiredSubfields": []})
    };
    let marker = json!({"type": "timestamp", "valueBlock": null, "bound": "BELOW"});
    let range = json!({"low": {"type": "timestamp", "valueBlock": null, "bound": "ABOVE"},
        "high": marker});
    let domain = json!({"columnDomains": [{"column": "t", "domain": {"nullAllowed": false,
        "values": {"@type": "sortable", "type": "timestamp", "ranges": [range]}}}]});
    let scan = json!({
        "@type": ".TableScanNode", "id": "7",
        "table": {"connectorId": "files",
            "connectorHandle": {"@type": "hive-hadoop2", "schemaName": "s", "tableName": "t"},
            "connectorTableLayout": {"domainPredicate": domain}},
        "outputVariables": [variable("t", "timestamp"), variable("k", "bigint")],
        "assignments": {"t<timestamp>": column("t", "timestamp", 0),
            "k<bigint>": column("k", "bigint", 1)},
    });
    let layout = [variable("t", "timestamp"), variable("k", "bigint")];
    let in_zone = |name: &str| {
        let time = SessionTime::in_zone(&volley_types::Zone::find(name).unwrap());
        translate_in(&fragment(scan.clone(), &layout), &time).unwrap().plan.to_string()
    };
    let utc = in_zone("UTC");
    assert!(!utc.contains("timezone") && utc.contains("is_null"), "{utc}");
    let berlin = in_zone("Europe/Berlin");
    assert!(berlin.contains("timezone") && berlin.contains("Europe/Berlin"), "{berlin}");
    assert!(!berlin.contains("is_null"), "{berlin}");
    let zone = volley_types::ZoneId::find("+05:30").unwrap().zone();
    let offset = translate_in(&fragment(scan, &layout), &SessionTime::in_zone(&zone));
    let offset = offset.unwrap().plan.to_string();
    assert!(offset.contains("Project") && !offset.contains("timezone"), "{offset}");
}
