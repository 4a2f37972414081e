//! The cache of blocks, over a file system in memory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::single_range_in_vec_init, reason = "reads take lists of ranges")]

use bytes::Bytes;
use std::{fs, io, ops::Range, path::Path, sync::Arc, task::Poll, time::Duration};
use volley_error::ErrorKind;
use volley_io::{
    BlockCache, BufferPool, CachedFileSystem, FileEntry, FileSystem, IoRuntime, ListScope,
    RandomAccessFile, RangeReads, Validations, Validity, WriteMode, wait, wait_polling,
};
use volley_io_testkit::{FaultyFileSystem, FileFaults, MemoryFileSystem, conformance};
use volley_memory::Pool;

const LOCATION: &str = "memory://bucket/file";

/// A store whose operations are counted, behind a cache.
struct Cached {
    store: MemoryFileSystem,
    requests: FileFaults,
    cache: BlockCache,
    files: CachedFileSystem,
    pool: Pool,
}

impl Cached {
    fn new(memory_bytes: u64, folder: Option<&Path>, disk_bytes: u64) -> Cached {
        let store = MemoryFileSystem::new(IoRuntime::new());
        Cached::over(store, memory_bytes, folder, disk_bytes)
    }

    fn over(
        store: MemoryFileSystem,
        memory_bytes: u64,
        folder: Option<&Path>,
        disk_bytes: u64,
    ) -> Cached {
        let requests = FileFaults::default();
        let counted = Arc::new(FaultyFileSystem::new(Arc::new(store.clone()), &requests));
        let cache = BlockCache::new(IoRuntime::new());
        let pool = Pool::root("process", Some(256 << 20));
        cache.use_memory(&pool, memory_bytes);
        cache.set_disk_bytes(disk_bytes);
        cache.set_directory(folder).unwrap();
        let files = CachedFileSystem::new(counted, &cache);
        Cached { store, requests, cache, files, pool }
    }

    fn write(&self, bytes: &Bytes) {
        wait(self.store.write(LOCATION, bytes.clone(), WriteMode::Replace)).unwrap();
    }

    fn open(&self) -> Arc<dyn RandomAccessFile> {
        wait(self.files.open(LOCATION)).unwrap()
    }

    /// The requests of `work`.
    fn requests(&self, work: impl FnOnce()) -> u64 {
        let before = self.requests.operations();
        work();
        self.requests.operations() - before
    }
}

fn read(
    file: &Arc<dyn RandomAccessFile>,
    ranges: &[Range<u64>],
) -> volley_error::Result<Vec<Bytes>> {
    let mut reads = RangeReads::start(Arc::clone(file), ranges.to_vec(), &BufferPool::default())?;
    wait_polling(|cx| match reads.poll(cx.waker()) {
        Ok(None) => Poll::Pending,
        Ok(Some(bytes)) => Poll::Ready(Ok(bytes)),
        Err(error) => Poll::Ready(Err(error)),
    })
}

#[track_caller]
fn check(file: &Arc<dyn RandomAccessFile>, content: &Bytes, ranges: &[Range<u64>]) {
    check_bytes(&read(file, ranges).unwrap(), content, ranges);
}

#[track_caller]
fn check_bytes(found: &[Bytes], content: &Bytes, ranges: &[Range<u64>]) {
    for (bytes, range) in found.iter().zip(ranges) {
        assert!(*bytes == content[range.start as usize..range.end as usize], "{range:?}");
    }
}

/// A generator of numbers (Knuth, MMIX).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn content(&mut self, len: u64) -> Bytes {
        (0..len).map(|_| self.below(256) as u8).collect()
    }

    fn ranges(&mut self, len: u64) -> Vec<Range<u64>> {
        let range = |numbers: &mut Numbers| {
            let start = numbers.below(len);
            start..(start + numbers.below(3000)).min(len)
        };
        (0..1 + self.below(5)).map(|_| range(self)).collect()
    }
}

#[test]
fn it_is_a_file_system() {
    let folder = tempfile::tempdir().unwrap();
    let cached = Cached::new(1 << 20, Some(folder.path()), 1 << 20);
    conformance::file_system(&cached.files, "memory://bucket/folder");
    let nothing = Cached::new(0, None, 0);
    conformance::file_system(&nothing.files, "memory://bucket/folder");
}

#[test]
fn bytes_that_were_read_are_not_requested_again() {
    let cached = Cached::new(1 << 20, None, 0);
    let content = Numbers(1).content(20_000);
    cached.write(&content);
    let file = cached.open();
    check(&file, &content, &[100..200, 5000..9000]);
    assert_eq!(cached.requests(|| check(&file, &content, &[5500..8000, 100..200, 7..7])), 0);
    assert!(file.is_at_hand(&[5000..9000]) && !file.is_at_hand(&[5000..9001]));
    // Ranges with cached ones between them are requested without those.
    assert_eq!(
        cached.requests(|| check(&file, &content, &[4990..5000, 5000..9000, 9000..9010])),
        2
    );
    assert_eq!(cached.requests(|| check(&file, &content, &[4990..9010])), 0);
    let [found] = cached.cache.files().try_into().unwrap();
    assert_eq!((found.location.as_str(), found.disk_bytes), (LOCATION, 0));
    assert_eq!(found.memory_bytes, 100 + 4000 + 20);
    assert!(cached.pool.stats().bytes > 0 && !cached.pool.is_scarce());
    cached.cache.set_memory_bytes(0);
    assert_eq!((cached.pool.stats().bytes, cached.cache.files().len()), (0, 0));
}

#[test]
fn a_read_ahead_and_the_read_share_a_request() {
    let cached = Cached::new(1 << 20, None, 0);
    let content = Numbers(2).content(5000);
    cached.write(&content);
    let file = cached.open();
    let requests = cached.requests(|| {
        for _ in 0..10 {
            file.will_read(&[0..500, 550..900]);
            check(&file, &content, &[0..500, 550..900]);
        }
    });
    assert_eq!(requests, 1);
}

#[test]
fn a_file_that_was_replaced_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let cached = Cached::new(1 << 20, Some(folder.path()), 1 << 20);
    for seed in 0..5 {
        let content = Numbers(seed).content(4000 + seed);
        cached.write(&content);
        for _ in 0..2 {
            let file = cached.open();
            assert_eq!(file.size_bytes(), content.len() as u64);
            check(&file, &content, &[0..1000, 2000..4000]);
        }
        cached.cache.wait_written();
    }
    assert_eq!(cached.cache.files().len(), 1);
}

#[test]
fn a_failed_read_fails_alone() {
    let cached = Cached::new(1 << 20, None, 0);
    let content = Numbers(3).content(5000);
    cached.write(&content);
    let file = cached.open();
    cached.requests.inject(cached.requests.operations(), io::ErrorKind::TimedOut);
    assert_eq!(read(&file, &[0..500]).unwrap_err().kind(), ErrorKind::Io);
    check(&file, &content, &[0..500]);
    cached.requests.inject(cached.requests.operations(), io::ErrorKind::TimedOut);
    file.will_read(&[1000..1500]);
    check(&file, &content, &[1000..1500]);
}

#[test]
fn the_disk_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let first = Cached::new(0, Some(folder.path()), 64 << 20);
    let content = Numbers(4).content(50_000);
    first.write(&content);
    let ranges = [0..1000, 3000..9000, 49_000..50_000];
    check(&first.open(), &content, &ranges);
    first.cache.wait_written();
    let store = first.store.clone();
    let other = BlockCache::new(IoRuntime::new());
    let error = other.set_directory(Some(folder.path())).unwrap_err();
    assert!(error.message().starts_with("another process uses the cache"), "{error}");
    drop(first);
    let second = Cached::over(store, 1 << 20, Some(folder.path()), 64 << 20);
    let file = second.open();
    assert_eq!(second.requests(|| check(&file, &content, &ranges)), 0);
    assert_eq!(second.cache.counts().missed_bytes, 0);
    assert_eq!(second.cache.counts().disk_bytes, 8000);
    // Now they are in memory.
    check(&file, &content, &ranges);
    assert_eq!(second.cache.counts().disk_bytes, 8000);
}

/// Whatever a crash or a faulty device leaves of the files, answers are right.
#[test]
fn damaged_regions_are_not_used() {
    for seed in 0..200 {
        let mut numbers = Numbers(seed);
        let folder = tempfile::tempdir().unwrap();
        let first = Cached::new(0, Some(folder.path()), 64 << 20);
        let content = numbers.content(20_000);
        first.write(&content);
        for _ in 0..10 {
            check(&first.open(), &content, &numbers.ranges(20_000));
        }
        first.cache.wait_written();
        let store = first.store.clone();
        drop(first);
        let region = folder.path().join("region-00000000");
        let mut bytes = fs::read(&region).unwrap();
        match seed % 3 {
            0 => bytes.truncate(numbers.below(bytes.len() as u64) as usize),
            1 => {
                let at = numbers.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << numbers.below(8);
            }
            _ => {
                let at = numbers.below(bytes.len() as u64) as usize;
                bytes[at..].fill(0);
            }
        }
        fs::write(&region, &bytes).unwrap();
        let second = Cached::over(store, 0, Some(folder.path()), 64 << 20);
        for _ in 0..10 {
            check(&second.open(), &content, &numbers.ranges(20_000));
        }
    }
}

/// Any reads of files that change, with little memory and a small disk, after restarts, and with
/// requests that fail: the answer is right, or the error of the request.
#[test]
fn answers_are_those_of_the_store() {
    for seed in 0..100 {
        let mut numbers = Numbers(seed + 1000);
        let folder = tempfile::tempdir().unwrap();
        let mut store = MemoryFileSystem::new(IoRuntime::new());
        let mut content = numbers.content(30_000);
        wait(store.write(LOCATION, content.clone(), WriteMode::Replace)).unwrap();
        for _ in 0..4 {
            let memory = [0, 3000, 20_000, 1 << 20][numbers.below(4) as usize];
            let disk = [30_000, 200_000, 64 << 20][numbers.below(3) as usize];
            let cached = Cached::over(store, memory, Some(folder.path()), disk);
            for _ in 0..20 {
                if numbers.below(10) == 0 {
                    let len = 20_000 + numbers.below(20_000);
                    content = numbers.content(len);
                    cached.write(&content);
                }
                if numbers.below(3) == 0 {
                    let operation = cached.requests.operations() + numbers.below(4);
                    cached.requests.inject(operation, io::ErrorKind::TimedOut);
                }
                let file = match wait(cached.files.open(LOCATION)) {
                    Ok(file) => file,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Io);
                        continue;
                    }
                };
                let len = content.len() as u64;
                if numbers.below(3) == 0 {
                    file.will_read(&numbers.ranges(len));
                }
                let ranges = numbers.ranges(len);
                match read(&file, &ranges) {
                    Ok(bytes) => check_bytes(&bytes, &content, &ranges),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Io),
                }
            }
            cached.cache.wait_written();
            // A region that makes room for others may be gone by now.
            let region_bytes =
                |it: io::Result<fs::DirEntry>| it.unwrap().metadata().map_or(0, |it| it.len());
            let bytes: u64 = fs::read_dir(folder.path()).unwrap().map(region_bytes).sum();
            assert!(bytes <= disk, "seed {seed}: {bytes} bytes of {disk}");
            store = cached.store.clone();
        }
    }
}

/// Threads that read the same bytes at the same time get them with one request.
#[test]
fn readers_at_the_same_time_share_requests() {
    let cached = Cached::new(1 << 20, None, 0);
    let content = Numbers(5).content(50_000);
    cached.write(&content);
    let file = cached.open();
    let requests = cached.requests(|| {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for part in 0..50 {
                        check(&file, &content, &[part * 1000..(part + 1) * 1000]);
                    }
                });
            }
        });
    });
    assert_eq!(requests, 50);
}

#[test]
fn queries_take_the_memory_of_the_cache() {
    let cached = Cached::new(128 << 20, None, 0);
    let content = Numbers(6).content(1 << 20);
    cached.write(&content);
    let file = cached.open();
    check(&file, &content, &[0..1 << 20]);
    assert!(cached.pool.stats().bytes >= 1 << 20);
    let mut query = cached.pool.child("query").reservation();
    query.resize(250 << 20).unwrap();
    query.resize(251 << 20).unwrap();
    check(&file, &content, &[0..1 << 20]);
    assert!(cached.pool.stats().bytes <= 256 << 20);
}

impl Cached {
    /// A file that is opened by a statement, and the answer whether it has changed.
    fn open_unvalidated(&self) -> (Arc<dyn RandomAccessFile>, Validity) {
        let validations = Validations::default();
        let file = validations.run(|| {
            // Names are looked for first.
            assert!(wait(self.files.entry(LOCATION)).unwrap().is_some());
            self.open()
        });
        (file, validations.answer().unwrap())
    }

    fn list(&self) -> Vec<FileEntry> {
        let mut list = self.files.list("memory://bucket", ListScope::Tree);
        let mut entries = Vec::new();
        while let Some(entry) = wait_polling(|cx| list.poll_next(cx)).unwrap() {
            entries.push(entry);
        }
        entries
    }
}

#[test]
fn a_statement_begins_with_what_the_cache_knows() {
    let folder = tempfile::tempdir().unwrap();
    let cached = Cached::new(1 << 20, Some(folder.path()), 64 << 20);
    let content = Numbers(8).content(20_000);
    cached.write(&content);
    let (file, validity) = cached.open_unvalidated();
    check(&file, &content, &[0..9000]);
    assert_eq!(validity, Validity::Unchanged);
    let requests = cached.requests(|| {
        let (file, validity) = cached.open_unvalidated();
        assert_eq!(validity, Validity::Unchanged);
        check(&file, &content, &[100..9000]);
    });
    assert_eq!(requests, 1, "it asks whether the file has changed");
    let (file, _) = cached.open_unvalidated();
    assert_eq!(cached.requests(|| check(&file, &content, &[8000..10_000, 19_000..20_000])), 2);
    let replaced = Numbers(9).content(25_000);
    cached.write(&replaced);
    let (old, validity) = cached.open_unvalidated();
    assert_eq!((validity, old.size_bytes()), (Validity::Changed, 20_000));
    let error = read(&old, &[12_000..13_000]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().starts_with("file is not the one"), "{error}");
    // The answer has opened the new file.
    assert_eq!(cached.requests(|| drop(cached.open())), 0);
    let (file, validity) = cached.open_unvalidated();
    assert_eq!((validity, file.size_bytes()), (Validity::Unchanged, 25_000));
    check(&file, &replaced, &[0..9000, 24_000..25_000]);
    wait(cached.store.remove(LOCATION)).unwrap();
    assert_eq!(cached.open_unvalidated().1, Validity::Changed);
    assert!(wait(cached.files.open(LOCATION)).is_err());
}

#[test]
fn a_request_that_fails_is_no_answer() {
    let cached = Cached::new(1 << 20, None, 0);
    let content = Numbers(10).content(20_000);
    cached.write(&content);
    check(&cached.open(), &content, &[0..9000]);
    cached.requests.inject(cached.requests.operations(), io::ErrorKind::PermissionDenied);
    let (file, validity) = cached.open_unvalidated();
    assert_eq!(validity, Validity::Changed);
    assert!(read(&file, &[10_000..11_000]).is_err());
}

#[test]
fn a_list_says_which_files_have_changed() {
    let cached = Cached::new(1 << 20, None, 0);
    let content = Numbers(11).content(20_000);
    cached.write(&content);
    let other = "memory://bucket/other";
    wait(cached.store.write(other, content.clone(), WriteMode::Replace)).unwrap();
    for location in [LOCATION, other] {
        check(&wait(cached.files.open(location)).unwrap(), &content, &[0..9000]);
    }
    let statement = || {
        let validations = Validations::default();
        let files = validations.run(|| {
            let entries = cached.list();
            let open = |it: &FileEntry| wait(cached.files.open(&it.location)).unwrap();
            entries.iter().map(open).collect::<Vec<_>>()
        });
        (files, validations.answer().unwrap())
    };
    let list_steps = 3;
    for _ in 0..2 {
        let requests = cached.requests(|| {
            let (files, validity) = statement();
            assert_eq!((files.len(), validity), (2, Validity::Unchanged));
            files.iter().for_each(|it| check(it, &content, &[0..9000]));
        });
        assert_eq!(requests, list_steps, "no file is asked for");
    }
    let replaced = Numbers(12).content(20_000);
    cached.write(&replaced);
    assert_eq!(statement().1, Validity::Changed);
    // The statement that begins anew asks for all.
    assert_eq!(cached.list().len(), 2);
    check(&cached.open(), &replaced, &[0..9000]);
    assert_eq!(statement().1, Validity::Unchanged);
    wait(cached.store.remove(other)).unwrap();
    assert_eq!(statement().1, Validity::Changed);
    wait(cached.store.write(other, content.clone(), WriteMode::Replace)).unwrap();
    cached.list();
    wait(cached.store.write("memory://bucket/third", content.clone(), WriteMode::Replace)).unwrap();
    assert_eq!(statement().1, Validity::Changed);
}

#[test]
fn within_the_interval_nothing_is_asked() {
    let cached = Cached::new(1 << 20, None, 0);
    let content = Numbers(13).content(20_000);
    cached.write(&content);
    cached.cache.set_validation_interval(Duration::from_secs(3600));
    assert_eq!(cached.list().len(), 1);
    check(&cached.open(), &content, &[0..9000]);
    let requests = cached.requests(|| {
        assert_eq!(cached.list().len(), 1);
        assert!(wait(cached.files.entry(LOCATION)).unwrap().is_some());
        check(&cached.open(), &content, &[0..9000]);
    });
    assert_eq!(requests, 0);
    // A file that another process replaces is as it was, as far as the cache has it.
    let replaced = Numbers(14).content(20_000);
    cached.write(&replaced);
    let file = cached.open();
    check(&file, &content, &[0..9000]);
    assert!(read(&file, &[9000..9500]).is_err());
    // That read has told that there is another one.
    check(&cached.open(), &replaced, &[0..9500]);
    // What this process writes is seen at once.
    for writes_whole in [true, false] {
        let written = Numbers(15 + u64::from(writes_whole)).content(20_000);
        if writes_whole {
            wait(cached.files.write(LOCATION, written.clone(), WriteMode::Replace)).unwrap();
        } else {
            let mut writer = wait(cached.files.create(LOCATION, WriteMode::Replace)).unwrap();
            // An opening in between sees the old file.
            cached.open();
            io::Write::write_all(&mut writer, &written).unwrap();
            wait(writer.commit()).unwrap();
        }
        check(&cached.open(), &written, &[0..9000]);
    }
    wait(cached.files.write("memory://bucket/new", content, WriteMode::Replace)).unwrap();
    assert_eq!(cached.list().len(), 2);
    wait(cached.files.remove("memory://bucket/new")).unwrap();
    assert_eq!(cached.list().len(), 1);
    cached.cache.set_validation_interval(Duration::ZERO);
    assert_eq!(cached.requests(|| drop(cached.open())), 1);
}
