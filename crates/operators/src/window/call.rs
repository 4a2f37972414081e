//! One call over one run: what answers for it, and its way there.

use super::{
    active::{ActiveRows, FindingActive},
    argument_order::ArgumentOrder,
    boundaries::{BatchBoundaries, Boundaries},
    frames::{DistinctFrames, Framing},
    ordered::Ordered,
    per_frame::PerFrame,
    run::Run,
    running::{CarriedState, Running},
    segments::Piece,
    size_estimate::StepLimits,
    spec::{CallFunction, CallSpec},
    tree::Tree,
};
use volley_error::{Error, Result};
use volley_function::{
    AggregateKind, BoundAggregate, BoundWindow, PartitionPiece, Ranges, ValidRows, WindowRows,
};
use volley_memory::{Pool, Reservation};
use volley_vector::Vector;

/// One call over one run.
pub(super) struct Call {
    args: Vec<Vector>,
    /// Until it is known which rows count.
    finding: Option<FindingActive>,
    active: Option<ActiveRows>,
    answer: Answer,
    frames: Option<BatchFrames>,
    /// The result for frames that end after the piece of the partition that is there; one row.
    known: Option<Vector>,
}

/// The frames of the batch under way.
struct BatchFrames {
    frames: DistinctFrames,
    /// Whether there is one more, the last, whose result is known.
    is_known: bool,
    /// How many of them were answered.
    answered: usize,
}

/// What answers.
enum Answer {
    /// A window function; with IGNORE NULLS, where its first argument is not null.
    Function(Option<(ValidRows, Reservation)>),
    /// A window function with an order of its own.
    Ordered(Ordered),
    Running(Running),
    Tree(Tree),
    PerFrame(PerFrame),
    /// The same for all rows, which is known.
    Known(Vector),
}

/// What a call runs over.
pub(super) struct CallInput<'a> {
    pub spec: &'a CallSpec,
    pub run: &'a Run,
    pub places: &'a Boundaries,
    /// Whether the first order key descends.
    pub descending: bool,
    /// What is known of the partition, when not all of its rows are there.
    pub piece: Option<&'a PartitionPiece>,
}

impl Call {
    /// A call over rows with whole partitions.
    pub(super) fn new(input: &CallInput<'_>, pool: &Pool) -> Result<Call> {
        Call::with_known(input, None, pool)
    }

    /// Call `index` over a piece of a partition.
    pub(super) fn of_piece(
        input: &CallInput<'_>,
        piece: &mut Piece,
        index: usize,
        pool: &Pool,
    ) -> Result<Call> {
        let mut call = Call::with_known(input, piece.known[index].take(), pool)?;
        if let (Answer::Running(running), Some(state)) =
            (&mut call.answer, piece.carried.get_mut(index).and_then(Option::take))
        {
            let position = piece.position(state.rows)?;
            running.resume(state, position);
        }
        Ok(call)
    }

    fn with_known(input: &CallInput<'_>, known: Option<Vector>, pool: &Pool) -> Result<Call> {
        let args = input.run.columns(&input.spec.args)?;
        if let Some(known) = known.clone().filter(|_| input.spec.frame.is_partition()) {
            let answer = Answer::Known(known);
            return Ok(Call {
                args,
                finding: None,
                active: None,
                answer,
                frames: None,
                known: None,
            });
        }
        let order = ArgumentOrder::new(&input.spec.order_by, input.run, pool)?;
        let answer = match (&input.spec.function, order) {
            (CallFunction::Window(_), Some(order)) => Answer::Ordered(Ordered::new(order)),
            (CallFunction::Window(_), None) => {
                let valid = || (ValidRows::default(), pool.reservation());
                Answer::Function(input.spec.ignore_nulls.then(valid))
            }
            (CallFunction::Aggregate(bound), order) => {
                aggregate(input, (bound, order), &args, pool)?
            }
        };
        let finding = FindingActive::new(input.spec, input.run, input.places, pool)?;
        Ok(Call { args, finding: Some(finding), active: None, answer, frames: None, known })
    }

    /// The state that goes on with the next piece of the partition, which has all rows before
    /// `next_start`.
    pub(super) fn carry(self, piece: &Piece, next_start: usize) -> Result<Option<CarriedState>> {
        let Answer::Running(running) = self.answer else { return Ok(None) };
        let (state, position) = running.carry(next_start as u32, active(&self.active)?)?;
        Ok(Some(CarriedState { state, rows: piece.row(position) }))
    }

    /// What is counted in statistics, when a batch is answered.
    pub(super) fn counter(&self) -> Option<&'static str> {
        match &self.answer {
            Answer::Function(_) | Answer::Known(_) => None,
            Answer::Ordered(_) => Some("ordered frames"),
            Answer::Running(_) => Some("running frames"),
            Answer::Tree(_) => Some("tree frames"),
            Answer::PerFrame(_) => Some("listed frames"),
        }
    }

    /// Works on some rows; true when the call can answer.
    pub(super) fn prepare(&mut self, input: &CallInput<'_>) -> Result<bool> {
        if let Some(finding) = &mut self.finding {
            if finding.step(input.places)? {
                self.active = self.finding.take().map(FindingActive::finish);
            }
            return Ok(false);
        }
        match &mut self.answer {
            Answer::Function(Some((valid, charge))) => {
                let Some(column) = self.args.first() else { return Ok(true) };
                let done = valid.before.len().max(1) - 1;
                if done == column.len() {
                    return Ok(true);
                }
                let part = column.slice(done, input.run.step_rows().min(column.len() - done));
                valid.push(part.null_buffer(), part.len());
                let entries = valid.before.capacity() + valid.positions.capacity();
                charge.resize(entries * size_of::<u32>())?;
                Ok(false)
            }
            Answer::Tree(tree) => tree.build(active(&self.active)?),
            Answer::Function(None)
            | Answer::Ordered(_)
            | Answer::Running(_)
            | Answer::PerFrame(_)
            | Answer::Known(_) => Ok(true),
        }
    }

    /// Works on the rows of a batch; results of the next ones, one at least, and how many frames
    /// they have. Where results take much, they are not those of all other rows.
    pub(super) fn evaluate(
        &mut self,
        input: &CallInput<'_>,
        batch: &BatchBoundaries,
    ) -> Result<Option<(Vector, usize)>> {
        self.answer(input, batch).map_err(|it| input.spec.place.locate(it))
    }

    fn answer(
        &mut self,
        input: &CallInput<'_>,
        batch: &BatchBoundaries,
    ) -> Result<Option<(Vector, usize)>> {
        if let Answer::Function(valid) = &self.answer {
            return self.function(input, batch, valid.as_ref().map(|it| &it.0)).map(Some);
        }
        if let Answer::Ordered(ordered) = &mut self.answer {
            let bound = window_function(input)?;
            let results = ordered.step(input, (bound, &self.args), (&framing(input), batch))?;
            return Ok(results.map(|it| (it, batch.rows.len())));
        }
        if let Answer::Known(result) = &self.answer {
            return Ok(Some((result.gather(&vec![0; batch.rows.len()])?, 1)));
        }
        let mut under_way = match self.frames.take() {
            Some(frames) => frames,
            None => self.distinct_frames(input, batch)?,
        };
        let frames = &under_way.frames;
        let active = active(&self.active)?;
        let results = match &mut self.answer {
            _ if frames.parts.is_empty() => self.known.clone(),
            Answer::Running(running) => running.step(frames, active)?,
            Answer::Tree(tree) => tree.step(frames, active)?,
            Answer::PerFrame(listed) => listed.step(frames, active)?,
            Answer::Function(_) | Answer::Ordered(_) | Answer::Known(_) => None,
        };
        let Some(mut results) = results else {
            self.frames = Some(under_way);
            return Ok(None);
        };
        let first = under_way.answered;
        under_way.answered += results.len();
        let count = results.len().min(frames.parts.len() - first);
        let is_last = under_way.answered >= frames.parts.len();
        let known = self.known.as_ref().filter(|_| is_last && under_way.is_known);
        if let Some(known) = known.filter(|_| !frames.parts.is_empty()) {
            results = Vector::concat(known.data_type(), &[results, known.clone()])?;
        }
        let results = frames.of_rows(results, first)?;
        if !is_last {
            self.frames = Some(under_way);
        }
        Ok(Some((results, count)))
    }

    /// The last results belong to the caller, who reserves their memory.
    pub(super) fn release(&mut self) {
        match &mut self.answer {
            Answer::Running(running) => running.release(),
            Answer::Tree(tree) => tree.release(),
            Answer::PerFrame(listed) => listed.release(),
            Answer::Function(_) | Answer::Ordered(_) | Answer::Known(_) => {}
        }
    }

    /// The other rows of the batch under way are not asked for.
    pub(super) fn skip_rest(&mut self) {
        if self.frames.take().is_none() {
            return;
        }
        match &mut self.answer {
            Answer::Running(running) => running.skip_rest(),
            Answer::Tree(tree) => tree.skip_rest(),
            Answer::PerFrame(listed) => listed.skip_rest(),
            Answer::Function(_) | Answer::Ordered(_) | Answer::Known(_) => {}
        }
    }

    /// The frames of a batch; those that end after the piece are left out, if there are any.
    fn distinct_frames(
        &self,
        input: &CallInput<'_>,
        batch: &BatchBoundaries,
    ) -> Result<BatchFrames> {
        let peers = &batch.levels[input.spec.level].peers;
        let ranges = framing(input).frames(batch)?;
        let mut frames = DistinctFrames::new(ranges, input.spec.frame.exclusion, batch, peers);
        let is_known = match (input.piece, &self.known) {
            (Some(piece), Some(_)) => frames.pop_after(piece.rows.end),
            _ => false,
        };
        Ok(BatchFrames { frames, is_known, answered: 0 })
    }

    fn function(
        &self,
        input: &CallInput<'_>,
        batch: &BatchBoundaries,
        valid: Option<&ValidRows>,
    ) -> Result<(Vector, usize)> {
        let bound = window_function(input)?;
        let level = &batch.levels[input.spec.level];
        let frames = match input.spec.uses_frame() {
            true => framing(input).frames(batch)?,
            false => Ranges::default(),
        };
        let rows = WindowRows {
            rows: batch.rows.clone(),
            args: &self.args,
            partitions: &batch.partitions,
            peers: &level.peers,
            groups_before: &level.groups_before,
            frames: &frames,
            exclusion: input.spec.frame.exclusion,
            valid,
            piece: input.piece,
            guests: None,
        };
        Ok((bound.function.evaluate(&rows)?, batch.rows.len()))
    }
}

fn window_function<'a>(input: &CallInput<'a>) -> Result<&'a BoundWindow> {
    match &input.spec.function {
        CallFunction::Window(bound) => Ok(bound),
        CallFunction::Aggregate(_) => {
            Err(Error::internal("an aggregate that is called as a window function"))
        }
    }
}

fn framing<'a>(input: &CallInput<'a>) -> Framing<'a> {
    Framing { call: input.spec, run: input.run, places: input.places, descending: input.descending }
}

fn active(active: &Option<ActiveRows>) -> Result<&ActiveRows> {
    active.as_ref().ok_or_else(|| Error::internal("a call that was not prepared"))
}

/// The cheapest way to answer for the frames of an aggregate.
fn aggregate(
    input: &CallInput<'_>,
    (bound, order): (&BoundAggregate, Option<ArgumentOrder>),
    args: &[Vector],
    pool: &Pool,
) -> Result<Answer> {
    let grow = input.spec.frames_grow();
    let rows = input.run.rows();
    let limits = StepLimits::new(&input.run.sizes(), pool);
    Ok(match &bound.function {
        AggregateKind::Folding(function) if order.is_none() && (grow || !input.spec.distinct) => {
            let running = if grow { Running::new(function, args, limits, pool)? } else { None };
            match running {
                Some(running) => Answer::Running(running),
                None => Answer::Tree(Tree::new(function, args.to_vec(), rows, limits, pool)?),
            }
        }
        _ => Answer::PerFrame(PerFrame::new(bound, args.to_vec(), rows, order, (limits, pool))),
    })
}
