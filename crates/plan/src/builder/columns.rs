//! Expressions over named columns.

use std::sync::Arc;
use volley_error::{Error, Result};
use volley_expression::{Expr, SpecialForm};
use volley_function::Registry;
use volley_types::{Schema, Type, Value, nearest_name};

/// The columns that an expression of a [`crate::PlanBuilder`] may use, and the functions.
pub struct Columns {
    schema: Schema,
    registry: Arc<Registry>,
}

impl Columns {
    pub(super) fn new(schema: &Schema, registry: &Arc<Registry>) -> Columns {
        Columns { schema: schema.clone(), registry: Arc::clone(registry) }
    }

    /// Where column `name` is; `#2` is the third one.
    ///
    /// # Errors
    ///
    /// Invalid query, when there is none.
    pub fn position(&self, name: &str) -> Result<usize> {
        let numbered = name.strip_prefix('#').and_then(|it| it.parse().ok());
        let position = numbered.or_else(|| self.schema.index_of(name));
        position.filter(|it| *it < self.schema.len()).ok_or_else(|| {
            let error = Error::invalid_query(format!("no such column: {name}"));
            let names = self.schema.fields.iter().map(|it| it.name.as_str());
            match nearest_name(name, names) {
                Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                None => error,
            }
        })
    }

    /// Where several columns are.
    ///
    /// # Errors
    ///
    /// As [`Columns::position`].
    pub fn positions(&self, names: &[&str]) -> Result<Vec<usize>> {
        names.iter().map(|it| self.position(it)).collect()
    }

    /// Column `name`.
    ///
    /// # Errors
    ///
    /// As [`Columns::position`].
    pub fn column(&self, name: &str) -> Result<Expr> {
        let position = self.position(name)?;
        Ok(Expr::column(position, self.schema.fields[position].data_type.clone()))
    }

    /// A literal.
    pub fn value(&self, value: Value, data_type: Type) -> Expr {
        Expr::constant(value, data_type)
    }

    /// A BIGINT literal.
    pub fn integer(&self, value: i64) -> Expr {
        Expr::constant(Value::BigInt(value), Type::BigInt)
    }

    /// A VARCHAR literal.
    pub fn text(&self, value: &str) -> Expr {
        Expr::constant(Value::text(value), Type::Varchar)
    }

    /// Function `name`; arguments are cast to the types that it takes.
    ///
    /// # Errors
    ///
    /// Invalid query, if there is no such function for arguments of these types.
    pub fn call(&self, name: &str, args: impl IntoIterator<Item = Expr>) -> Result<Expr> {
        let args: Vec<Expr> = args.into_iter().collect();
        let types: Vec<Type> = args.iter().map(|it| it.data_type.clone()).collect();
        let bound = self.registry.resolve_scalar(name, &types)?;
        let args = args.into_iter().zip(&bound.args).map(|(arg, to)| arg.cast(to.clone()));
        Ok(Expr::call(bound.name, args.collect(), bound.result))
    }

    /// Whether `input` is null.
    pub fn is_null(&self, input: Expr) -> Expr {
        Expr::special(SpecialForm::IsNull, vec![input], Type::Boolean)
    }
}
