//! Typed access to a field of many rows of raw memory.
//!
//! Aggregates keep their state inside the rows of a hash table. The table knows raw rows, an
//! aggregate knows a Rust type. [`Slots`] connects both with the one check that makes it safe: the
//! type is the one that the table allocated space for.

use std::{any::TypeId, marker::PhantomData};

/// The same field of many rows. A row may appear several times.
pub struct Slots<'a> {
    rows: &'a [*mut u8],
    offset: usize,
    type_id: TypeId,
}

/// [`Slots`] whose field is known to be a `T`.
pub struct TypedSlots<'a, T> {
    rows: &'a [*mut u8],
    offset: usize,
    field: PhantomData<&'a mut T>,
}

impl<'a> Slots<'a> {
    /// The field `offset` bytes into each of `rows`.
    ///
    /// # Safety
    ///
    /// For as long as the result lives,
    /// - every pointer plus `offset` is valid for reads and writes of the type behind `type_id`,
    ///   and aligned for it;
    /// - no other code reads or writes these fields;
    /// - the fields hold a value of that type, unless the only use is [`TypedSlots::write`].
    pub unsafe fn new(rows: &'a [*mut u8], offset: usize, type_id: TypeId) -> Slots<'a> {
        Slots { rows, offset, type_id }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The fields as values of `T`.
    ///
    /// # Panics
    ///
    /// If the rows were made for another type.
    pub fn typed<T: 'static>(&mut self) -> TypedSlots<'_, T> {
        assert_eq!(self.type_id, TypeId::of::<T>(), "slots of another type");
        TypedSlots { rows: self.rows, offset: self.offset, field: PhantomData }
    }
}

impl<T> TypedSlots<'_, T> {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The field of the row at `index`.
    #[inline]
    pub fn get(&mut self, index: usize) -> &mut T {
        let field = self.rows[index].wrapping_add(self.offset).cast::<T>();
        // SAFETY: `Slots::new` asks for valid, aligned, exclusive fields of type T; the borrow of
        // `self` keeps a second reference from being made.
        unsafe { &mut *field }
    }

    /// Writes the field of the row at `index` without dropping what was there.
    #[inline]
    pub fn write(&mut self, index: usize, value: T) {
        let field = self.rows[index].wrapping_add(self.offset).cast::<T>();
        // SAFETY: `Slots::new` asks for valid and aligned fields.
        unsafe { field.write(value) }
    }

    /// Drops the field of the row at `index` in place; it must not be read again.
    ///
    /// # Safety
    ///
    /// The field is not used after this call, except by [`TypedSlots::write`].
    #[inline]
    pub unsafe fn drop_in_place(&mut self, index: usize) {
        let field = self.rows[index].wrapping_add(self.offset).cast::<T>();
        // SAFETY: the field holds a T (`Slots::new`), and the caller does not use it again.
        unsafe { field.drop_in_place() }
    }
}
