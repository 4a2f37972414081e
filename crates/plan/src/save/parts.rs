//! Encoding of the fields of nodes.

use super::codec::{Codec, EnumCodec, PlanReader, PlanWriter};
use crate::{
    Aggregate, AggregateStep, Comparison, ExchangeKind, Frame, FrameBound, FrameOffset, FrameUnits,
    Generator, GeneratorKind, GroupingSet, JoinKind, LoopInvariant, MergeKey, RangeCondition,
    SampleMethod, SortKey, TableHandle, WindowCall, WindowLimit, WriteTarget,
};
use volley_error::Result;
use volley_function::Exclusion;
use volley_vector::save::corruption;

impl EnumCodec for AggregateStep {
    const ALL: &[AggregateStep] = &[
        AggregateStep::Single,
        AggregateStep::Partial,
        AggregateStep::PartialOnce,
        AggregateStep::Intermediate,
        AggregateStep::Final,
    ];
}

impl EnumCodec for Comparison {
    const ALL: &[Comparison] = &[
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];
}

impl EnumCodec for Exclusion {
    const ALL: &[Exclusion] =
        &[Exclusion::NoOthers, Exclusion::CurrentRow, Exclusion::Group, Exclusion::Ties];
}

impl EnumCodec for FrameUnits {
    const ALL: &[FrameUnits] = &[FrameUnits::Rows, FrameUnits::Range, FrameUnits::Groups];
}

impl EnumCodec for GeneratorKind {
    const ALL: &[GeneratorKind] =
        &[GeneratorKind::Elements, GeneratorKind::Range, GeneratorKind::Series];
}

impl EnumCodec for JoinKind {
    const ALL: &[JoinKind] = &[
        JoinKind::Inner,
        JoinKind::Left,
        JoinKind::Right,
        JoinKind::Full,
        JoinKind::LeftSemi,
        JoinKind::LeftAnti,
        JoinKind::RightSemi,
        JoinKind::RightAnti,
        JoinKind::LeftMark,
    ];
}

impl Codec for Aggregate {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.function)?;
        to.put(&self.args)?;
        to.put(&self.arg_types)?;
        to.put(&self.distinct)?;
        to.put(&self.merges)?;
        to.put(&self.filter)?;
        to.put(&self.order_by)?;
        to.put(&self.place)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Aggregate> {
        Ok(Aggregate {
            function: from.get()?,
            args: from.get()?,
            arg_types: from.get()?,
            distinct: from.get()?,
            merges: from.get()?,
            filter: from.get()?,
            order_by: from.get()?,
            place: from.get()?,
        })
    }
}

impl Codec for Frame {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.units)?;
        to.put(&self.start)?;
        to.put(&self.end)?;
        to.put(&self.exclusion)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Frame> {
        Ok(Frame {
            units: from.get()?,
            start: from.get()?,
            end: from.get()?,
            exclusion: from.get()?,
        })
    }
}

impl Codec for Generator {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.kind)?;
        to.put(&self.args)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Generator> {
        Ok(Generator { kind: from.get()?, args: from.get()? })
    }
}

impl Codec for GroupingSet {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.id)?;
        to.put(&self.keys)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<GroupingSet> {
        Ok(GroupingSet { id: from.get()?, keys: from.get()? })
    }
}

impl Codec for LoopInvariant {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.id)?;
        to.put(&self.input)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<LoopInvariant> {
        Ok(LoopInvariant { id: from.get()?, input: from.get()? })
    }
}

impl Codec for MergeKey {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.probe)?;
        to.put(&self.build)?;
        to.put(&self.nulls_equal)?;
        to.put(&self.descending)?;
        to.put(&self.nulls_first)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<MergeKey> {
        Ok(MergeKey {
            probe: from.get()?,
            build: from.get()?,
            nulls_equal: from.get()?,
            descending: from.get()?,
            nulls_first: from.get()?,
        })
    }
}

impl Codec for RangeCondition {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.probe)?;
        to.put(&self.comparison)?;
        to.put(&self.build)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<RangeCondition> {
        Ok(RangeCondition { probe: from.get()?, comparison: from.get()?, build: from.get()? })
    }
}

impl Codec for SortKey {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.column)?;
        to.put(&self.descending)?;
        to.put(&self.nulls_first)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<SortKey> {
        Ok(SortKey { column: from.get()?, descending: from.get()?, nulls_first: from.get()? })
    }
}

impl Codec for TableHandle {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.connector)?;
        to.put(&self.table)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<TableHandle> {
        Ok(TableHandle { connector: from.get()?, table: from.get()? })
    }
}

impl Codec for WindowCall {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.function)?;
        to.put(&self.args)?;
        to.put(&self.arg_types)?;
        to.put(&self.distinct)?;
        to.put(&self.filter)?;
        to.put(&self.order_by)?;
        to.put(&self.ignore_nulls)?;
        to.put(&self.order_keys)?;
        to.put(&self.frame)?;
        to.put(&self.place)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<WindowCall> {
        Ok(WindowCall {
            function: from.get()?,
            args: from.get()?,
            arg_types: from.get()?,
            distinct: from.get()?,
            filter: from.get()?,
            order_by: from.get()?,
            ignore_nulls: from.get()?,
            order_keys: from.get()?,
            frame: from.get()?,
            place: from.get()?,
        })
    }
}

impl Codec for WindowLimit {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.call)?;
        to.put(&self.rows)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<WindowLimit> {
        Ok(WindowLimit { call: from.get()?, rows: from.get()? })
    }
}

impl Codec for WriteTarget {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.sink)?;
        to.put(&self.location)?;
        to.put(&self.options.len())?;
        self.options.iter().try_for_each(|(name, value)| {
            to.put(name)?;
            to.put(value)
        })
    }

    fn read(from: &mut PlanReader<'_>) -> Result<WriteTarget> {
        let (sink, location) = (from.get()?, from.get()?);
        let mut options = Vec::new();
        for _ in 0..from.get::<usize>()? {
            options.push((from.get()?, from.get()?));
        }
        Ok(WriteTarget { sink, location, options })
    }
}

impl Codec for ExchangeKind {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        match self {
            ExchangeKind::Gather => to.tag(0),
            ExchangeKind::RoundRobin => to.tag(1),
            ExchangeKind::Hash(keys) => to.tagged(2, keys),
        }
    }

    fn read(from: &mut PlanReader<'_>) -> Result<ExchangeKind> {
        Ok(match from.bytes.byte()? {
            0 => ExchangeKind::Gather,
            1 => ExchangeKind::RoundRobin,
            2 => ExchangeKind::Hash(from.get()?),
            _ => return Err(corruption("unknown exchange")),
        })
    }
}

impl Codec for SampleMethod {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        match self {
            SampleMethod::Rows(share) => to.tagged(0, share),
            SampleMethod::Batches(share) => to.tagged(1, share),
            SampleMethod::Number => to.tag(2),
        }
    }

    fn read(from: &mut PlanReader<'_>) -> Result<SampleMethod> {
        Ok(match from.bytes.byte()? {
            0 => SampleMethod::Rows(from.get()?),
            1 => SampleMethod::Batches(from.get()?),
            2 => SampleMethod::Number,
            _ => return Err(corruption("unknown sample")),
        })
    }
}

impl Codec for FrameBound {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        match self {
            FrameBound::UnboundedPreceding => to.tag(0),
            FrameBound::Preceding(offset) => to.tagged(1, offset),
            FrameBound::CurrentRow => to.tag(2),
            FrameBound::Following(offset) => to.tagged(3, offset),
            FrameBound::UnboundedFollowing => to.tag(4),
        }
    }

    fn read(from: &mut PlanReader<'_>) -> Result<FrameBound> {
        Ok(match from.bytes.byte()? {
            0 => FrameBound::UnboundedPreceding,
            1 => FrameBound::Preceding(from.get()?),
            2 => FrameBound::CurrentRow,
            3 => FrameBound::Following(from.get()?),
            4 => FrameBound::UnboundedFollowing,
            _ => return Err(corruption("unknown bound of a frame")),
        })
    }
}

impl Codec for FrameOffset {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        match self {
            FrameOffset::Count(count) => to.tagged(0, count),
            FrameOffset::Column(column) => to.tagged(1, column),
            FrameOffset::Value { key, bound, is_monotone } => {
                to.tagged(2, key)?;
                to.put(bound)?;
                to.put(is_monotone)
            }
        }
    }

    fn read(from: &mut PlanReader<'_>) -> Result<FrameOffset> {
        Ok(match from.bytes.byte()? {
            0 => FrameOffset::Count(from.get()?),
            1 => FrameOffset::Column(from.get()?),
            2 => FrameOffset::Value {
                key: from.get()?,
                bound: from.get()?,
                is_monotone: from.get()?,
            },
            _ => return Err(corruption("unknown offset of a frame")),
        })
    }
}
