use super::*;
use crate::LocalStore;
use std::fs;
use tempfile::{TempDir, tempdir};

const SALT: u64 = 5;

struct Fixture {
    folder: TempDir,
    store: Arc<dyn Store>,
    ids: Arc<Ids>,
}

impl Fixture {
    fn new() -> Fixture {
        let folder = tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(LocalStore::open(folder.path()).unwrap());
        Fixture { folder, store, ids: Arc::new(Ids::default()) }
    }

    fn log(&self, next: u64) -> Log {
        Log::new(&self.store, &self.ids, SALT, next)
    }

    fn read(&self) -> Result<(Vec<Vec<u8>>, LogEnd)> {
        let mut groups = Vec::new();
        let start = LogStart { file: 1, group: 10, salt: SALT };
        let end = read(&*self.store, start, |it| {
            groups.push(it.to_vec());
            Ok(())
        })?;
        Ok((groups, end))
    }

    fn change(&self, file: u32, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.folder.path().join(format!("log/{file:08x}"));
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
    }

    #[track_caller]
    fn is_damaged(&self) {
        let error = self.read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        assert!(error.to_string().contains("log/"), "{error}");
    }
}

fn payload(number: u8) -> Vec<u8> {
    vec![number; 10 * number as usize]
}

#[test]
fn groups_are_read_as_written() {
    let fixture = Fixture::new();
    assert_eq!(fixture.read().unwrap().0, Vec::<Vec<u8>>::new());
    let mut log = fixture.log(10);
    for number in 0..5 {
        log.append(&payload(number)).unwrap();
        if number == 2 {
            log.begin_file();
        }
    }
    let (groups, end) = fixture.read().unwrap();
    assert_eq!(groups, (0..5).map(payload).collect::<Vec<_>>());
    assert_eq!((end.next, end.has_files), (15, true));
    assert_eq!(log.next(), 15);
}

#[test]
fn a_torn_end_is_ignored_at_every_length() {
    let fixture = Fixture::new();
    let mut log = fixture.log(10);
    (0..3).for_each(|it| log.append(&payload(it)).unwrap());
    let path = fixture.folder.path().join("log/00000001");
    let bytes = fs::read(&path).unwrap();
    let ends = [32, 32 + 32, 32 + 32 + 42, 32 + 32 + 42 + 52];
    for len in 0..=bytes.len() {
        fs::write(&path, &bytes[..len]).unwrap();
        let expected = ends.iter().filter(|it| **it <= len).count().saturating_sub(1);
        assert_eq!(fixture.read().unwrap().0.len(), expected, "{len}");
        // Sectors that were never written are zeros.
        let mut zeros = bytes[..len].to_vec();
        zeros.resize(bytes.len() + 600, 0);
        fs::write(&path, &zeros).unwrap();
        assert_eq!(fixture.read().unwrap().0.len(), expected, "{len}");
    }
}

#[test]
fn a_damaged_group_before_another_is_damage() {
    let fixture = Fixture::new();
    let mut log = fixture.log(10);
    (0..3).for_each(|it| log.append(&payload(it)).unwrap());
    for at in [35, 40, 66, 100] {
        fixture.change(1, |it| it[at] ^= 1);
        fixture.is_damaged();
        fixture.change(1, |it| it[at] ^= 1);
    }
    // The last one might be a torn end.
    fixture.change(1, |it| it[140] ^= 1);
    assert_eq!(fixture.read().unwrap().0.len(), 2);
    // Another file says that it was not.
    log.begin_file();
    log.append(&payload(3)).unwrap();
    fixture.is_damaged();
    fixture.change(1, |it| it[140] ^= 1);
    assert_eq!(fixture.read().unwrap().0.len(), 4);
    fs::remove_file(fixture.folder.path().join("log/00000001")).unwrap();
    fixture.is_damaged();
}

#[test]
fn a_group_that_could_not_be_appended_is_replaced_in_another_file() {
    let fixture = Fixture::new();
    let mut log = fixture.log(10);
    log.append(&payload(1)).unwrap();
    fixture.change(1, |it| it.extend_from_slice(&group_header(11, 1, &payload(9), SALT)));
    log.begin_file();
    log.append(&payload(2)).unwrap();
    let (groups, end) = fixture.read().unwrap();
    assert_eq!((groups, end.next), (vec![payload(1), payload(2)], 12));
}

#[test]
fn groups_of_other_databases_and_files_are_none() {
    let fixture = Fixture::new();
    fixture.log(10).append(&payload(1)).unwrap();
    let other = LogStart { file: 1, group: 10, salt: 6 };
    assert_eq!(read(&*fixture.store, other, |_| Ok(())).unwrap().next, 10);
    let newer = header(FILE_MAGIC, [1, 9, 0, 0], 1, 10, &[], SALT);
    fixture.change(1, |it| it[..HEADER_BYTES].copy_from_slice(&newer));
    let error = fixture.read().unwrap_err();
    assert!(error.to_string().contains("format 1.9"), "{error}");
    // An older minor version is read.
    let older = header(FILE_MAGIC, [1, 0, 0, 0], 1, 10, &[], SALT);
    fixture.change(1, |it| it[..HEADER_BYTES].copy_from_slice(&older));
    assert_eq!(fixture.read().unwrap().0, vec![payload(1)]);
}
