//! Packing.

use super::Plan;
use crate::{
    VECTOR_ROWS,
    input::{put, put_all},
    order::Order,
};
use volley_kernels::pack::{Lane, pack, pack_short};

/// Appends `values`.
pub(crate) fn encode<T: Lane>(values: &[T], order: Order, out: &mut Vec<u8>) {
    let mut writer = Writer::default();
    for vector in values.chunks(VECTOR_ROWS) {
        writer.push(vector, Plan::best(vector, order), |_, value| Some(value));
    }
    writer.finish(out);
}

/// Collects packed vectors.
#[derive(Debug, Default)]
pub(crate) struct Writer<T> {
    widths: Vec<u8>,
    exceptions: Vec<u16>,
    bases: Vec<T>,
    vectors: Vec<u8>,
}

impl<T: Lane> Writer<T> {
    /// Appends a vector. `raw` answers what stands for the value of a row as an exception, or
    /// `None` where it must not be one. Values beyond the width are exceptions.
    pub(crate) fn push(
        &mut self,
        values: &[T],
        plan: Plan<T>,
        raw: impl Fn(usize, T) -> Option<T>,
    ) {
        self.push_forced(values, plan, |_| false, raw);
    }

    /// As [`Writer::push`]; rows that are `forced` are exceptions, too.
    pub(crate) fn push_forced(
        &mut self,
        values: &[T],
        plan: Plan<T>,
        forced: impl Fn(usize) -> bool,
        raw: impl Fn(usize, T) -> Option<T>,
    ) {
        let Plan { base, width, .. } = plan;
        let (mut positions, mut exceptions) = (Vec::new(), Vec::new());
        for (row, value) in values.iter().enumerate() {
            if (forced(row) || value.minus(base) > T::mask(width))
                && let Some(raw) = raw(row, *value)
            {
                positions.push(row as u16);
                exceptions.push(raw);
            }
        }
        self.widths.push(width as u8);
        self.exceptions.push(positions.len() as u16);
        self.bases.push(base);
        match values.len() {
            VECTOR_ROWS => pack(values, base, width, &mut self.vectors),
            _ => pack_short(values, base, width, &mut self.vectors),
        }
        put_all(&mut self.vectors, &positions);
        put_all(&mut self.vectors, &exceptions);
    }

    /// Appends all vectors.
    pub(crate) fn finish(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.widths);
        self.exceptions.iter().for_each(|it| put(out, *it));
        put_all(out, &self.bases);
        out.extend_from_slice(&self.vectors);
    }
}
