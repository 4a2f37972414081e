//! Makes random Arrow arrays: sliced, with garbage in null rows, and nested.

use arrow_array::{builder::StringViewBuilder, cast::AsArray, types::*, *};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit};
use std::{collections::BTreeSet, sync::Arc};
use volley_vector::random::Generator;

const MICROS_PER_DAY: i64 = 86_400_000_000;

const TEXTS: [&str; 6] = ["", "a", "exactly 12 b", "exactly 13 by", "日本語テキスト", "ä"];

pub struct Maker {
    random: Generator,
    /// Whether arrays may have nulls.
    has_nulls: bool,
}

/// All types without parts that a vector can hold.
fn scalars() -> Vec<DataType> {
    use DataType::*;
    let units = [TimeUnit::Second, TimeUnit::Millisecond];
    let fine = [TimeUnit::Microsecond, TimeUnit::Nanosecond];
    let mut types = vec![
        Null,
        Boolean,
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Utf8,
        LargeUtf8,
        Utf8View,
        Binary,
        LargeBinary,
        BinaryView,
        FixedSizeBinary(3),
        Date32,
        Date64,
        Decimal32(9, 2),
        Decimal64(18, 4),
        Decimal128(18, 3),
        Decimal128(38, 10),
        Interval(IntervalUnit::YearMonth),
        Interval(IntervalUnit::DayTime),
        Interval(IntervalUnit::MonthDayNano),
    ];
    types.extend(units.map(Time32));
    types.extend(fine.map(Time64));
    for unit in units.into_iter().chain(fine) {
        types.push(Timestamp(unit, None));
        types.push(Timestamp(unit, Some("+01:00".into())));
        types.push(Duration(unit));
    }
    types
}

/// The types of keys of dictionaries.
const KEYS: [DataType; 8] = [
    DataType::Int8,
    DataType::Int16,
    DataType::Int32,
    DataType::Int64,
    DataType::UInt8,
    DataType::UInt16,
    DataType::UInt32,
    DataType::UInt64,
];

const ENDS: [DataType; 3] = [DataType::Int16, DataType::Int32, DataType::Int64];

/// What kind of type it is: scalars by name, nested ones by their outermost part.
pub fn kind_of(data_type: &DataType) -> String {
    match data_type {
        DataType::Dictionary(key, _) => format!("Dictionary of {key}"),
        DataType::RunEndEncoded(ends, _) => format!("RunEndEncoded of {}", ends.data_type()),
        nested if nested.is_nested() => {
            let text = format!("{nested:?}");
            text.split('(').next().unwrap_or_default().to_owned()
        }
        scalar => format!("{scalar:?}"),
    }
}

/// Every kind that [`Maker::data_type`] makes.
pub fn kinds() -> BTreeSet<String> {
    let nested =
        ["List", "LargeList", "ListView", "LargeListView", "FixedSizeList", "Map", "Struct"];
    let mut kinds: BTreeSet<String> = nested.map(str::to_owned).into();
    kinds.extend(scalars().iter().map(kind_of));
    kinds.extend(KEYS.iter().map(|it| format!("Dictionary of {it}")));
    kinds.extend(ENDS.iter().map(|it| format!("RunEndEncoded of {it}")));
    kinds
}

fn item(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, true))
}

impl Maker {
    pub fn new(seed: u64) -> Maker {
        Maker { random: Generator::new(seed), has_nulls: true }
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.random.below(end)
    }

    pub fn data_type(&mut self, depth: usize) -> DataType {
        let nested = 18;
        let kind = self.below(nested + 22);
        if depth == 0 || kind >= nested {
            return self.random.choose(&scalars()).clone();
        }
        let part = self.data_type(depth - 1);
        match kind {
            0 => DataType::List(item(part)),
            1 => DataType::LargeList(item(part)),
            2 => DataType::ListView(item(part)),
            3 => DataType::LargeListView(item(part)),
            4 => DataType::FixedSizeList(item(part), self.below(4) as i32),
            5 | 6 => {
                let key = self.random.choose(&scalars()[1..]).clone();
                let fields = vec![Field::new("keys", key, false), Field::new("values", part, true)];
                let entries = DataType::Struct(Fields::from(fields));
                DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
            }
            7 | 8 => {
                let parts = (0..self.below(4))
                    .map(|index| Field::new(format!("f{index}"), self.data_type(depth - 1), true));
                DataType::Struct(parts.collect())
            }
            9..=13 => {
                let key = self.random.choose(&KEYS).clone();
                DataType::Dictionary(key.into(), part.into())
            }
            _ => {
                let ends = self.random.choose(&ENDS).clone();
                let ends = Arc::new(Field::new("run_ends", ends, false));
                DataType::RunEndEncoded(ends, Arc::new(Field::new("values", part, true)))
            }
        }
    }

    /// An array of the type, which is a slice of another one.
    pub fn array(&mut self, data_type: &DataType, len: usize) -> ArrayRef {
        let (before, after) = (self.below(3), self.below(3));
        self.whole(data_type, before + len + after).slice(before, len)
    }

    fn nulls(&mut self, len: usize) -> Option<NullBuffer> {
        if !self.has_nulls || self.below(2) == 0 {
            return None;
        }
        Some(NullBuffer::from_iter((0..len).map(|_| self.below(5) > 0)))
    }

    fn whole(&mut self, data_type: &DataType, len: usize) -> ArrayRef {
        match data_type {
            DataType::List(field) => self.list::<i32>(field, len),
            DataType::LargeList(field) => self.list::<i64>(field, len),
            DataType::ListView(field) => self.list_view::<i32>(field, len),
            DataType::LargeListView(field) => self.list_view::<i64>(field, len),
            DataType::FixedSizeList(field, size) => {
                let values = self.array(field.data_type(), len * *size as usize);
                let nulls = self.nulls(len);
                let field = Arc::clone(field);
                let array =
                    FixedSizeListArray::try_new_with_length(field, *size, values, nulls, len);
                Arc::new(array.unwrap())
            }
            DataType::Map(entries, _) => self.map(entries, len),
            DataType::Struct(fields) => {
                let children = fields.iter().map(|it| self.array(it.data_type(), len)).collect();
                let nulls = self.nulls(len);
                let array = StructArray::try_new_with_length(fields.clone(), children, nulls, len);
                Arc::new(array.unwrap())
            }
            DataType::Dictionary(key, values) => self.dictionary(key, values, len),
            DataType::RunEndEncoded(ends, values) => {
                let values = values.data_type();
                match ends.data_type() {
                    DataType::Int16 => self.runs::<Int16Type>(values, len, |it| it as i16),
                    DataType::Int32 => self.runs::<Int32Type>(values, len, |it| it as i32),
                    _ => self.runs::<Int64Type>(values, len, |it| it as i64),
                }
            }
            scalar => self.scalar(scalar, len),
        }
    }

    /// Offsets that leave out elements at both ends.
    fn offsets<O: OffsetSizeTrait>(&mut self, len: usize, end: usize) -> OffsetBuffer<O> {
        let mut offsets: Vec<usize> = (0..=len).map(|_| self.below(end + 1)).collect();
        offsets.sort_unstable();
        OffsetBuffer::new(offsets.into_iter().map(O::usize_as).collect())
    }

    fn list<O: OffsetSizeTrait>(&mut self, field: &Arc<Field>, len: usize) -> ArrayRef {
        let count = self.below(3 * len + 1);
        let values = self.array(field.data_type(), count);
        let (offsets, nulls) = (self.offsets::<O>(len, count), self.nulls(len));
        Arc::new(GenericListArray::new(Arc::clone(field), offsets, values, nulls))
    }

    fn list_view<O: OffsetSizeTrait>(&mut self, field: &Arc<Field>, len: usize) -> ArrayRef {
        let count = self.below(2 * len + 1);
        let values = self.array(field.data_type(), count);
        let offsets: Vec<usize> = (0..len).map(|_| self.below(count + 1)).collect();
        let sizes: Vec<O> =
            offsets.iter().map(|it| O::usize_as(self.below((count - it).min(4) + 1))).collect();
        let offsets: ScalarBuffer<O> = offsets.into_iter().map(O::usize_as).collect();
        let nulls = self.nulls(len);
        let field = Arc::clone(field);
        Arc::new(GenericListViewArray::new(field, offsets, sizes.into(), values, nulls))
    }

    fn map(&mut self, entries: &Arc<Field>, len: usize) -> ArrayRef {
        let DataType::Struct(fields) = entries.data_type() else { panic!("entries of a map") };
        let count = self.below(2 * len + 1);
        self.has_nulls = false;
        let keys = self.array(fields[0].data_type(), count);
        self.has_nulls = true;
        let values = self.array(fields[1].data_type(), count);
        let both =
            StructArray::try_new_with_length(fields.clone(), vec![keys, values], None, count);
        let (offsets, nulls) = (self.offsets::<i32>(len, count), self.nulls(len));
        Arc::new(MapArray::new(Arc::clone(entries), offsets, both.unwrap(), nulls, false))
    }

    fn dictionary(&mut self, key: &DataType, values: &DataType, len: usize) -> ArrayRef {
        match key {
            DataType::Int8 => self.coded::<Int8Type>(values, len, |it| it as i8),
            DataType::Int16 => self.coded::<Int16Type>(values, len, |it| it as i16),
            DataType::Int32 => self.coded::<Int32Type>(values, len, |it| it as i32),
            DataType::Int64 => self.coded::<Int64Type>(values, len, |it| it as i64),
            DataType::UInt8 => self.coded::<UInt8Type>(values, len, |it| it as u8),
            DataType::UInt16 => self.coded::<UInt16Type>(values, len, |it| it as u16),
            DataType::UInt32 => self.coded::<UInt32Type>(values, len, |it| it as u32),
            _ => self.coded::<UInt64Type>(values, len, |it| it as u64),
        }
    }

    /// Keys of null rows are now and then beyond the dictionary.
    fn coded<K: ArrowDictionaryKeyType>(
        &mut self,
        values: &DataType,
        len: usize,
        key: fn(usize) -> K::Native,
    ) -> ArrayRef {
        let count = 1 + self.below(6);
        let values = self.array(values, count);
        let nulls = self.nulls(len);
        let is_null = |row: usize| nulls.as_ref().is_some_and(|it| it.is_null(row));
        let keys = (0..len).map(|row| match is_null(row) {
            true => key(self.below(127)),
            false => key(self.below(count)),
        });
        let keys: ScalarBuffer<K::Native> = keys.collect();
        let keys = PrimitiveArray::<K>::new(keys, nulls);
        Arc::new(DictionaryArray::<K>::try_new(keys, values).unwrap())
    }

    fn runs<R: RunEndIndexType>(
        &mut self,
        values: &DataType,
        len: usize,
        end: fn(usize) -> R::Native,
    ) -> ArrayRef {
        let mut ends: BTreeSet<usize> = (0..len / 3).map(|_| 1 + self.below(len)).collect();
        ends.extend((len > 0).then_some(len));
        let values = self.array(values, ends.len());
        let ends = PrimitiveArray::<R>::from_iter_values(ends.into_iter().map(end));
        Arc::new(RunArray::<R>::try_new(&ends, values.as_ref()).unwrap())
    }

    fn scalar(&mut self, data_type: &DataType, len: usize) -> ArrayRef {
        match data_type {
            DataType::Null => Arc::new(NullArray::new(len)),
            DataType::Boolean => {
                let bits = BooleanBuffer::collect_bool(len, |_| self.below(2) == 0);
                Arc::new(BooleanArray::new(bits, self.nulls(len)))
            }
            DataType::Utf8 => self.strings::<Utf8Type>(len),
            DataType::LargeUtf8 => self.strings::<LargeUtf8Type>(len),
            DataType::Binary => self.strings::<BinaryType>(len),
            DataType::LargeBinary => self.strings::<LargeBinaryType>(len),
            DataType::Utf8View => self.views(len),
            DataType::BinaryView => {
                Arc::new(self.views(len).as_string_view().clone().to_binary_view())
            }
            DataType::FixedSizeBinary(size) => {
                let bytes: Vec<u8> =
                    (0..len * *size as usize).map(|_| self.below(256) as u8).collect();
                Arc::new(FixedSizeBinaryArray::new(*size, Buffer::from(bytes), self.nulls(len)))
            }
            number => self.number(number, len),
        }
    }

    fn texts(&mut self, len: usize) -> Vec<&'static str> {
        (0..len).map(|_| *self.random.choose(&TEXTS)).collect()
    }

    fn strings<T: ByteArrayType>(&mut self, len: usize) -> ArrayRef {
        let texts = self.texts(len);
        let offsets = OffsetBuffer::<T::Offset>::from_lengths(texts.iter().map(|it| it.len()));
        let bytes = Buffer::from(texts.concat().into_bytes());
        Arc::new(GenericByteArray::<T>::new(offsets, bytes, self.nulls(len)))
    }

    /// Views into several buffers.
    fn views(&mut self, len: usize) -> ArrayRef {
        let mut builder = StringViewBuilder::new().with_fixed_block_size(40);
        self.texts(len).into_iter().for_each(|it| builder.append_value(it));
        let (views, buffers, _) = builder.finish().into_parts();
        Arc::new(StringViewArray::new(views, buffers, self.nulls(len)))
    }

    /// Whole numbers as the bits of all other types, within what our types hold.
    fn number(&mut self, data_type: &DataType, len: usize) -> ArrayRef {
        match data_type {
            DataType::Float16 => {
                let values = (0..len).map(|_| self.below(100) as f32 / 4.0 - 5.0);
                let values = values.map(<Float16Type as ArrowPrimitiveType>::Native::from_f32);
                let values: ScalarBuffer<_> = values.collect();
                Arc::new(Float16Array::new(values, self.nulls(len)))
            }
            DataType::Float32 => self.cast_of::<Float32Type>(len, |it| it as f32 / 8.0),
            DataType::Float64 => self.cast_of::<Float64Type>(len, |it| it as f64 / 8.0),
            DataType::Int8 => self.cast_of::<Int8Type>(len, |it| it as i8),
            DataType::Int16 => self.cast_of::<Int16Type>(len, |it| it as i16),
            DataType::Int32 => self.cast_of::<Int32Type>(len, |it| it as i32),
            DataType::Int64 => self.cast_of::<Int64Type>(len, |it| it),
            DataType::UInt8 => self.cast_of::<UInt8Type>(len, |it| it as u8),
            DataType::UInt16 => self.cast_of::<UInt16Type>(len, |it| it as u16),
            DataType::UInt32 => self.cast_of::<UInt32Type>(len, |it| it as u32),
            DataType::UInt64 => self.cast_of::<UInt64Type>(len, |it| it as u64),
            DataType::Date32 => self.cast_of::<Date32Type>(len, |it| it as i32),
            DataType::Date64 => self.cast_of::<Date64Type>(len, |it| it % (1 << 55)),
            DataType::Decimal32(p, s) => self.decimal::<Decimal32Type>(len, *p, *s, |it| it as i32),
            DataType::Decimal64(p, s) => self.decimal::<Decimal64Type>(len, *p, *s, |it| it),
            DataType::Decimal128(p, s) => self.decimal::<Decimal128Type>(len, *p, *s, i128::from),
            _ => self.temporal(data_type, len),
        }
    }

    fn temporal(&mut self, data_type: &DataType, len: usize) -> ArrayRef {
        use TimeUnit::*;
        let near = |it: i64| it % (1 << 33);
        match data_type {
            DataType::Time32(Second) => {
                self.cast_of::<Time32SecondType>(len, |it| (it as i32 % 86_400).abs())
            }
            DataType::Time32(_) => {
                self.cast_of::<Time32MillisecondType>(len, |it| (it as i32 % 86_400_000).abs())
            }
            DataType::Time64(Nanosecond) => {
                self.cast_of::<Time64NanosecondType>(len, |it| (it % (MICROS_PER_DAY * 1000)).abs())
            }
            DataType::Time64(_) => {
                self.cast_of::<Time64MicrosecondType>(len, |it| (it % MICROS_PER_DAY).abs())
            }
            DataType::Timestamp(Second, _) => {
                self.zoned::<TimestampSecondType>(data_type, len, near)
            }
            DataType::Timestamp(Millisecond, _) => {
                self.zoned::<TimestampMillisecondType>(data_type, len, near)
            }
            DataType::Timestamp(Microsecond, _) => {
                self.zoned::<TimestampMicrosecondType>(data_type, len, |it| it)
            }
            DataType::Timestamp(Nanosecond, _) => {
                self.zoned::<TimestampNanosecondType>(data_type, len, |it| it)
            }
            DataType::Duration(Second) => self.cast_of::<DurationSecondType>(len, near),
            DataType::Duration(Millisecond) => self.cast_of::<DurationMillisecondType>(len, near),
            DataType::Duration(Microsecond) => self.cast_of::<DurationMicrosecondType>(len, near),
            DataType::Duration(Nanosecond) => self.cast_of::<DurationNanosecondType>(len, |it| it),
            DataType::Interval(IntervalUnit::YearMonth) => {
                self.cast_of::<IntervalYearMonthType>(len, |it| it as i32)
            }
            DataType::Interval(IntervalUnit::DayTime) => {
                let make = |it: i64| IntervalDayTimeType::make_value(it as i32, (it >> 7) as i32);
                self.cast_of::<IntervalDayTimeType>(len, make)
            }
            _ => self.cast_of::<IntervalMonthDayNanoType>(len, |it| {
                IntervalMonthDayNanoType::make_value(it as i32, (it >> 9) as i32, it >> 3)
            }),
        }
    }

    fn cast_of<T: ArrowPrimitiveType>(
        &mut self,
        len: usize,
        cast: impl Fn(i64) -> T::Native,
    ) -> ArrayRef {
        let values: ScalarBuffer<T::Native> = (0..len).map(|_| cast(self.bits())).collect();
        Arc::new(PrimitiveArray::<T>::new(values, self.nulls(len)))
    }

    fn zoned<T: ArrowTimestampType>(
        &mut self,
        data_type: &DataType,
        len: usize,
        cast: fn(i64) -> i64,
    ) -> ArrayRef {
        let array = self.cast_of::<T>(len, cast);
        Arc::new(array.as_primitive::<T>().clone().with_data_type(data_type.clone()))
    }

    fn decimal<T: DecimalType>(
        &mut self,
        len: usize,
        precision: u8,
        scale: i8,
        cast: fn(i64) -> T::Native,
    ) -> ArrayRef {
        let digits = 10i64.pow(precision.min(18).into());
        let array = self.cast_of::<T>(len, |it| cast(it % digits));
        let array = array.as_primitive::<T>().clone();
        Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
    }

    /// Small numbers mostly, any bits sometimes.
    fn bits(&mut self) -> i64 {
        match self.below(4) {
            0 => self.random.value(&volley_types::Type::BigInt).as_i128().unwrap() as i64,
            _ => self.below(100) as i64 - 20,
        }
    }
}
