//! Documentation of functions: every example returns the documented result, and `docs/functions`
//! equals the documentation in the registry. `UPDATE_EXPECT=1` writes the files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::Path,
};
use volley::{Session, Settings};
use volley_function::{FunctionDoc, FunctionKind, Package, PackageDoc};

/// The names that share one description.
struct Described<'a> {
    names: Vec<&'a str>,
    kind: FunctionKind,
    doc: &'a FunctionDoc,
}

/// Functions whose results an example cannot show.
const WITHOUT_EXAMPLES: [&str; 12] = [
    "random",
    "rand",
    "now",
    "current_date",
    "current_timestamp",
    "localtimestamp",
    "error",
    "gen_random_uuid",
    "uuid",
    "nextval",
    "currval",
    "uuidv4",
];

/// The names of Presto's functions, and those of them that are left out on purpose.
const PRESTO_NAMES: &str = include_str!("../../../functions-presto/reference/names.txt");
const PRESTO_ABSENT: &str = include_str!("../../../functions-presto/reference/absent.txt");

fn session() -> Session {
    Session::with_settings(Settings { threads: 1, ..Settings::default() }).unwrap()
}

/// The functions of a package that it does not share with the core.
fn own_docs(session: &Session, package: Package) -> Vec<PackageDoc<'_>> {
    let mut docs = session.registry().package_docs();
    let core: Vec<*const FunctionDoc> = docs
        .iter()
        .filter(|it| it.package == Package::Core)
        .map(|it| std::ptr::from_ref(it.doc))
        .collect();
    let is_shared = |it: &PackageDoc<'_>| {
        package != Package::Core && core.contains(&std::ptr::from_ref(it.doc))
    };
    docs.retain(|it| it.package == package && !is_shared(it));
    docs
}

#[test]
fn examples_give_what_they_say() {
    let session = session();
    let mut failures = Vec::new();
    for (package, dialect) in [(Package::Core, "volley"), (Package::Presto, "presto")] {
        session.set("dialect", dialect).unwrap();
        check_examples(&session, package, &mut failures);
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

fn check_examples(session: &Session, package: Package, failures: &mut Vec<String>) {
    for PackageDoc { name, doc, .. } in own_docs(session, package) {
        if doc.examples.is_empty() && !WITHOUT_EXAMPLES.contains(&name) {
            failures.push(format!("{name} has no example: {}", doc.signature));
        }
        for (call, expected) in &doc.examples {
            match result(session, call) {
                Ok(found) if found == *expected => {}
                Ok(found) => failures.push(format!("{name}: {call} is {found}, not {expected}")),
                Err(error) => failures.push(format!("{name}: {call}: {error}")),
            }
        }
    }
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
    let folder = Path::new("../../docs/functions");
    let mut core = pages(&session, Package::Core);
    core.insert("coverage.md".into(), coverage(&session));
    check_pages(folder, core);
    check_pages(&folder.join("presto"), pages(&session, Package::Presto));
}

/// Compares the files of a folder with what they should be.
fn check_pages(folder: &Path, mut wanted: BTreeMap<String, String>) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::create_dir_all(folder).unwrap();
        for (name, text) in &wanted {
            fs::write(folder.join(name), text).unwrap();
        }
    }
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = wanted.remove(&name);
        let is_same = text.is_some_and(|it| it == fs::read_to_string(&path).unwrap());
        assert!(is_same, "{} is not what the registry says: UPDATE_EXPECT=1", path.display());
    }
    assert!(wanted.is_empty(), "missing in {}: {:?}", folder.display(), wanted.keys());
}

/// The text of each page of a package by its file's name: one for each category, and a list of
/// them.
fn pages(session: &Session, package: Package) -> BTreeMap<String, String> {
    let mut categories: BTreeMap<&str, Vec<Described<'_>>> = BTreeMap::new();
    let own = own_docs(session, package);
    let own_names: BTreeSet<&str> = own.iter().map(|it| it.name).collect();
    for PackageDoc { name, kind, doc, .. } in own {
        let described = categories.entry(&doc.category).or_default();
        let is_same =
            |it: &&mut Described<'_>| it.kind == kind && it.doc.signature == doc.signature;
        match described.iter_mut().find(is_same) {
            Some(same) => same.names.push(name),
            None => described.push(Described { names: vec![name], kind, doc }),
        }
    }
    let mut index = introduction(package).to_owned();
    let mut pages = BTreeMap::new();
    for (category, mut functions) in categories {
        functions.sort_by_key(|it| main_name(it).to_owned());
        let count = functions.len();
        writeln!(index, "- [{category}]({category}.md): {count}").unwrap();
        pages.insert(format!("{category}.md"), page(category, &functions));
    }
    let shared = session.registry().package_docs().into_iter();
    let shared = shared.filter(|it| it.package == package && !own_names.contains(it.name));
    let shared: BTreeSet<String> = shared.map(|it| format!("`{}`", it.name)).collect();
    if !shared.is_empty() {
        let names = shared.into_iter().collect::<Vec<_>>().join(", ");
        writeln!(index, "\nThe core's functions, which mean the same: {names}.").unwrap();
    }
    pages.insert("README.md".into(), index);
    pages
}

fn introduction(package: Package) -> &'static str {
    match package {
        Package::Core => {
            "# Functions\n\nWritten from the registry of functions; `SHOW FUNCTIONS` lists the \
             same, `DESCRIBE FUNCTION name` shows one. [presto](presto/README.md) has Presto's, \
             [coverage](coverage.md) which of Presto's names there are.\n\n"
        }
        Package::Presto => {
            "# Presto's functions\n\nWritten from the registry of functions. `SET dialect = \
             'presto'` makes names mean these; in the default dialect they are called \
             `presto.name`, or by `name` where the core has no function of that name.\n\n"
        }
    }
}

/// Which of the names of Presto's package there are.
fn coverage(session: &Session) -> String {
    let docs = session.registry().package_docs();
    let present: BTreeSet<(FunctionKind, &str)> = docs
        .iter()
        .filter(|it| it.package == Package::Presto)
        .map(|it| (it.kind, it.name))
        .collect();
    let absent: BTreeMap<&str, &str> = lines(PRESTO_ABSENT).collect();
    let mut text = String::from("# Coverage of Presto's functions\n");
    for kind in [FunctionKind::Scalar, FunctionKind::Aggregate, FunctionKind::Window] {
        let names: Vec<&str> =
            lines(PRESTO_NAMES).filter(|it| it.0 == kind.to_string()).map(|it| it.1).collect();
        let has = |name: &&&str| present.contains(&(kind, **name));
        let count = names.iter().filter(has).count();
        writeln!(text, "\n## {kind}: {count} of {}\n\n| name | present |\n|---|---|", names.len())
            .unwrap();
        for name in &names {
            let stands = has(&name);
            let reason = absent.get(name).copied();
            assert!(!(stands && reason.is_some()), "{name} is present and listed as absent");
            let state = if stands { "yes" } else { "no" };
            let reason = reason.map_or(String::new(), |it| format!(": {it}"));
            writeln!(text, "| `{name}` | {state}{reason} |").unwrap();
        }
    }
    text
}

/// The first word of each line, and the rest of it.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().filter(|it| !it.starts_with('#'));
    lines.filter_map(|it| it.split_once(' '))
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
