//! Encoding of exchanges between tasks.

use super::codec::{Codec, PlanReader, PlanWriter};
use crate::nodes::{ExchangeNode, PageSourceNode, RangeRouting, Routing};
use crate::{FragmentId, PlanNode, PlanNodeId, SortKey, TaskCount};
use std::sync::Arc;
use volley_error::Result;
use volley_types::{Schema, Type};
use volley_vector::save::corruption;

impl Codec for ExchangeNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&(self.senders == TaskCount::All))?;
        write_routing(&self.routing, self.input.schema(), to)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<ExchangeNode> {
        let input: Arc<PlanNode> = from.get()?;
        let senders = if from.get()? { TaskCount::All } else { TaskCount::One };
        let routing = read_routing(input.schema(), from)?;
        Ok(ExchangeNode { node_id: PlanNodeId::UNASSIGNED, input, senders, routing })
    }
}

impl Codec for PageSourceNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.fragment.0)?;
        to.put(&self.output)?;
        to.put(&self.merge)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<PageSourceNode> {
        Ok(PageSourceNode {
            node_id: PlanNodeId::UNASSIGNED,
            fragment: FragmentId(from.get()?),
            output: from.get()?,
            merge: from.get()?,
            schema: from.get()?,
        })
    }
}

/// Writes a routing of rows with these columns.
pub(crate) fn write_routing(it: &Routing, schema: &Schema, to: &mut PlanWriter) -> Result<()> {
    match it {
        Routing::Gather => to.tag(0),
        Routing::Merge(keys) => to.tagged(1, keys),
        Routing::Any => to.tag(2),
        Routing::Hash(keys) => to.tagged(3, keys),
        Routing::Range(range) => {
            to.tagged(4, &range.keys)?;
            to.bytes.number(range.bounds.len());
            let types = key_types(&range.keys, schema)?;
            for bound in &range.bounds {
                to.bytes.byte(0);
                types.iter().zip(bound).try_for_each(|(kind, it)| to.bytes.value(kind, it))?;
            }
            Ok(())
        }
        Routing::Broadcast => to.tag(5),
        Routing::Forward => to.tag(6),
        Routing::Replicate => to.tag(7),
    }
}

/// Reads a routing of rows with these columns.
pub(crate) fn read_routing(schema: &Schema, from: &mut PlanReader<'_>) -> Result<Routing> {
    Ok(match from.bytes.byte()? {
        0 => Routing::Gather,
        1 => Routing::Merge(from.get()?),
        2 => Routing::Any,
        3 => Routing::Hash(from.get()?),
        4 => {
            let keys: Vec<SortKey> = from.get()?;
            let types = key_types(&keys, schema)?;
            let mut bounds = Vec::new();
            for _ in 0..from.bytes.count()? {
                // A bound takes a byte at least, as rows of literals do.
                if from.bytes.byte()? != 0 {
                    return Err(corruption("no bound"));
                }
                let values = types.iter().map(|it| from.bytes.value(it));
                bounds.push(values.collect::<Result<_>>()?);
            }
            Routing::Range(RangeRouting { keys, bounds })
        }
        5 => Routing::Broadcast,
        6 => Routing::Forward,
        7 => Routing::Replicate,
        _ => return Err(corruption("unknown routing")),
    })
}

fn key_types(keys: &[SortKey], schema: &Schema) -> Result<Vec<Type>> {
    let field = |key: &SortKey| schema.fields.get(key.column).map(|it| it.data_type.clone());
    let types: Option<Vec<Type>> = keys.iter().map(field).collect();
    types.ok_or_else(|| corruption("a key of a column that does not exist"))
}
