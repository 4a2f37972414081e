//! Expressions with their input in a file, for reproducing a failure.
//!
//! The format is that of [`volley_vector::save`], kind 3: the number of batches, the batches, the
//! number of expressions, and each expression as its type, kind and children. Reading checks that
//! columns exist with their types, and that parameters belong to an enclosing lambda.

#[cfg(test)]
mod tests;

use crate::{Expr, ExprKind, Parameter, SpecialForm};
use volley_error::{Error, Result};
use volley_function::Package;
use volley_types::{Type, TypeRegistry};
use volley_vector::{
    Batch,
    save::{Reader, Writer, corruption},
};

/// A file with expressions and batches.
const CASE: u8 = 3;

/// Expressions over the columns of batches.
#[derive(Clone, Debug)]
pub struct Case {
    /// The expressions.
    pub exprs: Vec<Expr>,
    /// What they are evaluated for, one after the other. All have the same types.
    pub inputs: Vec<Batch>,
}

/// Every form, by number.
const FORMS: [SpecialForm; 7] = [
    SpecialForm::And,
    SpecialForm::Or,
    SpecialForm::Switch,
    SpecialForm::Coalesce,
    SpecialForm::In,
    SpecialForm::Try,
    SpecialForm::IsNull,
];

/// The number of `item` among `all`, which are few.
fn number_of<T: PartialEq>(all: &[T], item: &T) -> Result<u8> {
    let number = all.iter().position(|it| it == item).and_then(|it| u8::try_from(it).ok());
    number.ok_or_else(|| Error::internal("part of an expression without a number"))
}

impl Case {
    /// The bytes of a file.
    ///
    /// # Errors
    ///
    /// As [`volley_vector::save::batch_to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut writer = Writer::new(CASE);
        writer.number(self.inputs.len());
        self.inputs.iter().try_for_each(|it| writer.batch(it))?;
        writer.number(self.exprs.len());
        self.exprs.iter().try_for_each(|it| write_expr(&mut writer, it))?;
        Ok(writer.finish())
    }

    /// The case of [`Case::to_bytes`]. `types` knows the custom types.
    ///
    /// # Errors
    ///
    /// Corruption, when the bytes are not those of a case; invalid query, for unknown types.
    pub fn from_bytes(bytes: &[u8], types: &TypeRegistry) -> Result<Case> {
        let mut reader = Reader::new(bytes, CASE, types)?;
        let mut inputs: Vec<Batch> = Vec::new();
        for _ in 0..reader.count()? {
            inputs.push(reader.batch()?);
        }
        let columns = types_of(&inputs)?;
        let count = reader.count()?;
        let mut exprs = Vec::new();
        for _ in 0..count {
            let expr = read_expr(&mut reader)?;
            expr.check_columns(&columns)?;
            exprs.push(expr);
        }
        reader.finish()?;
        Ok(Case { exprs, inputs })
    }
}

/// The types of the columns of all batches.
fn types_of(inputs: &[Batch]) -> Result<Vec<Type>> {
    let types = |it: &Batch| it.columns().iter().map(|it| it.data_type().clone()).collect();
    let first: Vec<Type> = inputs.first().map_or_else(Vec::new, types);
    let all_alike = inputs.iter().all(|it| types(it) == first);
    if all_alike { Ok(first) } else { Err(corruption("batches of different types")) }
}

/// Writes an expression.
///
/// # Errors
///
/// Unsupported: opaque types; more than [`volley_vector::save::DEPTH_MAX`] levels.
pub fn write_expr(writer: &mut Writer, expr: &Expr) -> Result<()> {
    writer.nested(|it| {
        it.data_type(&expr.data_type)?;
        write_kind(it, expr)
    })
}

fn write_kind(writer: &mut Writer, expr: &Expr) -> Result<()> {
    match &expr.kind {
        ExprKind::Column(index) => {
            writer.byte(0);
            writer.number(*index);
        }
        ExprKind::Constant(value) => {
            writer.byte(1);
            writer.value(&expr.data_type, value)?;
        }
        ExprKind::Parameter(parameter) => {
            writer.byte(2);
            writer.number(parameter.level);
            writer.number(parameter.index);
        }
        ExprKind::Call { name, args } => {
            writer.byte(3);
            writer.text(name);
            write_all(writer, args)?;
        }
        ExprKind::Lambda { level, parameters, body } => {
            writer.byte(4);
            writer.number(*level);
            writer.number(parameters.len());
            parameters.iter().try_for_each(|it| writer.data_type(it))?;
            write_expr(writer, body)?;
        }
        ExprKind::Cast { input, null_on_error, package } => {
            writer.byte(5);
            writer.byte(u8::from(*null_on_error));
            writer.byte(number_of(&Package::ALL, package)?);
            write_expr(writer, input)?;
        }
        ExprKind::Special { form, args } => {
            writer.byte(6);
            writer.byte(number_of(&FORMS, form)?);
            write_all(writer, args)?;
        }
    }
    Ok(())
}

fn write_all(writer: &mut Writer, exprs: &[Expr]) -> Result<()> {
    writer.number(exprs.len());
    exprs.iter().try_for_each(|it| write_expr(writer, it))
}

/// Reads an expression of [`write_expr`]; see also [`Expr::check`].
///
/// # Errors
///
/// Corruption, when the bytes are those of none: special forms have as many arguments as they need,
/// parameters belong to a lambda around them and have its types, literals are of their types.
/// Invalid query, for unknown types.
pub fn read_expr(reader: &mut Reader<'_>) -> Result<Expr> {
    ExprReader { lambdas: Vec::new() }.read(reader)
}

/// Reads one expression.
struct ExprReader {
    /// The parameters of the lambdas around, outermost first.
    lambdas: Vec<Vec<Type>>,
}

impl ExprReader {
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<Expr> {
        reader.nested(|it| {
            let data_type = it.data_type()?;
            let kind = self.kind(it, &data_type)?;
            Ok(Expr::new(kind, data_type))
        })
    }

    fn kind(&mut self, reader: &mut Reader<'_>, data_type: &Type) -> Result<ExprKind> {
        Ok(match reader.byte()? {
            0 => ExprKind::Column(reader.number()?),
            1 => ExprKind::Constant(reader.value(data_type)?),
            2 => {
                let parameter = Parameter { level: reader.number()?, index: reader.number()? };
                let found = self.lambdas.get(parameter.level);
                if found.and_then(|it| it.get(parameter.index)) != Some(data_type) {
                    return Err(corruption("parameter of no lambda"));
                }
                ExprKind::Parameter(parameter)
            }
            3 => ExprKind::Call { name: reader.text()?.to_owned(), args: self.all(reader)? },
            4 => self.lambda(reader)?,
            5 => {
                let null_on_error = match reader.byte()? {
                    0 => false,
                    1 => true,
                    _ => return Err(corruption("unknown cast")),
                };
                let package = Package::ALL.get(usize::from(reader.byte()?)).copied();
                let package = package.ok_or_else(|| corruption("unknown package of a cast"))?;
                ExprKind::Cast { input: Box::new(self.read(reader)?), null_on_error, package }
            }
            6 => {
                let form = FORMS.get(usize::from(reader.byte()?)).copied();
                let form = form.ok_or_else(|| corruption("unknown special form"))?;
                let args = self.all(reader)?;
                let misfit = |_| corruption("special form of other arguments");
                form.check_count(args.len()).map_err(misfit)?;
                ExprKind::Special { form, args }
            }
            _ => return Err(corruption("unknown expression")),
        })
    }

    fn lambda(&mut self, reader: &mut Reader<'_>) -> Result<ExprKind> {
        let level = reader.number()?;
        if level != self.lambdas.len() {
            return Err(corruption("lambda of another level"));
        }
        let count = reader.count()?;
        let mut parameters = Vec::new();
        for _ in 0..count {
            parameters.push(reader.data_type()?);
        }
        self.lambdas.push(parameters.clone());
        let body = self.read(reader)?;
        self.lambdas.pop();
        Ok(ExprKind::Lambda { level, parameters, body: Box::new(body) })
    }

    fn all(&mut self, reader: &mut Reader<'_>) -> Result<Vec<Expr>> {
        let count = reader.count()?;
        let mut exprs = Vec::new();
        for _ in 0..count {
            exprs.push(self.read(reader)?);
        }
        Ok(exprs)
    }
}
