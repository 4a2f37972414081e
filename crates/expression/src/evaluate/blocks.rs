//! Calls that run together, block by block.
//!
//! Inputs are flat, constant or dictionary columns of fixed-width elements. A block of each goes
//! through all steps before the next block, so that intermediate results stay in the cache. If a
//! step reports that some row may have failed, the calls are evaluated one after the other instead,
//! which finds the rows and their errors.

use super::{Evaluator, Frame};
use crate::{
    marks::{Mark, hit},
    merge::nulls_of,
    node::{ARGS_MAX, Blocks, INPUTS_MAX, Kind, NodeId, Operand, Step},
};
use std::borrow::Cow;
use volley_error::{Error, Result};
use volley_function::{BLOCK_ROWS, BlockArg, BlockInput};
use volley_types::match_native;
use volley_vector::{Buffer, Encoding, MutableBuffer, NullBuffer, Recycler, Rows, Values, Vector};

/// Room for a block of results of the widest type.
const SLOT_BYTES: usize = BLOCK_ROWS * size_of::<i128>();

/// With fewer active rows than this part of all, calls on active rows only are faster.
const ACTIVE_PART: usize = 2;

/// Space for the blocks between steps, kept across batches.
#[derive(Default)]
pub(crate) struct Scratch {
    /// [`SLOT_BYTES`] for each slot of the steps.
    slots: MutableBuffer,
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
        let nodes = self.nodes;
        let mut vectors: Vec<Cow<Vector>> = Vec::with_capacity(blocks.inputs.len());
        for &input in &blocks.inputs {
            let at_hand = match &nodes[input].kind {
                Kind::Constant(one_row) => Some(one_row),
                Kind::Column(column) => frame.present_column(*column),
                _ => None,
            };
            vectors.push(match at_hand {
                Some(vector) => Cow::Borrowed(vector),
                None => Cow::Owned(self.evaluate(frame, input, rows)?.into_loaded()?),
            });
        }
        let input = |(vector, input): (_, &NodeId)| match &nodes[*input].kind {
            Kind::Constant(one_row) => BlockInput::of_constant(one_row).map(Input::Plain),
            _ => Input::of(vector),
        };
        let inputs: Option<Vec<Input>> =
            vectors.iter().map(|it| &**it).zip(&blocks.inputs).map(input).collect();
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
        vectors: &[Cow<Vector>],
        rows: &Rows,
    ) -> Result<Option<Vector>> {
        let scratch = &mut self.states[node].scratch;
        let recycler = &mut self.ctx.recycler;
        let Some(bytes) = scratch.run(&blocks.steps, inputs, rows.len(), recycler) else {
            return Ok(None);
        };
        recycler.keep(&bytes);
        let mut nulls = None;
        // A constant is not null.
        for vector in vectors.iter().filter(|it| it.len() == rows.len()) {
            nulls = NullBuffer::union(nulls.as_ref(), nulls_of(vector)?.as_ref());
        }
        let data_type = self.nodes[node].data_type.clone();
        let values = Values::from_fixed_bytes(data_type.physical(), bytes);
        let values = values.ok_or_else(|| Error::internal("joined calls of another layout"))?;
        Ok(Some(Vector::flat(data_type, values, nulls)))
    }
}

impl Scratch {
    /// The bytes of the last step's results; `None` when some row may have failed.
    fn run(
        &mut self,
        steps: &[Step],
        inputs: &[Input],
        len: usize,
        recycler: &mut Recycler,
    ) -> Option<Buffer> {
        let (last, before) = steps.split_last()?;
        let slots = before.iter().map(|it| it.slot + 1).max().unwrap_or(0);
        self.slots.resize(self.slots.len().max(slots * SLOT_BYTES), 0);
        self.gathered.resize_with(inputs.len(), MutableBuffer::default);
        let mut result = recycler.take(len * last.width);
        // A single step leaves nothing between steps.
        let block = if before.is_empty() { len.max(1) } else { BLOCK_ROWS };
        for start in (0..len).step_by(block) {
            let rows = block.min(len - start);
            let mut parts = [BlockArg(&[]); INPUTS_MAX];
            let places = parts.get_mut(..inputs.len())?.iter_mut();
            for ((part, input), gathered) in places.zip(inputs).zip(&mut self.gathered) {
                *part = input.part(start, rows, gathered);
            }
            for step in before {
                let (left, out, right) = around(&mut self.slots, step.slot);
                let slot = |it: usize| match it.checked_sub(step.slot + 1) {
                    Some(it) => &right[it * SLOT_BYTES..],
                    None => &left[it * SLOT_BYTES..],
                };
                step_on(step, &parts, slot, rows, &mut out[..rows * step.width]).then_some(())?;
            }
            let slot = |it: usize| &self.slots[it * SLOT_BYTES..];
            let out = &mut result[start * last.width..(start + rows) * last.width];
            step_on(last, &parts, slot, rows, out).then_some(())?;
        }
        Some(result.into())
    }
}

/// The slots before number `slot`, that one, and those after it.
fn around(slots: &mut [u8], slot: usize) -> (&[u8], &mut [u8], &[u8]) {
    let (left, rest) = slots.split_at_mut(slot * SLOT_BYTES);
    let (slot, right) = rest.split_at_mut(SLOT_BYTES);
    (left, slot, right)
}

/// One step over one block; false when some row may have failed.
#[inline]
fn step_on<'a>(
    step: &Step,
    inputs: &[BlockArg<'a>],
    slot: impl Fn(usize) -> &'a [u8],
    rows: usize,
    out: &mut [u8],
) -> bool {
    let mut args = [BlockArg(&[]); ARGS_MAX];
    let Some(args) = args.get_mut(..step.args.len()) else { return false };
    for ((place, arg), width) in args.iter_mut().zip(&step.args).zip(&step.widths) {
        *place = match *arg {
            Operand::Input(input) => inputs[input],
            Operand::Slot(it) => BlockArg(&slot(it)[..rows * width]),
        };
    }
    step.function.run(args, out)
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

    /// The block of `rows` rows from `start` on; those of a dictionary are put into `gathered`.
    #[inline]
    fn part<'p>(&self, start: usize, rows: usize, gathered: &'p mut MutableBuffer) -> BlockArg<'p>
    where
        'v: 'p,
    {
        match self {
            Input::Plain(plain) => plain.part(start, rows),
            Input::Codes(values, codes) => {
                gather(values, &codes[start..start + rows], gathered);
                BlockArg(gathered)
            }
        }
    }
}

fn gather(values: &Values, codes: &[u32], out: &mut MutableBuffer) {
    match_native!(values.physical(), T => {
        let Some(values) = values.native::<T>() else { return };
        out.clear();
        out.extend(codes.iter().map(|code| values[*code as usize]));
    }, else ());
}
