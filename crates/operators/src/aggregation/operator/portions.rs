//! A batch taken by portions: states may copy its texts, one text for many rows, so that a batch
//! can add far more to the states than it takes itself.

use super::{HashAggregation, Phase};
use crate::aggregation::AggregationSpec;
use volley_error::Result;
use volley_memory::check_cancelled;
use volley_types::PhysicalType;
use volley_vector::{Batch, Decoded, ScalarBuffer, StringView, Values, Vector};

/// States may copy this number of bytes before their memory is reserved.
const PORTION_BYTES: usize = 1 << 20;

/// What an element of an array, or an entry of a map, takes in a state.
const ELEMENT_BYTES: usize = 48;

impl HashAggregation {
    /// Takes the rest of a batch, until groups have to be emitted.
    pub(super) fn accept_rest(&mut self) -> Result<()> {
        while matches!(self.phase, Phase::Collecting)
            && let Some(batch) = self.rest.take()
        {
            let (portion, bytes, rest) = first_portion(&self.spec, batch)?;
            self.rest = rest;
            self.accept_portion(portion, bytes)?;
            if self.rest.is_some() {
                check_cancelled()?;
            }
        }
        Ok(())
    }

    /// Adds a batch to its groups, if these cannot be emitted before the end of it.
    pub(super) fn collect_whole(&mut self, batch: Batch) -> Result<()> {
        let mut next = Some(batch);
        while let Some(batch) = next.take() {
            let (portion, bytes, rest) = first_portion(&self.spec, batch)?;
            self.collect(&portion, bytes)?;
            next = rest;
            if next.is_some() {
                self.outside.take_refusal().map_or(Ok(()), Err)?;
                check_cancelled()?;
            }
        }
        Ok(())
    }
}

impl AggregationSpec {
    /// Bytes of the long texts and the elements in the arguments of aggregates whose states may
    /// copy them.
    fn owned_bytes(&self, batch: &Batch) -> Result<usize> {
        let mut sum = 0usize;
        self.for_each_owned(batch, |_, bytes| sum = sum.saturating_add(bytes))?;
        Ok(sum)
    }

    /// Calls `f` with rows and what states may copy of an argument there.
    fn for_each_owned(&self, batch: &Batch, mut f: impl FnMut(usize, usize)) -> Result<()> {
        let owning = self.aggregates.iter().filter(|it| it.state.state().needs_drop);
        for argument in owning.flat_map(|it| &it.args) {
            for_each_owned_in(batch.column(*argument), &mut f)?;
        }
        Ok(())
    }
}

/// What states may copy of a vector, at most.
///
/// # Errors
///
/// What a lazy vector's loader reports.
pub(super) fn copied_bytes(vector: &Vector) -> Result<usize> {
    if vector.data_type().physical() != PhysicalType::View {
        return Ok(vector.retained_bytes());
    }
    // Texts may be few of those that they share their memory with.
    let mut sum = 0usize;
    for_each_owned_in(vector, &mut |_, bytes| sum = sum.saturating_add(bytes))?;
    Ok(sum)
}

/// As [`AggregationSpec::for_each_owned`], of one argument, or a field of one.
fn for_each_owned_in(vector: &Vector, f: &mut impl FnMut(usize, usize)) -> Result<()> {
    let (decoded, rows) = (Decoded::new(vector)?, vector.len());
    match decoded.values() {
        Values::View(texts) => (0..rows).for_each(|row| {
            let view = texts.views.get(decoded.index(row));
            f(row, view.map_or(0, |it| StringView::len_of(*it)));
        }),
        Values::Array(nested) | Values::Map(nested) => (0..rows).for_each(|row| {
            let elements = nested.sizes.get(decoded.index(row)).copied().unwrap_or(0);
            f(row, elements as usize * ELEMENT_BYTES);
        }),
        Values::Row { children, .. } => {
            let codes: ScalarBuffer<u32> = decoded.to_codes().into();
            for child in children.iter() {
                let base = child.loaded()?.into();
                for_each_owned_in(&Vector::dictionary(codes.clone(), base, None), f)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The first rows of a batch, one at least, of which states copy few bytes; how many; and the
/// other rows.
fn first_portion(spec: &AggregationSpec, batch: Batch) -> Result<(Batch, usize, Option<Batch>)> {
    let (rows, all) = (batch.rows(), spec.owned_bytes(&batch)?);
    if rows <= 1 || all <= PORTION_BYTES {
        return Ok((batch, all, None));
    }
    let batch = batch.loaded()?;
    let mut bytes = vec![0usize; rows];
    spec.for_each_owned(&batch, |row, it| bytes[row] = bytes[row].saturating_add(it))?;
    let mut sum = 0usize;
    let is_within = |it: &&usize| {
        sum = sum.saturating_add(**it);
        sum <= PORTION_BYTES
    };
    let count = bytes.iter().take_while(is_within).count().max(1);
    // There are more bytes than fit, and so there are more rows.
    let first = bytes.iter().take(count).fold(0, |sum: usize, it| sum.saturating_add(*it));
    Ok((batch.slice(0, count), first, Some(batch.slice(count, rows - count))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregation::tests::{listing, spec};
    use volley_plan::AggregateStep;
    use volley_types::{Type, Value};

    fn check(data_type: Type, value: &Value, rows: usize, expected: &[usize]) {
        let mut aggregate = listing(1);
        aggregate.arg_types = vec![data_type.clone()];
        let spec = spec(AggregateStep::Single, &[Type::BigInt], vec![aggregate]);
        let numbers =
            Vector::native::<i64>(Type::BigInt, (0..rows as i64).collect::<Vec<_>>(), None);
        let batch = Batch::new(vec![numbers, Vector::constant(data_type, value, rows)], rows);
        let (mut next, mut sizes, mut values) = (Some(batch), Vec::new(), Vec::new());
        while let Some(batch) = next.take() {
            let (portion, bytes, rest) = first_portion(&spec, batch).unwrap();
            assert_eq!(bytes, spec.owned_bytes(&portion).unwrap());
            sizes.push(portion.rows());
            values.extend(portion.column(0).to_values().unwrap());
            next = rest;
        }
        assert_eq!(sizes, expected);
        assert_eq!(values, (0..rows as i64).map(Value::BigInt).collect::<Vec<_>>());
    }

    #[test]
    fn a_batch_is_cut_by_what_states_may_copy() {
        check(Type::Varchar, &Value::text("short"), 1000, &[1000]);
        check(Type::Varchar, &Value::text("z".repeat(400 << 10)), 5, &[2, 2, 1]);
        check(Type::Varchar, &Value::text("z".repeat(2 << 20)), 3, &[1, 1, 1]);
        let array = Value::Array(vec![Value::BigInt(1); 10_000].into());
        check(Type::array(Type::BigInt), &array, 5, &[2, 2, 1]);
        // Numbers are not looked at.
        check(Type::BigInt, &Value::BigInt(1), 1000, &[1000]);
    }
}
