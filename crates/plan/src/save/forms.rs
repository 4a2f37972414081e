//! The parts of nodes.

use super::form::{Form, PlanReader, PlanWriter, form_of_enum, form_of_struct};
use crate::{
    Aggregate, AggregateStep, Comparison, ExchangeKind, FileCompression, FileFormat, Frame,
    FrameBound, FrameOffset, FrameUnits, Generator, GeneratorKind, GroupingSet, JoinKind, KeptRows,
    MergeKey, RangeCondition, SampleMethod, SortKey, TableHandle, WindowCall, WindowLimit,
    WriteOptions,
};
use volley_error::Result;
use volley_function::Exclusion;
use volley_vector::save::corruption;

form_of_struct! {
    Aggregate { function, args, arg_types, distinct, merges, filter, order_by, place }
    Frame { units, start, end, exclusion }
    Generator { kind, args }
    GroupingSet { id, keys }
    KeptRows { id, input }
    MergeKey { probe, build, nulls_equal, descending, nulls_first }
    RangeCondition { probe, comparison, build }
    SortKey { column, descending, nulls_first }
    TableHandle { connector, table }
    WindowCall {
        function, args, arg_types, distinct, filter, order_by, ignore_nulls, order_keys, frame, place
    }
    WindowLimit { call, rows }
    WriteOptions { compression, row_group_rows, has_header, delimiter, quote, null }
}

form_of_enum! {
    AggregateStep { 0 Single, 1 Partial, 2 PartialOnce, 3 Intermediate, 4 Final, }
    Comparison { 0 Less, 1 LessOrEqual, 2 Greater, 3 GreaterOrEqual, }
    ExchangeKind { 0 Gather, 1 RoundRobin, 2 Hash(keys), }
    Exclusion { 0 NoOthers, 1 CurrentRow, 2 Group, 3 Ties, }
    FileCompression { 0 None, 1 Snappy, 2 Zstd, 3 Gzip, 4 Lz4, }
    FileFormat { 0 Parquet, 1 Csv, 2 Json, }
    FrameBound {
        0 UnboundedPreceding,
        1 Preceding(offset),
        2 CurrentRow,
        3 Following(offset),
        4 UnboundedFollowing,
    }
    FrameUnits { 0 Rows, 1 Range, 2 Groups, }
    GeneratorKind { 0 Elements, 1 Range, 2 Series, }
    JoinKind {
        0 Inner,
        1 Left,
        2 Right,
        3 Full,
        4 LeftSemi,
        5 LeftAnti,
        6 RightSemi,
        7 RightAnti,
        8 LeftMark,
    }
    SampleMethod { 0 Rows(share), 1 Batches(share), 2 Number, }
}

impl Form for FrameOffset {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        match self {
            FrameOffset::Count(count) => {
                to.bytes.byte(0);
                count.write(to)
            }
            FrameOffset::Column(column) => {
                to.bytes.byte(1);
                column.write(to)
            }
            FrameOffset::Value { key, bound, is_monotone } => {
                to.bytes.byte(2);
                key.write(to)?;
                bound.write(to)?;
                is_monotone.write(to)
            }
        }
    }

    fn read(from: &mut PlanReader<'_>) -> Result<FrameOffset> {
        Ok(match from.bytes.byte()? {
            0 => FrameOffset::Count(u64::read(from)?),
            1 => FrameOffset::Column(usize::read(from)?),
            2 => FrameOffset::Value {
                key: usize::read(from)?,
                bound: usize::read(from)?,
                is_monotone: bool::read(from)?,
            },
            _ => return Err(corruption("unknown offset of a frame")),
        })
    }
}
