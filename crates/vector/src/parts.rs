//! Gathers rows of many batches without concatenating the batches first.
//!
//! ```text
//! Parts   the batches, each column with what it takes to find a value: codes and a flat base
//! Pick    a part and one of its rows
//! gather  a flat batch of picked rows, column at a time
//! ```
//!
//! Concatenating copies every value once more, to memory that is fresh from the system, and expands
//! dictionaries. Strings are copied with their views, so that a column of strings keeps no batch
//! alive.

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
    columns: Vec<Box<dyn Column>>,
}

impl Parts {
    /// This number of parts without rows, with columns of `types`.
    pub fn new(types: &[Type], parts: usize) -> Parts {
        let columns = types.iter().map(|it| column(it.clone(), parts));
        Parts { columns: columns.collect() }
    }

    /// The same rows in encodings that parts take as they are: flat, constant, or codes of a flat
    /// base. Of others, parts make columns of their own.
    ///
    /// # Errors
    ///
    /// What a lazy column's loader reports.
    pub fn prepare(batch: Batch) -> Result<Batch> {
        let rows = batch.rows();
        let columns = batch.columns().iter().map(prepared).collect::<Result<_>>()?;
        Ok(Batch::new(columns, rows))
    }

    /// Replaces part `number` by `batch`.
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

    /// Releases the rows of part `number`.
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

    /// Like [`Parts::gather`], a single column.
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

fn prepared(column: &Vector) -> Result<Vector> {
    let column = column.loaded()?;
    match column.encoding() {
        Encoding::Constant(base) | Encoding::Dictionary { base, .. }
            if base.flat_values().is_some() =>
        {
            Ok(column)
        }
        _ => column.flatten(),
    }
}

/// A column of all parts.
trait Column: Send {
    fn set(&mut self, number: usize, column: &Vector) -> Result<()>;

    fn clear(&mut self, number: usize);

    fn gather(&self, picks: &[Pick]) -> Result<Vector>;
}

fn column(data_type: Type, parts: usize) -> Box<dyn Column> {
    match data_type.physical() {
        PhysicalType::I8 => Box::new(Sources::<ScalarBuffer<u8>>::new(data_type, parts)),
        PhysicalType::I16 => Box::new(Sources::<ScalarBuffer<u16>>::new(data_type, parts)),
        PhysicalType::I32 | PhysicalType::F32 => {
            Box::new(Sources::<ScalarBuffer<u32>>::new(data_type, parts))
        }
        PhysicalType::I64 | PhysicalType::F64 => {
            Box::new(Sources::<ScalarBuffer<u64>>::new(data_type, parts))
        }
        PhysicalType::I128 | PhysicalType::Interval => {
            Box::new(Sources::<ScalarBuffer<u128>>::new(data_type, parts))
        }
        PhysicalType::Boolean => Box::new(Sources::<BooleanBuffer>::new(data_type, parts)),
        PhysicalType::View => Box::new(Sources::<StringValues>::new(data_type, parts)),
        _ => {
            let columns = vec![Vector::nulls(data_type.clone(), 0); parts];
            Box::new(Others { data_type, columns })
        }
    }
}

/// A column of a layout with values of their own, by part.
struct Sources<V> {
    data_type: Type,
    parts: Vec<Source<V>>,
    /// Whether some part had a null.
    has_nulls: bool,
}

/// A part's column.
struct Source<V> {
    values: V,
    positions: Positions,
    nulls: Option<Box<Nulls>>,
}

/// The position of a row's value.
enum Positions {
    Rows,
    First,
    Codes(ScalarBuffer<u32>),
}

/// By row, and by where the value stands.
struct Nulls(Option<NullBuffer>, Option<NullBuffer>);

/// The values of a flat column.
trait Layout: Sized + Send + 'static {
    /// `len` values of no meaning.
    fn blank(len: usize) -> Self;

    /// Those of a column, if it has this layout.
    fn of(values: &Values) -> Option<Self>;

    fn gather(parts: &[Source<Self>], picks: &[Pick], data_type: &Type) -> Result<Values>;
}

impl<T: ArrowNativeType> Layout for ScalarBuffer<T> {
    fn blank(len: usize) -> Self {
        vec![T::default(); len].into()
    }

    fn of(values: &Values) -> Option<Self> {
        values.width::<T>()?;
        values.fixed_buffer().map(|it| ScalarBuffer::new(it.clone(), 0, values.len()))
    }

    fn gather(parts: &[Source<Self>], picks: &[Pick], data_type: &Type) -> Result<Values> {
        let word = |pick: &Pick| {
            let (source, position) = find(parts, *pick);
            source.values[position]
        };
        let words: Vec<T> = picks.iter().map(word).collect();
        Ok(fixed_values(&empty_values(data_type)?, Buffer::from_vec(words), picks.len()))
    }
}

impl Layout for BooleanBuffer {
    fn blank(len: usize) -> Self {
        BooleanBuffer::new_unset(len)
    }

    fn of(values: &Values) -> Option<Self> {
        match values {
            Values::Boolean(bits) => Some(bits.clone()),
            _ => None,
        }
    }

    fn gather(parts: &[Source<Self>], picks: &[Pick], _: &Type) -> Result<Values> {
        Ok(Values::Boolean(BooleanBuffer::collect_bool(picks.len(), |at| {
            let (source, position) = find(parts, picks[at]);
            source.values.value(position)
        })))
    }
}

impl Layout for StringValues {
    fn blank(len: usize) -> Self {
        StringValues::new(vec![0; len].into(), Arc::from([]))
    }

    fn of(values: &Values) -> Option<Self> {
        match values {
            Values::View(strings) => Some(strings.clone()),
            _ => None,
        }
    }

    fn gather(parts: &[Source<Self>], picks: &[Pick], _: &Type) -> Result<Values> {
        let mut strings = StringBuilder::with_capacity(picks.len());
        for pick in picks {
            let (source, position) = find(parts, *pick);
            strings.push_from(&source.values, position);
        }
        Ok(Values::View(strings.finish()))
    }
}

impl<V: Layout> Sources<V> {
    fn new(data_type: Type, parts: usize) -> Sources<V> {
        let parts = std::iter::repeat_with(Source::without_rows).take(parts).collect();
        Sources { data_type, parts, has_nulls: false }
    }

    fn valid(&self, picks: &[Pick]) -> NullBuffer {
        NullBuffer::new(BooleanBuffer::collect_bool(picks.len(), |at| {
            let (source, position) = find(&self.parts, picks[at]);
            source.nulls.as_ref().is_none_or(|nulls| {
                let Nulls(by_row, by_position) = nulls.as_ref();
                by_row.as_ref().is_none_or(|it| it.is_valid(picks[at].row as usize))
                    && by_position.as_ref().is_none_or(|it| it.is_valid(position))
            })
        }))
    }
}

impl<V: Layout> Column for Sources<V> {
    fn set(&mut self, number: usize, column: &Vector) -> Result<()> {
        let source = Source::new(column)?;
        self.has_nulls |= source.nulls.is_some();
        self.parts[number] = source;
        Ok(())
    }

    fn clear(&mut self, number: usize) {
        self.parts[number] = Source::without_rows();
    }

    fn gather(&self, picks: &[Pick]) -> Result<Vector> {
        let nulls = self.has_nulls.then(|| self.valid(picks));
        let values = V::gather(&self.parts, picks, &self.data_type)?;
        Ok(Vector::flat(self.data_type.clone(), values, nulls))
    }
}

impl<V: Layout> Source<V> {
    fn without_rows() -> Source<V> {
        Source { values: V::blank(0), positions: Positions::Rows, nulls: None }
    }

    fn new(column: &Vector) -> Result<Source<V>> {
        let column = prepared(column)?;
        let (base, positions, by_row) = match column.encoding() {
            Encoding::Constant(base) => (base.as_ref(), Positions::First, None),
            Encoding::Dictionary { codes, base } => {
                let codes = Positions::Codes(codes.clone());
                (base.as_ref(), codes, column.null_buffer().cloned())
            }
            _ => (&column, Positions::Rows, None),
        };
        match base.flat_values() {
            Some(Values::Null(_)) | None => {
                let nulls = Some(Box::new(Nulls(None, Some(NullBuffer::new_null(1)))));
                Ok(Source { values: V::blank(1), positions: Positions::First, nulls })
            }
            Some(values) => {
                let nulls = Nulls(by_row, base.null_buffer().cloned());
                let nulls = (nulls.0.is_some() || nulls.1.is_some()).then(|| Box::new(nulls));
                let other_layout = || Error::internal("values of another layout than their type's");
                Ok(Source { values: V::of(values).ok_or_else(other_layout)?, positions, nulls })
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

/// A pick's part, and where its value stands there.
#[inline]
fn find<V: Layout>(parts: &[Source<V>], pick: Pick) -> (&Source<V>, usize) {
    let source = &parts[pick.part as usize];
    (source, source.position(pick.row as usize))
}

/// A column of another layout.
struct Others {
    data_type: Type,
    columns: Vec<Vector>,
}

impl Column for Others {
    fn set(&mut self, number: usize, column: &Vector) -> Result<()> {
        self.columns[number] = column.loaded()?;
        Ok(())
    }

    fn clear(&mut self, number: usize) {
        self.columns[number] = Vector::nulls(self.data_type.clone(), 0);
    }

    /// Part by part, then in order.
    fn gather(&self, picks: &[Pick]) -> Result<Vector> {
        let part = |it: &u32| picks[*it as usize].part;
        let mut by_part: Vec<u32> = (0..picks.len() as u32).collect();
        by_part.sort_by_key(part);
        let gathered = by_part.chunk_by(|a, b| part(a) == part(b)).map(|of_part| {
            let rows: Vec<u32> = of_part.iter().map(|it| picks[*it as usize].row).collect();
            self.columns[part(&of_part[0]) as usize].gather(&rows)
        });
        let joined = Vector::concat(&self.data_type, &gathered.collect::<Result<Vec<_>>>()?)?;
        let mut places = vec![0; picks.len()];
        (0..).zip(&by_part).for_each(|(place, pick)| places[*pick as usize] = place);
        joined.gather(&places)
    }
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
                let batch = Batch::new(vec![column.clone()], len);
                let prepared = Parts::prepare(batch.clone()).unwrap();
                assert_eq!(text(prepared.column(0)), text(&column));
                parts.set(part, if part % 2 == 0 { &batch } else { &prepared }).unwrap();
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
        parts.set(0, &Batch::new(vec![coded.clone()], 3)).unwrap();
        parts.set(1, &Batch::new(vec![Vector::nulls(Type::Varchar, 9)], 9)).unwrap();
        let source = Source::<StringValues>::new(&coded).unwrap();
        assert!(matches!(source.positions, Positions::Codes(codes) if *codes == [999, 3, 0]));
        let picks = [(0, 2), (1, 8), (0, 1), (0, 0)].map(|(part, row)| Pick { part, row });
        let found = parts.gather(&picks).unwrap();
        let expected = [texts[0].clone(), Value::Null, Value::Null, texts[999].clone()];
        assert_eq!(found.column(0).to_values().unwrap(), expected);
        assert!(found.retained_bytes() < 1000, "{}", found.retained_bytes());
    }
}
