//! Rows of many batches, gathered without joining these first.
//!
//! ```text
//! Parts   the batches, each column with what it takes to find a value: codes and a flat base
//! Pick    a part and one of its rows
//! gather  a flat batch of picked rows, column at a time
//! ```
//!
//! Joining writes every value once more, to memory that is fresh from the system, and dictionaries
//! come apart. Strings are copied with their views, so that a column of strings keeps no part alive.

use crate::{
    Batch, BooleanBuffer, Encoding, NullBuffer, ScalarBuffer, StringBuilder, StringValues, Values,
    Vector,
    copy::{empty_values, fixed_values},
};
use arrow_buffer::{ArrowNativeType, Buffer};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_types::{PhysicalType, Type};

/// A row of one of several batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The number of the batch.
    pub part: u32,
    /// The row of that batch.
    pub row: u32,
}

/// Batches of the same types.
pub struct Parts {
    columns: Vec<Column>,
}

struct Column {
    data_type: Type,
    sources: Sources,
    /// Whether some part had a null in this column.
    has_nulls: bool,
}

/// One per part, by the width of values.
enum Sources {
    Words8(Vec<Source<ScalarBuffer<u8>>>),
    Words16(Vec<Source<ScalarBuffer<u16>>>),
    Words32(Vec<Source<ScalarBuffer<u32>>>),
    Words64(Vec<Source<ScalarBuffer<u64>>>),
    Words128(Vec<Source<ScalarBuffer<u128>>>),
    Bits(Vec<Source<BooleanBuffer>>),
    Strings(Vec<Source<StringValues>>),
    /// Of other layouts.
    Other(Vec<Vector>),
}

/// A column of a part.
struct Source<V> {
    values: V,
    positions: Positions,
    nulls: Option<Box<Nulls>>,
}

/// Where a row's value stands.
enum Positions {
    Rows,
    First,
    Codes(ScalarBuffer<u32>),
}

/// By row, and by where the value stands.
struct Nulls(Option<NullBuffer>, Option<NullBuffer>);

impl Parts {
    /// So many parts without rows, of columns of `types`.
    pub fn new(types: &[Type], parts: usize) -> Parts {
        let columns = types.iter().map(|data_type| Column {
            data_type: data_type.clone(),
            sources: Sources::new(data_type, parts),
            has_nulls: false,
        });
        Parts { columns: columns.collect() }
    }

    /// Puts `batch` in the place of part `number`.
    ///
    /// # Errors
    ///
    /// What a lazy column's loader reports; internal: values of another layout.
    ///
    /// # Panics
    ///
    /// If there is no such part, or it has other columns.
    pub fn set(&mut self, number: usize, batch: &Batch) -> Result<()> {
        assert_eq!(batch.columns().len(), self.columns.len(), "columns of a part");
        self.columns.iter_mut().zip(batch.columns()).try_for_each(|(to, it)| to.set(number, it))
    }

    /// Lets the rows of part `number` go.
    ///
    /// # Panics
    ///
    /// If there is no such part.
    pub fn clear(&mut self, number: usize) {
        self.columns.iter_mut().for_each(|it| it.clear(number));
    }

    /// The rows `picks`, flat and copied.
    ///
    /// # Errors
    ///
    /// Strings or elements beyond the layout's 32 bits.
    ///
    /// # Panics
    ///
    /// If there is no such part or row.
    pub fn gather(&self, picks: &[Pick]) -> Result<Batch> {
        let columns = (0..self.columns.len()).map(|it| self.gather_column(it, picks));
        Ok(Batch::new(columns.collect::<Result<_>>()?, picks.len()))
    }

    /// As [`Parts::gather`], a single column.
    ///
    /// # Errors
    ///
    /// As [`Parts::gather`].
    ///
    /// # Panics
    ///
    /// If there is no such part, row or column.
    pub fn gather_column(&self, column: usize, picks: &[Pick]) -> Result<Vector> {
        self.columns[column].gather(picks)
    }
}

impl Column {
    fn set(&mut self, number: usize, column: &Vector) -> Result<()> {
        let has_nulls = &mut self.has_nulls;
        match &mut self.sources {
            Sources::Words8(sources) => set_words(sources, number, column, has_nulls)?,
            Sources::Words16(sources) => set_words(sources, number, column, has_nulls)?,
            Sources::Words32(sources) => set_words(sources, number, column, has_nulls)?,
            Sources::Words64(sources) => set_words(sources, number, column, has_nulls)?,
            Sources::Words128(sources) => set_words(sources, number, column, has_nulls)?,
            Sources::Bits(sources) => {
                let bits = |it: &Values| match it {
                    Values::Boolean(bits) => Some(bits.clone()),
                    _ => None,
                };
                let source = Source::new(column, bits, BooleanBuffer::new_unset(1))?;
                put(sources, number, source, has_nulls);
            }
            Sources::Strings(sources) => {
                let strings = |it: &Values| match it {
                    Values::View(strings) => Some(strings.clone()),
                    _ => None,
                };
                let source = Source::new(column, strings, strings_of(vec![0]))?;
                put(sources, number, source, has_nulls);
            }
            Sources::Other(columns) => columns[number] = column.loaded()?,
        }
        Ok(())
    }

    fn clear(&mut self, number: usize) {
        match &mut self.sources {
            Sources::Words8(sources) => sources[number] = Source::without_rows(),
            Sources::Words16(sources) => sources[number] = Source::without_rows(),
            Sources::Words32(sources) => sources[number] = Source::without_rows(),
            Sources::Words64(sources) => sources[number] = Source::without_rows(),
            Sources::Words128(sources) => sources[number] = Source::without_rows(),
            Sources::Bits(sources) => sources[number] = Source::without_rows(),
            Sources::Strings(sources) => sources[number] = Source::without_rows(),
            Sources::Other(columns) => columns[number] = Vector::nulls(self.data_type.clone(), 0),
        }
    }

    fn gather(&self, picks: &[Pick]) -> Result<Vector> {
        let nulls = self.gather_nulls(picks);
        let words =
            |buffer: Buffer| Ok(fixed_values(&empty_values(&self.data_type)?, buffer, picks.len()));
        let values: Result<Values> = match &self.sources {
            Sources::Words8(sources) => words(gather_words(sources, picks)),
            Sources::Words16(sources) => words(gather_words(sources, picks)),
            Sources::Words32(sources) => words(gather_words(sources, picks)),
            Sources::Words64(sources) => words(gather_words(sources, picks)),
            Sources::Words128(sources) => words(gather_words(sources, picks)),
            Sources::Bits(sources) => {
                let bit = |at: usize| {
                    let (source, position) = find(sources, picks[at]);
                    source.values.value(position)
                };
                Ok(Values::Boolean(BooleanBuffer::collect_bool(picks.len(), bit)))
            }
            Sources::Strings(sources) => {
                let mut strings = StringBuilder::with_capacity(picks.len());
                for pick in picks {
                    let (source, position) = find(sources, *pick);
                    strings.push_from(&source.values, position);
                }
                Ok(Values::View(strings.finish()))
            }
            Sources::Other(columns) => return gather_other(&self.data_type, columns, picks),
        };
        Ok(Vector::flat(self.data_type.clone(), values?, nulls))
    }

    fn gather_nulls(&self, picks: &[Pick]) -> Option<NullBuffer> {
        if !self.has_nulls {
            return None;
        }
        let valid = match &self.sources {
            Sources::Words8(sources) => valid(sources, picks),
            Sources::Words16(sources) => valid(sources, picks),
            Sources::Words32(sources) => valid(sources, picks),
            Sources::Words64(sources) => valid(sources, picks),
            Sources::Words128(sources) => valid(sources, picks),
            Sources::Bits(sources) => valid(sources, picks),
            Sources::Strings(sources) => valid(sources, picks),
            Sources::Other(_) => return None,
        };
        Some(NullBuffer::new(valid))
    }
}

impl Sources {
    fn new(data_type: &Type, parts: usize) -> Sources {
        match data_type.physical() {
            PhysicalType::I8 => Sources::Words8(none(parts)),
            PhysicalType::I16 => Sources::Words16(none(parts)),
            PhysicalType::I32 | PhysicalType::F32 => Sources::Words32(none(parts)),
            PhysicalType::I64 | PhysicalType::F64 => Sources::Words64(none(parts)),
            PhysicalType::I128 | PhysicalType::Interval => Sources::Words128(none(parts)),
            PhysicalType::Boolean => Sources::Bits(none(parts)),
            PhysicalType::View => Sources::Strings(none(parts)),
            _ => Sources::Other(vec![Vector::nulls(data_type.clone(), 0); parts]),
        }
    }
}

/// Parts without rows.
fn none<V: Nothing>(parts: usize) -> Vec<Source<V>> {
    std::iter::repeat_with(Source::without_rows).take(parts).collect()
}

/// Values of which there are none.
trait Nothing {
    fn nothing() -> Self;
}

impl<T: ArrowNativeType> Nothing for ScalarBuffer<T> {
    fn nothing() -> Self {
        Vec::new().into()
    }
}

impl Nothing for BooleanBuffer {
    fn nothing() -> Self {
        BooleanBuffer::new_unset(0)
    }
}

impl Nothing for StringValues {
    fn nothing() -> Self {
        strings_of(Vec::new())
    }
}

fn strings_of(views: Vec<u128>) -> StringValues {
    StringValues::new(views.into(), Arc::from([]))
}

impl<V: Nothing> Source<V> {
    fn without_rows() -> Source<V> {
        Source { values: V::nothing(), positions: Positions::Rows, nulls: None }
    }
}

impl<V> Source<V> {
    /// `values_of` has the values of a flat column, `nothing` is one value for a column of nulls.
    fn new(
        column: &Vector,
        values_of: impl Fn(&Values) -> Option<V>,
        nothing: V,
    ) -> Result<Source<V>> {
        let column = column.loaded()?;
        let flat;
        let (base, positions, by_row) = match column.encoding() {
            Encoding::Flat(_) => (&column, Positions::Rows, None),
            Encoding::Constant(base) if base.flat_values().is_some() => {
                (base.as_ref(), Positions::First, None)
            }
            Encoding::Dictionary { codes, base } if base.flat_values().is_some() => {
                let codes = Positions::Codes(codes.clone());
                (base.as_ref(), codes, column.null_buffer().cloned())
            }
            _ => {
                flat = column.flatten()?;
                (&flat, Positions::Rows, None)
            }
        };
        match base.flat_values() {
            Some(Values::Null(_)) | None => {
                let nulls = Some(Box::new(Nulls(None, Some(NullBuffer::new_null(1)))));
                Ok(Source { values: nothing, positions: Positions::First, nulls })
            }
            Some(values) => {
                let nulls = Nulls(by_row, base.null_buffer().cloned());
                let nulls = (nulls.0.is_some() || nulls.1.is_some()).then(|| Box::new(nulls));
                let values = values_of(values).ok_or_else(other_layout)?;
                Ok(Source { values, positions, nulls })
            }
        }
    }

    #[inline]
    fn position(&self, row: usize) -> usize {
        match &self.positions {
            Positions::Rows => row,
            Positions::Codes(codes) => codes[row] as usize,
            Positions::First => 0,
        }
    }
}

fn put<V>(sources: &mut [Source<V>], number: usize, source: Source<V>, has_nulls: &mut bool) {
    *has_nulls |= source.nulls.is_some();
    sources[number] = source;
}

fn set_words<T: ArrowNativeType>(
    sources: &mut [Source<ScalarBuffer<T>>],
    number: usize,
    column: &Vector,
    has_nulls: &mut bool,
) -> Result<()> {
    let words = |values: &Values| {
        values.width::<T>()?;
        values.fixed_buffer().map(|it| ScalarBuffer::new(it.clone(), 0, values.len()))
    };
    put(sources, number, Source::new(column, words, vec![T::default()].into())?, has_nulls);
    Ok(())
}

/// A pick's part, and where its value stands there.
#[inline]
fn find<V>(sources: &[Source<V>], pick: Pick) -> (&Source<V>, usize) {
    let source = &sources[pick.part as usize];
    (source, source.position(pick.row as usize))
}

fn gather_words<T: ArrowNativeType>(sources: &[Source<ScalarBuffer<T>>], picks: &[Pick]) -> Buffer {
    let word = |pick: &Pick| {
        let (source, position) = find(sources, *pick);
        source.values[position]
    };
    Buffer::from_vec(picks.iter().map(word).collect::<Vec<T>>())
}

fn valid<V>(sources: &[Source<V>], picks: &[Pick]) -> BooleanBuffer {
    BooleanBuffer::collect_bool(picks.len(), |at| {
        let (source, position) = find(sources, picks[at]);
        source.nulls.as_ref().is_none_or(|nulls| {
            let Nulls(by_row, by_position) = nulls.as_ref();
            by_row.as_ref().is_none_or(|it| it.is_valid(picks[at].row as usize))
                && by_position.as_ref().is_none_or(|it| it.is_valid(position))
        })
    })
}

/// Part by part, then in order.
fn gather_other(data_type: &Type, columns: &[Vector], picks: &[Pick]) -> Result<Vector> {
    let mut by_part: Vec<u32> = (0..picks.len() as u32).collect();
    by_part.sort_by_key(|it| picks[*it as usize].part);
    let parts = by_part.chunk_by(|a, b| picks[*a as usize].part == picks[*b as usize].part);
    let gathered = parts.map(|of_part| {
        let rows: Vec<u32> = of_part.iter().map(|it| picks[*it as usize].row).collect();
        columns[picks[of_part[0] as usize].part as usize].gather(&rows)
    });
    let joined = Vector::concat(data_type, &gathered.collect::<Result<Vec<_>>>()?)?;
    let mut places = vec![0; picks.len()];
    by_part.iter().enumerate().for_each(|(place, pick)| places[*pick as usize] = place as u32);
    joined.gather(&places)
}

#[cold]
fn other_layout() -> Error {
    Error::internal("values of another layout than their column's type")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;
    use volley_types::Value;

    fn text(column: &Vector) -> String {
        format!("{:?}", column.to_values().unwrap())
    }

    #[test]
    fn rows_of_any_parts_are_those_of_concat_and_gather() {
        let mut random = Generator::new(23);
        for round in 0..600 {
            let data_type = random.data_type(2);
            let count = 1 + random.below(5);
            let mut parts = Parts::new(std::slice::from_ref(&data_type), count);
            let (mut columns, mut all) = (Vec::new(), Vec::new());
            for part in 0..count {
                let len = 1 + random.below(70);
                let old = random.vector(&data_type, 3);
                parts.set(part, &Batch::new(vec![old], 3)).unwrap();
                parts.clear(part);
                let column = random.vector(&data_type, len);
                parts.set(part, &Batch::new(vec![column.clone()], len)).unwrap();
                let pick = |row: usize| Pick { part: part as u32, row: row as u32 };
                all.extend((0..len).map(pick));
                columns.push(column);
            }
            let order: Vec<u32> =
                (0..random.below(200)).map(|_| random.below(all.len()) as u32).collect();
            let picks: Vec<Pick> = order.iter().map(|it| all[*it as usize]).collect();
            let found = parts.gather(&picks).unwrap();
            found.column(0).validate().unwrap();
            let expected = Vector::concat(&data_type, &columns).unwrap().gather(&order).unwrap();
            assert_eq!(text(found.column(0)), text(&expected), "round {round}: {data_type}");
        }
    }

    #[test]
    fn codes_stay_codes_until_rows_are_gathered() {
        let texts: Vec<Value> =
            (0..1000).map(|it| Value::text(format!("a text of some length, {it}"))).collect();
        let base = Arc::new(Vector::from_values(Type::Varchar, &texts));
        let nulls = NullBuffer::from(vec![true, false, true]);
        let coded = Vector::dictionary(vec![999, 3, 0].into(), base, Some(nulls));
        let mut parts = Parts::new(&[Type::Varchar], 2);
        parts.set(0, &Batch::new(vec![coded], 3)).unwrap();
        parts.set(1, &Batch::new(vec![Vector::nulls(Type::Varchar, 9)], 9)).unwrap();
        let Sources::Strings(sources) = &parts.columns[0].sources else { panic!() };
        assert!(matches!(&sources[0].positions, Positions::Codes(codes) if **codes == [999, 3, 0]));
        let picks = [(0, 2), (1, 8), (0, 1), (0, 0)].map(|(part, row)| Pick { part, row });
        let found = parts.gather(&picks).unwrap();
        let expected = [texts[0].clone(), Value::Null, Value::Null, texts[999].clone()];
        assert_eq!(found.column(0).to_values().unwrap(), expected);
        assert!(found.retained_bytes() < 1000, "{}", found.retained_bytes());
    }
}
