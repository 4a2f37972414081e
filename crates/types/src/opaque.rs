//! Types whose values are objects of a Rust type that the user defines.
//!
//! A column of such a type holds references to objects. The engine passes them on and calls the
//! type to compare, hash and print them. They cannot leave the process: neither Arrow nor files can
//! hold them.
//!
//! ```
//! use std::cmp::Ordering;
//! use volley_types::{Opaque, OpaqueType, Type};
//!
//! /// What a column of polygons holds.
//! #[derive(Debug)]
//! struct Polygon {
//!     corners: Vec<(i32, i32)>,
//! }
//!
//! /// The type POLYGON: polygons compare by their corners.
//! #[derive(Debug)]
//! struct PolygonType;
//!
//! impl OpaqueType for PolygonType {
//!     type Object = Polygon;
//!
//!     fn name(&self) -> &str {
//!         "POLYGON"
//!     }
//!
//!     fn compare(&self, left: &Polygon, right: &Polygon) -> Ordering {
//!         left.corners.cmp(&right.corners)
//!     }
//!
//!     fn key(&self, polygon: &Polygon, key: &mut Vec<u8>) {
//!         for (x, y) in &polygon.corners {
//!             key.extend_from_slice(&x.to_le_bytes());
//!             key.extend_from_slice(&y.to_le_bytes());
//!         }
//!     }
//!
//!     fn push(&self, out: &mut String, polygon: &Polygon) {
//!         out.push_str(&format!("polygon of {} corners", polygon.corners.len()));
//!     }
//!
//!     fn bytes(&self, polygon: &Polygon) -> usize {
//!         size_of::<Polygon>() + polygon.corners.capacity() * size_of::<(i32, i32)>()
//!     }
//! }
//!
//! let polygon_type = Opaque::new(PolygonType);
//! let triangle = polygon_type.value(Polygon { corners: vec![(0, 0), (1, 0), (0, 1)] });
//! let data_type = Type::Opaque(polygon_type);
//! assert_eq!(data_type.to_string(), "POLYGON");
//! assert_eq!(triangle.display(&data_type).to_string(), "polygon of 3 corners");
//!
//! // Functions that are written for the type get at the object itself.
//! let object = triangle.as_object().unwrap();
//! assert_eq!(object.downcast_ref::<Polygon>().unwrap().corners[1], (1, 0));
//! ```
//!
//! `volley_vector::Vector::from_values` makes a column of such values, and a
//! [`TypeRegistry`](crate::TypeRegistry) makes the type known by its name.

use crate::{CustomOrder, Type, Value};
use std::{
    any::{Any, TypeId},
    cmp::Ordering,
    fmt,
    hash::{self, Hasher},
    sync::Arc,
};

/// What the engine needs to know about the objects of one Rust type.
pub trait OpaqueType: fmt::Debug + Send + Sync + 'static {
    /// The Rust type of the values.
    type Object: Send + Sync + 'static;

    /// Its name in SQL, in upper case. Types of one name and one Rust type are the same type.
    fn name(&self) -> &str;

    /// The order of two objects; total, and `Equal` for those that are the same value.
    fn compare(&self, left: &Self::Object, right: &Self::Object) -> Ordering;

    /// Appends bytes that are equal for two objects exactly if the objects are equal: the key of
    /// GROUP BY, DISTINCT and joins.
    fn key(&self, object: &Self::Object, key: &mut Vec<u8>);

    /// Appends the object as people read it.
    fn push(&self, out: &mut String, object: &Self::Object);

    /// A hash; equal objects have equal ones.
    fn hash(&self, object: &Self::Object) -> u64 {
        let mut key = Vec::new();
        self.key(object, &mut key);
        let mut hasher = hash::DefaultHasher::new();
        hasher.write(&key);
        hasher.finish()
    }

    /// Bytes of memory that the object takes, those that it points to included.
    fn bytes(&self, _object: &Self::Object) -> usize {
        size_of::<Self::Object>()
    }

    /// Which comparisons SQL has.
    fn order(&self) -> CustomOrder {
        CustomOrder::Ordered
    }
}

/// [`OpaqueType`] without its Rust type.
trait Erased: fmt::Debug + Send + Sync {
    fn name(&self) -> &str;
    fn order(&self) -> CustomOrder;
    fn object_id(&self) -> TypeId;
    fn compare(&self, left: &dyn Any, right: &dyn Any) -> Ordering;
    fn key(&self, object: &dyn Any, key: &mut Vec<u8>);
    fn hash(&self, object: &dyn Any) -> u64;
    fn push(&self, out: &mut String, object: &dyn Any);
    fn bytes(&self, object: &dyn Any) -> usize;
}

/// The type of objects is checked when a value is made, so that the casts below cannot fail.
impl<T: OpaqueType> Erased for T {
    fn name(&self) -> &str {
        OpaqueType::name(self)
    }

    fn order(&self) -> CustomOrder {
        OpaqueType::order(self)
    }

    fn object_id(&self) -> TypeId {
        TypeId::of::<T::Object>()
    }

    fn compare(&self, left: &dyn Any, right: &dyn Any) -> Ordering {
        match (left.downcast_ref(), right.downcast_ref()) {
            (Some(left), Some(right)) => OpaqueType::compare(self, left, right),
            _ => Ordering::Equal,
        }
    }

    fn key(&self, object: &dyn Any, key: &mut Vec<u8>) {
        if let Some(object) = object.downcast_ref() {
            OpaqueType::key(self, object, key);
        }
    }

    fn hash(&self, object: &dyn Any) -> u64 {
        object.downcast_ref().map_or(0, |it| OpaqueType::hash(self, it))
    }

    fn push(&self, out: &mut String, object: &dyn Any) {
        if let Some(object) = object.downcast_ref() {
            OpaqueType::push(self, out, object);
        }
    }

    fn bytes(&self, object: &dyn Any) -> usize {
        object.downcast_ref().map_or(0, |it| OpaqueType::bytes(self, it))
    }
}

/// A handle to an opaque type. Cheap to clone; equal by name and Rust type.
#[derive(Clone, Debug)]
pub struct Opaque(Arc<dyn Erased>);

impl Opaque {
    /// A handle to `opaque`.
    pub fn new(opaque: impl OpaqueType) -> Opaque {
        Opaque(Arc::new(opaque))
    }

    /// The name in SQL.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Which comparisons SQL has.
    pub fn order(&self) -> CustomOrder {
        self.0.order()
    }

    /// `object` as a value of the type.
    ///
    /// # Panics
    ///
    /// If the type's objects are of another Rust type.
    pub fn value<T: Any + Send + Sync>(&self, object: T) -> Value {
        assert_eq!(self.0.object_id(), TypeId::of::<T>(), "object of {}", self.name());
        Value::Object(Object { opaque: self.clone(), inner: Arc::new(object) })
    }
}

impl PartialEq for Opaque {
    fn eq(&self, other: &Opaque) -> bool {
        self.name() == other.name() && self.0.object_id() == other.0.object_id()
    }
}

impl Eq for Opaque {}

impl hash::Hash for Opaque {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

/// One object, with its type. Cheap to clone.
#[derive(Clone)]
pub struct Object {
    opaque: Opaque,
    inner: Arc<dyn Any + Send + Sync>,
}

impl Object {
    /// The type that it was made for.
    pub fn opaque(&self) -> &Opaque {
        &self.opaque
    }

    /// The type that it was made for, as a logical type.
    pub fn data_type(&self) -> Type {
        Type::Opaque(self.opaque.clone())
    }

    /// The object, when it is a `T`.
    pub fn downcast_ref<T: Any>(&self) -> Option<&T> {
        self.inner.downcast_ref()
    }

    /// The order of two objects of one type.
    pub fn compare(&self, other: &Object) -> Ordering {
        self.opaque.0.compare(&*self.inner, &*other.inner)
    }

    /// Appends bytes that the object has in common with those that equal it, and no others.
    pub fn push_key(&self, key: &mut Vec<u8>) {
        self.opaque.0.key(&*self.inner, key);
    }

    /// The hash that the type gives the object.
    pub fn hash(&self) -> u64 {
        self.opaque.0.hash(&*self.inner)
    }

    /// Appends the object as the type prints it.
    pub fn push(&self, out: &mut String) {
        self.opaque.0.push(out, &*self.inner);
    }

    /// Bytes of memory that the object takes, as the type says.
    pub fn bytes(&self) -> usize {
        self.opaque.0.bytes(&*self.inner)
    }

    /// The address of the object: clones have the same address.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.inner).cast::<u8>() as usize
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        self.opaque == other.opaque && self.compare(other).is_eq()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.push(&mut text);
        write!(f, "{}({text:?})", self.opaque.name())
    }
}
