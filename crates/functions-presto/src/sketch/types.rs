//! The types of sketches: TDIGEST(DOUBLE), QDIGEST(T), KLLSKETCH(T), SETDIGEST, KHYPERLOGLOG,
//! SFMSKETCH. Stored as VARBINARY, in Presto's bytes.

use super::{
    SetDigest, TDigest, aggregate::Sketch, key_hyper_log_log::KeyHyperLogLog, kll_bytes,
    quantile_digest::QuantileDigest, sfm::SfmSketch,
};
use std::sync::Arc;
use volley_error::Error;
use volley_function::{BoundScalar, Registry, ScalarTraits, simple};
use volley_types::{
    Type, Value,
    custom::{Custom, CustomOrder, CustomType},
    text,
};
use volley_vector::Decoded;

/// What a sketch is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SketchKind {
    /// A T-digest.
    TDigest,
    /// A quantile digest.
    QDigest,
    /// A KLL sketch.
    Kll,
    /// The least hashes of a set.
    Set,
    /// Identities by value.
    Keys,
    /// Bits of a set, some of them flipped.
    Sfm,
}

/// A type of sketches.
#[derive(Debug)]
struct SketchType {
    name: String,
    kind: SketchKind,
    element: Type,
}

impl SketchType {
    fn is_valid(&self, bytes: &[u8]) -> bool {
        match (self.kind, &self.element) {
            (SketchKind::TDigest, _) => TDigest::from_bytes(bytes).is_some(),
            (SketchKind::QDigest, _) => QuantileDigest::read(bytes).is_some(),
            (SketchKind::Set, _) => SetDigest::from_bytes(bytes).is_some(),
            (SketchKind::Keys, _) => KeyHyperLogLog::read(bytes).is_some(),
            (SketchKind::Sfm, _) => SfmSketch::from_bytes(bytes).is_some(),
            (SketchKind::Kll, Type::BigInt) => kll_bytes::read::<i64>(bytes).is_some(),
            (SketchKind::Kll, Type::Varchar) => kll_bytes::read::<String>(bytes).is_some(),
            (SketchKind::Kll, Type::Boolean) => kll_bytes::read::<bool>(bytes).is_some(),
            (SketchKind::Kll, _) => kll_bytes::read::<f64>(bytes).is_some(),
        }
    }
}

impl CustomType for SketchType {
    fn name(&self) -> &str {
        &self.name
    }

    fn storage(&self) -> &Type {
        &Type::Varbinary
    }

    fn push(&self, out: &mut String, stored: &Value) {
        if let Value::Varbinary(bytes) = stored {
            text::push_binary(out, bytes);
        }
    }

    fn parse(&self, text: &str) -> Option<Value> {
        let mut bytes = Vec::new();
        text::parse_binary(text, &mut bytes)?;
        self.is_valid(&bytes).then(|| Value::Varbinary(bytes.into()))
    }

    /// Sketches of one distribution may differ.
    fn order(&self) -> CustomOrder {
        CustomOrder::None
    }
}

impl SketchKind {
    const ALL: [SketchKind; 6] = [
        SketchKind::TDigest,
        SketchKind::QDigest,
        SketchKind::Kll,
        SketchKind::Set,
        SketchKind::Keys,
        SketchKind::Sfm,
    ];

    fn name(self) -> &'static str {
        match self {
            SketchKind::TDigest => "TDIGEST",
            SketchKind::QDigest => "QDIGEST",
            SketchKind::Kll => "KLLSKETCH",
            SketchKind::Set => "SETDIGEST",
            SketchKind::Keys => "KHYPERLOGLOG",
            SketchKind::Sfm => "SFMSKETCH",
        }
    }

    /// The types of values that there are sketches of; those of sets and keys are not part of the
    /// type, which has that of hashes here.
    pub fn elements(self) -> &'static [Type] {
        match self {
            SketchKind::TDigest => &[Type::Double],
            SketchKind::QDigest => &[Type::BigInt, Type::Real, Type::Double],
            SketchKind::Kll => &[Type::BigInt, Type::Double, Type::Varchar, Type::Boolean],
            SketchKind::Set | SketchKind::Keys | SketchKind::Sfm => &[Type::BigInt],
        }
    }

    /// The type of sketches of `element`s.
    pub fn of(self, element: &Type) -> Type {
        let name = match self {
            SketchKind::Set | SketchKind::Keys | SketchKind::Sfm => self.name().to_owned(),
            _ => format!("{}({element})", self.name()),
        };
        Type::Custom(Custom::new(SketchType { name, kind: self, element: element.clone() }))
    }

    /// The element type of a type of such sketches; `None` of another type.
    pub fn element_of(self, data_type: &Type) -> Option<Type> {
        self.elements().iter().find(|it| self.of(it) == *data_type).cloned()
    }

    fn make(self, parameters: &[String]) -> Result<Type, String> {
        let elements = self.elements();
        let named = |parameter: &String| {
            elements.iter().find(|it| it.to_string().eq_ignore_ascii_case(parameter.trim()))
        };
        let element = match parameters {
            [parameter] => named(parameter),
            [] if elements.len() == 1 => elements.first(),
            _ => None,
        };
        let names: Vec<String> = elements.iter().map(ToString::to_string).collect();
        let expected = || format!("the type {} takes {}", self.name(), names.join(" or "));
        element.map(|it| self.of(it)).ok_or_else(expected)
    }
}

/// Registers the types and their conversion from bytes. The other way values are what they are
/// stored as.
pub(super) fn register(registry: &mut Registry) {
    for kind in SketchKind::ALL {
        let make = move |parameters: &[String]| kind.make(parameters);
        registry.types_mut().add(kind.name(), Arc::new(make));
    }
    registry.add_casts(Arc::new(bind_bytes));
}

fn bind_bytes(from: &Type, to: &Type) -> Option<BoundScalar> {
    let kind_of = |kind: SketchKind| kind.element_of(to).map(|it| (kind, it));
    let (kind, element) = SketchKind::ALL.into_iter().find_map(kind_of)?;
    if *from != Type::Varbinary {
        return None;
    }
    let name = to.to_string();
    let sketch = SketchType { name, kind, element };
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let decoded = Decoded::new(&args[0])?;
        rows.for_each(|row| {
            if !decoded.is_null(row) && !sketch.is_valid(decoded.bytes(row)) {
                let malformed = || Error::invalid_value(format!("bytes are no {}", sketch.name));
                ctx.fail(row, malformed);
            }
        });
        Ok(args[0].with_type(to.clone()))
    });
    let cast = BoundScalar::new(vec![from.clone()], to.clone(), ScalarTraits::DEFAULT, function);
    Some(BoundScalar { name: "cast".to_owned(), ..cast })
}
