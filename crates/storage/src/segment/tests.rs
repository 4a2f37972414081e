use super::*;
use crate::{Ids, LocalStore, Store};
use tempfile::{TempDir, tempdir};
use volley_memory::Pool;
use volley_types::{Field, Value};
use volley_vector::{Batch, Vector};

struct Fixture {
    _folder: TempDir,
    store: Arc<dyn Store>,
    files: Arc<ChunkFiles>,
}

impl Fixture {
    fn new() -> Fixture {
        let folder = tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(LocalStore::open(folder.path()).unwrap());
        let files =
            ChunkFiles::new(&store, &Arc::new(Ids::default()), 7, &Pool::root("test", None));
        Fixture { _folder: folder, store, files }
    }

    fn write(&self, types: &Arc<[Type]>, batches: &[Batch]) -> Vec<Arc<Segment>> {
        let pool = Pool::root("test", None);
        let mut writer = SegmentWriter::new(&self.files, TableId(3), types, &pool);
        batches.iter().for_each(|it| writer.write(it).unwrap());
        let segments = writer.finish().unwrap();
        assert_eq!(pool.stats().bytes, 0);
        segments
    }
}

fn values(segment: &Segment, column: usize, data_type: &Type) -> Vec<Value> {
    let blocks = (0..segment.blocks()).flat_map(|number| {
        let mut reader = segment.open(column, number, data_type).unwrap();
        reader.read(0..reader.rows() as u32, None).unwrap().to_values().unwrap()
    });
    blocks.collect()
}

fn types() -> Arc<[Type]> {
    let row = Type::Row(vec![Field::new("x", Type::Integer)].into());
    [Type::BigInt, Type::Varchar, Type::Array(Arc::new(Type::Double)), row].into()
}

fn row(number: i64) -> Vec<Value> {
    let is_null = number % 7 == 3;
    let text = if is_null { Value::Null } else { Value::text(format!("text {}", number % 100)) };
    let list = Value::Array(vec![Value::Double(number as f64); (number % 3) as usize].into());
    vec![Value::BigInt(number), text, list, Value::Row(vec![Value::Integer(number as i32)].into())]
}

fn batch(types: &[Type], rows: Range<i64>) -> Batch {
    let rows: Vec<Vec<Value>> = rows.map(row).collect();
    let columns = types.iter().enumerate().map(|(index, data_type)| {
        let values: Vec<Value> = rows.iter().map(|it| it[index].clone()).collect();
        Vector::from_values(data_type.clone(), &values)
    });
    Batch::new(columns.collect(), rows.len())
}

#[test]
fn rows_are_read_as_written() {
    let fixture = Fixture::new();
    let types = types();
    for step in [1, 3, 1000] {
        let batches: Vec<Batch> =
            (0..2500 / step).map(|it| batch(&types, it * step..(it + 1) * step)).collect();
        let rows = 2500 / step * step;
        let segments = fixture.write(&types, &batches);
        assert_eq!(segments.iter().map(|it| it.rows()).collect::<Vec<_>>(), [rows as u32]);
        // Descriptors are all that is needed.
        let mut output = Output::default();
        segments[0].write(&types, &mut output).unwrap();
        let files = ChunkFiles::new(
            &fixture.store,
            &Arc::new(Ids::default()),
            7,
            &Pool::root("test", None),
        );
        let mut input = Input::new(&output.bytes, "segment");
        let segment = Segment::read(&mut input, TableId(3), &types, &files).unwrap();
        input.finish().unwrap();
        for (column, data_type) in types.iter().enumerate() {
            let expected: Vec<Value> = (0..rows).map(|it| row(it)[column].clone()).collect();
            assert_eq!(values(&segment, column, data_type), expected);
        }
        assert_eq!(segment.bounds(0).max, Some(Value::BigInt(rows - 1)));
        assert_eq!(
            segment.bounds(1).nulls,
            Some((0..rows).filter(|it| it % 7 == 3).count() as u64)
        );
    }
}

#[test]
fn rows_are_cut_into_segments_blocks_and_zones() {
    let fixture = Fixture::new();
    let types: Arc<[Type]> = [Type::Integer].into();
    let rows = SEGMENT_ROWS_MAX as usize + BLOCK_ROWS as usize + 10;
    let numbers: Vec<i32> = (0..rows as i32).collect();
    let column = Vector::native::<i32>(Type::Integer, numbers, None);
    let segments = fixture.write(&types, &[Batch::new(vec![column], rows)]);
    let lengths: Vec<u32> = segments.iter().map(|it| it.rows()).collect();
    assert_eq!(lengths, [SEGMENT_ROWS_MAX, BLOCK_ROWS + 10]);
    assert_eq!((segments[0].blocks(), segments[1].blocks()), (8, 2));
    let zones = segments[1].zones(&types).unwrap();
    assert_eq!(zones[0].len(), 17);
    let start = (SEGMENT_ROWS_MAX + ZONE_ROWS) as i32;
    assert_eq!(zones[0][1].min, Some(Value::Integer(start)));
    assert_eq!(zones[0][1].max, Some(Value::Integer(start + ZONE_ROWS as i32 - 1)));
    let mut last = segments[1].open(0, 1, &Type::Integer).unwrap();
    assert_eq!(
        last.read(9..10, None).unwrap().to_values().unwrap(),
        [Value::Integer(rows as i32 - 1)]
    );
}

#[test]
fn nothing_is_written_without_rows() {
    let fixture = Fixture::new();
    assert!(fixture.write(&types(), &[]).is_empty());
    assert!(fixture.store.list(&crate::Name::default()).unwrap().len() <= 1);
}

#[test]
fn damaged_and_misdirected_blocks_are_found() {
    let fixture = Fixture::new();
    let types: Arc<[Type]> = [Type::BigInt, Type::BigInt].into();
    let column = || Vector::from_values(Type::BigInt, &[1, 2, 3].map(Value::BigInt));
    let segments = fixture.write(&types, &[Batch::new(vec![column(), column()], 3)]);
    let segment = &segments[0];
    let check = |block: StoredBlock, salt: u64, what: &str| {
        let file = ChunkFiles::new(
            &fixture.store,
            &Arc::new(Ids::default()),
            salt,
            &Pool::root("test", None),
        )
        .file(1);
        let block = StoredBlock { file, ..block };
        let error = block.read(&segment.identity(BlockKind::Column, 0, 0)).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    };
    let block = |column: usize| segment.columns[column].blocks[0].clone();
    check(block(1), 7, "another block is in its place");
    check(block(0), 8, "checksum");
    let mut moved = block(0);
    moved.address.offset += 1;
    check(moved, 7, "checksum");
    let mut beyond = block(0);
    beyond.address.offset = 1 << 40;
    check(beyond, 7, "the file ends before it");
}

#[test]
fn files_are_collected_when_nothing_needs_them() {
    let fixture = Fixture::new();
    let types: Arc<[Type]> = [Type::BigInt].into();
    let column = Vector::from_values(Type::BigInt, &[Value::BigInt(1)]);
    let batch = Batch::new(vec![column], 1);
    let kept = fixture.write(&types, &[batch.clone()]);
    drop(fixture.write(&types, &[batch.clone()]));
    drop(fixture.write(&types, &[batch]));
    assert_eq!(fixture.files.collect(&[2].into()).unwrap(), 1);
    assert_eq!(fixture.files.collect(&[].into()).unwrap(), 1);
    assert_eq!(values(&kept[0], 0, &Type::BigInt), [Value::BigInt(1)]);
    assert_eq!(fixture.files.last_number().unwrap(), 1);
}
