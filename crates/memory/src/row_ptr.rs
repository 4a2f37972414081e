//! The address of a row of raw memory.

/// Where a row of a row container starts. A plain address: code that dereferences it must know that
/// the container is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RowPtr(*mut u8);

// SAFETY: an address may travel between threads like an integer. Each dereference happens in an
// unsafe block, which must answer for aliasing: rows are written by the one driver that owns their
// container, or, once shared, only through atomics.
unsafe impl Send for RowPtr {}

// SAFETY: as for Send; sharing a `&RowPtr` gives no more than copying it.
unsafe impl Sync for RowPtr {}

impl RowPtr {
    /// No row.
    pub const NULL: RowPtr = RowPtr(std::ptr::null_mut());

    /// The row at `address`.
    pub fn new(address: *mut u8) -> RowPtr {
        RowPtr(address)
    }

    /// The row whose address was given out by [`RowPtr::expose`].
    #[inline]
    pub fn from_exposed(address: u64) -> RowPtr {
        RowPtr(std::ptr::with_exposed_provenance_mut(address as usize))
    }

    /// The address as a number, for tables that pack it with other bits.
    #[inline]
    pub fn expose(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// Whether this is [`RowPtr::NULL`].
    #[inline]
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The address of the field `offset` bytes into the row.
    #[inline]
    pub fn field<T>(self, offset: usize) -> *mut T {
        self.0.wrapping_add(offset).cast()
    }

    /// The field `offset` bytes into the row, aligned or not.
    ///
    /// # Safety
    ///
    /// - The row lives and has `size_of::<T>()` initialized bytes there, which are a valid `T`.
    /// - No other thread writes them now.
    #[inline]
    pub unsafe fn read<T: Copy>(self, offset: usize) -> T {
        // SAFETY: the bytes are valid for reads of a T and not written meanwhile; alignment is
        // not needed.
        unsafe { self.field::<T>(offset).read_unaligned() }
    }

    /// Overwrites the field `offset` bytes into the row, aligned or not.
    ///
    /// # Safety
    ///
    /// - The row lives and has `size_of::<T>()` bytes there.
    /// - No other thread reads or writes them now.
    #[inline]
    pub unsafe fn write<T: Copy>(self, offset: usize, value: T) {
        // SAFETY: the bytes are valid for writes of a T and not used elsewhere meanwhile;
        // alignment is not needed.
        unsafe { self.field::<T>(offset).write_unaligned(value) }
    }

    /// The addresses as [`crate::Slots`] takes them.
    pub fn as_raw(rows: &[RowPtr]) -> &[*mut u8] {
        // SAFETY: `repr(transparent)` gives both slices the same layout.
        unsafe { std::slice::from_raw_parts(rows.as_ptr().cast(), rows.len()) }
    }
}
