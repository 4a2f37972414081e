//! Parts of plan fragments: columns, function handles, orders, domains.
//!
//! Nodes and expressions are read field by field where they are translated.

use crate::json::Json;
use serde::Deserialize;
use volley_error::Result;

/// The last component of the name of a class in `@type`: `JoinNode` for `.JoinNode` and
/// `com.facebook.presto.spi.plan.JoinNode`. The package differs between versions.
///
/// # Errors
///
/// Invalid value: JSON of another form.
pub(crate) fn class_of(json: Json<'_>, what: &str) -> Result<String> {
    let class: String = json.object(what)?.read("@type")?;
    Ok(class.rsplit('.').next().unwrap_or(&class).to_owned())
}

/// The name of a variable in a key `name<type>`.
pub(crate) fn variable_name(key: &str) -> &str {
    key.split_once('<').map_or(key, |it| it.0)
}

/// A column of a plan node.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Variable {
    pub name: String,
    #[serde(rename = "type")]
    pub signature: String,
}

/// Of aggregations, top N, limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Step {
    Single,
    Partial,
    Intermediate,
    Final,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupingSets {
    pub grouping_keys: Vec<Variable>,
    #[serde(default)]
    pub global_grouping_sets: Vec<i64>,
}

/// Which function; handles of other kinds have no signature.
#[derive(Deserialize)]
pub(crate) struct FunctionHandle {
    pub signature: Option<Signature>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Signature {
    pub name: String,
    pub argument_types: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct EquiJoinClause {
    pub left: Variable,
    pub right: Variable,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OrderingScheme {
    pub order_by: Vec<Ordering>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ordering {
    pub variable: Variable,
    pub sort_order: SortOrder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum SortOrder {
    AscNullsFirst,
    AscNullsLast,
    DescNullsFirst,
    DescNullsLast,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Specification {
    pub partition_by: Vec<Variable>,
    pub ordering_scheme: Option<OrderingScheme>,
}

/// The frame of a window function.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FrameJson {
    #[serde(rename = "type")]
    pub units: String,
    pub start_type: String,
    pub start_value: Option<Variable>,
    pub end_type: String,
    pub end_value: Option<Variable>,
}

/// How rows are distributed: `$remote`, with SINGLE, HASH, BROADCAST, ROUND_ROBIN ...
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartitioningHandle {
    pub connector_handle: ConnectorPartitioning,
}

#[derive(Deserialize)]
pub(crate) struct ConnectorPartitioning {
    pub function: Option<String>,
}

/// One end of a range of values.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Marker {
    pub value_block: Option<String>,
    pub bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Bound {
    Below,
    Exactly,
    Above,
}
