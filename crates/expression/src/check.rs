//! Validates expressions from an untrusted source.

#[cfg(test)]
mod tests;

use crate::{Expr, ExprKind, SpecialForm};
use volley_error::{Error, Result};
use volley_function::{ArgumentType, Registry};
use volley_types::{Field, Type};

impl Expr {
    /// Checks that columns exist and all types match: those of columns, results of functions, casts
    /// and arguments of special forms. Types of literals, and the lambdas of parameters, are not
    /// checked.
    ///
    /// ```
    /// use volley_expression::Expr;
    /// use volley_function::Registry;
    /// use volley_types::Type;
    ///
    /// let expr = Expr::column(1, Type::BigInt);
    /// assert!(expr.check(&[Type::Varchar, Type::BigInt], &Registry::new()).is_ok());
    /// let error = expr.check(&[Type::BigInt], &Registry::new()).unwrap_err();
    /// assert_eq!(error.message(), "column #1 of 1");
    /// ```
    ///
    /// # Errors
    ///
    /// Invalid query, saying what does not fit.
    pub fn check(&self, columns: &[Type], registry: &Registry) -> Result<()> {
        self.check_columns(columns)?;
        self.check_types(registry)
    }

    /// Like [`Expr::check`], for an expression over unknown columns.
    ///
    /// # Errors
    ///
    /// As [`Expr::check`].
    pub fn check_types(&self, registry: &Registry) -> Result<()> {
        if self.is_lambda() {
            return Err(no_argument());
        }
        let mut rest = vec![self];
        while let Some(expr) = rest.pop() {
            let takes_lambdas = matches!(expr.kind, ExprKind::Call { .. });
            if !takes_lambdas && expr.children().iter().any(Expr::is_lambda) {
                return Err(no_argument());
            }
            expr.check_node(registry)?;
            rest.extend(expr.children());
        }
        Ok(())
    }

    fn is_lambda(&self) -> bool {
        matches!(self.kind, ExprKind::Lambda { .. })
    }

    /// Checks that columns are there and of their types.
    ///
    /// # Errors
    ///
    /// Invalid query, naming the first that is not.
    pub fn check_columns(&self, columns: &[Type]) -> Result<()> {
        let mut rest = vec![self];
        while let Some(expr) = rest.pop() {
            if let ExprKind::Column(index) = expr.kind {
                let Some(column) = columns.get(index) else {
                    return Err(misfit(format!("column #{index} of {}", columns.len())));
                };
                expect(&format!("column #{index}"), column, &expr.data_type)?;
            }
            rest.extend(expr.children());
        }
        Ok(())
    }

    /// Checks the expression without its parts.
    fn check_node(&self, registry: &Registry) -> Result<()> {
        match &self.kind {
            ExprKind::Column(_) | ExprKind::Constant(_) | ExprKind::Parameter(_) => Ok(()),
            ExprKind::Call { name, args } => {
                let result = with_names(result_of(registry, name, args)?, &self.data_type);
                expect(name, &result, &self.data_type)
            }
            ExprKind::Lambda { body, .. } => expect("lambda", &body.data_type, &self.data_type),
            ExprKind::Cast { input, package, .. } => {
                let from = &input.data_type;
                if *from != self.data_type && *from != Type::Unknown {
                    registry.resolve_cast_of(*package, from, &self.data_type)?;
                }
                Ok(())
            }
            ExprKind::Special { form, args } => self.check_form(*form, args),
        }
    }

    fn check_form(&self, form: SpecialForm, args: &[Expr]) -> Result<()> {
        let all = |args: &[Expr], wanted: &Type| {
            args.iter().try_for_each(|it| expect(form.name(), &it.data_type, wanted))
        };
        form.check_count(args.len())?;
        match form {
            SpecialForm::And | SpecialForm::Or => all(args, &Type::Boolean)?,
            SpecialForm::Switch => {
                for branch in args.chunks(2) {
                    match branch {
                        [condition, result] => {
                            expect("condition", &condition.data_type, &Type::Boolean)?;
                            expect("branch", &result.data_type, &self.data_type)?;
                        }
                        default => all(default, &self.data_type)?,
                    }
                }
            }
            SpecialForm::Coalesce | SpecialForm::Try => all(args, &self.data_type)?,
            SpecialForm::In => all(args, &args[0].data_type)?,
            SpecialForm::IsNull => {}
        }
        let tells = matches!(
            form,
            SpecialForm::And | SpecialForm::Or | SpecialForm::In | SpecialForm::IsNull
        );
        if tells { expect(form.name(), &Type::Boolean, &self.data_type) } else { Ok(()) }
    }
}

impl SpecialForm {
    /// Checks the number of arguments.
    pub(crate) fn check_count(self, args: usize) -> Result<()> {
        let fits = match self {
            SpecialForm::And | SpecialForm::Or | SpecialForm::Coalesce | SpecialForm::In => {
                args > 0
            }
            SpecialForm::Switch => args % 2 == 1,
            SpecialForm::Try | SpecialForm::IsNull => args == 1,
        };
        if fits { Ok(()) } else { Err(misfit(format!("{args} arguments of {}", self.name()))) }
    }
}

/// The type of what a function gives.
fn result_of(registry: &Registry, name: &str, args: &[Expr]) -> Result<Type> {
    let types: Vec<ArgumentType> = args.iter().map(Expr::argument_type).collect();
    let values: Vec<Type> = types.iter().filter_map(ArgumentType::value).cloned().collect();
    if values.len() < types.len() {
        let bound = registry.resolve_higher_order(name, &types)?;
        for (given, wanted) in types.iter().zip(&bound.args) {
            check_lambda(name, given, wanted)?;
        }
        return Ok(bound.result);
    }
    let bound = registry.resolve_scalar(name, &values)?;
    bound.result_for(args.iter().map(|it| match &it.kind {
        ExprKind::Constant(value) => (&it.data_type, Some(value)),
        _ => (&it.data_type, None),
    }))
}

/// Checks that a lambda has the types that its call gives it; values are cast.
fn check_lambda(name: &str, given: &ArgumentType, wanted: &ArgumentType) -> Result<()> {
    let (Some(given), Some(wanted)) = (given.lambda(), wanted.lambda()) else { return Ok(()) };
    let is_wanted = wanted.result.is_none() || wanted.result == given.result;
    if given.parameters == wanted.parameters && is_wanted {
        Ok(())
    } else {
        Err(misfit(format!("a lambda of other types than {name} takes")))
    }
}

/// The type that a call says it has gives names to the fields of a row; see `row`.
fn with_names(result: Type, said: &Type) -> Type {
    match (&result, said) {
        (Type::Row(fields), Type::Row(named)) if fields.len() == named.len() => {
            let types = fields.iter().map(|it| it.data_type.clone());
            let names = named.iter().map(|it| it.name.clone());
            Type::row(names.zip(types).map(|(name, it)| Field::new(name, it)))
        }
        _ => result,
    }
}

fn expect(what: &str, found: &Type, wanted: &Type) -> Result<()> {
    if found == wanted {
        Ok(())
    } else {
        Err(misfit(format!("{what} is {found}, and not {wanted}")))
    }
}

fn no_argument() -> Error {
    misfit("a lambda that is not an argument of a call".to_owned())
}

fn misfit(message: String) -> Error {
    Error::invalid_query(message)
}
