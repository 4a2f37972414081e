//! Calls over windows: OVER, named windows, and the nodes that compute them.
//!
//! A call becomes a column, as an aggregate does. Calls with the same partitions whose orders begin
//! alike are computed by one node, which sorts once.

use super::{Binder, Clause, Level, aggregate::Parsed, inspect, unsupported};
use crate::parse::is_no_argument;
use sqlparser::ast::{
    self, Function, FunctionArgumentClause, FunctionArgumentList, FunctionArguments, Ident,
    NamedWindowDefinition, NamedWindowExpr, NullTreatment, OrderByExpr, WindowFrame, WindowType,
};
use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};
use volley_error::{Error, Result, Span};
use volley_function::Exclusion;
use volley_logical::{AggregateCall, Column, ColumnId, Expr, Plan, SortKey, WindowCall};
use volley_types::{Type, nearest_name};

/// The most arguments that window functions are tried with.
const ARGUMENTS_MAX: usize = 3;

/// The function that also takes the order key of its window.
const FILL: &str = "fill";

/// The window calls of a query, each once, with the columns of them.
#[derive(Default)]
pub(super) struct Windows {
    calls: Vec<BoundCall>,
    /// Where in `calls` those with this fingerprint stand.
    by_fingerprint: HashMap<u64, Vec<usize>>,
    ids: HashSet<ColumnId>,
}

/// A call and its window.
pub(super) struct BoundCall {
    column: Column,
    window: BoundWindow,
    call: WindowCall,
}

/// The partitions of a window, and the order in them.
struct BoundWindow {
    partition_by: Vec<Expr>,
    order_by: Vec<SortKey>,
}

/// A window as written, with what it takes from the named windows that it continues from.
#[derive(Clone, Copy, Default)]
pub(super) struct Written<'a> {
    partition_by: &'a [ast::Expr],
    order_by: &'a [OrderByExpr],
    pub(super) frame: Option<&'a WindowFrame>,
    pub(super) exclusion: Exclusion,
}

/// What a call applies to its window.
struct Called {
    function: String,
    args: Vec<Expr>,
    distinct: bool,
    filter: Option<Expr>,
    order_by: Vec<SortKey>,
    data_type: Type,
}

impl Windows {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The columns of calls.
    pub(super) fn ids(&self) -> &HashSet<ColumnId> {
        &self.ids
    }

    pub(super) fn into_calls(self) -> Vec<BoundCall> {
        self.calls
    }

    /// The column of the call; a new one for a new call.
    fn column_of(&mut self, new: BoundCall) -> Column {
        let alike = self.by_fingerprint.entry(new.fingerprint()).or_default();
        let mut calls = alike.iter().filter_map(|index| self.calls.get(*index));
        if let Some(known) = calls.find(|it| it.is_same(&new)) {
            return known.column.clone();
        }
        let column = new.column.clone();
        alike.push(self.calls.len());
        self.ids.insert(column.id);
        self.calls.push(new);
        column
    }
}

impl BoundCall {
    /// All expressions, to change.
    pub(super) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let order = self.window.order_by.iter_mut().map(|it| &mut it.expr);
        self.window.partition_by.iter_mut().chain(order).chain(self.call.exprs_mut())
    }

    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let order = self.window.order_by.iter().map(|it| &it.expr);
        self.window.partition_by.iter().chain(order).chain(self.call.exprs())
    }

    /// Equal for calls that are the same.
    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.call.function.hash(&mut hasher);
        self.exprs().for_each(|it| inspect::hash(it, &mut hasher));
        hasher.finish()
    }

    fn is_same(&self, other: &BoundCall) -> bool {
        // Frames are the same if they look the same with all expressions left out.
        let shape = |it: &BoundCall| {
            let frame = it.call.frame.try_map(|_| Ok::<(), ()>(()));
            (it.call.distinct, it.call.ignore_nulls, it.call.args.len(), frame)
        };
        let exprs = || self.exprs().zip(other.exprs()).all(|(a, b)| inspect::same(a, b));
        self.call.function == other.call.function
            && shape(self) == shape(other)
            && self.call.filter.is_some() == other.call.filter.is_some()
            && self.window.partition_by.len() == other.window.partition_by.len()
            && same_order(&self.window.order_by, &other.window.order_by)
            && same_order(&self.call.order_by, &other.call.order_by)
            && exprs()
    }
}

impl<'a> Binder<'a> {
    /// A call with OVER: the column that holds its value.
    pub(super) fn window_call(
        &mut self,
        function: &'a Function,
        name: &str,
        span: Option<Span>,
    ) -> Result<Expr> {
        self.check_window_place(span)?;
        let written = match &function.over {
            Some(WindowType::WindowSpec(window)) => self.written_window(window, usize::MAX)?,
            Some(WindowType::NamedWindow(name)) => self.named_window(name, usize::MAX)?,
            None => Written::default(),
        };
        self.level()?.in_window = true;
        // A window is of the rows, not of the elements that a lambda around it is applied to.
        let lambdas = std::mem::take(&mut self.lambdas);
        let bound = self.bound_call(function, name, written, span);
        self.lambdas = lambdas;
        self.level()?.in_window = false;
        let column = self.level()?.windows.column_of(bound?);
        Ok(Expr::column(column.id, column.data_type).at(span))
    }

    fn check_window_place(&mut self, span: Option<Span>) -> Result<()> {
        let level = self.level()?;
        let error = |message: String| Error::invalid_query(message).span(span);
        if level.in_window {
            let error = error("window functions cannot be nested".to_owned());
            return Err(error.hint("compute the inner one in a subquery"));
        }
        if level.in_aggregate {
            let message = "window functions are not allowed in an aggregate call";
            return Err(error(message.to_owned()).hint("compute them in a subquery"));
        }
        let clause = level.clause;
        if !matches!(clause, Clause::Select | Clause::OrderBy | Clause::Qualify) {
            let error = error(format!("window functions are not allowed in {clause}"));
            return Err(match clause {
                Clause::Where | Clause::Having => error.hint("QUALIFY filters by their values"),
                _ => error.hint("compute them in a subquery"),
            });
        }
        Ok(())
    }

    fn bound_call(
        &mut self,
        function: &'a Function,
        name: &str,
        written: Written<'a>,
        span: Option<Span>,
    ) -> Result<BoundCall> {
        let list = match &function.args {
            FunctionArguments::List(list) => Some(list),
            _ => None,
        };
        let treatment = self.null_treatment(function, list, name, span)?;
        let ignore_nulls = treatment == Some(NullTreatment::IgnoreNulls);
        let called = if self.shared.names.is_aggregate(name) {
            let (filter, within_group) = (function.filter.as_deref(), &function.within_group);
            self.called_aggregate(Parsed { name, list, filter, within_group, span })?
        } else {
            if function.filter.is_some() {
                let message = format!("FILTER after {name}, which is not an aggregate function");
                return Err(Error::invalid_query(message).span(span));
            }
            let added = match name {
                FILL => Some(self.only_order_key(name, written.order_by, span)?),
                _ => None,
            };
            self.called_window(name, list, added, span)?
        };
        let mut partition_by: Vec<Expr> = Vec::with_capacity(written.partition_by.len());
        for expr in written.partition_by {
            let expr = self.expr(expr)?;
            self.needs_equality(&expr.data_type, "PARTITION BY", expr.span)?;
            if !partition_by.iter().any(|it| inspect::same(it, &expr)) {
                partition_by.push(expr);
            }
        }
        let order_by = self.call_order(written.order_by)?;
        let frame = self.frame(written, &order_by, span)?;
        let Called { function, args, distinct, filter, order_by: own_order, data_type } = called;
        let call = WindowCall {
            order_keys: order_by.len(),
            function,
            args,
            distinct,
            filter,
            order_by: own_order,
            ignore_nulls,
            frame,
            data_type,
            span,
        };
        let column = self.column(call.function.clone(), call.data_type.clone());
        Ok(BoundCall { column, window: BoundWindow { partition_by, order_by }, call })
    }

    /// IGNORE NULLS or RESPECT NULLS, after the arguments or among them.
    fn null_treatment(
        &self,
        function: &Function,
        list: Option<&FunctionArgumentList>,
        name: &str,
        span: Option<Span>,
    ) -> Result<Option<NullTreatment>> {
        let among = list.iter().flat_map(|it| &it.clauses).find_map(|it| match it {
            FunctionArgumentClause::IgnoreOrRespectNulls(treatment) => Some(*treatment),
            _ => None,
        });
        let treatment = function.null_treatment.or(among);
        if treatment.is_some() && !self.takes_null_treatment(name) {
            let message = format!("IGNORE NULLS or RESPECT NULLS after {name}");
            let hint = "it may follow lag, lead, first_value, last_value and nth_value";
            return Err(Error::invalid_query(message).hint(hint).span(span));
        }
        Ok(treatment)
    }

    /// Whether some overload of a window function takes IGNORE NULLS.
    fn takes_null_treatment(&self, name: &str) -> bool {
        let entry = self.shared.names.window(name);
        let unknown = vec![Type::Unknown; ARGUMENTS_MAX];
        let bound = |count: usize| {
            let mut overloads = entry.iter().flat_map(|it| &it.overloads);
            overloads.find_map(|bind| bind(&unknown[..count]))
        };
        (0..=ARGUMENTS_MAX).filter_map(bound).any(|it| it.takes_null_treatment)
    }

    fn called_aggregate(&mut self, parsed: Parsed<'_, 'a>) -> Result<Called> {
        let call = self.plain_aggregate(parsed)?;
        let AggregateCall { function, args, distinct, filter, order_by, data_type, .. } = call;
        Ok(Called { function, args, distinct, filter, order_by, data_type })
    }

    /// The key that the window of a call of this function is ordered by.
    fn only_order_key(
        &mut self,
        name: &str,
        order_by: &'a [OrderByExpr],
        span: Option<Span>,
    ) -> Result<Expr> {
        let [key] = <[SortKey; 1]>::try_from(self.call_order(order_by)?).map_err(|keys| {
            let message = format!("the window of {name} has {} ORDER BY keys, not 1", keys.len());
            Error::invalid_query(message).span(span)
        })?;
        Ok(key.expr)
    }

    fn called_window(
        &mut self,
        name: &str,
        list: Option<&'a FunctionArgumentList>,
        added: Option<Expr>,
        span: Option<Span>,
    ) -> Result<Called> {
        if !self.shared.names.is_window(name) {
            let message = format!("OVER after {name}, which is not a window or aggregate function");
            return Err(Error::invalid_query(message).span(span));
        }
        let mut order_by = Vec::new();
        for clause in list.iter().flat_map(|it| &it.clauses) {
            match clause {
                FunctionArgumentClause::IgnoreOrRespectNulls(_) => {}
                FunctionArgumentClause::OrderBy(keys) => order_by = self.call_order(keys)?,
                other => return Err(unsupported(format!("{other} in {name}"), span)),
            }
        }
        if list.is_some_and(|it| it.duplicate_treatment.is_some()) {
            let message = format!("DISTINCT in {name}, which is not an aggregate function");
            return Err(Error::invalid_query(message).span(span));
        }
        let mut args = Vec::new();
        let written = list.map_or(&[][..], |it| &it.args);
        for arg in written.iter().filter(|it| !is_no_argument(it)) {
            args.push(self.expr(self.plain_arg(arg, span)?)?);
        }
        if added.is_some() && (args.len() != 1 || !order_by.is_empty()) {
            let message = format!("{name} takes one value, and its order from OVER");
            return Err(Error::invalid_query(message).span(span));
        }
        args.extend(added);
        let types: Vec<Type> = args.iter().map(|it| it.data_type.clone()).collect();
        let bound = self.shared.names.resolve_window(name, &types);
        let bound = bound.map_err(|it| it.span(span))?;
        let args = args.into_iter().zip(&bound.args);
        let args = args.map(|(arg, to)| self.coerce(arg, to)).collect::<Result<Vec<_>>>()?;
        let (function, data_type) = (bound.name, bound.result);
        Ok(Called { function, args, distinct: false, filter: None, order_by, data_type })
    }

    /// A window in parentheses. It may continue from the first `before` named windows.
    fn written_window(&self, window: &'a ast::WindowSpec, before: usize) -> Result<Written<'a>> {
        let own = Written {
            partition_by: &window.partition_by,
            order_by: &window.order_by,
            frame: window.window_frame.as_ref(),
            exclusion: window.window_name.as_ref().map_or(Exclusion::NoOthers, |name| {
                // Also kept for windows without a name, by an empty one.
                self.source.exclusion(name)
            }),
        };
        let Some(name) = window.window_name.as_ref().filter(|it| !it.value.is_empty()) else {
            return Ok(own);
        };
        let base = self.named_window(name, before)?;
        let error = |message: String| Error::invalid_query(message).span(self.span(name.span));
        if base.frame.is_some() {
            let error = error(format!("window {} has a frame and cannot be changed", name.value));
            return Err(error.hint(format!("use it as it is: OVER {}", name.value)));
        }
        let twice = |what: &str| {
            let message = format!("{what} of window {} cannot be replaced", name.value);
            Err(error(message))
        };
        if !base.partition_by.is_empty() && !own.partition_by.is_empty() {
            return twice("PARTITION BY");
        }
        if !base.order_by.is_empty() && !own.order_by.is_empty() {
            return twice("ORDER BY");
        }
        let or =
            |own: &'a [ast::Expr], base: &'a [ast::Expr]| if own.is_empty() { base } else { own };
        Ok(Written {
            partition_by: or(own.partition_by, base.partition_by),
            order_by: if own.order_by.is_empty() { base.order_by } else { own.order_by },
            ..own
        })
    }

    /// The meaning of `name`, among the first `before` windows of the WINDOW clause.
    fn named_window(&self, name: &'a Ident, before: usize) -> Result<Written<'a>> {
        let windows = self.levels.last().map_or(&[][..], |it| it.named_windows);
        let windows = &windows[..before.min(windows.len())];
        let is_named = |it: &NamedWindowDefinition| it.0.value.eq_ignore_ascii_case(&name.value);
        let Some(position) = windows.iter().position(is_named) else {
            let message = format!("no such window: {}", name.value);
            let error = Error::invalid_query(message).span(self.span(name.span));
            let names = windows.iter().map(|it| it.0.value.as_str());
            return Err(match nearest_name(&name.value, names) {
                Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                None => error.hint("WINDOW name AS (...) after HAVING defines one"),
            });
        };
        match &windows[position].1 {
            NamedWindowExpr::NamedWindow(other) => self.named_window(other, position),
            NamedWindowExpr::WindowSpec(window) => self.written_window(window, position),
        }
    }

    /// Checks the names of the WINDOW clause, and lets OVER find them.
    pub(super) fn define_windows(&mut self, windows: &'a [NamedWindowDefinition]) -> Result<()> {
        self.level()?.named_windows = windows;
        for (position, NamedWindowDefinition(name, window)) in windows.iter().enumerate() {
            let mut before = windows[..position].iter();
            if before.any(|it| it.0.value.eq_ignore_ascii_case(&name.value)) {
                let message = format!("window {} is defined twice", name.value);
                return Err(Error::invalid_query(message).span(self.span(name.span)));
            }
            match window {
                NamedWindowExpr::NamedWindow(other) => self.named_window(other, position)?,
                NamedWindowExpr::WindowSpec(window) => self.written_window(window, position)?,
            };
        }
        Ok(())
    }
}

/// The plan with all calls computed: as few nodes as there are ways to sort.
pub(super) fn window_nodes(mut plan: Plan, calls: Vec<BoundCall>) -> Plan {
    let mut nodes: Vec<(BoundWindow, Vec<(Column, WindowCall)>)> = Vec::new();
    let mut calls = calls;
    // Longer orders first, so that shorter ones find one to begin with.
    calls.sort_by_key(|it| std::cmp::Reverse(it.window.order_by.len()));
    for BoundCall { column, window, call } in calls {
        let serves = |it: &&mut (BoundWindow, Vec<_>)| {
            same_partitions(&it.0.partition_by, &window.partition_by)
                && it.0.order_by.len() >= window.order_by.len()
                && same_order(&it.0.order_by[..window.order_by.len()], &window.order_by)
        };
        match nodes.iter_mut().find(serves) {
            Some(node) => node.1.push((column, call)),
            None => nodes.push((window, vec![(column, call)])),
        }
    }
    for (BoundWindow { partition_by, order_by }, calls) in nodes {
        let input = Box::new(plan);
        plan = Plan::Window { input, partition_by, order_by, calls, limit: None };
    }
    plan
}

fn same_partitions(left: &[Expr], right: &[Expr]) -> bool {
    let contains = |all: &[Expr], it: &Expr| all.iter().any(|other| inspect::same(other, it));
    left.len() == right.len() && left.iter().all(|it| contains(right, it))
}

fn same_order(left: &[SortKey], right: &[SortKey]) -> bool {
    let same = |(a, b): (&SortKey, &SortKey)| {
        (a.descending, a.nulls_first) == (b.descending, b.nulls_first)
            && inspect::same(&a.expr, &b.expr)
    };
    left.len() == right.len() && left.iter().zip(right).all(same)
}

impl Level<'_> {
    /// Refuses window calls where no node can compute them.
    pub(super) fn check_no_windows(&self) -> Result<()> {
        match self.windows.calls.first() {
            None => Ok(()),
            Some(first) => {
                let message = "window functions are not allowed in ORDER BY of a set operation";
                let error = Error::invalid_query(message).span(first.call.span);
                Err(error.hint("compute them in a subquery"))
            }
        }
    }
}
