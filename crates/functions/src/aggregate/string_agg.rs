//! `string_agg`: strings one after the other, with a separator between.

use super::{
    bound,
    typed::{TypedAggregate, arg, row_column, unexpected_layout},
};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, ErrorKind, Result};
use volley_function::{BoundAggregate, Registry, simple::Source};
use volley_memory::TypedSlots;
use volley_types::{Field, Type};
use volley_vector::{
    Buffer, Decoded, NullBuffer, StringBuilder, StringValues, StringView, Values, Vector,
};

/// Registers `string_agg`, `group_concat` and `listagg`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "string_agg(varchar[, separator]) -> varchar",
        "The strings that are not null, one after the other, with the separator (a comma when left \
         out) between them.",
        "aggregate",
        &[("string_agg(x, '-' ORDER BY x) FROM (VALUES ('b'), ('a')) v(x)", "a-b")],
    );
    for name in ["string_agg", "group_concat", "listagg"] {
        registry.add_aggregate(name, doc.clone(), Arc::new(bind));
    }
}

fn bind(args: &[Type]) -> Option<BoundAggregate> {
    let is_text = |it: &Type| matches!(it, Type::Varchar | Type::Unknown);
    if !matches!(args.len(), 1 | 2) || args.get(1).is_some_and(|it| !is_text(it)) {
        return None;
    }
    let types = vec![Type::Varchar; args.len()];
    let aggregate = bound(types, partial_type(), Type::Varchar, StringAgg);
    Some(BoundAggregate { order_sensitive: true, ..aggregate })
}

fn partial_type() -> Type {
    Type::row([Field::new("text", Type::Varchar), Field::new("separator", Type::Varchar)])
}

/// The text so far and the separator in front of its first string, for merging.
#[derive(Clone)]
struct Joined {
    text: String,
    separator: Separator,
}

/// Most separators are short, and are stored without an allocation for each group.
#[derive(Clone)]
enum Separator {
    Short { bytes: [u8; SHORT_BYTES], len: u8 },
    Long(Box<str>),
}

/// With these, a separator takes 24 bytes.
const SHORT_BYTES: usize = 22;

impl Separator {
    fn new(text: &str) -> Separator {
        let mut bytes = [0; SHORT_BYTES];
        match bytes.get_mut(..text.len()) {
            Some(start) => {
                start.copy_from_slice(text.as_bytes());
                Separator::Short { bytes, len: text.len() as u8 }
            }
            None => Separator::Long(text.into()),
        }
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            Separator::Short { bytes, len } => bytes.get(..usize::from(*len)).unwrap_or_default(),
            Separator::Long(text) => text.as_bytes(),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Separator::Short { .. } => 0,
            Separator::Long(text) => text.len(),
        }
    }
}

struct StringAgg;

impl StringAgg {
    fn push(state: &mut Option<Joined>, text: &str, separator: &str) {
        match state {
            Some(joined) => {
                joined.text.reserve(separator.len() + text.len());
                joined.text.push_str(separator);
                joined.text.push_str(text);
            }
            None => {
                let (text, separator) = (text.to_owned(), Separator::new(separator));
                *state = Some(Joined { text, separator });
            }
        }
    }
}

impl TypedAggregate for StringAgg {
    type State = Option<Joined>;
    type Input<'a> = (&'a Decoded<'a>, Option<&'a Decoded<'a>>);
    type Partial<'a> = (&'a StringValues, &'a StringValues);

    fn empty(&self) -> Self::State {
        None
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<Self::Input<'a>> {
        Ok((arg(args, 0)?, args.get(1).map(Source::decoded)))
    }

    fn add(
        &self,
        state: &mut Self::State,
        input: &Self::Input<'_>,
        row: usize,
        _index: usize,
    ) -> Result<()> {
        let separator = match input.1 {
            Some(separators) if separators.is_null(row) => "",
            Some(separators) => separators.text(row),
            None => ",",
        };
        StringAgg::push(state, input.0.text(row), separator);
        Ok(())
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<Self::Partial<'a>> {
        let Values::Row { children, .. } = arg(partial, 0)?.values() else {
            return Err(unexpected_layout());
        };
        match children.iter().map(Vector::flat_values).collect::<Vec<_>>()[..] {
            [Some(Values::View(texts)), Some(Values::View(separators))] => Ok((texts, separators)),
            _ => Err(unexpected_layout()),
        }
    }

    fn merge(
        &self,
        state: &mut Self::State,
        partial: &Self::Partial<'_>,
        index: usize,
    ) -> Result<()> {
        let (texts, separators) = partial;
        // An empty group has no text; its separator says so, see `partial`.
        if let Some(separator) = separators.text(index).strip_prefix(PRESENT) {
            StringAgg::push(state, texts.text(index), separator);
        }
        Ok(())
    }

    fn partial(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector> {
        let mut separators = StringBuilder::with_capacity(states.len());
        let mut present = PRESENT.to_string().into_bytes();
        for slot in 0..states.len() {
            match states.get(slot) {
                Some(joined) => {
                    present.truncate(PRESENT.len_utf8());
                    present.extend_from_slice(joined.separator.as_bytes());
                    separators.push(&present);
                }
                None => separators.push_empty(),
            }
        }
        let separators = Vector::strings(Type::Varchar, separators.finish(), None);
        let texts = text_column(states)?;
        Ok(row_column(&partial_type(), vec![texts, separators], states.len()))
    }

    fn result(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector> {
        text_column(states)
    }

    fn external_state_bytes(&self, state: &Self::State) -> usize {
        let heap = |it: &Joined| it.text.capacity() + it.separator.heap_bytes();
        state.as_ref().map_or(0, heap)
    }
}

/// Precedes the separator of a group that has text, in intermediate results.
const PRESENT: char = '+';

/// The texts, which leave their states where they are long; null for empty groups.
fn text_column(states: &mut TypedSlots<'_, Option<Joined>>) -> Result<Vector> {
    let mut texts = TextColumn::with_capacity("string_agg", states.len());
    for slot in 0..states.len() {
        match states.get(slot).as_mut() {
            Some(joined) => texts.push(&mut joined.text)?,
            None => texts.push_null(),
        }
    }
    Ok(texts.finish(Type::Varchar))
}

/// Texts of at least this many bytes become buffers of their own without a copy.
const MOVED_BYTES_MIN: usize = 1 << 20;

/// Longer texts have no place in the layout of other systems.
const TEXT_BYTES_MAX: usize = i32::MAX as usize;

/// A column of texts on its way.
pub(super) struct TextColumn {
    /// What makes them.
    function: &'static str,
    copied: StringBuilder,
    moved: Vec<Buffer>,
    /// Views, and whether they are of copied texts, whose buffers come after those moved.
    views: Vec<(u128, bool)>,
    valid: Vec<bool>,
}

impl TextColumn {
    pub(super) fn with_capacity(function: &'static str, rows: usize) -> TextColumn {
        TextColumn {
            function,
            copied: StringBuilder::with_capacity(rows),
            moved: Vec::new(),
            views: Vec::with_capacity(rows),
            valid: Vec::with_capacity(rows),
        }
    }

    pub(super) fn push_null(&mut self) {
        self.valid.push(false);
        self.views.push((0, true));
    }

    /// Appends a text, which is taken where it is long.
    ///
    /// # Errors
    ///
    /// It is too long.
    pub(super) fn push(&mut self, text: &mut String) -> Result<()> {
        if text.len() > TEXT_BYTES_MAX {
            let message = format!("{} result of more than 2 GiB", self.function);
            return Err(Error::new(ErrorKind::OutOfMemory, message));
        }
        self.valid.push(true);
        if text.len() < MOVED_BYTES_MIN {
            self.views.push((self.copied.store(text.as_bytes()), true));
            return Ok(());
        }
        let view = StringView::new(text.as_bytes(), self.moved.len() as u32, 0);
        self.views.push((view, false));
        self.moved.push(Buffer::from_vec(std::mem::take(text).into_bytes()));
        Ok(())
    }

    pub(super) fn finish(self, data_type: Type) -> Vector {
        let TextColumn { copied, mut moved, views, valid, .. } = self;
        let base = moved.len() as u32;
        let place = |(view, is_copied): (u128, bool)| {
            if is_copied { StringView::with_buffers_moved(view, base) } else { view }
        };
        let views: Vec<u128> = views.into_iter().map(place).collect();
        moved.extend(copied.finish_with_views(Vec::new()).buffers.iter().cloned());
        let strings = StringValues::new(views.into(), moved.into());
        Vector::strings(data_type, strings, Some(NullBuffer::from(valid)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_of_any_length_are_kept() {
        let long = "é".repeat(40);
        for (text, is_short) in [
            ("", true),
            (",", true),
            ("é-é", true),
            (&long[..22], true),
            (&long[..24], false),
            (&long, false),
        ] {
            let separator = Separator::new(text);
            assert_eq!(separator.as_bytes(), text.as_bytes());
            assert_eq!(matches!(separator, Separator::Short { .. }), is_short, "{text}");
            assert_eq!(separator.heap_bytes(), if is_short { 0 } else { text.len() });
        }
        assert_eq!(size_of::<Option<Joined>>(), 48);
    }

    #[test]
    fn a_group_of_one_text_has_one_allocation() {
        let mut state = None;
        StringAgg::push(&mut state, "first", ", ");
        assert_eq!(StringAgg.external_state_bytes(&state), 5);
        StringAgg::push(&mut state, "second", "; ");
        let joined = state.unwrap();
        assert_eq!(joined.text, "first; second");
        assert_eq!(joined.separator.as_bytes(), b", ");
    }
}
