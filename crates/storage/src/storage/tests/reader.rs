//! Readers of a database that another storage writes.

use super::{
    hooked_store::{Hooked, Operation},
    *,
};
use crate::{Name, Store};
use std::sync::Mutex;

fn reader(folder: &Path) -> Arc<Storage> {
    let store = Arc::new(LocalStore::open_read_only(folder).unwrap());
    Storage::open_read_only(store, options()).unwrap()
}

/// Names of all files with their bytes.
fn files(folder: &Path) -> Vec<(Name, u64)> {
    let store = LocalStore::open_read_only(folder).unwrap();
    let listed = store.list(&Name::default()).unwrap();
    listed.into_iter().map(|it| (it.name, it.bytes)).collect()
}

#[test]
fn a_reader_sees_each_commit_and_what_jobs_do_changes_nothing() {
    let folder = tempdir().unwrap();
    let mut writer = open(folder.path());
    let table = create(&writer, "t");
    let reader = reader(folder.path());
    // Snapshots of the reader, and their rows.
    let mut kept = vec![(reader.snapshot(), rows(&reader, table))];
    for round in 0..40 {
        commit(&writer, |it| insert(it, table, &batch(round * 10..round * 10 + 4))).unwrap();
        if round % 3 == 0 {
            let names = rows(&writer, table);
            commit(&writer, |it| change_row(it, table, names[round as usize].0, None)).unwrap();
        }
        // The snapshot is that of the last refresh.
        assert_eq!(rows(&reader, table), kept.last().unwrap().1);
        match round % 7 {
            1 => writer.checkpoint().unwrap(),
            3 => {
                let segment = rows(&writer, table)[0].0.segment;
                writer.propagate(table, segment).unwrap();
            }
            5 => {
                let segment = rows(&writer, table)[0].0.segment;
                writer.propagate(table, segment).unwrap();
                writer.checkpoint().unwrap();
            }
            6 => {
                writer.close().unwrap();
                drop(writer);
                writer = open(folder.path());
            }
            _ => {}
        }
        reader.refresh().unwrap();
        assert_eq!(rows(&reader, table), rows(&writer, table), "round {round}");
        // What an older snapshot refers to can be read, whatever was removed since.
        for (snapshot, expected) in &kept {
            assert_eq!(&rows_of(&Changes::new(Arc::clone(snapshot)), table), expected);
        }
        kept.push((reader.snapshot(), rows(&reader, table)));
        if round % 5 == 4 {
            kept.remove(0);
        }
    }
}

#[test]
fn an_old_snapshot_outlives_the_files_that_it_reads() {
    let folder = tempdir().unwrap();
    let writer = open(folder.path());
    let table = create(&writer, "t");
    commit(&writer, |it| insert(it, table, &batch(0..3000))).unwrap();
    let segment = rows(&writer, table)[0].0.segment;
    writer.propagate(table, segment).unwrap();
    writer.checkpoint().unwrap();
    let reader = reader(folder.path());
    let old = reader.snapshot();
    let before = files(folder.path());
    let names = rows(&writer, table);
    // All columns are written again.
    commit(&writer, |it| change_row(it, table, names[7].0, None)).unwrap();
    let segment = names[0].0.segment;
    writer.propagate(table, segment).unwrap();
    writer.checkpoint().unwrap();
    drop(writer);
    let writer = open(folder.path());
    let after = files(folder.path());
    let is_data = |it: &&(Name, u64)| it.0.as_str().starts_with("data/");
    let is_gone = |it: &(Name, u64)| !after.contains(it);
    assert!(before.iter().filter(is_data).any(is_gone), "the first file of rows was removed");
    assert_eq!(rows_of(&Changes::new(old), table).len(), 3000);
    reader.refresh().unwrap();
    assert_eq!(rows(&reader, table), rows(&writer, table));
}

#[test]
fn a_reader_writes_nothing_and_refuses_changes() {
    let folder = tempdir().unwrap();
    let error = match LocalStore::open_read_only(folder.path().join("nothing")) {
        Err(error) => error,
        Ok(_) => panic!("a folder that does not exist was opened"),
    };
    assert!(error.to_string().contains("nothing"), "{error}");
    let store = Arc::new(LocalStore::open_read_only(folder.path()).unwrap());
    let error = Storage::open_read_only(store, options()).unwrap_err();
    assert!(error.to_string().contains("there is no database"), "{error}");
    assert_eq!(files(folder.path()), []);
    let writer = open(folder.path());
    let table = create(&writer, "t");
    drop(writer);
    let before = files(folder.path());
    let reader = reader(folder.path());
    let changed = commit(&reader, |it| insert(it, table, &batch(0..1)));
    for refused in [changed, reader.checkpoint(), reader.propagate(table, 1)] {
        assert_eq!(refused.unwrap_err().to_string(), "the database was opened read only");
    }
    reader.close().unwrap();
    assert_eq!(files(folder.path()), before);
}

#[test]
fn a_group_that_is_not_whole_yet_is_read_later() {
    let folder = tempdir().unwrap();
    let writer = open(folder.path());
    let table = create(&writer, "t");
    commit(&writer, |it| insert(it, table, &batch(0..5))).unwrap();
    let log = || {
        let mut logs = std::fs::read_dir(folder.path().join("log")).unwrap();
        logs.next().unwrap().unwrap().path()
    };
    let first = std::fs::read(log()).unwrap();
    commit(&writer, |it| insert(it, table, &batch(5..9))).unwrap();
    let whole = std::fs::read(log()).unwrap();
    let writer_rows = rows(&writer, table);
    drop(writer);
    for bytes in [first.len() + 1, first.len() + 31, first.len() + 40, whole.len() - 1] {
        std::fs::write(log(), &whole[..bytes]).unwrap();
        let reader = reader(folder.path());
        assert_eq!(rows(&reader, table).len(), 5, "{bytes} bytes");
        std::fs::write(log(), &whole).unwrap();
        reader.refresh().unwrap();
        assert_eq!(rows(&reader, table), writer_rows);
    }
}

#[test]
fn a_damaged_group_is_an_error_of_readers() {
    let folder = tempdir().unwrap();
    let writer = open(folder.path());
    let table = create(&writer, "t");
    let log = std::fs::read_dir(folder.path().join("log")).unwrap().next().unwrap().unwrap().path();
    let first = std::fs::metadata(&log).unwrap().len() as usize;
    commit(&writer, |it| insert(it, table, &batch(0..5))).unwrap();
    commit(&writer, |it| insert(it, table, &batch(5..9))).unwrap();
    drop(writer);
    let whole = std::fs::read(&log).unwrap();
    let mut damaged = whole.clone();
    damaged[first + 50] ^= 1;
    std::fs::write(&log, damaged).unwrap();
    let store = Arc::new(LocalStore::open_read_only(folder.path()).unwrap());
    let error = Storage::open_read_only(Arc::clone(&store) as _, options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert!(error.to_string().contains("log/"), "{error}");
    // What came before is saved.
    let (saved, findings) = Storage::open_damaged(store, options()).unwrap();
    assert_eq!((rows(&saved, table).len(), findings.len()), (0, 1), "{findings:?}");
    std::fs::write(&log, whole).unwrap();
    assert_eq!(rows(&reader(folder.path()), table).len(), 9);
}

#[test]
fn a_checkpoint_while_a_reader_reads_begins_it_again() {
    for place in ["manifest/", "log/", "data/"] {
        let folder = tempdir().unwrap();
        let writer = open(folder.path());
        let table = create(&writer, "t");
        commit(&writer, |it| insert(it, table, &batch(0..2000))).unwrap();
        let segment = rows(&writer, table)[0].0.segment;
        writer.propagate(table, segment).unwrap();
        writer.checkpoint().unwrap();
        commit(&writer, |it| insert(it, table, &batch(5000..5003))).unwrap();
        let before = Box::new({
            let writer = Arc::clone(&writer);
            move || {
                let names = rows(&writer, table);
                commit(&writer, |it| change_row(it, table, names[1].0, None)).unwrap();
                writer.propagate(table, names[0].0.segment).unwrap();
                writer.checkpoint().unwrap();
                // Files that only memory needed are removed by the next one.
                commit(&writer, |it| insert(it, table, &batch(6000..6001))).unwrap();
                writer.checkpoint().unwrap();
                commit(&writer, |it| insert(it, table, &batch(7000..7001))).unwrap();
            }
        });
        let before: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(Some(before));
        let store = LocalStore::open_read_only(folder.path()).unwrap();
        let hook = move |operation: Operation, name: &Name| {
            if operation == Operation::Open && name.as_str().starts_with(place) {
                let before = before.lock().unwrap().take();
                if let Some(before) = before {
                    before();
                }
            }
            Ok(())
        };
        let reader = Storage::open_read_only(Hooked::new(store, hook), options()).unwrap();
        assert_eq!(rows(&reader, table), rows(&writer, table), "{place}");
        assert_eq!(rows(&reader, table).len(), 2000 + 3 - 1 + 2);
    }
}
