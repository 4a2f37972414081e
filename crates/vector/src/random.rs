//! Random vectors for tests: of any type, in any encoding, from a seed.
//!
//! ```
//! use volley_vector::random::Generator;
//!
//! let mut random = Generator::new(42);
//! let data_type = random.data_type(2);
//! let vector = random.vector(&data_type, 100);
//! assert_eq!(vector.len(), 100);
//! vector.validate().unwrap();
//! ```

mod opaque;
mod scalars;

pub use opaque::opaque_type;
pub use scalars::SCALAR_TYPES;

use crate::{
    Batch, Encoding, FixedArrays, Loader, Nested, NullBuffer, ScalarBuffer, Values, Vector,
};
use std::sync::Arc;
use volley_error::Result;
use volley_types::{Field, PhysicalType, Type, Value};

/// Wrappings around the flat values of one random vector.
const LAYERS_MAX: usize = 3;

/// Elements of one random array or map.
const ELEMENTS_MAX: usize = 4;

/// Makes random types, values and vectors. The same seed gives the same ones on every machine.
#[derive(Clone, Debug)]
pub struct Generator {
    random: fastrand::Rng,
    null_ratio: f64,
    /// Further values of some types.
    examples: Vec<(Type, Vec<Value>)>,
}

/// An encoding that [`Generator::encoded`] can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One element per row; null rows hold any element.
    Flat,
    /// One row repeated.
    Constant,
    /// Codes, with unused entries and nulls of its own.
    Dictionary,
    /// Runs, some of them empty.
    RunLength,
    /// A base and distances, of types stored as whole numbers; of others, flat.
    Bias,
    /// Decoded on first use.
    Lazy,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Shape; 6] = [
        Shape::Flat,
        Shape::Constant,
        Shape::Dictionary,
        Shape::RunLength,
        Shape::Bias,
        Shape::Lazy,
    ];

    /// What may occur below another encoding: all but lazy.
    const BASES: [Shape; 5] =
        [Shape::Flat, Shape::Constant, Shape::Dictionary, Shape::RunLength, Shape::Bias];
}

impl Generator {
    /// A generator from a seed; one value in five is null.
    pub fn new(seed: u64) -> Generator {
        Generator { random: fastrand::Rng::with_seed(seed), null_ratio: 0.2, examples: Vec::new() }
    }

    /// The same generator with another part of nulls, 0 to 1.
    pub fn with_null_ratio(mut self, null_ratio: f64) -> Generator {
        self.null_ratio = null_ratio;
        self
    }

    /// The same generator with further values of `data_type`, which are as frequent as others.
    pub fn with_examples(mut self, data_type: Type, values: Vec<Value>) -> Generator {
        self.examples.push((data_type, values));
        self
    }

    /// A number below `end`.
    ///
    /// # Panics
    ///
    /// If `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.random.usize(..end)
    }

    /// One of `choices`.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn choose<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// A type that nests at most `depth` levels of ARRAY, MAP and ROW.
    pub fn data_type(&mut self, depth: usize) -> Type {
        if depth == 0 || self.random.f64() < 0.6 {
            return self.scalar_type();
        }
        match self.below(4) {
            0 => Type::array(self.data_type(depth - 1)),
            1 => {
                let size = 1 + self.below(ELEMENTS_MAX) as u32;
                Type::fixed_array(self.data_type(depth - 1), size)
            }
            2 => Type::map(self.scalar_type(), self.data_type(depth - 1)),
            _ => {
                let fields = self.below(4);
                Type::row(
                    (0..fields)
                        .map(|index| Field::new(format!("f{index}"), self.data_type(depth - 1))),
                )
            }
        }
    }

    /// `len` values, some of them NULL.
    pub fn values(&mut self, data_type: &Type, len: usize) -> Vec<Value> {
        (0..len).map(|_| if self.is_null() { Value::Null } else { self.value(data_type) }).collect()
    }

    /// A batch with a column of each type.
    pub fn batch(&mut self, types: &[Type], rows: usize) -> Batch {
        Batch::new(types.iter().map(|it| self.vector(it, rows)).collect(), rows)
    }

    /// A vector in any encoding, sometimes several around each other, sometimes a slice.
    pub fn vector(&mut self, data_type: &Type, len: usize) -> Vector {
        let shape = *self.choose(&Shape::ALL);
        if shape == Shape::Lazy || self.random.bool() {
            return self.encoded(shape, data_type, len);
        }
        let (before, after) = (self.below(3), self.below(3));
        self.encoded(shape, data_type, before + len + after).slice(before, len)
    }

    /// A vector whose outermost encoding is `shape`.
    pub fn encoded(&mut self, shape: Shape, data_type: &Type, len: usize) -> Vector {
        let layers = self.below(LAYERS_MAX);
        self.layered(shape, data_type, len, layers)
    }

    /// Like [`Generator::encoded`], with at most `layers` encodings below it.
    fn layered(&mut self, shape: Shape, data_type: &Type, len: usize, layers: usize) -> Vector {
        match shape {
            Shape::Flat => self.flat(data_type, len),
            Shape::Constant => Vector::repeat(self.base(data_type, 1, layers), len),
            Shape::Dictionary => {
                let distinct = 1 + self.below(len + 2);
                let base = Arc::new(self.base(data_type, distinct, layers));
                let codes: Vec<u32> = (0..len).map(|_| self.below(distinct) as u32).collect();
                Vector::dictionary(codes.into(), base, self.null_buffer(len))
            }
            Shape::RunLength => {
                let ends = self.run_ends(len);
                let base = self.base(data_type, ends.len(), layers);
                Vector::run_length(ends.into(), Arc::new(base))
            }
            Shape::Bias => self.bias(data_type, len),
            Shape::Lazy => {
                let values = self.base(data_type, len, layers);
                Vector::lazy(data_type.clone(), len, Box::new(Later(values)))
            }
        }
    }

    /// What may occur below another encoding: anything but lazy.
    fn base(&mut self, data_type: &Type, len: usize, layers: usize) -> Vector {
        let shape = if layers == 0 { Shape::Flat } else { *self.choose(&Shape::BASES) };
        self.layered(shape, data_type, len, layers.saturating_sub(1))
    }

    /// Ends of runs that cover `len` rows; a run may be empty.
    fn run_ends(&mut self, len: usize) -> Vec<u32> {
        if len == 0 {
            return Vec::new();
        }
        let inner = self.below(len + 1);
        let mut ends: Vec<u32> = (0..inner).map(|_| self.below(len + 1) as u32).collect();
        ends.push(len as u32);
        ends.sort_unstable();
        ends
    }

    fn flat(&mut self, data_type: &Type, len: usize) -> Vector {
        let nulls = self.null_buffer(len);
        let values = match data_type.physical() {
            PhysicalType::Null => Values::Null(len),
            PhysicalType::Array => match data_type {
                Type::Array(element) => Values::Array(self.nested(element, len)),
                _ => Values::Null(len),
            },
            PhysicalType::FixedArray => match data_type {
                Type::FixedArray(array) => {
                    let size = array.1 as usize;
                    let elements = Arc::new(self.base(&array.0, len * size, 1));
                    Values::FixedArray(FixedArrays { size, len, elements })
                }
                _ => Values::Null(len),
            },
            PhysicalType::Map => Values::Map(self.entries(data_type, len)),
            PhysicalType::Row => self.children(data_type, len),
            _ => return self.flat_scalars(data_type, len, nulls),
        };
        Vector::flat(data_type.clone(), values, nulls)
    }

    /// Scalars; null rows hold values, too, which nobody may look at.
    fn flat_scalars(&mut self, data_type: &Type, len: usize, nulls: Option<NullBuffer>) -> Vector {
        let values: Vec<Value> = (0..len).map(|_| self.value(data_type)).collect();
        match Vector::from_values(data_type.clone(), &values).flat_values() {
            Some(values) => Vector::flat(data_type.clone(), values.clone(), nulls),
            None => Vector::nulls(data_type.clone(), len),
        }
    }

    /// Distances of all widths from a base anywhere; null rows hold some, too.
    fn bias(&mut self, data_type: &Type, len: usize) -> Vector {
        let near = self.near_values(data_type, len);
        let bias = near.and_then(|it| it.to_bias().ok().flatten());
        match bias.as_ref().map(Vector::encoding) {
            Some(Encoding::Bias { base, deltas }) => {
                Vector::bias(data_type.clone(), *base, deltas.clone(), self.null_buffer(len))
            }
            _ => self.flat(data_type, len),
        }
    }

    /// Values within 8, 16 or 32 bits of each other; `None` for types stored in other ways.
    fn near_values(&mut self, data_type: &Type, len: usize) -> Option<Vector> {
        let first = self.value(data_type);
        let base = first.as_i128()?;
        let width = *self.choose(&[1u128 << 8, 1 << 16, 1 << 32]);
        let near = |it: &Value| it.as_i128().is_some_and(|it| it.abs_diff(base) < width / 2);
        let values: Vec<Value> = (0..len)
            .map(|_| Some(self.value(data_type)).filter(near).unwrap_or_else(|| first.clone()))
            .collect();
        Some(Vector::from_values(data_type.clone(), &values))
    }

    /// Rows that share elements, leave some out, and take them in any order.
    fn nested(&mut self, element: &Type, len: usize) -> Nested {
        let count = self.below(len * 2 + 2);
        let shape = *self.choose(&Shape::BASES);
        let elements = self.layered(shape, element, count, 1);
        let (mut offsets, mut sizes) = (Vec::with_capacity(len), Vec::with_capacity(len));
        for _ in 0..len {
            let offset = self.below(count + 1);
            offsets.push(offset as i32);
            sizes.push(self.below((count - offset).min(ELEMENTS_MAX) + 1) as i32);
        }
        let (offsets, sizes) = (ScalarBuffer::from(offsets), ScalarBuffer::from(sizes));
        Nested { offsets, sizes, elements: Arc::new(elements) }
    }

    /// Maps: like arrays of entries, but keys are not null and no map has a key twice.
    fn entries(&mut self, data_type: &Type, len: usize) -> Nested {
        let (key, value) = match data_type {
            Type::Map(entry) => (&entry.0, &entry.1),
            _ => (&Type::Unknown, &Type::Unknown),
        };
        let mut keys: Vec<Value> = Vec::new();
        let (mut offsets, mut sizes) = (Vec::with_capacity(len), Vec::with_capacity(len));
        for _ in 0..len {
            let start = keys.len();
            for _ in 0..self.below(ELEMENTS_MAX + 1) {
                let candidate = self.value(key);
                // NaN differs from itself here, and would be a key twice.
                let is_nan = candidate != candidate.clone();
                if !is_nan && !keys[start..].contains(&candidate) {
                    keys.push(candidate);
                }
            }
            offsets.push(start as i32);
            sizes.push((keys.len() - start) as i32);
        }
        let count = keys.len();
        let children = [Vector::from_values(key.clone(), &keys), self.flat(value, count)];
        let entries = Values::Row { children: children.into(), len: count };
        let elements = Arc::new(Vector::flat(data_type.entry_type(), entries, None));
        Nested { offsets: offsets.into(), sizes: sizes.into(), elements }
    }

    fn children(&mut self, data_type: &Type, len: usize) -> Values {
        let fields = match data_type {
            Type::Row(fields) => fields.iter().map(|it| it.data_type.clone()).collect(),
            _ => Vec::new(),
        };
        let children = fields.iter().map(|it| self.base(it, len, 1)).collect();
        Values::Row { children, len }
    }

    fn is_null(&mut self) -> bool {
        self.random.f64() < self.null_ratio
    }

    /// Half of all vectors have no nulls at all, as in life.
    fn null_buffer(&mut self, len: usize) -> Option<NullBuffer> {
        if self.null_ratio == 0.0 || self.random.bool() {
            return None;
        }
        Some(NullBuffer::from_iter((0..len).map(|_| !self.is_null())))
    }
}

/// Values that are loaded already, as a loader.
pub(crate) struct Later(pub(crate) Vector);

impl Loader for Later {
    fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
        match rows {
            Some(rows) => self.0.gather(rows),
            None => Ok(self.0.clone()),
        }
    }
}
