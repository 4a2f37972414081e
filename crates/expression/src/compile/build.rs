//! Makes one node from its arguments.

use super::{Compiler, lambda};
use crate::{
    Expr, ExprKind, SpecialForm,
    in_set::InSet,
    node::{Call, Callee, Conjunction, Kind, NodeId},
};
use std::{fmt::Write, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{Argument, BoundScalar, EvalContext, Package, ScalarFunction, ScalarTraits};
use volley_types::{Type, Value};
use volley_vector::{BooleanBuffer, Rows, Vector, comparator};

impl Compiler<'_> {
    /// The node of `expr`, whose parts have the nodes `args`.
    pub(super) fn build(&mut self, expr: &Expr, args: Vec<NodeId>) -> Result<NodeId> {
        let key = key_of(expr, &args);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let data_type = &expr.data_type;
        match &expr.kind {
            ExprKind::Column(index) => {
                let node = self.describe(Kind::Column(*index), data_type.clone());
                self.add(Some(key), node)
            }
            ExprKind::Constant(value) => {
                let base = Vector::from_values(data_type.clone(), std::slice::from_ref(value));
                self.finish(key, Kind::Constant(base), data_type)
            }
            ExprKind::Parameter(_) => Err(Error::internal("parameter outside of its lambda")),
            ExprKind::Lambda { .. } => Err(Error::internal("lambda that is not an argument")),
            ExprKind::Call { name, args: written } if lambda::has_lambda(written) => {
                self.higher_order(key, name, written, args, data_type)
            }
            ExprKind::Call { name, .. } => {
                let types = self.types(&args);
                let bound = self.registry.resolve_scalar(name, &types)?;
                let args = self.cast_arguments(&args, &bound.args)?;
                self.call(key, &bound, args, data_type, false)
            }
            ExprKind::Cast { null_on_error, package, .. } => {
                self.cast(key, args, data_type, *package, *null_on_error)
            }
            ExprKind::Special { form, .. } => self.special(key, *form, args, data_type),
        }
    }

    fn types(&self, args: &[NodeId]) -> Vec<Type> {
        args.iter().map(|it| self.nodes[*it].data_type.clone()).collect()
    }

    /// Adds the casts that the binding asks for, when the tree does not have them.
    pub(super) fn cast_arguments<'t>(
        &mut self,
        args: &[NodeId],
        wanted: impl IntoIterator<Item = &'t Type>,
    ) -> Result<Vec<NodeId>> {
        let mut cast = Vec::with_capacity(args.len());
        for (&arg, wanted) in args.iter().zip(wanted) {
            let given = &self.nodes[arg].data_type;
            cast.push(if given == wanted {
                arg
            } else {
                let key = format!("cast {arg} {wanted} false");
                self.cast(key, vec![arg], wanted, Package::Core, false)?
            });
        }
        Ok(cast)
    }

    fn cast(
        &mut self,
        key: String,
        args: Vec<NodeId>,
        to: &Type,
        package: Package,
        null_on_error: bool,
    ) -> Result<NodeId> {
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let input = &self.nodes[args[0]];
        if input.data_type == *to {
            return Ok(args[0]);
        }
        let is_null = input.constant_value().is_some_and(|it| it.is_null());
        if is_null || input.data_type == Type::Unknown && input.infallible {
            let null = Vector::from_values(to.clone(), &[Value::Null]);
            return self.finish(key, Kind::Constant(null), to);
        }
        let bound = self.registry.resolve_cast_of(package, &input.data_type, to)?;
        self.call(key, &bound, args, to, null_on_error)
    }

    fn call(
        &mut self,
        key: String,
        bound: &BoundScalar,
        args: Vec<NodeId>,
        data_type: &Type,
        null_on_error: bool,
    ) -> Result<NodeId> {
        let known: Vec<Argument> = args
            .iter()
            .map(|it| Argument {
                data_type: self.nodes[*it].data_type.clone(),
                constant: self.nodes[*it].constant_value(),
            })
            .collect();
        let function = match bound.function.specialize(&known) {
            Ok(Some(special)) => special,
            Ok(None) => Arc::clone(&bound.function),
            Err(error) => Arc::new(FailingFunction(error)),
        };
        let (values, traits) = (args.len(), bound.traits);
        let call = Call { function: Callee::Scalar(function), args, values, traits, null_on_error };
        self.finish(key, Kind::Call(call), data_type)
    }

    fn special(
        &mut self,
        key: String,
        form: SpecialForm,
        args: Vec<NodeId>,
        data_type: &Type,
    ) -> Result<NodeId> {
        if args.is_empty() || form == SpecialForm::Switch && args.len().is_multiple_of(2) {
            let message = format!("wrong number of arguments of {}: {}", form.name(), args.len());
            return Err(Error::internal(message));
        }
        let kind = match form {
            SpecialForm::And => Kind::Conjunction(Conjunction { decides: false, args }),
            SpecialForm::Or => Kind::Conjunction(Conjunction { decides: true, args }),
            SpecialForm::Switch => Kind::Switch(args),
            SpecialForm::Coalesce => Kind::Coalesce(args),
            SpecialForm::In => return self.in_list(key, args),
            SpecialForm::Try => Kind::Try(args[0]),
            SpecialForm::IsNull => Kind::IsNull(args[0]),
        };
        self.finish(key, kind, data_type)
    }

    /// Constant values become one set; others are compared one by one, as OR does.
    fn in_list(&mut self, key: String, args: Vec<NodeId>) -> Result<NodeId> {
        let Some((&input, list)) = args.split_first() else {
            return Err(Error::internal("IN without arguments"));
        };
        let data_type = self.nodes[input].data_type.clone();
        let (mut constants, mut terms) = (Vec::new(), Vec::new());
        for &item in list {
            match &self.nodes[item].kind {
                Kind::Constant(vector) if self.nodes[item].data_type == data_type => {
                    constants.push(vector.clone());
                }
                _ => terms.push(self.equal(input, item)?),
            }
        }
        if !constants.is_empty() || terms.is_empty() {
            let set = InSet::new(&Vector::concat(&data_type, &constants)?)?;
            let key = if terms.is_empty() { key.clone() } else { format!("{key} constants") };
            terms.push(self.finish(key, Kind::In { input, set }, &Type::Boolean)?);
        }
        match terms.as_slice() {
            [one] => Ok(*one),
            _ => {
                let kind = Kind::Conjunction(Conjunction { decides: true, args: terms });
                self.finish(key, kind, &Type::Boolean)
            }
        }
    }

    fn equal(&mut self, left: NodeId, right: NodeId) -> Result<NodeId> {
        let key = format!("equal {left} {right}");
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let call = Call {
            function: Callee::Scalar(Arc::new(EqualValues)),
            args: vec![left, right],
            values: 2,
            traits: ScalarTraits::INFALLIBLE,
            null_on_error: false,
        };
        self.finish(key, Kind::Call(call), &Type::Boolean)
    }

    /// Adds a node, simplified and folded.
    pub(super) fn finish(&mut self, key: String, kind: Kind, data_type: &Type) -> Result<NodeId> {
        let kind = match self.simplify(kind) {
            Ok(kind) => kind,
            // The node is one of its arguments.
            Err(same) => {
                self.known.insert(key, same);
                return Ok(same);
            }
        };
        let node = self.describe(kind, data_type.clone());
        let node = self.fold(node)?;
        self.add(Some(key), node)
    }
}

/// Distinguishes different nodes.
fn key_of(expr: &Expr, args: &[NodeId]) -> String {
    let mut key = match &expr.kind {
        ExprKind::Column(index) => format!("column {index}"),
        ExprKind::Constant(value) => format!("constant {value:?}"),
        ExprKind::Parameter(parameter) => format!("parameter {parameter}"),
        ExprKind::Lambda { .. } => format!("{expr:?}"),
        ExprKind::Call { name, args } => {
            let mut key = format!("call {}", name.to_ascii_lowercase());
            for lambda in args.iter().filter(|it| lambda::is_lambda(it)) {
                let _ = write!(key, " {lambda:?}");
            }
            key
        }
        ExprKind::Cast { null_on_error, package, .. } => {
            let prefix = package.prefix();
            return format!("{prefix}cast {} {} {null_on_error}", args[0], expr.data_type);
        }
        ExprKind::Special { form, .. } => format!("special {}", form.name()),
    };
    let _ = write!(key, " {} {args:?}", expr.data_type);
    key
}

/// A function that a constant argument makes fail whenever it is called.
struct FailingFunction(Error);

impl ScalarFunction for FailingFunction {
    fn evaluate(
        &self,
        rows: &Rows,
        _args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        rows.for_each(|row| ctx.fail(row, || self.0.clone()));
        Ok(Vector::nulls(result_type.clone(), rows.len()))
    }
}

/// Equality of any type, for IN lists that are not constant.
struct EqualValues;

impl ScalarFunction for EqualValues {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        _result_type: &Type,
        _ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let [left, right] = args else {
            return Err(Error::internal("equality of other than two values"));
        };
        let order = comparator(left, right)?;
        let mut words = vec![0u64; rows.words().len()];
        rows.for_each(|row| {
            words[row / 64] |= u64::from(order.compare_valid(row, row).is_eq()) << (row % 64);
        });
        let bits: BooleanBuffer = crate::merge::bits_of(words, rows.len());
        Ok(Vector::boolean(bits, None))
    }
}
