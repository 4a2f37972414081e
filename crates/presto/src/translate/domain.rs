//! Domains: the values that a connector lets pass, as filters.

use super::{Translator, expression::read_constant};
use crate::{
    catalog::ScannedTable,
    json::{Json, Object},
    plan_json::{Bound, Marker},
};
use volley_error::{Error, Result};
use volley_expression::{Expr, SpecialForm};
use volley_function::{FunctionNames, Package};
use volley_types::{Type, Value};

impl Translator<'_> {
    /// The filters that a TupleDomain over the columns of `table` stands for.
    ///
    /// # Errors
    ///
    /// Unsupported: values of another sort. Invalid value: malformed JSON.
    pub(super) fn domain_filters(
        &self,
        domain: Json<'_>,
        table: &ScannedTable,
    ) -> Result<Vec<Expr>> {
        let domain = domain.object("a domain of columns")?;
        let Some(columns) = domain.optional("columnDomains") else {
            // No value at all.
            return Ok(vec![Expr::constant(Value::Boolean(false), Type::Boolean)]);
        };
        let mut filters = Vec::new();
        for column in columns.elements("columnDomains")? {
            let column = column.object("a domain of a column")?;
            let position = table.column(column.json("column"))?;
            let field = table.schema().fields.get(position);
            let data_type = field.map_or(Type::Unknown, |it| it.data_type.clone());
            // A filter on top of the scan compares the converted values.
            if self.time.converts(&data_type) {
                continue;
            }
            let expr = Expr::column(position, data_type);
            filters.extend(self.domain(&expr, &column.json("domain").object("a domain")?)?);
        }
        Ok(filters)
    }

    /// The condition that `column` is one of the values; `None` for all values.
    fn domain(&self, column: &Expr, domain: &Object<'_>) -> Result<Option<Expr>> {
        let null_allowed: bool = domain.read("nullAllowed")?;
        let values = domain.json("values").object("the values of a domain")?;
        let kind: String = values.read("@type")?;
        let within = match kind.as_str() {
            "sortable" => self.ranges(column, &values)?,
            "allOrNone" => match values.read::<bool>("all")? {
                true => None,
                false => Some(Expr::constant(Value::Boolean(false), Type::Boolean)),
            },
            other => return Err(Error::unsupported(format!("values {other} of a domain"))),
        };
        let is_null = Expr::special(SpecialForm::IsNull, vec![column.clone()], Type::Boolean);
        Ok(match (within, null_allowed) {
            (None, true) => None,
            (Some(within), false) => Some(within),
            (Some(within), true) => {
                Some(Expr::special(SpecialForm::Or, vec![within, is_null], Type::Boolean))
            }
            (None, false) => Some(self.compare("not", vec![is_null])?),
        })
    }

    /// The condition that `column` lies in one of the ranges; `None` for all values.
    fn ranges(&self, column: &Expr, values: &Object<'_>) -> Result<Option<Expr>> {
        let (mut points, mut ranges) = (vec![column.clone()], Vec::new());
        for range in values.elements("ranges")? {
            let range = range.object("a range")?;
            let (low, high): (Marker, Marker) = (range.read("low")?, range.read("high")?);
            let value = |it: &Marker| {
                let block = it.value_block.as_deref();
                let value = block.map(|it| read_constant(it, &column.data_type)).transpose()?;
                Ok::<_, Error>(value.map(|it| Expr::constant(it, column.data_type.clone())))
            };
            let (low_value, high_value) = (value(&low)?, value(&high)?);
            if low.bound == Bound::Exactly
                && high.bound == Bound::Exactly
                && low_value == high_value
            {
                points.extend(low_value);
                continue;
            }
            let mut bounds = Vec::new();
            for (marker, value, exact, open) in
                [(low, low_value, "gte", "gt"), (high, high_value, "lte", "lt")]
            {
                let Some(value) = value else { continue };
                let name = if marker.bound == Bound::Exactly { exact } else { open };
                bounds.push(self.compare(name, vec![column.clone(), value])?);
            }
            if bounds.is_empty() {
                return Ok(None);
            }
            ranges.push(Expr::and(bounds));
        }
        if points.len() > 1 {
            ranges.push(Expr::special(SpecialForm::In, points, Type::Boolean));
        }
        Ok(Some(match ranges.len() {
            0 => Expr::constant(Value::Boolean(false), Type::Boolean),
            1 => ranges.remove(0),
            _ => Expr::special(SpecialForm::Or, ranges, Type::Boolean),
        }))
    }

    fn compare(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        let names = FunctionNames::new(self.registry, &[Package::Presto, Package::Core]);
        let types: Vec<Type> = args.iter().map(|it| it.data_type.clone()).collect();
        let bound = names.resolve_scalar(name, &types)?;
        let args = args.into_iter().zip(&bound.args).map(|(arg, to)| arg.cast(to.clone()));
        Ok(Expr::call(bound.name, args.collect(), bound.result))
    }
}
