//! TABLESAMPLE and USING SAMPLE.

use super::{Binder, expr::first_span, query::constant, unsupported};
use sqlparser::ast::{self, TableSample, TableSampleKind, TableSampleMethod, TableSampleUnit};
use volley_error::{Error, Result};
use volley_logical::{ExprKind, Plan, SampleMethod};

impl<'a> Binder<'a> {
    /// The rows of a table in FROM, or a sample of them.
    pub(super) fn table_sample(
        &mut self,
        input: Plan,
        sample: Option<&'a TableSampleKind>,
    ) -> Result<Plan> {
        match sample {
            Some(
                TableSampleKind::BeforeTableAlias(sample)
                | TableSampleKind::AfterTableAlias(sample),
            ) => self.sampled(input, sample),
            None => Ok(input),
        }
    }

    /// Some of the rows of a plan.
    pub(super) fn sampled(&mut self, input: Plan, sample: &'a TableSample) -> Result<Plan> {
        let Some(quantity) = &sample.quantity else {
            return Err(unsupported("samples of buckets", None));
        };
        if sample.offset.is_some() {
            return Err(unsupported("OFFSET of a sample", None));
        }
        let span = self.span(first_span(&quantity.value));
        let invalid = |message: &str| Err(Error::invalid_query(message).span(span));
        // What RESERVOIR is to the parser, see the tokens.
        let is_reservoir = sample.name == Some(TableSampleMethod::Row);
        let is_share = match quantity.unit {
            Some(TableSampleUnit::Percent) => true,
            Some(TableSampleUnit::Rows) => false,
            None => sample.name.is_some() && !is_reservoir,
        };
        let amount = self.amount(&quantity.value)?;
        let method = if is_share {
            if !(0.0..=100.0).contains(&amount) {
                return invalid("a sample is from 0 to 100 percent");
            }
            match sample.name {
                Some(TableSampleMethod::Bernoulli) => SampleMethod::Rows(amount / 100.0),
                Some(TableSampleMethod::Row) => {
                    return Err(unsupported("RESERVOIR with a percentage", span)
                        .hint("BERNOULLI keeps about as many rows"));
                }
                _ => SampleMethod::Batches(amount / 100.0),
            }
        } else {
            if sample.name.is_some() && !is_reservoir {
                let message = "a sample of a number of rows is made by RESERVOIR alone";
                return invalid(message);
            }
            if amount < 0.0 || amount.fract() != 0.0 {
                return invalid("a sample is of a whole number of rows");
            }
            SampleMethod::Count(amount as u64)
        };
        let seed = sample.seed.as_ref().and_then(|it| match &it.value.value {
            ast::Value::Number(digits, _) => digits.parse::<u64>().ok(),
            _ => None,
        });
        if sample.seed.is_some() && seed.is_none() {
            return invalid("the seed of a sample is a whole number");
        }
        Ok(Plan::Sample { input: Box::new(input), method, seed })
    }

    /// How much a sample is of.
    fn amount(&mut self, written: &'a ast::Expr) -> Result<f64> {
        let wanted = "the amount of a sample must be a constant number";
        let bound = self.unscoped(written, wanted)?;
        let number = match &bound.kind {
            ExprKind::Constant(value) => value.display(&bound.data_type).to_string().parse().ok(),
            _ => constant(&bound).flatten().map(|it| it as f64),
        };
        number.ok_or_else(|| Error::invalid_query(wanted).span(bound.span))
    }
}
