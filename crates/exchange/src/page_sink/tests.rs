use super::*;
use crate::partition::RangeBounds;
use std::{collections::HashSet, sync::Arc};
use volley_types::{Field, SortKey, Value};
use volley_vector::{Encoding, NullBuffer, Vector, random::Generator};

const LANES: [usize; 4] = [1, 3, 64, 256];

fn pool() -> Pool {
    Pool::root("test", None)
}

fn types() -> Vec<Type> {
    vec![
        Type::BigInt,
        Type::Varchar,
        Type::Boolean,
        Type::TinyInt,
        Type::SmallInt,
        Type::Real,
        Type::Double,
        Type::decimal(38, 4),
        Type::Interval,
        Type::Unknown,
        Type::Varbinary,
        Type::array(Type::Varchar),
        Type::map(Type::Varchar, Type::BigInt),
        Type::row([Field::new("a", Type::Varchar), Field::new("b", Type::Integer)]),
        Type::fixed_array(Type::Boolean, 3),
    ]
}

/// The rows of each lane as text, in which NaN is itself and -0.0 is not 0.0.
fn rows_of(pages: &[LaneBatch], lanes: usize) -> Vec<Vec<String>> {
    let mut rows = vec![Vec::new(); lanes];
    for page in pages {
        page.batch.validate().unwrap();
        assert!(page.batch.rows() > 0);
        let columns = page.batch.columns().iter().map(|it| it.to_values().unwrap());
        let columns: Vec<Vec<Value>> = columns.collect();
        for row in 0..page.batch.rows() {
            let row: Vec<&Value> = columns.iter().map(|it| &it[row]).collect();
            rows[page.lane].push(format!("{row:?}"));
        }
    }
    rows
}

fn split(
    types: &[Type],
    partitioning: &Partitioning,
    lanes: usize,
    sizes: PageSizes,
    batches: &[Batch],
) -> Vec<LaneBatch> {
    let pool = pool();
    let mut sink = PageSink::new(types.to_vec(), partitioning.clone(), lanes, sizes, &pool);
    let mut pages = Vec::new();
    for batch in batches {
        sink.push(batch.clone()).unwrap();
        if sink.is_full() {
            pages.extend(sink.flush().unwrap());
        }
    }
    pages.extend(sink.flush().unwrap());
    assert_eq!((sink.bytes(), pool.stats().bytes), (0, 0));
    pages
}

fn split_by_rows(
    types: &[Type],
    partitioning: &Partitioning,
    lanes: usize,
    sizes: PageSizes,
    batches: &[Batch],
) -> Vec<LaneBatch> {
    let mut sink = RowSink::new(types.to_vec(), partitioning.clone(), lanes, sizes);
    let mut pages = Vec::new();
    let mut emit = |page| {
        pages.push(page);
        Ok(())
    };
    for batch in batches {
        sink.push(batch, &mut emit).unwrap();
    }
    sink.finish(&mut emit).unwrap();
    pages
}

fn sizes(page_bytes: usize, sink_bytes: usize) -> PageSizes {
    PageSizes { page_bytes, sink_bytes }
}

#[test]
fn both_sinks_give_the_same_rows_in_every_encoding_and_batch_size() {
    for (seed, rows) in [1, 3, 100, 1024].into_iter().enumerate() {
        for (round, lanes) in LANES.into_iter().enumerate() {
            let mut random = Generator::new((seed * 10 + round) as u64);
            let count = if rows < 100 { 20 } else { 3 };
            let batches: Vec<Batch> = (0..count).map(|_| random.batch(&types(), rows)).collect();
            for partitioning in [Partitioning::Hash(vec![0, 1]), Partitioning::Any] {
                let sizes =
                    *random.choose(&[sizes(1, 1), sizes(900, 5000), sizes(1 << 20, 1 << 24)]);
                let found = split(&types(), &partitioning, lanes, sizes, &batches);
                let expected = split_by_rows(&types(), &partitioning, lanes, sizes, &batches);
                assert_eq!(rows_of(&found, lanes), rows_of(&expected, lanes), "{rows} {lanes}");
                let all = rows_of(&found, lanes).iter().map(Vec::len).sum::<usize>();
                assert_eq!(all, batches.iter().map(Batch::rows).sum::<usize>());
            }
        }
    }
}

#[test]
fn batches_of_random_types_are_split_alike() {
    for seed in 0..200 {
        let mut random = Generator::new(seed);
        let types: Vec<Type> = (0..1 + random.below(4)).map(|_| random.data_type(2)).collect();
        let batches: Vec<Batch> = (0..1 + random.below(4))
            .map(|_| {
                let rows = random.below(80);
                random.batch(&types, rows)
            })
            .collect();
        let lanes = 1 + random.below(9);
        let partitioning = Partitioning::Hash(vec![0]);
        let sizes = sizes(1 + random.below(3000), 1 + random.below(9000));
        let found = split(&types, &partitioning, lanes, sizes, &batches);
        let expected = split_by_rows(&types, &partitioning, lanes, sizes, &batches);
        assert_eq!(rows_of(&found, lanes), rows_of(&expected, lanes), "seed {seed}: {types:?}");
    }
}

#[test]
fn equal_keys_meet_and_lanes_are_used_evenly() {
    let values: Vec<Value> = (0..20_000).map(|it| Value::BigInt(it % 10_000)).collect();
    let batch = Batch::new(vec![Vector::from_values(Type::BigInt, &values)], 20_000);
    let sizes = sizes(1 << 20, 1 << 24);
    let pages = split(&[Type::BigInt], &Partitioning::Hash(vec![0]), 64, sizes, &[batch]);
    let mut seen = HashSet::new();
    for lane in rows_of(&pages, 64) {
        assert!((200..440).contains(&lane.len()), "{}", lane.len());
        let keys: HashSet<String> = lane.iter().cloned().collect();
        assert_eq!(keys.len() * 2, lane.len(), "both rows of each key");
        assert!(keys.iter().all(|it| seen.insert(it.clone())));
    }
    assert_eq!(seen.len(), 10_000);
}

#[test]
fn dictionaries_and_constants_stay_what_they_are() {
    let words = ["one", "another word, a long one", "three"].map(Value::text);
    let base = Arc::new(Vector::from_values(Type::Varchar, &words));
    let constant = Arc::new(Vector::from_values(Type::Varchar, &words[1..2]));
    let batch = |start: u32| {
        let codes: Vec<u32> = (start..start + 100).map(|it| it % 3).collect();
        let nulls = NullBuffer::from_iter((0..100).map(|it| it % 5 != 0));
        let keys: Vec<Value> = (start..start + 100).map(|it| Value::BigInt(it.into())).collect();
        let columns = vec![
            Vector::from_values(Type::BigInt, &keys),
            Vector::dictionary(codes.into(), Arc::clone(&base), Some(nulls)),
            Vector::repeat(constant.as_ref().clone(), 100),
        ];
        Batch::new(columns, 100)
    };
    let types = [Type::BigInt, Type::Varchar, Type::Varchar];
    let batches = [batch(0), batch(100)];
    let (hash, sizes) = (Partitioning::Hash(vec![0]), sizes(1 << 20, 1 << 24));
    let pages = split(&types, &hash, 4, sizes, &batches);
    assert_eq!(pages.len(), 4);
    for page in &pages {
        assert!(matches!(page.batch.column(1).encoding(), Encoding::Dictionary { .. }));
    }
    // Of one batch, whose constants have one base.
    let pages = split(&types, &hash, 4, sizes, &batches[..1]);
    assert!(pages.iter().all(|it| it.batch.column(2).is_constant()));
    let rows = rows_of(&pages, 4);
    assert_eq!(rows, rows_of(&split_by_rows(&types, &hash, 4, sizes, &batches[..1]), 4));
}

#[test]
fn ranges_are_in_order_with_nulls_and_descending_keys() {
    for (descending, nulls_first) in [(false, false), (true, false), (false, true), (true, true)] {
        let value = |it: i64| if it % 10 == 0 { Value::Null } else { Value::BigInt(it) };
        let values: Vec<Value> = (0..1000).map(|it| value(it * 7919 % 1000)).collect();
        let batch = Batch::new(vec![Vector::from_values(Type::BigInt, &values)], 1000);
        let mut bounds = [333, 777];
        if descending {
            bounds.reverse();
        }
        let bounds = Vector::from_values(Type::BigInt, &bounds.map(Value::BigInt));
        let key = SortKey { column: 0, descending, nulls_first };
        let bounds = RangeBounds::new(vec![key], Batch::new(vec![bounds], 2)).unwrap();
        let range = Partitioning::Range(Arc::new(bounds));
        let pages = split(&[Type::BigInt], &range, 3, sizes(1 << 20, 1 << 20), &[batch]);
        let mut lanes = vec![Vec::new(); 3];
        for page in &pages {
            lanes[page.lane].extend(page.batch.column(0).to_values().unwrap());
        }
        let numbers = |lane: &[Value]| -> Vec<i64> {
            lane.iter()
                .filter_map(|it| if let Value::BigInt(it) = it { Some(*it) } else { None })
                .collect()
        };
        let nulls = |lane: &[Value]| lane.iter().filter(|it| matches!(it, Value::Null)).count();
        let (first, last) = (if nulls_first { 100 } else { 0 }, if nulls_first { 0 } else { 100 });
        assert_eq!([nulls(&lanes[0]), nulls(&lanes[1]), nulls(&lanes[2])], [first, 0, last]);
        let ranges: Vec<(i64, i64)> = lanes
            .iter()
            .map(|it| (*numbers(it).iter().min().unwrap(), *numbers(it).iter().max().unwrap()))
            .collect();
        let expected = match descending {
            false => [(1, 332), (333, 776), (777, 999)],
            true => [(778, 999), (334, 777), (1, 333)],
        };
        assert_eq!(ranges, expected);
    }
}

#[test]
fn broadcast_gather_and_forward_send_all_rows() {
    let batches = [Generator::new(1).batch(&types(), 50), Generator::new(2).batch(&types(), 7)];
    let sizes = sizes(500, 1000);
    let all = |partitioning: &Partitioning| {
        let found = split(&types(), partitioning, 3, sizes, &batches);
        let expected = split_by_rows(&types(), partitioning, 3, sizes, &batches);
        let rows = rows_of(&found, 3);
        assert_eq!(rows, rows_of(&expected, 3));
        rows.iter().map(Vec::len).collect::<Vec<_>>()
    };
    assert_eq!(all(&Partitioning::Broadcast), [57, 57, 57]);
    assert_eq!(all(&Partitioning::Gather), [57, 0, 0]);
    assert_eq!(all(&Partitioning::Forward(2)), [0, 0, 57]);
}

#[test]
fn pages_have_at_most_their_bytes() {
    let batches: Vec<Batch> =
        (0..9).map(|it| Generator::new(it).batch(&[Type::BigInt], 1000)).collect();
    let pages =
        split(&[Type::BigInt], &Partitioning::Hash(vec![0]), 2, sizes(800, 1 << 20), &batches);
    assert!(pages.iter().all(|it| it.batch.rows() <= 100), "8 bytes per row");
    assert!(pages.len() >= 90);
}
