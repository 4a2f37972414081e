use super::*;
use crate::{
    CheckDefinition, ColumnDefinition, ForeignKeyDefinition, IndexDefinition, IndexPart,
    KeyDefinition, OnCommit,
};
use volley_error::ErrorKind;
use volley_types::{Field, TypeRegistry};

fn table(id: u64, name: &str) -> RelationEntry {
    let text = |it: &str| Some(it.to_owned());
    let column = ColumnDefinition {
        is_not_null: true,
        default: text("nextval('s')"),
        generated: text("a + 1"),
        named_types: vec!["mood".to_owned()],
        comment: text("größer als ∅"),
    };
    let definition = TableDefinition {
        columns: vec![ColumnDefinition::default(), column],
        checks: vec![
            CheckDefinition { name: text("positive"), condition: "a > 0".to_owned() },
            CheckDefinition { name: None, condition: "a < 9".to_owned() },
        ],
        keys: vec![
            KeyDefinition { columns: vec![1, 0], is_primary: true, index: None },
            KeyDefinition { columns: vec![1], is_primary: false, index: text("byB") },
        ],
        foreign_keys: vec![
            ForeignKeyDefinition {
                name: text("up"),
                columns: vec![1, 0],
                table: None,
                referenced: vec![0, 1],
            },
            ForeignKeyDefinition {
                name: None,
                columns: vec![0],
                table: Some(TableId(77)),
                referenced: vec![9],
            },
        ],
        indexes: vec![IndexDefinition {
            name: "byB".to_owned(),
            is_unique: true,
            parts: vec![IndexPart::Column(1), IndexPart::Expression("a + 1".to_owned())],
        }],
        comment: text("a table"),
        on_commit: OnCommit::DeleteRows,
    };
    let nested =
        Type::array(Type::row([Field::new("x", Type::Decimal { precision: 9, scale: 2 })]));
    let columns = Schema::new(vec![Field::new("a", nested), Field::new("b", Type::Varchar)]);
    let definition = Arc::new(definition);
    let name = name.to_owned();
    RelationEntry::Table(Arc::new(TableEntry { id: TableId(id), name, columns, definition }))
}

fn sequence(id: u64, name: &str) -> Arc<SequenceEntry> {
    let (start, increment, least, greatest) = (5, -2, i64::MIN, 7);
    let (id, name, cycles) = (SequenceId(id), name.to_owned(), true);
    Arc::new(SequenceEntry { id, name, start, increment, least, greatest, cycles })
}

fn catalog() -> CatalogSnapshot {
    let view = ViewEntry {
        name: "V".to_owned(),
        sql: "SELECT 1".to_owned(),
        columns: vec!["x".to_owned()],
        dialect: "presto".to_owned(),
        comment: Some(String::new()),
        column_comments: BTreeMap::from([("x".to_owned(), "one".to_owned())]),
        search_path: vec!["main".to_owned(), "s".to_owned()],
    };
    let named = TypeEntry {
        name: "mood".to_owned(),
        data_type: Type::map(Type::Varchar, Type::Double),
        named_types: vec!["other".to_owned()],
    };
    let parameter = MacroParameterEntry {
        name: "p".to_owned(),
        data_type: Some("INTEGER".to_owned()),
        default: None,
    };
    let (name, parameters, body) = ("m".to_owned(), vec![parameter], "p + 1".to_owned());
    let main = SchemaSnapshot {
        name: "main".to_owned(),
        relations: BTreeMap::from([
            ("t".to_owned(), table(1, "T")),
            ("v".to_owned(), RelationEntry::View(Arc::new(view))),
        ]),
        sequences: BTreeMap::from([("s".to_owned(), sequence(1, "s"))]),
        types: BTreeMap::from([("mood".to_owned(), Arc::new(named))]),
        macros: BTreeMap::from([(
            "m".to_owned(),
            Arc::new(MacroEntry { name, parameters, body, is_table: true }),
        )]),
    };
    let other = SchemaSnapshot { name: "Other".to_owned(), ..SchemaSnapshot::default() };
    let schemas = [("main".to_owned(), Arc::new(main)), ("other".to_owned(), Arc::new(other))];
    CatalogSnapshot { schemas: BTreeMap::from(schemas) }
}

fn read(bytes: &[u8]) -> volley_error::Result<CatalogSnapshot> {
    CatalogSnapshot::from_bytes(bytes, &TypeRegistry::default())
}

#[test]
fn a_catalog_that_is_saved_and_read_is_the_same() {
    for catalog in [CatalogSnapshot::default(), catalog()] {
        let bytes = catalog.to_bytes().unwrap();
        assert_eq!(read(&bytes).unwrap(), catalog);
    }
}

#[test]
fn objects_are_found_without_regard_to_case() {
    let catalog = catalog();
    assert_eq!(catalog.relation("MAIN", "t").map(RelationEntry::name), Some("T"));
    assert_eq!(catalog.relation("main", "V").map(RelationEntry::kind), Some(ObjectKind::View));
    assert!(catalog.relation("other", "t").is_none());
    let (schema, table) = catalog.table(TableId(1)).unwrap();
    assert_eq!((schema.name.as_str(), table.name.as_str()), ("main", "T"));
    assert!(catalog.table(TableId(2)).is_none());
}

/// Whatever bytes: a catalog or an error. Bytes that differ from a saved catalog are no catalog,
/// because of their checksum.
#[test]
fn damaged_bytes_are_errors() {
    let bytes = catalog().to_bytes().unwrap();
    for len in 0..bytes.len() {
        assert_eq!(read(&bytes[..len]).unwrap_err().kind(), ErrorKind::Corruption, "{len}");
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        assert_eq!(read(&damaged).unwrap_err().kind(), ErrorKind::Corruption, "{at}");
    }
}

/// As [`damaged_bytes_are_errors`], where the checksum is right.
#[test]
fn wrong_contents_are_errors() {
    let check = |change: &dyn Fn(&mut SchemaSnapshot), message: &str| {
        let mut catalog = catalog();
        let main = Arc::make_mut(catalog.schemas.get_mut("main").unwrap());
        change(main);
        let error = read(&catalog.to_bytes().unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert!(error.to_string().contains(message), "{error}");
    };
    let twice = |it: &mut SchemaSnapshot| drop(it.relations.insert("u".into(), table(2, "t")));
    check(&twice, "two objects called t");
    let same = |it: &mut SchemaSnapshot| drop(it.relations.insert("u".into(), table(1, "u")));
    check(&same, "the same identity");
    let same = |it: &mut SchemaSnapshot| drop(it.sequences.insert("u".into(), sequence(1, "u")));
    check(&same, "the same identity");
    let narrow = |it: &mut SchemaSnapshot| {
        let RelationEntry::Table(table) = table(3, "u") else { unreachable!() };
        let mut table = (*table).clone();
        table.columns.fields.pop();
        it.relations.insert("u".into(), RelationEntry::Table(Arc::new(table)));
    };
    check(&narrow, "columns that do not exist");
    let stuck = |it: &mut SchemaSnapshot| {
        let stuck = SequenceEntry { increment: 0, ..(*sequence(2, "u")).clone() };
        it.sequences.insert("u".into(), Arc::new(stuck));
    };
    check(&stuck, "a sequence without numbers");
}

#[test]
fn sequences_end_or_begin_again() {
    let numbers = |increment: i64, start: i64, cycles: bool| {
        let entry = (*sequence(1, "s")).clone();
        let entry = SequenceEntry { increment, start, least: 1, greatest: 5, cycles, ..entry };
        let mut next = Some(start);
        std::iter::from_fn(|| {
            let number = next?;
            next = entry.after(number);
            Some(number)
        })
        .take(5)
        .collect::<Vec<_>>()
    };
    assert_eq!(numbers(2, 2, false), [2, 4]);
    assert_eq!(numbers(2, 2, true), [2, 4, 1, 3, 5]);
    assert_eq!(numbers(-2, 4, true), [4, 2, 5, 3, 1]);
    assert_eq!(numbers(i64::MAX, 2, false), [2]);
}
