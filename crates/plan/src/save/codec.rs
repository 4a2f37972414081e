//! The encoding of fields of nodes.

use crate::{AppliedFilter, CustomNodes, DynamicFilterId, MadeFilter, PlanNode, PlanNodeId};
use std::{collections::HashMap, sync::Arc};
use volley_error::{Error, Result};
use volley_expression::{Expr, SourceSpan, save};
use volley_function::Registry;
use volley_types::{Field, Schema, Type};
use volley_vector::save::{Reader, Writer, corruption};

/// Writes the nodes of a plan.
pub(crate) struct PlanWriter {
    pub(crate) bytes: Writer,
    /// The numbers of the nodes written, by address.
    numbers: HashMap<*const PlanNode, usize>,
}

/// Reads the nodes of a plan.
pub(crate) struct PlanReader<'a> {
    pub(crate) bytes: Reader<'a>,
    pub(crate) registry: &'a Registry,
    pub(crate) custom_nodes: &'a CustomNodes,
    /// Whether nodes have ids and dynamic filters.
    pub(crate) has_ids: bool,
    /// The nodes read, by number.
    pub(crate) nodes: Vec<Arc<PlanNode>>,
}

/// A part of a plan that is written as bytes and read again.
pub(crate) trait Codec: Sized {
    fn write(&self, to: &mut PlanWriter) -> Result<()>;

    fn read(from: &mut PlanReader<'_>) -> Result<Self>;
}

impl PlanWriter {
    pub(crate) fn new(bytes: Writer) -> PlanWriter {
        PlanWriter { bytes, numbers: HashMap::new() }
    }

    pub(crate) fn put(&mut self, part: &impl Codec) -> Result<()> {
        part.write(self)
    }

    /// The number of a variant that holds nothing.
    pub(crate) fn tag(&mut self, variant: u8) -> Result<()> {
        self.bytes.byte(variant);
        Ok(())
    }

    /// The number of a variant, and what it holds.
    pub(crate) fn tagged(&mut self, variant: u8, part: &impl Codec) -> Result<()> {
        self.tag(variant)?;
        self.put(part)
    }

    /// The number of a node's variant, its identity, and what it holds.
    pub(crate) fn node(&mut self, variant: u8, id: PlanNodeId, node: &impl Codec) -> Result<()> {
        if !id.is_assigned() {
            let error = Error::invalid_query("a plan node without an id cannot be saved");
            return Err(error.hint("PlanNode::numbered gives each node an id"));
        }
        self.tag(variant)?;
        self.put(&id)?;
        self.put(node)
    }

    /// Gives the next number to a node that was written.
    pub(crate) fn add(&mut self, node: &Arc<PlanNode>) {
        self.numbers.insert(Arc::as_ptr(node), self.numbers.len());
    }
}

impl PlanReader<'_> {
    pub(crate) fn get<T: Codec>(&mut self) -> Result<T> {
        T::read(self)
    }

    /// What is saved only with ids.
    pub(crate) fn get_with_ids<T: Codec + Default>(&mut self) -> Result<T> {
        if self.has_ids { self.get() } else { Ok(T::default()) }
    }
}

/// What is one of a few.
pub(crate) trait EnumCodec: Copy + PartialEq + Sized + 'static {
    /// All variants; the position in this list is the encoded number.
    const ALL: &[Self];
}

impl<T: EnumCodec> Codec for T {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        let place = T::ALL.iter().position(|it| it == self).and_then(|it| u8::try_from(it).ok());
        to.tag(place.ok_or_else(|| Error::internal("part of a plan without a number"))?)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<T> {
        let found = T::ALL.get(usize::from(from.bytes.byte()?)).copied();
        found.ok_or_else(|| corruption("unknown part of a plan"))
    }
}

impl Codec for Arc<PlanNode> {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        let number = to.numbers.get(&Arc::as_ptr(self)).copied();
        to.bytes.number(number.ok_or_else(|| Error::internal("an input that was not written"))?);
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Arc<PlanNode>> {
        let node = from.nodes.get(from.bytes.number()?).cloned();
        node.ok_or_else(|| corruption("an input that was not saved before"))
    }
}

impl Codec for usize {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.bytes.number(*self);
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<usize> {
        from.bytes.number()
    }
}

impl Codec for u32 {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.bytes.raw(&self.to_le_bytes());
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<u32> {
        Ok(u32::from_le_bytes(from.bytes.fixed()?))
    }
}

impl Codec for PlanNodeId {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.number())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<PlanNodeId> {
        Ok(PlanNodeId::new(from.get()?))
    }
}

impl Codec for DynamicFilterId {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.number())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<DynamicFilterId> {
        Ok(DynamicFilterId::new(from.get()?))
    }
}

impl Codec for MadeFilter {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.id)?;
        to.put(&self.key)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<MadeFilter> {
        Ok(MadeFilter { id: from.get()?, key: from.get()? })
    }
}

impl Codec for AppliedFilter {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.id)?;
        to.put(&self.column)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<AppliedFilter> {
        Ok(AppliedFilter { id: from.get()?, column: from.get()? })
    }
}

impl Codec for u64 {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.bytes.raw(&self.to_le_bytes());
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<u64> {
        Ok(u64::from_le_bytes(from.bytes.fixed()?))
    }
}

impl Codec for i64 {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.cast_unsigned())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<i64> {
        Ok(u64::read(from)?.cast_signed())
    }
}

impl Codec for f64 {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.to_bits())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<f64> {
        Ok(f64::from_bits(u64::read(from)?))
    }
}

impl Codec for bool {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.bytes.byte(u8::from(*self));
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<bool> {
        match from.bytes.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(corruption("neither true nor false")),
        }
    }
}

impl Codec for char {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        u32::from(*self).write(to)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<char> {
        char::from_u32(u32::read(from)?).ok_or_else(|| corruption("no character"))
    }
}

impl Codec for String {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.bytes.text(self);
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<String> {
        Ok(from.bytes.text()?.to_owned())
    }
}

impl<T: Codec> Codec for Option<T> {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        self.is_some().write(to)?;
        self.iter().try_for_each(|it| it.write(to))
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Option<T>> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: Codec> Codec for Vec<T> {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.bytes.number(self.len());
        self.iter().try_for_each(|it| it.write(to))
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Vec<T>> {
        let count = from.bytes.count()?;
        (0..count).map(|_| T::read(from)).collect()
    }
}

impl Codec for Type {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.bytes.data_type(self)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Type> {
        from.bytes.data_type()
    }
}

impl Codec for Expr {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        save::write_expr(&mut to.bytes, self)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Expr> {
        save::read_expr(&mut from.bytes)
    }
}

/// Places are of the SQL text, which does not go along.
impl Codec for SourceSpan {
    fn write(&self, _to: &mut PlanWriter) -> Result<()> {
        Ok(())
    }

    fn read(_from: &mut PlanReader<'_>) -> Result<SourceSpan> {
        Ok(SourceSpan::default())
    }
}

impl Codec for Field {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.name)?;
        to.put(&self.data_type)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Field> {
        Ok(Field { name: from.get()?, data_type: from.get()? })
    }
}

impl Codec for Schema {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.fields)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Schema> {
        Ok(Schema { fields: from.get()? })
    }
}
