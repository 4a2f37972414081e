//! Calls that run together, block by block.
//!
//! Inputs are flat, constant or dictionary columns of fixed-width elements. A block of each goes
//! through all steps before the next block; what lies between steps never leaves the cache. A block
//! for which a step says that some row may have failed ends this: the calls are evaluated one
//! after the other then, which finds the rows and their errors.

use super::{Evaluator, Frame};
use crate::{
    marks::{Mark, hit},
    merge::nulls_of,
    node::{Blocks, NodeId, Operand, Step},
};
use volley_error::{Error, Result};
use volley_function::{BLOCK_ROWS, BlockArg, BlockInput, push_block};
use volley_types::match_native;
use volley_vector::{Encoding, MutableBuffer, NullBuffer, Rows, Values, Vector};

/// With fewer active rows than this part of all, calls on active rows only are faster.
const ACTIVE_PART: usize = 2;

/// Space for the blocks between steps, kept over batches.
#[derive(Default)]
pub(crate) struct Scratch {
    /// One per slot of the steps.
    slots: Vec<MutableBuffer>,
    /// One per input, for blocks of dictionaries.
    gathered: Vec<MutableBuffer>,
}

/// An input column.
enum Input<'v> {
    Plain(BlockInput<'v>),
    /// Rows of a base.
    Codes(&'v Values, &'v [u32]),
}

impl Evaluator<'_> {
    /// The values of joined calls.
    pub(super) fn blocks(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        blocks: &Blocks,
        rows: &Rows,
    ) -> Result<Vector> {
        if rows.count() * ACTIVE_PART < rows.len() {
            return self.call_from_arguments(frame, node, &blocks.call, rows);
        }
        let mut vectors = Vec::with_capacity(blocks.inputs.len());
        for &input in &blocks.inputs {
            vectors.push(self.evaluate(frame, input, rows)?.loaded()?);
        }
        let inputs: Option<Vec<Input>> = vectors.iter().map(Input::of).collect();
        if let Some(inputs) = inputs
            && let Some(vector) = self.run_blocks(node, blocks, &inputs, &vectors, rows)?
        {
            hit(Mark::Blockwise);
            return Ok(vector);
        }
        self.call_from_arguments(frame, node, &blocks.call, rows)
    }

    /// The values of all rows; `None` when some row may have failed.
    fn run_blocks(
        &mut self,
        node: NodeId,
        blocks: &Blocks,
        inputs: &[Input],
        vectors: &[Vector],
        rows: &Rows,
    ) -> Result<Option<Vector>> {
        let scratch = &mut self.states[node].scratch;
        let Some(bytes) = scratch.run(&blocks.steps, inputs, rows.len()) else { return Ok(None) };
        let mut nulls = None;
        for vector in vectors {
            nulls = NullBuffer::union(nulls.as_ref(), nulls_of(vector)?.as_ref());
        }
        let data_type = self.nodes[node].data_type.clone();
        let values = Values::from_fixed_bytes(data_type.physical(), bytes.into());
        let values = values.ok_or_else(|| Error::internal("joined calls of another layout"))?;
        Ok(Some(Vector::flat(data_type, values, nulls)))
    }
}

impl Scratch {
    /// The bytes of the last step's results; `None` when some row may have failed.
    fn run(&mut self, steps: &[Step], inputs: &[Input], len: usize) -> Option<MutableBuffer> {
        let (last, before) = steps.split_last()?;
        self.reserve(before, inputs);
        let mut result = MutableBuffer::with_capacity(len * last.width);
        for start in (0..len).step_by(BLOCK_ROWS) {
            let rows = BLOCK_ROWS.min(len - start);
            for (input, gathered) in inputs.iter().zip(&mut self.gathered) {
                input.gather(start, rows, gathered);
            }
            for step in before {
                let mut slot = std::mem::take(&mut self.slots[step.slot]);
                let out = &mut slot[..rows * step.width];
                let is_valid = self.step(step, inputs, start, rows, out);
                self.slots[step.slot] = slot;
                is_valid.then_some(())?;
            }
            let out = push_block(&mut result, rows * last.width);
            self.step(last, inputs, start, rows, out).then_some(())?;
        }
        Some(result)
    }

    fn reserve(&mut self, steps: &[Step], inputs: &[Input]) {
        self.gathered.resize_with(inputs.len(), MutableBuffer::default);
        for step in steps {
            if self.slots.len() <= step.slot {
                self.slots.resize_with(step.slot + 1, MutableBuffer::default);
            }
            let slot = &mut self.slots[step.slot];
            slot.resize(slot.len().max(BLOCK_ROWS * step.width), 0);
        }
    }

    /// One step over one block; false when some row may have failed.
    fn step(
        &self,
        step: &Step,
        inputs: &[Input],
        start: usize,
        rows: usize,
        out: &mut [u8],
    ) -> bool {
        /// No function that works on blocks has more.
        const ARGS_MAX: usize = 4;
        let Some(function) = step.function.block() else { return false };
        let mut args = [BlockArg(&[]); ARGS_MAX];
        let Some(args) = args.get_mut(..step.args.len()) else { return false };
        for ((place, arg), width) in args.iter_mut().zip(&step.args).zip(&step.widths) {
            *place = match arg {
                Operand::Input(input) => match &inputs[*input] {
                    Input::Plain(plain) => plain.part(start, rows),
                    Input::Codes(..) => BlockArg(&self.gathered[*input]),
                },
                Operand::Slot(slot) => BlockArg(&self.slots[*slot][..rows * width]),
            };
        }
        function.run(args, out)
    }
}

impl<'v> Input<'v> {
    /// The input that a vector can be; `None` for other encodings.
    fn of(vector: &'v Vector) -> Option<Input<'v>> {
        match vector.encoding() {
            Encoding::Dictionary { codes, base } => {
                let values = base.flat_values()?;
                values.fixed_bytes()?;
                Some(Input::Codes(values, codes))
            }
            _ => BlockInput::of(vector).map(Input::Plain),
        }
    }

    /// Gathers a block of a dictionary's rows.
    fn gather(&self, start: usize, rows: usize, out: &mut MutableBuffer) {
        let Input::Codes(values, codes) = self else { return };
        let codes = &codes[start..start + rows];
        match_native!(values.physical(), T => {
            let Some(values) = values.native::<T>() else { return };
            out.clear();
            out.extend(codes.iter().map(|code| values[*code as usize]));
        }, else ());
    }
}
