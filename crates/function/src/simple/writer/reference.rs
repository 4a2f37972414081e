//! Results that refer to the arguments instead of copying from them.

use super::{
    super::{
        args::{Arg, ColumnRef, Source, Varchar},
        generic::{Any, Generic, GenericValue},
        memory::{Growth, take_if_much},
        pattern::{Pattern, SqlType},
        text::part_view,
    },
    Builder, Collected, NullPositions, Push, Writer, flat,
};
use volley_error::Result;
use volley_types::Type;
use volley_vector::{StringBuilder, StringValues, StringView, Values, Vector};

/// The marker of VARCHAR results that are parts of argument `N`: they share its buffers.
pub struct PartOf<const N: usize>;

impl<const N: usize> Arg for PartOf<N> {
    type Value<'a> = &'a str;
    type Base<'a> = &'a StringValues;
    const CHEAP: bool = false;
    const IS_TEXT: bool = true;

    fn is_ascii(value: &str) -> bool {
        value.is_ascii()
    }

    fn base(column: ColumnRef<'_>) -> Option<&StringValues> {
        Varchar::base(column)
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, row: usize, index: usize) -> Self::Value<'a> {
        Varchar::get(base, row, index)
    }
}

impl<const N: usize> SqlType for PartOf<N> {
    fn pattern() -> Pattern {
        Varchar::pattern()
    }
}

/// Collects parts of the strings of argument `N`; other strings are copied.
pub struct PartBuilder<const N: usize> {
    strings: Option<StringValues>,
    /// Which string of the argument the current row has.
    index: usize,
    views: Vec<u128>,
    /// Values that are not parts of the argument, numbered from the end of the argument's buffers.
    copies: StringBuilder,
    set: Option<u128>,
    nulls: NullPositions,
    growth: Growth,
}

impl<const N: usize> PartBuilder<N> {
    /// Makes `part` the result; the result is null where nothing is set.
    #[inline(always)]
    pub fn set(&mut self, part: &str) {
        self.set = Some(self.view(part));
    }

    #[inline(always)]
    fn view(&mut self, part: &str) -> u128 {
        let strings = self.strings.as_ref();
        let view = strings.and_then(|it| part_view(it, self.index, part.as_bytes()));
        view.unwrap_or_else(|| self.copied(part))
    }

    #[cold]
    fn copied(&mut self, part: &str) -> u128 {
        if !self.growth.takes_text(part.as_bytes()) {
            return 0;
        }
        let view = self.copies.store(part.as_bytes());
        let by = self.strings.as_ref().map_or(0, |it| it.buffers.len() as u32);
        StringView::with_buffers_moved(view, by)
    }

    #[inline(always)]
    fn push_view(&mut self, view: u128) {
        if self.growth.has_room(&mut self.views) {
            self.views.push(view);
        }
    }
}

impl<const N: usize> Builder for PartBuilder<N> {
    type Writer = Self;

    fn new(sources: &[Source<'_>]) -> Self {
        PartBuilder {
            strings: sources.get(N).and_then(Source::strings).cloned(),
            index: 0,
            views: Vec::new(),
            copies: StringBuilder::with_capacity(0),
            set: None,
            nulls: NullPositions::default(),
            growth: Growth::new(),
        }
    }

    fn reserve(&mut self, count: usize) {
        self.views.reserve(count);
    }

    fn writer(&mut self) -> &mut Self {
        self
    }

    #[inline(always)]
    fn begin_row(&mut self, sources: &[Source<'_>], row: usize) {
        self.index = sources.get(N).map_or(0, |it| it.index(row));
    }

    fn len(&self) -> usize {
        self.views.len()
    }

    #[inline(always)]
    fn close(&mut self) {
        match self.set.take() {
            Some(view) => self.push_view(view),
            None => self.push_null(),
        }
    }

    fn abandon(&mut self) {
        self.set = None;
    }

    fn push_null(&mut self) {
        if self.nulls.add(self.views.len(), &mut self.growth) {
            self.push_view(0);
        }
    }

    fn pad(&mut self, len: usize) {
        self.views.resize(len, 0);
    }

    fn truncate(&mut self, len: usize) {
        self.abandon();
        self.views.truncate(len);
        self.nulls.truncate(len);
    }

    #[inline(always)]
    fn is_refused(&self) -> bool {
        self.growth.is_refused()
    }

    fn finish(self, data_type: &Type) -> Result<Vector> {
        let copies = self.copies.finish();
        let strings = match &self.strings {
            Some(strings) if copies.buffers.is_empty() => strings.with_views(self.views.into()),
            Some(strings) => {
                let buffers = strings.buffers.iter().chain(copies.buffers.iter());
                StringValues::new(self.views.into(), buffers.cloned().collect())
            }
            None => StringValues::new(self.views.into(), copies.buffers),
        };
        flat(data_type, Values::View(strings), &self.nulls)
    }
}

impl<const N: usize> Push<&str> for PartBuilder<N> {
    #[inline]
    fn push_value(&mut self, value: &str) {
        let view = self.view(value);
        self.push_view(view);
    }
}

impl<const N: usize> Collected for PartOf<N> {
    type Builder = PartBuilder<N>;
}

impl<const N: usize> Writer for PartBuilder<N> {
    type Builder = Self;
    type Marker = PartOf<N>;
}

/// Collects references to values of type variable `N`.
pub struct AnyBuilder<const N: usize> {
    /// The columns that are referred to, told apart by their addresses.
    columns: Vec<(usize, Vector)>,
    /// The column's place and the row in it.
    codes: Vec<(u32, u32)>,
    set: Option<(u32, u32)>,
    nulls: NullPositions,
    growth: Growth,
}

impl<const N: usize> AnyBuilder<N> {
    /// Makes `value` the result; the result is null where nothing is set.
    #[inline]
    pub fn set<const ORDER: u8>(&mut self, value: GenericValue<'_, N, ORDER>) {
        self.set = Some(self.code(value));
    }

    #[inline]
    fn code<const ORDER: u8>(&mut self, value: GenericValue<'_, N, ORDER>) -> (u32, u32) {
        let address = std::ptr::from_ref(value.column) as usize;
        let place = self.columns.iter().position(|it| it.0 == address).unwrap_or_else(|| {
            self.columns.push((address, value.column.vector.clone()));
            self.columns.len() - 1
        });
        (place as u32, value.index)
    }

    #[inline(always)]
    fn push_code(&mut self, code: (u32, u32)) {
        if self.growth.has_room(&mut self.codes) {
            self.codes.push(code);
        }
    }
}

impl<const N: usize> Builder for AnyBuilder<N> {
    type Writer = Self;

    fn new(_sources: &[Source<'_>]) -> Self {
        let (columns, codes, nulls) = (Vec::new(), Vec::new(), NullPositions::default());
        AnyBuilder { columns, codes, set: None, nulls, growth: Growth::new() }
    }

    fn reserve(&mut self, count: usize) {
        self.codes.reserve(count);
    }

    fn writer(&mut self) -> &mut Self {
        self
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.codes.len()
    }

    #[inline]
    fn close(&mut self) {
        match self.set.take() {
            Some(code) => self.push_code(code),
            None => self.push_null(),
        }
    }

    fn abandon(&mut self) {
        self.set = None;
    }

    #[inline]
    fn push_null(&mut self) {
        if self.nulls.add(self.codes.len(), &mut self.growth) {
            self.push_code((0, 0));
        }
    }

    fn pad(&mut self, len: usize) {
        self.codes.resize(len, (0, 0));
    }

    fn truncate(&mut self, len: usize) {
        self.abandon();
        self.codes.truncate(len);
        self.nulls.truncate(len);
    }

    #[inline(always)]
    fn is_refused(&self) -> bool {
        self.growth.is_refused()
    }

    fn finish(self, data_type: &Type) -> Result<Vector> {
        let len = self.codes.len();
        let parts: Vec<Vector> = self.columns.into_iter().map(|it| it.1).collect();
        if parts.is_empty() {
            return Ok(Vector::nulls(data_type.clone(), len));
        }
        let starts: Vec<u32> = parts
            .iter()
            .scan(0, |end, part| {
                let start = *end;
                *end += part.len() as u32;
                Some(start)
            })
            .collect();
        // Where there are several, they are copied.
        let copied = if parts.len() > 1 { parts.iter().map(Vector::len).sum() } else { 0 };
        if !take_if_much(copied.saturating_mul(size_of::<u128>()).saturating_add(len * 4)) {
            return Ok(Vector::nulls(data_type.clone(), len));
        }
        let all = Vector::concat(data_type, &parts)?;
        let codes: Vec<u32> =
            self.codes.iter().map(|(place, index)| starts[*place as usize] + index).collect();
        let nulls = self.nulls.finish(len);
        match nulls {
            None => Ok(all.select(&codes)),
            Some(_) => Ok(Vector::dictionary(codes.into(), all.into(), nulls)),
        }
    }
}

impl<const N: usize, const ORDER: u8> Push<GenericValue<'_, N, ORDER>> for AnyBuilder<N> {
    #[inline]
    fn push_value(&mut self, value: GenericValue<'_, N, ORDER>) {
        let code = self.code(value);
        self.push_code(code);
    }
}

impl<const N: usize, const ORDER: u8> Collected for Generic<N, ORDER> {
    type Builder = AnyBuilder<N>;
}

impl<const N: usize> Writer for AnyBuilder<N> {
    type Builder = Self;
    type Marker = Any<N>;
}
