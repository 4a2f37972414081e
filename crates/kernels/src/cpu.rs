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

/// A loop that is compiled once for each set of instructions that [`dispatch`] chooses from.
pub trait Kernel {
    /// What comes out.
    type Output;

    /// The loop. Implementations are `#[inline(always)]`, and what they call is inlined: only then
    /// does the compiler make vector loops with the chosen instructions.
    fn run(self) -> Self::Output;
}

/// Runs a loop compiled for the CPU at hand.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512() {
            // SAFETY: the CPU has these instructions.
            return unsafe { with_avx512(kernel) };
        }
        if has_avx2() {
            // SAFETY: the CPU has these instructions.
            return unsafe { with_avx2(kernel) };
        }
    }
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
fn with_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
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

/// One of the sets of instructions that [`dispatch`] chooses from, for tests.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Variant {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Those that this CPU has.
#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    #[cfg(target_arch = "x86_64")]
    {
        let mut variants = vec![Variant::Portable];
        variants.extend(has_avx2().then_some(Variant::Avx2));
        variants.extend(has_avx512().then_some(Variant::Avx512));
        variants
    }
    #[cfg(not(target_arch = "x86_64"))]
    vec![Variant::Portable]
}

#[cfg(test)]
impl Variant {
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self {
            Variant::Portable => kernel.run(),
            // SAFETY: `variants` checked that the CPU has these instructions.
            #[cfg(target_arch = "x86_64")]
            Variant::Avx2 => unsafe { with_avx2(kernel) },
            // SAFETY: `variants` checked that the CPU has these instructions.
            #[cfg(target_arch = "x86_64")]
            Variant::Avx512 => unsafe { with_avx512(kernel) },
        }
    }
}
