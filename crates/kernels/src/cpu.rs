//! What the CPU can do, and loops compiled for it. The answers are cached by the standard library.

/// Whether 256-bit integer instructions can be used.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

/// Whether the 512-bit instructions that kernels are compiled for can be used.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vl")
        && std::arch::is_x86_feature_detected!("avx512dq")
}

/// Runs `f`, which is compiled once for each set of instructions that this function chooses from;
/// for loops that the compiler makes vector loops of. What `f` calls must be inlined into it.
#[inline(always)]
pub fn dispatch<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512() {
            // SAFETY: the CPU has these instructions.
            return unsafe { with_avx512(f) };
        }
        if has_avx2() {
            // SAFETY: the CPU has these instructions.
            return unsafe { with_avx2(f) };
        }
    }
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
fn with_avx512<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// Asks for the memory of `values[index]`, without waiting for it.
#[inline(always)]
pub fn prefetch<T>(values: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address does no harm.
        unsafe { _mm_prefetch(values.as_ptr().wrapping_add(index).cast(), _MM_HINT_T0) };
    }
    let _ = (values, index);
}
