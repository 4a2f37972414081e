//! Logical expressions: typed, with columns by identity, subqueries, and a position in the text.

use crate::{ColumnId, Occurrence, Plan};
use std::{fmt, sync::Arc};
use volley_error::Span;
use volley_function::{ArgumentType, Package};
use volley_types::{Type, Value};

pub use volley_expression::{Parameter, SpecialForm};

/// A typed expression.
#[derive(Clone)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// The type of its values.
    pub data_type: Type,
    /// Its position in the SQL text, if it comes from there.
    pub span: Option<Span>,
    /// Of a call of a volatile function: which one in the text. Copies of a call, such as those
    /// that an alias stands for, are one occurrence, which is evaluated once per row; calls of
    /// different occurrences are never the same.
    pub occurrence: Option<Occurrence>,
}

/// The kinds of expressions. As [`volley_expression::ExprKind`], and subqueries.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A column, of the input or of an outer query.
    Column(ColumnId),
    /// A literal.
    Constant(Value),
    /// A parameter of a lambda around this.
    Parameter(Parameter),
    /// A scalar function, with arguments cast to the types that the registry resolved.
    Call {
        /// The registered name.
        name: String,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// An argument of a call that is computed for each element. Its type is the type of its body.
    /// Bodies contain no subqueries and no aggregates of parameters.
    Lambda {
        /// The number of enclosing lambdas.
        level: usize,
        /// The types of its parameters.
        parameters: Vec<Type>,
        /// What it computes.
        body: Box<Expr>,
    },
    /// A conversion to the expression's type.
    Cast {
        /// What is converted.
        input: Box<Expr>,
        /// TRY_CAST.
        null_on_error: bool,
        /// The package whose rules it follows.
        package: Package,
    },
    /// AND, OR, CASE, COALESCE, IN list, TRY, IS NULL.
    Special {
        /// Which one.
        form: SpecialForm,
        /// Its arguments.
        args: Vec<Expr>,
    },
    /// A subquery. Gone after unnesting.
    Subquery(Box<Subquery>),
}

/// A subquery in an expression.
#[derive(Clone, Debug)]
pub struct Subquery {
    /// What its value is.
    pub kind: SubqueryKind,
    /// The query; columns that it uses but does not make are correlations.
    pub plan: Arc<Plan>,
}

/// What a subquery's value is.
#[derive(Clone, Debug)]
pub enum SubqueryKind {
    /// The only column of the only row; NULL without a row; an error with two.
    Scalar,
    /// Whether there is a row. (`NOT EXISTS` is the function `not` around it.)
    Exists,
    /// Whether the tuple equals a row, in three-valued logic: one expression per column of the
    /// plan, of the same types. (`NOT IN` is the function `not` around it.)
    In(Vec<Expr>),
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Expr");
        all.field("kind", &self.kind).field("data_type", &self.data_type).field("span", &self.span);
        if let Some(occurrence) = self.occurrence {
            all.field("occurrence", &occurrence);
        }
        all.finish()
    }
}

impl Expr {
    /// An expression without a place in the text.
    pub fn new(kind: ExprKind, data_type: Type) -> Expr {
        Expr { kind, data_type, span: None, occurrence: None }
    }

    /// A column.
    pub fn column(id: ColumnId, data_type: Type) -> Expr {
        Expr::new(ExprKind::Column(id), data_type)
    }

    /// A literal.
    pub fn constant(value: Value, data_type: Type) -> Expr {
        Expr::new(ExprKind::Constant(value), data_type)
    }

    /// TRUE or FALSE.
    pub fn boolean(value: bool) -> Expr {
        Expr::constant(Value::Boolean(value), Type::Boolean)
    }

    /// A function call, types as resolved.
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
        let span = self.span;
        let kind =
            ExprKind::Cast { input: Box::new(self), null_on_error: false, package: Package::Core };
        Expr { kind, data_type, span, occurrence: None }
    }

    /// The expression with a place in the text.
    pub fn at(mut self, span: Option<Span>) -> Expr {
        self.span = span.or(self.span);
        self
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

    /// The direct parts (a subquery's left-hand expressions, but not its plan).
    pub fn children(&self) -> &[Expr] {
        match &self.kind {
            ExprKind::Column(_) | ExprKind::Constant(_) | ExprKind::Parameter(_) => &[],
            ExprKind::Call { args, .. } | ExprKind::Special { args, .. } => args,
            ExprKind::Cast { input, .. } => std::slice::from_ref(input),
            ExprKind::Lambda { body, .. } => std::slice::from_ref(body),
            ExprKind::Subquery(subquery) => match &subquery.kind {
                SubqueryKind::In(exprs) => exprs,
                SubqueryKind::Scalar | SubqueryKind::Exists => &[],
            },
        }
    }

    /// Like [`Expr::children`], to change.
    pub fn children_mut(&mut self) -> &mut [Expr] {
        match &mut self.kind {
            ExprKind::Column(_) | ExprKind::Constant(_) | ExprKind::Parameter(_) => &mut [],
            ExprKind::Call { args, .. } | ExprKind::Special { args, .. } => args,
            ExprKind::Cast { input, .. } => std::slice::from_mut(input),
            ExprKind::Lambda { body, .. } => std::slice::from_mut(body),
            ExprKind::Subquery(subquery) => match &mut subquery.kind {
                SubqueryKind::In(exprs) => exprs,
                SubqueryKind::Scalar | SubqueryKind::Exists => &mut [],
            },
        }
    }
}
