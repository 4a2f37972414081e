//! The expression tree: plain data, typed, with columns by position.

use crate::SourceSpan;
use std::fmt;
use volley_error::Span;
use volley_function::{ArgumentType, Package};
use volley_types::{Type, Value};

/// A typed expression over the columns of an operator's input.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// The type of its values.
    pub data_type: Type,
    /// Its position in the SQL text: what errors of its rows point at.
    pub place: SourceSpan,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// An input column, by position.
    Column(usize),
    /// A literal.
    Constant(Value),
    /// A parameter of a lambda around this.
    Parameter(Parameter),
    /// A scalar function; argument types are exactly those that the registry resolved.
    Call {
        /// The registered name.
        name: String,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// An argument of a call that is computed for each element. Its type is that of its body.
    Lambda {
        /// The number of enclosing lambdas; [`Parameter::level`] of its own parameters.
        level: usize,
        /// The types of its parameters.
        parameters: Vec<Type>,
        /// What it computes, of its parameters, of those of lambdas around it, and of columns.
        body: Box<Expr>,
    },
    /// A conversion to the expression's type. With `null_on_error` (TRY_CAST), a value that cannot
    /// be converted becomes NULL.
    Cast {
        /// What is converted.
        input: Box<Expr>,
        /// TRY_CAST.
        null_on_error: bool,
        /// The package whose rules it follows.
        package: Package,
    },
    /// What evaluates its arguments not always or not for all rows.
    Special {
        /// Which one.
        form: SpecialForm,
        /// Its arguments; see [`SpecialForm`].
        args: Vec<Expr>,
    },
}

/// Which parameter of which lambda.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// The number of lambdas that enclose the lambda that it belongs to.
    pub level: usize,
    /// Its place among that lambda's parameters.
    pub index: usize,
}

/// Forms that control how their arguments are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecialForm {
    /// `a AND b AND ...` in three-valued logic; any number of arguments.
    And,
    /// `a OR b OR ...`.
    Or,
    /// `CASE WHEN c1 THEN r1 WHEN c2 THEN r2 ... ELSE e END`: c1, r1, c2, r2, ..., e (always
    /// present).
    Switch,
    /// The first argument that is not null.
    Coalesce,
    /// `x IN (v1, v2, ...)`: x, v1, v2, ... in three-valued logic.
    In,
    /// The argument, or NULL for rows that fail.
    Try,
    /// Whether the argument is null; never null itself.
    IsNull,
}

impl ExprKind {
    /// Whether both are the same except for their parts.
    fn is_identical(&self, other: &ExprKind) -> bool {
        match (self, other) {
            (ExprKind::Column(left), ExprKind::Column(right)) => left == right,
            (ExprKind::Constant(left), ExprKind::Constant(right)) => left.is_identical(right),
            (ExprKind::Parameter(left), ExprKind::Parameter(right)) => left == right,
            (ExprKind::Call { name: left, .. }, ExprKind::Call { name: right, .. }) => {
                left == right
            }
            (
                ExprKind::Lambda { level, parameters, .. },
                ExprKind::Lambda { level: other_level, parameters: others, .. },
            ) => level == other_level && parameters == others,
            (
                ExprKind::Cast { null_on_error, package, .. },
                ExprKind::Cast { null_on_error: other_null, package: other_package, .. },
            ) => null_on_error == other_null && package == other_package,
            (ExprKind::Special { form: left, .. }, ExprKind::Special { form: right, .. }) => {
                left == right
            }
            _ => false,
        }
    }
}

impl Expr {
    /// An expression without a place in the text.
    pub fn new(kind: ExprKind, data_type: Type) -> Expr {
        Expr { kind, data_type, place: SourceSpan::default() }
    }

    /// The expression with a place in the text.
    pub fn at(self, span: Option<Span>) -> Expr {
        Expr { place: SourceSpan::of(span), ..self }
    }

    /// Input column `index`.
    pub fn column(index: usize, data_type: Type) -> Expr {
        Expr::new(ExprKind::Column(index), data_type)
    }

    /// A literal.
    pub fn constant(value: Value, data_type: Type) -> Expr {
        Expr::new(ExprKind::Constant(value), data_type)
    }

    /// A function call with types as resolved.
    pub fn call(name: impl Into<String>, args: Vec<Expr>, data_type: Type) -> Expr {
        Expr::new(ExprKind::Call { name: name.into(), args }, data_type)
    }

    /// A special form.
    pub fn special(form: SpecialForm, args: Vec<Expr>, data_type: Type) -> Expr {
        Expr::new(ExprKind::Special { form, args }, data_type)
    }

    /// CAST to `data_type`; the expression itself when it has that type.
    pub fn cast(self, data_type: Type) -> Expr {
        if self.data_type == data_type {
            return self;
        }
        let place = self.place;
        let kind =
            ExprKind::Cast { input: Box::new(self), null_on_error: false, package: Package::Core };
        Expr { kind, data_type, place }
    }

    /// The conjunction of `conjuncts`; TRUE when there is none.
    pub fn and(mut conjuncts: Vec<Expr>) -> Expr {
        match conjuncts.len() {
            0 => Expr::constant(Value::Boolean(true), Type::Boolean),
            1 => conjuncts.remove(0),
            _ => Expr::special(SpecialForm::And, conjuncts, Type::Boolean),
        }
    }

    /// The direct parts of the expression.
    pub fn children(&self) -> &[Expr] {
        match &self.kind {
            ExprKind::Column(_) | ExprKind::Constant(_) | ExprKind::Parameter(_) => &[],
            ExprKind::Call { args, .. } | ExprKind::Special { args, .. } => args,
            ExprKind::Cast { input, .. } => std::slice::from_ref(input),
            ExprKind::Lambda { body, .. } => std::slice::from_ref(body),
        }
    }

    /// The direct parts of the expression, to change.
    pub fn children_mut(&mut self) -> &mut [Expr] {
        match &mut self.kind {
            ExprKind::Column(_) | ExprKind::Constant(_) | ExprKind::Parameter(_) => &mut [],
            ExprKind::Call { args, .. } | ExprKind::Special { args, .. } => args,
            ExprKind::Cast { input, .. } => std::slice::from_mut(input),
            ExprKind::Lambda { body, .. } => std::slice::from_mut(body),
        }
    }

    /// Whether one may replace the other: they are equal, and their floats bit for bit.
    pub fn is_identical(&self, other: &Expr) -> bool {
        let mut rest = vec![(self, other)];
        while let Some((left, right)) = rest.pop() {
            let (parts, others) = (left.children(), right.children());
            let is_same = left.data_type == right.data_type
                && parts.len() == others.len()
                && left.kind.is_identical(&right.kind);
            if !is_same {
                return false;
            }
            rest.extend(parts.iter().zip(others));
        }
        true
    }

    /// What this is as an argument of a call.
    pub fn argument_type(&self) -> ArgumentType {
        match &self.kind {
            ExprKind::Lambda { parameters, .. } => {
                ArgumentType::of_lambda(parameters.clone(), Some(self.data_type.clone()))
            }
            _ => ArgumentType::Value(self.data_type.clone()),
        }
    }

    /// Calls `f` for the position of every column used, with repetitions.
    pub fn for_each_column(&self, f: &mut impl FnMut(usize)) {
        let mut rest = vec![self];
        while let Some(expr) = rest.pop() {
            match &expr.kind {
                ExprKind::Column(index) => f(*index),
                _ => rest.extend(expr.children()),
            }
        }
    }

    /// Replaces every column position by `f` of it.
    pub fn map_columns(&mut self, f: &impl Fn(usize) -> usize) {
        let mut rest = vec![self];
        while let Some(expr) = rest.pop() {
            match &mut expr.kind {
                ExprKind::Column(index) => *index = f(*index),
                _ => rest.extend(expr.children_mut()),
            }
        }
    }
}

impl fmt::Display for Expr {
    /// Prints as text for plans: `#0` is a column, calls by name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Column(index) => write!(f, "#{index}"),
            ExprKind::Constant(value) => write!(f, "{}", value.display(&self.data_type)),
            ExprKind::Parameter(parameter) => write!(f, "{parameter}"),
            ExprKind::Lambda { body, .. } => write!(f, "lambda {body}"),
            ExprKind::Call { name, args } => write_call(f, name, args),
            ExprKind::Cast { input, null_on_error, package } => {
                let name = if *null_on_error { "try_cast" } else { "cast" };
                write!(f, "{}{name}({input} as {})", package.prefix(), self.data_type)
            }
            ExprKind::Special { form, args } => write_call(f, form.name(), args),
        }
    }
}

impl fmt::Display for Parameter {
    /// `$0.1` is the second parameter of an outermost lambda.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}.{}", self.level, self.index)
    }
}

fn write_call(f: &mut fmt::Formatter<'_>, name: &str, args: &[Expr]) -> fmt::Result {
    write!(f, "{name}(")?;
    for (index, arg) in args.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(f, "{comma}{arg}")?;
    }
    f.write_str(")")
}

impl SpecialForm {
    /// The name shown in plans.
    pub fn name(self) -> &'static str {
        match self {
            SpecialForm::And => "and",
            SpecialForm::Or => "or",
            SpecialForm::Switch => "switch",
            SpecialForm::Coalesce => "coalesce",
            SpecialForm::In => "in",
            SpecialForm::Try => "try",
            SpecialForm::IsNull => "is_null",
        }
    }
}
