//! What is said about functions: every example gives the result that it claims, and
//! `docs/functions` holds what the registry says. `UPDATE_EXPECT=1` writes the files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};
use volley::{Session, Settings};
use volley_function::{FunctionDoc, FunctionKind};

/// The names that share one description.
struct Described<'a> {
    names: Vec<&'a str>,
    kind: FunctionKind,
    doc: &'a FunctionDoc,
}

/// Functions whose results no example can show.
const WITHOUT_EXAMPLES: [&str; 9] = [
    "random",
    "rand",
    "now",
    "current_date",
    "current_timestamp",
    "localtimestamp",
    "error",
    "gen_random_uuid",
    "uuid",
];

fn session() -> Session {
    Session::with_settings(Settings { threads: 1, ..Settings::default() }).unwrap()
}

#[test]
fn examples_give_what_they_say() {
    let session = session();
    let mut failures = Vec::new();
    for (name, _, doc) in session.registry().docs() {
        if doc.examples.is_empty() && !WITHOUT_EXAMPLES.contains(&name) {
            failures.push(format!("{name} has no example: {}", doc.signature));
        }
        for (call, expected) in &doc.examples {
            match result(&session, call) {
                Ok(found) if found == *expected => {}
                Ok(found) => failures.push(format!("{name}: {call} is {found}, not {expected}")),
                Err(error) => failures.push(format!("{name}: {call}: {error}")),
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The value of an expression as text. An example of an aggregate may bring its own FROM.
fn result(session: &Session, call: &str) -> Result<String, volley::Error> {
    let mut stream = session.sql(&format!("SELECT {call}"))?;
    let data_type = stream.schema().fields[0].data_type.clone();
    let mut text = Vec::new();
    while let Some(batch) = stream.next()? {
        for row in 0..batch.rows() {
            text.push(batch.column(0).value(row)?.display(&data_type).to_string());
        }
    }
    Ok(text.join("\n"))
}

#[test]
fn documentation_is_up_to_date() {
    let session = session();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions");
    let mut wanted = pages(&session);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in &wanted {
            fs::write(folder.join(name), text).unwrap();
        }
    }
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = wanted.remove(&name);
        let is_same = text.is_some_and(|it| it == fs::read_to_string(&path).unwrap());
        assert!(is_same, "docs/functions/{name} is not what the registry says: UPDATE_EXPECT=1");
    }
    assert!(wanted.is_empty(), "missing in docs/functions: {:?}", wanted.keys());
}

/// The text of each page by its file's name: one for each category, and a list of them.
fn pages(session: &Session) -> BTreeMap<String, String> {
    let mut categories: BTreeMap<&str, Vec<Described<'_>>> = BTreeMap::new();
    for (name, kind, doc) in session.registry().docs() {
        let described = categories.entry(&doc.category).or_default();
        let is_same =
            |it: &&mut Described<'_>| it.kind == kind && it.doc.signature == doc.signature;
        match described.iter_mut().find(is_same) {
            Some(same) => same.names.push(name),
            None => described.push(Described { names: vec![name], kind, doc }),
        }
    }
    let mut index = String::from(
        "# Functions\n\nWritten from the registry of functions; `SHOW FUNCTIONS` lists the same, \
         `DESCRIBE FUNCTION name` shows one.\n\n",
    );
    let mut pages = BTreeMap::new();
    for (category, mut functions) in categories {
        functions.sort_by_key(|it| main_name(it).to_owned());
        let count = functions.len();
        writeln!(index, "- [{category}]({category}.md): {count}").unwrap();
        pages.insert(format!("{category}.md"), page(category, &functions));
    }
    pages.insert("README.md".into(), index);
    pages
}

/// The name that the signature uses.
fn main_name<'a>(described: &Described<'a>) -> &'a str {
    let signature = described.doc.signature.as_str();
    let name = signature.split(|it: char| !it.is_alphanumeric() && it != '_').next().unwrap_or("");
    described.names.iter().find(|it| **it == name).copied().unwrap_or(described.names[0])
}

fn page(category: &str, functions: &[Described<'_>]) -> String {
    let mut text = format!("# Functions: {category}\n");
    for described in functions {
        let name = main_name(described);
        let doc = described.doc;
        write!(text, "\n## {name}\n\n`{}`", doc.signature).unwrap();
        if described.kind != FunctionKind::Scalar {
            write!(text, " ({})", described.kind).unwrap();
        }
        write!(text, "\n\n{}\n", doc.description).unwrap();
        let others: Vec<String> =
            described.names.iter().filter(|it| **it != name).map(|it| format!("`{it}`")).collect();
        if !others.is_empty() {
            write!(text, "\nAlso called {}.\n", others.join(", ")).unwrap();
        }
        if !doc.examples.is_empty() {
            text.push_str("\n| expression | result |\n|---|---|\n");
            for (call, result) in &doc.examples {
                let cell = |text: &str| text.replace('|', "\\|").replace('\n', "`<br>`");
                writeln!(text, "| `{}` | `{}` |", cell(call), cell(result)).unwrap();
            }
        }
    }
    text
}
