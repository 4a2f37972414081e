//! `split_to_map` and `split_to_multimap`.

use super::doc;
use std::{borrow::Cow, cell::RefCell, collections::HashMap, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{
    Applied, ArgumentType, BoundHigherOrder, EvalContext, Lambda, Registry, ScalarTraits,
    simple::{Array, CancelCheck, MapWriter, Scratch, Varchar, map_written},
};
use volley_memory::check_cancelled;
use volley_types::Type;
use volley_vector::{Decoded, NullBuffer, Rows, ScalarBuffer, StringBuilder, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let map = doc(
        "split_to_map(varchar, entry delimiter, key delimiter[, (key, x, y) -> value]) -> map",
        "The entries of a text, such as `a:1;b:2`. The lambda makes one value of two with the same \
         key, which is an error without it.",
        &[
            ("split_to_map('a:1;b:2', ';', ':')", "{a=1, b=2}"),
            ("split_to_map('a:1;b:2;a:3', ';', ':', (k, x, y) -> y)", "{a=3, b=2}"),
        ],
    );
    let split = |text: &str, entry: &str, key: &str, out: &mut MapWriter<Varchar, Varchar>| {
        each_entry(text, [entry, key], |key, value| out.push(key, value))
    };
    registry.simple("presto.split_to_map", map, split);
    registry.add_higher_order("presto.split_to_map", Default::default(), Arc::new(bind_lambda));
    let multimap = doc(
        "split_to_multimap(varchar, entry delimiter, key delimiter) -> map of arrays",
        "The entries of a text, such as `a:1;b:2;a:3`, with all values of each key in their order.",
        &[("split_to_multimap('a:1;b:2;a:3', ';', ':')", "{a=[1, 3], b=[2]}")],
    );
    registry.simple("presto.split_to_multimap", multimap, split_to_multimap);
}

/// Gives `found` the key and value of each entry. A trailing entry delimiter ends the last one.
fn each_entry<'a>(
    text: &'a str,
    [entry_delimiter, key_delimiter]: [&str; 2],
    mut found: impl FnMut(&'a str, &'a str),
) -> Result<()> {
    if entry_delimiter.is_empty() || key_delimiter.is_empty() {
        return Err(Error::invalid_value("delimiters must not be empty"));
    }
    if entry_delimiter == key_delimiter {
        return Err(Error::invalid_value("delimiters of entries and keys must differ"));
    }
    for entry in text.split_terminator(entry_delimiter) {
        let parts = entry.split_once(key_delimiter);
        let Some((key, value)) = parts.filter(|it| !it.1.contains(key_delimiter)) else {
            let message = format!("the key delimiter must stand once in each entry: '{entry}'");
            return Err(Error::invalid_value(message));
        };
        found(key, value);
    }
    Ok(())
}

/// What the entries of a text take while they are put together, roughly: in a list and in a table
/// of keys, both of which grow, and with a list of values each.
fn entries_bytes(text: &str, entry_delimiter: &str) -> usize {
    /// The first values of a list.
    const VALUES: usize = 4;
    let entry = size_of::<(&str, Vec<&str>)>() + size_of::<(&str, usize)>();
    let bytes = 3 * entry + VALUES * size_of::<&str>();
    (text.matches(entry_delimiter).count() + 1).saturating_mul(bytes)
}

fn split_to_multimap(
    text: &str,
    entry_delimiter: &str,
    key_delimiter: &str,
    out: &mut MapWriter<Varchar, Array<Varchar>>,
) -> Result<()> {
    let bytes = entries_bytes(text, entry_delimiter);
    let Some(_scratch) = Scratch::of(bytes) else { return Ok(()) };
    let mut order: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    each_entry(text, [entry_delimiter, key_delimiter], |key, value| {
        let place = *places.entry(key).or_insert(order.len());
        match order.get_mut(place) {
            Some((_, values)) => values.push(value),
            None => order.push((key, vec![value])),
        }
    })?;
    for (key, values) in order {
        out.push_with(key, |array| array.extend(values));
    }
    Ok(())
}

fn bind_lambda(args: &[ArgumentType]) -> Option<BoundHigherOrder> {
    let [text, entry, key, ArgumentType::Lambda(lambda)] = args else { return None };
    let is_text = |it: &ArgumentType| matches!(it.value(), Some(Type::Varchar | Type::Unknown));
    if !is_text(text) || !is_text(entry) || !is_text(key) || lambda.parameters.len() != 3 {
        return None;
    }
    let text = || ArgumentType::Value(Type::Varchar);
    let lambda = ArgumentType::of_lambda([const { Type::Varchar }; 3], Some(Type::Varchar));
    let result = Type::map(Type::Varchar, Type::Varchar);
    let args = vec![text(), text(), text(), lambda];
    Some(BoundHigherOrder::of_closure(args, result, ScalarTraits::DEFAULT, split_and_resolve))
}

/// The entries of a row, in the order of their keys' first places.
type Entries<'a> = Vec<(&'a str, Option<Cow<'a, str>>)>;

/// A further value of a key: the place of its row among the active ones, that of its entry there.
struct Further<'a> {
    row: usize,
    place: usize,
    entry: usize,
    value: &'a str,
}

fn split_and_resolve(
    rows: &Rows,
    args: &[Vector],
    lambdas: &mut [&mut dyn Lambda],
    to: &Type,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let texts = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
    let ([text, entry, key], [lambda]) = (texts.as_slice(), lambdas) else {
        return Err(Error::internal("split_to_map of other than three texts and a lambda"));
    };
    let mut split: Vec<Entries<'_>> = Vec::with_capacity(rows.count());
    // The second values of keys, then the third ones, and so on.
    let mut rounds: Vec<Vec<Further<'_>>> = Vec::new();
    let mut cancel = CancelCheck::default();
    rows.try_for_each(|row| {
        cancel.check(text.text(row).len())?;
        ctx.charge(entries_bytes(text.text(row), entry.text(row)))?;
        let delimiters = [entry.text(row), key.text(row)];
        let entries = split_row(text.text(row), delimiters, (row, split.len()), &mut rounds);
        split.push(entries.unwrap_or_else(|error| {
            ctx.fail(row, || error);
            Vec::new()
        }));
        Ok::<_, Error>(())
    })?;
    for round in rounds {
        check_cancelled()?;
        resolve(&mut split, &round, *lambda, ctx)?;
    }
    let mut split = split.into_iter();
    let next = RefCell::new(&mut split);
    map_written::<(Varchar, Varchar, Varchar), MapWriter<Varchar, Varchar>, ()>(
        rows,
        args,
        to,
        ctx,
        |_, out| {
            for (key, value) in next.borrow_mut().next().unwrap_or_default() {
                out.push(key, value.as_deref());
            }
        },
    )
}

fn split_row<'a>(
    text: &'a str,
    delimiters: [&str; 2],
    (row, place): (usize, usize),
    rounds: &mut Vec<Vec<Further<'a>>>,
) -> Result<Entries<'a>> {
    let mut entries: Entries<'a> = Vec::new();
    // For each key its entry, and how many values it has so far.
    let mut known: HashMap<&str, (usize, usize)> = HashMap::new();
    let mut further = Vec::new();
    each_entry(text, delimiters, |key, value| match known.get_mut(key) {
        None => {
            known.insert(key, (entries.len(), 1));
            entries.push((key, Some(Cow::Borrowed(value))));
        }
        Some((entry, count)) => {
            further.push((*count - 1, Further { row, place, entry: *entry, value }));
            *count += 1;
        }
    })?;
    for (round, value) in further {
        if rounds.len() <= round {
            rounds.resize_with(round + 1, Vec::new);
        }
        if let Some(round) = rounds.get_mut(round) {
            round.push(value);
        }
    }
    Ok(entries)
}

/// Makes one value of the present one and a further one, for each of `round`.
fn resolve(
    split: &mut [Entries<'_>],
    round: &[Further<'_>],
    lambda: &mut dyn Lambda,
    ctx: &mut EvalContext,
) -> Result<()> {
    let entry = |split: &[Entries<'_>], it: &Further<'_>| -> (String, Option<String>) {
        let entry = split.get(it.place).and_then(|entries| entries.get(it.entry));
        entry.map_or_else(Default::default, |(key, value)| {
            ((*key).to_owned(), value.as_deref().map(str::to_owned))
        })
    };
    let entries: Vec<_> = round.iter().map(|it| entry(split, it)).collect();
    let parameters = [
        texts(entries.iter().map(|it| Some(it.0.as_str()))),
        texts(entries.iter().map(|it| it.1.as_deref())),
        texts(round.iter().map(|it| Some(it.value))),
    ];
    let owners: ScalarBuffer<u32> = round.iter().map(|it| it.row as u32).collect::<Vec<_>>().into();
    let rows = Rows::all(round.len());
    let applied = Applied { rows: &rows, parameters: &parameters, owners: &owners };
    let values = lambda.evaluate(&applied, ctx)?;
    let values = Decoded::new(&values)?;
    for (at, further) in round.iter().enumerate() {
        let value = (!values.is_null(at)).then(|| Cow::Owned(values.text(at).to_owned()));
        let entries = split.get_mut(further.place);
        if let Some((_, present)) = entries.and_then(|it| it.get_mut(further.entry)) {
            *present = value;
        }
    }
    Ok(())
}

/// A column of texts.
fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> Vector {
    let mut builder = StringBuilder::default();
    let (mut views, mut valid) = (Vec::new(), Vec::new());
    for value in values {
        views.push(builder.store(value.unwrap_or("").as_bytes()));
        valid.push(value.is_some());
    }
    let strings = builder.finish_with_views(views);
    Vector::strings(Type::Varchar, strings, Some(NullBuffer::from(valid)))
}
