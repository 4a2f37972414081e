//! Windows, row numbers, and marks of distinct rows.

use super::{
    Translator,
    aggregate::bring_together,
    function_call::function_name,
    relation::{Computed, Relation, unnamed},
};
use crate::{
    json::Object,
    plan_json::{
        FrameJson, FunctionHandle, OrderingScheme, Specification, Variable, variable_name,
    },
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_expression::{Expr, SourceSpan};
use volley_function::Exclusion;
use volley_plan::{
    Frame, FrameBound, FrameOffset, FrameUnits, PlanNode, PlanNodeId, SortKey, WindowCall,
    WindowLimit, WindowNode,
};
use volley_types::{Field, Type, Value};

/// A window node as it is translated.
struct Window {
    partition_by: Vec<usize>,
    order_by: Vec<SortKey>,
    calls: Vec<WindowCall>,
    /// The variable of each call, the type of its result, and the type that Presto gives it.
    results: Vec<(String, Type, Type)>,
    limit: Option<WindowLimit>,
}

impl Translator<'_> {
    pub(super) fn window(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        let mut window = Window::of(&source, &node.read("specification")?)?;
        let mut computed = Computed::new(source);
        for (key, json) in node.members("windowFunctions")? {
            let function = json.object("a window function")?;
            let call = function.json("functionCall").object("a call")?;
            let shown: String = call.read("displayName")?;
            let (call, result) = self
                .window_call(&mut computed, &window, &function, &call)
                .map_err(|it| it.at("window function", shown))?;
            let declared = key.split_once('<').and_then(|it| it.1.strip_suffix('>'));
            let declared = declared.map(|it| self.parse_type(it)).transpose()?;
            let declared = declared.unwrap_or_else(|| result.clone());
            window.results.push((variable_name(&key).to_owned(), result, declared));
            window.calls.push(call);
        }
        Ok(window.finish(computed.finish()))
    }

    fn window_call(
        &self,
        computed: &mut Computed,
        window: &Window,
        function: &Object<'_>,
        call: &Object<'_>,
    ) -> Result<(WindowCall, Type)> {
        let handle: FunctionHandle = call.read("functionHandle")?;
        let name = function_name(&handle, &call.read::<String>("displayName")?)?;
        let mut exprs = Vec::new();
        for argument in call.elements("arguments")? {
            exprs.push(self.scope(computed.relation())?.expr(argument)?);
        }
        if matches!(name.as_str(), "lag" | "lead")
            && let Some(offset) = exprs.get_mut(1)
        {
            let scope = self.scope(computed.relation())?;
            *offset = scope.not_negative(offset.clone(), "Offset must be at least 0")?;
        }
        let types: Vec<Type> = exprs.iter().map(|it| it.data_type.clone()).collect();
        let names = self.names();
        let (name, arg_types, result) = match names.is_aggregate(&name) {
            true => {
                let bound = names.resolve_aggregate(&name, &types)?;
                (bound.name, bound.args, bound.result)
            }
            false => {
                let bound = names.resolve_window(&name, &types)?;
                (bound.name, bound.args, bound.result)
            }
        };
        let exprs = exprs.into_iter().zip(&arg_types);
        let args = exprs.map(|(it, to)| computed.position(it.cast(to.clone()))).collect();
        let frame: FrameJson = function.read("frame")?;
        let frame_object = function.json("frame").object("a frame")?;
        let call = WindowCall {
            function: name,
            args,
            arg_types,
            distinct: false,
            filter: None,
            order_by: Vec::new(),
            ignore_nulls: function.read::<Option<bool>>("ignoreNulls")?.unwrap_or(false),
            order_keys: window.order_by.len(),
            frame: window.frame(computed, &frame, &frame_object)?,
            place: SourceSpan::default(),
        };
        Ok((call, result))
    }

    pub(super) fn row_number(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        let partition_by: Vec<Variable> = node.read("partitionBy")?;
        let variable: Variable = node.read("rowNumberVariable")?;
        let specification = Specification { partition_by, ordering_scheme: None };
        let limit: Option<u64> = node.read("maxRowCountPerPartition")?;
        self.numbered(source, &specification, variable.name, limit)
    }

    /// A partial one is part of the final one.
    pub(super) fn top_n_row_number(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        if node.read::<Option<bool>>("partial")? == Some(true) {
            return Ok(source);
        }
        if let Some(function) = node.read::<Option<String>>("rankingFunction")?
            && function != "ROW_NUMBER"
        {
            return Err(Error::unsupported(format!("the first rows by {function}")));
        }
        let variable: Variable = node.read("rowNumberVariable")?;
        let limit: u64 = node.read("maxRowCountPerPartition")?;
        self.numbered(source, &node.read("specification")?, variable.name, Some(limit))
    }

    /// True for the first row with these values, false for the others.
    pub(super) fn mark_distinct(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        let partition_by: Vec<Variable> = node.read("distinctVariables")?;
        let marker: Variable = node.read("markerVariable")?;
        let specification = Specification { partition_by, ordering_scheme: None };
        let numbered = self.numbered(source, &specification, marker.name.clone(), None)?;
        let one = Expr::constant(Value::BigInt(1), Type::BigInt);
        let number = numbered.column(&marker.name)?;
        let bound = self.names().resolve_scalar("eq", &[Type::BigInt, Type::BigInt])?;
        let is_first = Expr::call(bound.name, vec![number, one], bound.result);
        let mut exprs = Vec::new();
        for (name, _) in &numbered.columns {
            let expr = match *name == marker.name {
                true => is_first.clone(),
                false => numbered.column(name)?,
            };
            exprs.push((name.clone(), expr));
        }
        Ok(numbered.project(exprs))
    }

    fn numbered(
        &self,
        source: Relation,
        specification: &Specification,
        variable: String,
        limit: Option<u64>,
    ) -> Result<Relation> {
        let mut window = Window::of(&source, specification)?;
        let bound = self.names().resolve_window("row_number", &[])?;
        window.calls.push(WindowCall {
            function: bound.name,
            args: Vec::new(),
            arg_types: Vec::new(),
            distinct: false,
            filter: None,
            order_by: Vec::new(),
            ignore_nulls: false,
            order_keys: window.order_by.len(),
            frame: Frame::up_to_peers(),
            place: SourceSpan::default(),
        });
        window.results.push((variable, bound.result, Type::BigInt));
        window.limit = limit.map(|rows| WindowLimit { call: 0, rows });
        Ok(window.finish(source))
    }
}

impl Window {
    fn of(source: &Relation, specification: &Specification) -> Result<Window> {
        let order: Option<&OrderingScheme> = specification.ordering_scheme.as_ref();
        Ok(Window {
            partition_by: source.positions(&specification.partition_by)?,
            order_by: order.map(|it| source.sort_keys(it)).transpose()?.unwrap_or_default(),
            calls: Vec::new(),
            results: Vec::new(),
            limit: None,
        })
    }

    fn frame(
        &self,
        computed: &mut Computed,
        frame: &FrameJson,
        object: &Object<'_>,
    ) -> Result<Frame> {
        let units = match frame.units.as_str() {
            "RANGE" => FrameUnits::Range,
            "ROWS" => FrameUnits::Rows,
            "GROUPS" => FrameUnits::Groups,
            other => return Err(Error::unsupported(format!("a frame of {other}"))),
        };
        let mut bound = |kind: &str, value: Option<&Variable>, key: &str| {
            let mut offset = || {
                let value =
                    value.ok_or_else(|| Error::invalid_value("a frame without an offset"))?;
                let column = computed.relation().column(&value.name)?;
                if units != FrameUnits::Range {
                    return Ok(FrameOffset::Column(computed.position(column.cast(Type::BigInt))));
                }
                let relation = computed.relation();
                let column = relation.position(&value.name)?;
                // The order key where it is converted to be compared with the bound.
                let key = match object.read::<Option<Variable>>(key)? {
                    Some(converted) => relation.position(&converted.name)?,
                    None => match self.order_by.as_slice() {
                        [key] => key.column,
                        _ => return Err(Error::invalid_value("a range over several order keys")),
                    },
                };
                Ok(FrameOffset::Value { key, bound: column, is_monotone: false })
            };
            Ok::<_, Error>(match kind {
                "UNBOUNDED_PRECEDING" => FrameBound::UnboundedPreceding,
                "PRECEDING" => FrameBound::Preceding(offset()?),
                "CURRENT_ROW" => FrameBound::CurrentRow,
                "FOLLOWING" => FrameBound::Following(offset()?),
                "UNBOUNDED_FOLLOWING" => FrameBound::UnboundedFollowing,
                other => return Err(Error::unsupported(format!("a frame bound {other}"))),
            })
        };
        let start_key = "sortKeyCoercedForFrameStartComparison";
        let end_key = "sortKeyCoercedForFrameEndComparison";
        Ok(Frame {
            units,
            start: bound(&frame.start_type, frame.start_value.as_ref(), start_key)?,
            end: bound(&frame.end_type, frame.end_value.as_ref(), end_key)?,
            exclusion: Exclusion::NoOthers,
        })
    }

    /// The window above `source`: its named columns, then the results.
    fn finish(self, source: Relation) -> Relation {
        let input = bring_together(Arc::clone(&source.node), &self.partition_by);
        let fields = &source.node.schema().fields;
        let output: Vec<usize> = source.columns.iter().map(|it| it.1).collect();
        let mut schema_fields: Vec<Field> =
            output.iter().filter_map(|it| fields.get(*it).cloned()).collect();
        let mut exprs: Vec<(String, Expr)> = source
            .columns
            .iter()
            .zip(&schema_fields)
            .enumerate()
            .map(|(at, (it, field))| (it.0.clone(), Expr::column(at, field.data_type.clone())))
            .collect();
        for (name, result, declared) in self.results {
            let column = Expr::column(schema_fields.len(), result.clone());
            exprs.push((name, column.cast(declared)));
            schema_fields.push(unnamed(result));
        }
        let names: Vec<String> = exprs.iter().map(|it| it.0.clone()).collect();
        let node = PlanNode::Window(WindowNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            partition_by: self.partition_by,
            order_by: self.order_by,
            calls: self.calls,
            limit: self.limit,
            sorted: false,
            keeps_order: false,
            output,
            schema: schema_fields.into_iter().collect(),
        });
        Relation::new(node, names).project(exprs)
    }
}
