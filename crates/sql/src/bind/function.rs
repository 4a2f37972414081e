//! Function calls.

use super::{
    Binder,
    aggregate::Parsed,
    collate,
    collection::{COLLECTION_FORMS, LIST_AGGREGATES},
    columns::COLUMNS,
    constant_forms::{normal_form, rounded_text},
    expr::{covering, first_span, null},
    inspect,
    json::{GROUP_STRUCTURE, JSON_TRANSFORMS},
    lambda::is_lambda,
    session::GET_VARIABLE,
    unnest::GENERATE_SUBSCRIPTS,
    unsupported,
    within_group::ordered_set_function,
};
use crate::parse::UNPACKED;
use sqlparser::ast::{
    self, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Spanned,
};
use std::collections::HashSet;
use volley_error::{Error, Result, Span};
use volley_function::BoundScalar;
use volley_logical::{Expr, ExprKind, SpecialForm};
use volley_types::{Field, Type, Value};

/// The error of a field of a row without a name.
fn unnamed(span: Option<Span>) -> Error {
    Error::invalid_query("fields of a row are written name := value").span(span)
}

/// The function of JSON that applies any number of patches, one after the other.
const MERGE_PATCH: &str = "json_merge_patch";

/// Functions that are special forms, or constructors of rows.
const SPECIAL_FUNCTIONS: [&str; 13] = [
    "coalesce",
    "ifnull",
    "nvl",
    "nullif",
    "if",
    "iff",
    "try",
    "row",
    "struct_pack",
    "struct_extract",
    "typeof",
    "unnest",
    GENERATE_SUBSCRIPTS,
];

/// Functions that are known by name and not supported.
const UNSUPPORTED_FUNCTIONS: [&str; 2] = ["all", "array"];

/// The functions of arithmetic operators on numbers.
const ARITHMETIC: [&str; 5] = ["plus", "minus", "multiply", "divide", "mod"];

impl<'a> Binder<'a> {
    /// A call as written: scalar, aggregate, window function or special form.
    pub(super) fn function(&mut self, function: &'a Function) -> Result<Expr> {
        let name = crate::parse::dotted(&function.name).to_ascii_lowercase();
        let span = self.span(function.name.span());
        let name = match function.within_group.is_empty() {
            true => name,
            false => ordered_set_function(&name, span)?.to_owned(),
        };
        if let Some(expr) = self.special_call(&name, function, span)? {
            return Ok(expr);
        }
        self.check_known(&name, span)?;
        self.check_sequence(&name, function)?;
        let list = match &function.args {
            FunctionArguments::List(list) => Some(list),
            FunctionArguments::None | FunctionArguments::Subquery(_) => None,
        };
        if name == GROUP_STRUCTURE {
            return self.group_structure(function, list, span);
        }
        let reducing = list.filter(|it| it.args.iter().skip(1).any(is_lambda));
        let reducing = reducing.filter(|_| self.shared.names.is_aggregate(&name));
        if function.over.is_some() {
            let Some(list) = reducing else { return self.window_call(function, &name, span) };
            let values = |it: &mut Self| it.window_call(function, &name, span);
            return self.reducing_aggregate(&name, list, values, span);
        }
        if function.null_treatment.is_some() {
            let message = format!("IGNORE NULLS or RESPECT NULLS after {name} without OVER");
            return Err(Error::invalid_query(message).span(span));
        }
        if self.shared.names.is_window(&name) {
            let error = Error::invalid_query(format!("{name} is a window function")).span(span);
            return Err(error.hint(format!("{name}(...) OVER (ORDER BY ...) calls it")));
        }
        if self.shared.names.is_aggregate(&name) {
            let (filter, within_group) = (function.filter.as_deref(), &function.within_group);
            let parsed = Parsed { name: &name, list, filter, within_group, span };
            return match reducing {
                Some(list) => self.reducing_aggregate(&name, list, |it| it.aggregate(parsed), span),
                None => self.aggregate(parsed),
            };
        }
        if function.filter.is_some() {
            let message = format!("FILTER after {name}, which is not an aggregate function");
            return Err(Error::invalid_query(message).span(span));
        }
        if let Some(list) = list
            && (list.duplicate_treatment.is_some() || !list.clauses.is_empty())
        {
            let message =
                format!("DISTINCT or ORDER BY in {name}, which is not an aggregate function");
            return Err(Error::invalid_query(message).span(span));
        }
        if name == "unnest" {
            return self.unnest_call(list, span);
        }
        if name == GENERATE_SUBSCRIPTS {
            return self.subscripts_call(list, span);
        }
        let call = self.scalar(&name, list, span)?;
        Ok(self.as_occurrence(call, function))
    }

    /// A call of what is no function of the registry: a form of its own, or a macro.
    fn special_call(
        &mut self,
        name: &str,
        function: &'a Function,
        span: Option<Span>,
    ) -> Result<Option<Expr>> {
        if !matches!(function.parameters, FunctionArguments::None) {
            return Err(unsupported("parameters of functions", span));
        }
        if let FunctionArguments::Subquery(query) = &function.args {
            if name == "array" {
                return self.array_subquery(query).map(Some);
            }
            let what = format!("{}(SELECT ...)", name.to_ascii_uppercase());
            return Err(unsupported(what, span));
        }
        if matches!(name, "grouping" | "grouping_id") {
            return self.grouping_call(function, span).map(Some);
        }
        if name == COLUMNS {
            return self.columns_call(function, span).map(Some);
        }
        if name == GET_VARIABLE {
            return self.variable(function, span).map(Some);
        }
        if let Some(value) = self.session_function(name, function, span)? {
            return Ok(Some(value));
        }
        if name == UNPACKED {
            let message = "*COLUMNS may stand among the arguments of a function that is no \
                           aggregate, in lists and behind IN";
            return Err(Error::invalid_query(message).span(span));
        }
        match self.merge_action(name, span) {
            Some(action) => Ok(Some(action)),
            None => self.macro_call(name, function, span),
        }
    }

    /// An unknown function is reported before anything is said about its arguments.
    fn check_known(&self, name: &str, span: Option<Span>) -> Result<()> {
        if SPECIAL_FUNCTIONS.contains(&name) || COLLECTION_FORMS.contains(&name) {
            return Ok(());
        }
        if UNSUPPORTED_FUNCTIONS.contains(&name) {
            return Err(unsupported(format!("the function {name}"), span));
        }
        self.shared.names.check_name(name).map_err(|it| it.span(span))
    }

    /// A sequence that is named by a literal is there.
    fn check_sequence(&self, name: &str, function: &Function) -> Result<()> {
        let FunctionArguments::List(list) = &function.args else { return Ok(()) };
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Value(value)))] =
            list.args.as_slice()
        else {
            return Ok(());
        };
        let ast::Value::SingleQuotedString(sequence) = &value.value else { return Ok(()) };
        let is_sequence = matches!(name, "nextval" | "currval");
        if !is_sequence || self.shared.catalog.sequence_called(sequence).is_some() {
            return Ok(());
        }
        let error = Error::invalid_query(format!("no such sequence: {sequence}"));
        let error = error.span(self.span(value.span));
        Err(error.hint(format!("CREATE SEQUENCE {sequence} makes it")))
    }

    /// Names a sequence so that the statement finds it when it runs.
    fn find_sequence(&self, argument: &mut Expr) {
        if let ExprKind::Constant(Value::Varchar(name)) = &argument.kind
            && let Some(found) = self.shared.catalog.sequence_called(name)
        {
            argument.kind = ExprKind::Constant(Value::text(found));
        }
    }

    fn scalar(
        &mut self,
        name: &str,
        list: Option<&'a FunctionArgumentList>,
        span: Option<Span>,
    ) -> Result<Expr> {
        let written = list.map_or(&[][..], |it| &it.args);
        if name == "struct_pack" {
            return self.struct_pack(written, span);
        }
        if matches!(name, "struct_insert" | "struct_update") {
            return self.row_with(name, written, span);
        }
        if written.iter().any(|it| is_lambda(it) && !self.is_json_arrow(name, it)) {
            return self.higher_order(name, written, span);
        }
        let plain = written.iter().map(|it| self.plain_arg(it, span));
        let mut plain = plain.collect::<Result<Vec<_>>>()?;
        let form = plain.pop_if(|it| normal_form(name, it).is_some());
        let mut args = self.unpacked(plain)?;
        args.extend(form.and_then(|it| normal_form(name, it)));
        if matches!(name, "nextval" | "currval") {
            args.iter_mut().for_each(|it| self.find_sequence(it));
        }
        let whole = args.iter().filter_map(|it| it.span).chain(span).reduce(Span::to);
        match (name, args.len()) {
            ("coalesce" | "ifnull" | "nvl", 1..) => {
                let args = self.unify(args, "coalesce")?;
                let data_type = args.first().map_or(Type::Unknown, |it| it.data_type.clone());
                Ok(Expr::special(SpecialForm::Coalesce, args, data_type).at(whole))
            }
            ("nullif", 2) => self.nullif(written, args, whole),
            ("if" | "iff", 2 | 3) => self.conditional(args, whole),
            ("try", 1) => {
                let data_type = args.first().map_or(Type::Unknown, |it| it.data_type.clone());
                Ok(Expr::special(SpecialForm::Try, args, data_type).at(whole))
            }
            ("greatest" | "least", 1..) => {
                let args = self.unify(args, name)?;
                self.call(name, args, whole)
            }
            // The function of this name is DuckDB's `//`.
            ("divide", 2)
                if args.iter().all(|it| is_whole(&it.data_type)) && !self.shared.is_presto() =>
            {
                self.call("integer_divide", args, whole)
            }
            ("row", 1..) => Ok(row_of(args, Vec::new(), whole)),
            ("list_value" | "list_pack", 1..) => {
                let args = self.unify(args, "list")?;
                self.call("list_value", args, whole)
            }
            (name, 2) if COLLECTION_FORMS.contains(&name) => {
                self.collection_form(name, args, whole)
            }
            (name, 2) if JSON_TRANSFORMS.contains(&name) => self.json_transform(name, args, whole),
            ("struct_extract", 2) => self.struct_extract(args, whole),
            (name, 2..) if LIST_AGGREGATES.contains(&name) => {
                self.list_aggregate(args, whole, span)
            }
            ("typeof", 1) => {
                let settings = &self.shared.settings;
                let name =
                    args.first().map_or_else(String::new, |it| settings.type_name(&it.data_type));
                Ok(Expr::constant(Value::text(name), Type::Varchar).at(whole))
            }
            _ => self.call_named(name, args, whole, span),
        }
    }

    /// The expression of an argument that is neither named nor `*`.
    pub(super) fn plain_arg(
        &self,
        arg: &'a FunctionArg,
        span: Option<Span>,
    ) -> Result<&'a ast::Expr> {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr),
            FunctionArg::Unnamed(_) => Err(unsupported("* as an argument", span)),
            FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => {
                Err(unsupported("named arguments", span))
            }
        }
    }

    /// The scalar function `name` for `args`, with the implicit casts that it needs.
    pub(super) fn call(&self, name: &str, args: Vec<Expr>, span: Option<Span>) -> Result<Expr> {
        let span = span.or_else(|| covering(&args.iter().collect::<Vec<_>>()));
        self.call_named(name, args, span, span)
    }

    /// As [`Binder::call`]; errors point at `name_span`.
    fn call_named(
        &self,
        name: &str,
        args: Vec<Expr>,
        span: Option<Span>,
        name_span: Option<Span>,
    ) -> Result<Expr> {
        if let Some(field) = fractional_field(name, &args) {
            return self.call_named(field, args.into_iter().skip(1).collect(), span, name_span);
        }
        if name == MERGE_PATCH && args.len() > 2 {
            let mut patches = args.into_iter();
            let first = patches.next().ok_or_else(|| Error::internal("no arguments"))?;
            return patches.try_fold(first, |patched, patch| {
                self.call_named(name, vec![patched, patch], span, name_span)
            });
        }
        let args = match self.constant_form(name, args, span)? {
            Ok(form) => return Ok(form),
            Err(args) => args,
        };
        let args = self.collated_arguments(name, args)?;
        let bound = self.resolve(name, &args).map_err(|it| it.span(name_span))?;
        if bound.args.len() != args.len() {
            return Err(Error::internal(format!("function {name} resolved to other arguments")));
        }
        if let Some((text, to)) = rounded_text(&args, &bound.args)
            && !self.shared.is_presto()
        {
            let error = Error::invalid_query(format!("'{text}' is no {to}"));
            return Err(error.hint("a number without quotes, or a cast").span(name_span));
        }
        let result = bound.result_for(args.iter().map(|it| match &it.kind {
            ExprKind::Constant(value) => (&it.data_type, Some(value)),
            _ => (&it.data_type, None),
        }))?;
        let collation = collate::kept(name, &args, &result);
        let args = args.into_iter().zip(&bound.args);
        let args = args.map(|(arg, to)| self.coerce(arg, to)).collect::<Result<Vec<_>>>()?;
        let mut call = Expr::call(bound.name, args, result).at(span);
        // A function without a result, such as `error`, has no value to be reused.
        if !bound.traits.deterministic && call.data_type != Type::Unknown {
            call.occurrence = Some(self.shared.ids.occurrence());
        }
        match collation {
            Some(collation) => self.cast_to(call, collation, false),
            None => Ok(call),
        }
    }

    /// String literals take other types, and values of an ENUM are text, only if there is no
    /// function for what they are. Beside a decimal literals are DOUBLEs, so that no digit gets
    /// lost.
    fn resolve(&self, name: &str, args: &[Expr]) -> Result<BoundScalar> {
        let types: Vec<Type> = args.iter().map(|it| it.data_type.clone()).collect();
        let names = self.shared.names;
        let error = match names.resolve_scalar(name, &types) {
            Ok(bound) => return Ok(bound),
            Err(error) => error,
        };
        let has_decimal = ARITHMETIC.contains(&name)
            && types.iter().any(Type::is_decimal)
            && !self.shared.is_presto();
        let open = |it: &Expr| match inspect::string_literal(it) {
            Some(_) if has_decimal => Type::Double,
            Some(_) => Type::Unknown,
            None if it.data_type.labels().is_some() => Type::Varchar,
            None => it.data_type.clone(),
        };
        let opened: Vec<Type> = args.iter().map(open).collect();
        if opened == types {
            return Err(error);
        }
        names.resolve_scalar(name, &opened).map_err(|_| error)
    }

    fn nullif(
        &mut self,
        written: &'a [FunctionArg],
        args: Vec<Expr>,
        span: Option<Span>,
    ) -> Result<Expr> {
        let mut kept = args.first().cloned().unwrap_or_else(null);
        if inspect::has_subquery(&kept)
            && !inspect::is_volatile(&kept)
            && let Some(first) = written.first()
        {
            kept = self.expr(self.plain_arg(first, span)?)?;
        }
        let equal = self.compare("eq", args, span)?;
        let data_type = kept.data_type.clone();
        let missing = self.coerce(null(), &data_type)?;
        Ok(Expr::special(SpecialForm::Switch, vec![equal, missing, kept], data_type).at(span))
    }

    fn conditional(&self, args: Vec<Expr>, span: Option<Span>) -> Result<Expr> {
        let mut args = args.into_iter();
        let condition = self.condition(args.next().unwrap_or_else(null), "condition of IF")?;
        let mut results: Vec<Expr> = args.collect();
        results.resize_with(2, null);
        let results = self.unify_branches(results, "IF")?;
        let data_type = results.first().map_or(Type::Unknown, |it| it.data_type.clone());
        let args = std::iter::once(condition).chain(results).collect();
        Ok(Expr::special(SpecialForm::Switch, args, data_type).at(span))
    }

    /// `struct_insert(row, name := value, ...)`: a function of two rows.
    fn row_with(
        &mut self,
        name: &str,
        written: &'a [FunctionArg],
        span: Option<Span>,
    ) -> Result<Expr> {
        let Some((row, fields)) = written.split_first().filter(|it| !it.1.is_empty()) else {
            let message = format!("{name} takes a row and name := value");
            return Err(Error::invalid_query(message).span(span));
        };
        let row = self.expr(self.plain_arg(row, span)?)?;
        let fields = self.struct_pack(fields, span)?;
        self.call(name, vec![row, fields], span)
    }

    /// `struct_pack(name := value, *COLUMNS(...))`.
    fn struct_pack(&mut self, written: &'a [FunctionArg], span: Option<Span>) -> Result<Expr> {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for arg in written {
            match arg {
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(expr), .. } => {
                    names.push(name.value.clone());
                    values.push(self.expr(expr)?);
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                    let columns = self.unpacked_columns(expr)?.ok_or_else(|| unnamed(span))?;
                    for chosen in &columns {
                        names.push(chosen.column.name.clone());
                        values.push(self.chosen_expr(chosen, span)?);
                    }
                }
                _ => return Err(unnamed(span)),
            }
        }
        self.check_field_names(&names, span)?;
        Ok(row_of(values, names, span))
    }

    /// `{'name': value, ...}` or `(value, ...)`.
    pub(super) fn row_value(&mut self, fields: Vec<(&'a str, &'a ast::Expr)>) -> Result<Expr> {
        let names: Vec<String> = fields.iter().map(|it| it.0.to_owned()).collect();
        let place = fields.first().and_then(|it| self.span(first_span(it.1)));
        self.check_field_names(&names, place)?;
        let args = fields.into_iter().map(|it| self.expr(it.1)).collect::<Result<Vec<_>>>()?;
        let span = covering(&args.iter().collect::<Vec<_>>());
        Ok(row_of(args, names, span))
    }

    /// Refuses rows with two fields of one name, which no name could tell apart.
    pub(super) fn check_field_names(&self, names: &[String], span: Option<Span>) -> Result<()> {
        let mut seen = HashSet::new();
        let named = names.iter().filter(|it| !it.is_empty() && !self.shared.is_presto());
        match named.map(|it| it.to_lowercase()).find(|it| !seen.insert(it.clone())) {
            Some(name) => {
                let message = format!("two fields of a row are called {name}");
                Err(Error::invalid_query(message).span(span))
            }
            None => Ok(()),
        }
    }

    /// `[value, ...]`.
    pub(super) fn list(&mut self, values: &'a [ast::Expr]) -> Result<Expr> {
        let args = self.unpacked(values)?;
        let args = self.unify(args, "list")?;
        self.call("list_value", args, None)
    }

    /// `MAP {key: value, ...}`.
    pub(super) fn map_value(&mut self, map: &'a ast::Map) -> Result<Expr> {
        let mut keys = Vec::with_capacity(map.entries.len());
        let mut values = Vec::with_capacity(map.entries.len());
        for entry in &map.entries {
            keys.push(self.expr(&entry.key)?);
            values.push(self.expr(&entry.value)?);
        }
        let keys = self.unify(keys, "keys of MAP")?;
        let values = self.unify(values, "values of MAP")?;
        let keys = self.call("list_value", keys, None)?;
        let values = self.call("list_value", values, None)?;
        self.call("map", vec![keys, values], None)
    }
}

/// Whether it is a type of integers, signed or unsigned.
fn is_whole(data_type: &Type) -> bool {
    data_type.is_integer() || data_type.unsigned().is_some()
}

/// `date_part('epoch', x)` and its like are functions of their own: they are no integers.
fn fractional_field(name: &str, args: &[Expr]) -> Option<&'static str> {
    let [field, _] = args else { return None };
    if !matches!(name, "date_part" | "datepart") {
        return None;
    }
    let field = inspect::string_literal(field)?;
    ["epoch", "julian"].into_iter().find(|it| it.eq_ignore_ascii_case(field))
}

/// A row constructor; the names stand in the type.
pub(super) fn row_of(args: Vec<Expr>, names: Vec<String>, span: Option<Span>) -> Expr {
    let mut names = names.into_iter();
    let fields: Vec<Field> = args
        .iter()
        .map(|it| Field::new(names.next().unwrap_or_default(), it.data_type.clone()))
        .collect();
    Expr::call("row", args, Type::row(fields)).at(span)
}
