//! Plan fragments of Presto as plans of the engine.
//!
//! ```text
//! fragment (JSON) ── root node ── relation(): one function per node, inputs first
//!                                   Relation: plan node + names of its columns
//!                                   ExpressionScope: RowExpression -> Expr
//! ```
//!
//! The engine divides work among drivers by itself: local exchanges of Presto only rename columns,
//! and aggregations, windows and sorts bring rows together where they must.

mod relation;
mod expression;
mod function_call;
mod lambda;
mod domain;
mod scan;
mod sharing;
mod simple;
mod exchange;
mod remote_source;
mod aggregate;
mod reduce_agg;
mod group_id;
mod join;
mod window;
mod unnest;
mod table_write;
#[cfg(test)]
mod tests;
use self::table_write::WriteVariables;
use crate::{
    catalog::{Catalogs, ScannedTable},
    config::WorkerConfig,
    json::Json,
    partition::OutputPartitioning,
    plan_json::{Variable, class_of},
    session_time::SessionTime,
    table_write::WriteColumns,
    type_signature::parse_type,
};
use relation::Relation;
use remote_source::States;
pub(crate) use remote_source::{RemoteOrder, TranslatedRemoteSource};
use sharing::{Aggregations, SharingPass};
use std::{collections::BTreeMap, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{FunctionNames, Package, Registry};
use volley_memory::Pool;
use volley_plan::{PageSourceNode, PlanNode, PlanNodeId, TaskInputNode};
use volley_types::Type;

/// How deep plan nodes may nest.
const DEPTH_MAX: usize = 2000;

/// The stack that must be left before a level of nodes or expressions, and that is added then.
const STACK_LEFT_BYTES: usize = 128 << 10;
const STACK_ADDED_BYTES: usize = 2 << 20;

/// A fragment as a plan.
pub(crate) struct TranslatedFragment {
    /// The plan, with ids.
    pub plan: Arc<PlanNode>,
    /// The scans, by the identity of Presto's plan node.
    pub scans: BTreeMap<String, TranslatedScan>,
    /// The pages of other fragments that it reads, by the identity of Presto's plan node.
    pub remote_sources: BTreeMap<String, TranslatedRemoteSource>,
    /// How the output is partitioned.
    pub partitioning: OutputPartitioning,
    /// Where the output has what a table writer returns, if the fragment has one.
    pub writes: Option<WriteColumns>,
    /// Who reads the output.
    pub reader: OutputReader,
}

/// Who reads the pages of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputReader {
    Coordinator,
    Worker,
}

/// Translates fragments as a worker does, without running them.
pub struct FragmentTranslator {
    catalogs: Catalogs,
    registry: Arc<Registry>,
    pool: Pool,
}

impl FragmentTranslator {
    /// Of fragments over the catalogs of `config`.
    ///
    /// # Errors
    ///
    /// Invalid value: a connector that the worker does not have.
    pub fn new(config: &WorkerConfig) -> Result<FragmentTranslator> {
        let mut registry = Registry::new();
        volley_functions::register(&mut registry);
        volley_functions_presto::register(&mut registry);
        Ok(FragmentTranslator {
            catalogs: Catalogs::new(config)?,
            registry: Arc::new(registry),
            pool: Pool::root("fragments", None),
        })
    }

    /// The plan of a fragment, for people.
    ///
    /// # Errors
    ///
    /// Unsupported: a plan node, type or form that the worker does not have, named. Invalid query:
    /// no such function, table or column. Invalid value: malformed JSON.
    pub fn plan_text(&self, json: &str) -> Result<String> {
        let context = FragmentContext {
            catalogs: &self.catalogs,
            registry: &self.registry,
            pool: &self.pool,
            first_unique_id: 0,
            time: &SessionTime::default(),
        };
        Ok(translate(json, &context)?.plan.to_string())
    }
}

/// What a fragment is translated for.
pub(crate) struct FragmentContext<'c> {
    pub catalogs: &'c Catalogs,
    pub registry: &'c Arc<Registry>,
    /// What opening files takes is charged to it.
    pub pool: &'c Pool,
    /// The first of the numbers that AssignUniqueId nodes of this task assign.
    pub first_unique_id: i64,
    /// How constants of the session are read.
    pub time: &'c SessionTime,
}

/// A scan of a fragment.
#[derive(Clone)]
pub(crate) struct TranslatedScan {
    /// The scan in the plan; `None` if an equal scan is in its place.
    pub node: Option<PlanNodeId>,
    /// The name of the table in the plan.
    pub name: String,
    /// What it reads.
    pub table: Arc<ScannedTable>,
}

/// Translates the JSON of a fragment.
///
/// # Errors
///
/// Unsupported: a plan node, type or form that the worker does not have, named. Invalid query: no
/// such function, table or column. Invalid value: malformed JSON.
pub(crate) fn translate(json: &str, context: &FragmentContext<'_>) -> Result<TranslatedFragment> {
    let fragment = Json::new(json).object("a plan fragment")?;
    let scheme = fragment.json("partitioningScheme").object("a partitioning scheme")?;
    let layout: Vec<Variable> = scheme.read("outputLayout")?;
    let root = fragment.json("root");
    let is_output = class_of(root, "a plan node")? == "OutputNode";
    let mut translator = Translator {
        registry: context.registry,
        catalogs: context.catalogs,
        pool: context.pool,
        first_unique_id: context.first_unique_id,
        time: context.time,
        is_whole_query: is_output && !json.contains("RemoteSourceNode"),
        scanned: BTreeMap::new(),
        remote_sources: BTreeMap::new(),
        states: States::default(),
        writes: None,
        depth: 0,
        pass: SharingPass::Find(Aggregations::default()),
    };
    let mut relation = translator.relation(root)?;
    if let SharingPass::Find(aggregations) = &translator.pass {
        let sharing = aggregations.shared();
        if !sharing.is_empty() {
            translator.pass = SharingPass::Share(sharing);
            translator.writes = None;
            relation = translator.relation(root)?;
        }
    }
    let partitioning = translator.output_partitioning(&scheme, &layout)?;
    let writes = translator.write_columns(&layout)?;
    let relation = translator.declared(relation, &layout)?;
    let plan = PlanNode::numbered(translator.transferable(relation, &layout)?.node);
    plan.check(context.registry)?;
    if is_output {
        check_results(&layout)?;
    }
    let reader = if is_output { OutputReader::Coordinator } else { OutputReader::Worker };
    Ok(translator.finish(plan, partitioning, writes, reader))
}

/// Intervals inside of values other than arrays have no form that a coordinator reads.
fn check_results(layout: &[Variable]) -> Result<()> {
    for Variable { signature, .. } in layout {
        let mut innermost = signature.as_str();
        while let Some(element) = simple::element_of(innermost) {
            innermost = element;
        }
        if !innermost.starts_with("interval ") && innermost.contains("interval ") {
            return Err(Error::unsupported(format!("results of the type {signature} of Presto")));
        }
    }
    Ok(())
}

/// The state of a translation.
pub(crate) struct Translator<'t> {
    registry: &'t Arc<Registry>,
    catalogs: &'t Catalogs,
    pool: &'t Pool,
    first_unique_id: i64,
    time: &'t SessionTime,
    /// Whether the fragment is all of a query: no other task reads or writes its pages.
    is_whole_query: bool,
    /// The tables that scans read and their names in the plan, by the identity of Presto's node.
    scanned: BTreeMap<String, (String, Arc<ScannedTable>)>,
    remote_sources: BTreeMap<String, TranslatedRemoteSource>,
    states: States,
    writes: Option<WriteVariables>,
    depth: usize,
    pass: SharingPass,
}

impl Translator<'_> {
    /// Translates a node and what is below it.
    fn relation(&mut self, json: Json<'_>) -> Result<Relation> {
        if self.depth >= DEPTH_MAX {
            return Err(Error::unsupported(format!("a plan of more than {DEPTH_MAX} levels")));
        }
        self.depth += 1;
        let relation = stacker::maybe_grow(STACK_LEFT_BYTES, STACK_ADDED_BYTES, || self.node(json));
        self.depth -= 1;
        relation
    }

    fn node(&mut self, json: Json<'_>) -> Result<Relation> {
        let class = class_of(json, "a plan node")?;
        let node = json.object("a plan node")?;
        let relation = match class.as_str() {
            "OutputNode" => self.output(&node),
            "TableScanNode" => self.table_scan(&node),
            "ValuesNode" => self.values(&node),
            "FilterNode" => self.filter(&node),
            "ProjectNode" => self.project(&node),
            "AggregationNode" => self.aggregation(&node),
            "GroupIdNode" => self.group_id(&node),
            "JoinNode" => self.join(&node),
            "SemiJoinNode" => self.semi_join(&node),
            "SortNode" => self.sort(&node),
            "TopNNode" => self.top_n(&node),
            "LimitNode" => self.limit(&node),
            "OffsetNode" => self.offset(&node),
            "DistinctLimitNode" => self.distinct_limit(&node),
            "ExchangeNode" => self.exchange(&node),
            "RemoteSourceNode" => self.remote_source(&node),
            "UnionNode" => self.union(&node),
            "EnforceSingleRowNode" => self.enforce_single_row(&node),
            "AssignUniqueId" => self.assign_unique_id(&node),
            "MarkDistinctNode" => self.mark_distinct(&node),
            "WindowNode" => self.window(&node),
            "RowNumberNode" => self.row_number(&node),
            "TopNRowNumberNode" => self.top_n_row_number(&node),
            "UnnestNode" => self.unnest(&node),
            "TableWriterNode" => self.table_writer(&node),
            _ => Err(Error::unsupported(format!("the plan node {class} of Presto"))),
        };
        let id: String = node.read("id")?;
        relation.map_err(|it| it.at("plan node", format!("{class} {id}")))
    }

    /// The fragment, with the identities of the nodes of `plan`.
    fn finish(
        self,
        plan: Arc<PlanNode>,
        partitioning: OutputPartitioning,
        writes: Option<WriteColumns>,
        reader: OutputReader,
    ) -> TranslatedFragment {
        let (mut tables, mut inputs) = (BTreeMap::new(), BTreeMap::new());
        for visit in plan.walk() {
            match visit.node {
                PlanNode::TableScan(scan) => {
                    tables.insert(scan.table.table.clone(), scan.node_id);
                }
                PlanNode::TaskInput(TaskInputNode { node_id, schema })
                | PlanNode::PageSource(PageSourceNode { node_id, schema, .. }) => {
                    let first = schema.fields.first();
                    let name = first.map(|it| it.name.clone()).unwrap_or_default();
                    inputs.insert(name, *node_id);
                }
                _ => {}
            }
        }
        let scans = self.scanned.into_iter().map(|(id, (name, table))| {
            let node = tables.get(&name).copied();
            (id, TranslatedScan { node, name, table })
        });
        let scans = scans.collect();
        let mut remote_sources = self.remote_sources;
        for source in remote_sources.values_mut() {
            source.node = inputs.get(&source.name).copied();
        }
        TranslatedFragment { plan, scans, remote_sources, partitioning, writes, reader }
    }

    /// The functions that Presto's names mean.
    fn names(&self) -> FunctionNames<'_> {
        FunctionNames::new(self.registry, &[Package::Presto, Package::Core])
    }

    fn parse_type(&self, signature: &str) -> Result<Type> {
        parse_type(signature, self.registry)
    }
}
