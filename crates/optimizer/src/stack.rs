//! Recursion over trees of any depth.

/// Stack that must be left before a step of a recursion, in bytes; more than the frames of all
/// functions between two such steps take.
const STACK_LEFT_MIN: usize = 256 * 1024;

/// Stack added when there is less, in bytes.
const STACK_SEGMENT: usize = 4 * 1024 * 1024;

/// Runs one step of a recursion over a plan or an expression, on more stack when there is little
/// left: the depth of a query is limited by memory only.
pub(crate) fn deep<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_LEFT_MIN, STACK_SEGMENT, step)
}
