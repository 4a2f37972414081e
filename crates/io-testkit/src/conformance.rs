//! What every file system must do.

use bytes::Bytes;
use std::{collections::BTreeSet, io::Write, ops::Range, sync::Arc, task::Poll, thread};
use volley_error::ErrorKind;
use volley_io::{
    BufferPool, EntryKind, FileSystem, FileWriter, ListScope, Pending, RandomAccessFile,
    RangeReads, WriteMode, WriteOutcome, wait, wait_polling,
};

/// Checks a file system; its files below `folder`, which must be empty, are made and removed.
///
/// # Panics
///
/// Where the file system breaks the contract of [`FileSystem`].
pub fn file_system(file_system: &dyn FileSystem, folder: &str) {
    let checks = Checks { file_system, folder };
    checks.whole_files();
    checks.streamed_files();
    checks.conditional_writes();
    checks.racing_writes();
    checks.missing_files();
    checks.ranges();
    checks.lists();
    checks.appends();
}

struct Checks<'f> {
    file_system: &'f dyn FileSystem,
    folder: &'f str,
}

#[track_caller]
fn done<T>(pending: Pending<T>) -> T {
    match wait(pending) {
        Ok(result) => result,
        Err(error) => panic!("operation failed: {error}"),
    }
}

/// Bytes that differ from one place to the next and between lengths.
fn content(len: usize) -> Bytes {
    (0..len).map(|it| ((it * 7 + len) % 251) as u8).collect()
}

impl Checks<'_> {
    fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    #[track_caller]
    fn write(&self, name: &str, bytes: &Bytes) {
        let written = self.file_system.write(&self.at(name), bytes.clone(), WriteMode::Replace);
        assert!(matches!(done(written), WriteOutcome::Written(_)));
    }

    #[track_caller]
    fn open(&self, name: &str) -> Arc<dyn RandomAccessFile> {
        done(self.file_system.open(&self.at(name)))
    }

    #[track_caller]
    fn check_content(&self, name: &str, expected: &[u8]) {
        let file = self.open(name);
        assert_eq!(file.size_bytes(), expected.len() as u64, "size of {name}");
        let bytes = done(file.start_read(0..expected.len() as u64, &BufferPool::default()));
        assert!(bytes == expected, "content of {name}");
    }

    #[track_caller]
    fn create(&self, name: &str, mode: WriteMode) -> Box<dyn FileWriter> {
        done(self.file_system.create(&self.at(name), mode))
    }

    fn remove(&self, names: &[&str]) {
        names.iter().for_each(|it| done(self.file_system.remove(&self.at(it))));
    }

    fn whole_files(&self) {
        for len in [0, 1, 1000, 100_000] {
            self.write("whole", &content(len));
            self.check_content("whole", &content(len));
        }
        let old = self.open("whole");
        self.write("whole", &content(7));
        let new = self.open("whole");
        assert!(old.version() != new.version() || old.version().is_none(), "version of new bytes");
        assert_eq!(new.version(), self.open("whole").version(), "version of the same bytes");
        assert_eq!(new.path(), self.at("whole"));
        let entry = done(self.file_system.entry(&self.at("whole"))).expect("the file exists");
        assert_eq!((entry.kind, entry.name()), (EntryKind::File, "whole"));
        assert!(entry.size_bytes.is_none_or(|it| it == 7));
        self.remove(&["whole"]);
    }

    fn streamed_files(&self) {
        let bytes = content(300_000);
        let mut writer = self.create("streamed", WriteMode::Replace);
        assert_eq!(writer.location(), self.at("streamed"));
        for part in bytes.chunks(70_000) {
            wait_polling(|cx| writer.poll_ready(cx)).expect("the writer is ready");
            writer.write_all(part).expect("bytes are written");
        }
        let exists = |name: &str| done(self.file_system.entry(&self.at(name))).is_some();
        assert!(!exists("streamed"), "a file exists before its commit");
        assert!(matches!(done(writer.commit()), WriteOutcome::Written(_)));
        self.check_content("streamed", &bytes);
        // What is not committed leaves the old file.
        for is_dropped in [true, false] {
            let mut writer = self.create("streamed", WriteMode::Replace);
            writer.write_all(b"other").expect("bytes are written");
            if is_dropped {
                drop(writer)
            } else {
                done(writer.abort())
            }
            self.check_content("streamed", &bytes);
        }
        let mut writer = self.create("synced", WriteMode::Replace);
        writer.write_all(&bytes).expect("bytes are written");
        done(writer.sync());
        done(writer.commit());
        self.check_content("synced", &bytes);
        let empty = self.create("empty", WriteMode::Replace);
        done(empty.commit());
        self.check_content("empty", &[]);
        assert_eq!(self.names(ListScope::Children), ["empty", "streamed", "synced"]);
        self.remove(&["streamed", "synced", "empty"]);
    }

    fn conditional_writes(&self) {
        if !self.file_system.capabilities().can_create_new {
            return;
        }
        let write = |len: usize| {
            done(self.file_system.write(&self.at("new"), content(len), WriteMode::CreateNew))
        };
        assert!(matches!(write(10), WriteOutcome::Written(_)));
        assert_eq!(write(11), WriteOutcome::AlreadyExists);
        let mut writer = self.create("new", WriteMode::CreateNew);
        writer.write_all(b"other").expect("bytes are written");
        assert_eq!(done(writer.commit()), WriteOutcome::AlreadyExists);
        self.check_content("new", &content(10));
        assert_eq!(self.names(ListScope::Children), ["new"]);
        self.remove(&["new"]);
    }

    /// Of many writers of a new file, one succeeds, and the file has the bytes of that one.
    fn racing_writes(&self) {
        if !self.file_system.capabilities().can_create_new {
            return;
        }
        let location = self.at("raced");
        let write = |len: usize| {
            let written = self.file_system.write(&location, content(len), WriteMode::CreateNew);
            matches!(done(written), WriteOutcome::Written(_)).then_some(len)
        };
        let written: Vec<usize> = thread::scope(|scope| {
            let threads: Vec<_> = (1..9).map(|it| scope.spawn(move || write(it * 1000))).collect();
            threads.into_iter().filter_map(|it| it.join().expect("no panic")).collect()
        });
        assert_eq!(written.len(), 1, "writers that succeeded");
        self.check_content("raced", &content(written[0]));
        self.remove(&["raced"]);
    }

    fn missing_files(&self) {
        let location = self.at("missing");
        assert_eq!(done(self.file_system.entry(&location)), None);
        assert_eq!(done(self.file_system.entry(&self.at("missing/below"))), None);
        let error = wait(self.file_system.open(&location)).expect_err("there is no file");
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.message().contains(&location), "{error}");
        done(self.file_system.remove(&location));
        self.write("removed", &content(3));
        self.remove(&["removed"]);
        assert_eq!(done(self.file_system.entry(&self.at("removed"))), None);
    }

    fn ranges(&self) {
        let bytes = content(50_000);
        self.write("ranges", &bytes);
        let file = self.open("ranges");
        assert_eq!(file.read(7..7).expect("an empty range"), "");
        assert!(file.read(100..40_000).expect("a range") == bytes[100..40_000]);
        for wrong in [49_999..50_001, 60_000..60_001, 0..u64::MAX] {
            let error = file.read(wrong.clone()).expect_err("beyond the file");
            assert_eq!(error.kind(), ErrorKind::Corruption, "{wrong:?}");
            let read = Arc::clone(&file).start_read(wrong, &BufferPool::default());
            assert_eq!(wait(read).expect_err("beyond").kind(), ErrorKind::Corruption);
        }
        let limits = file.transfer_limits();
        assert_eq!(limits, self.file_system.capabilities().transfer);
        let gap = limits.range_gap_bytes.min(1000);
        let ranges = [40_000..50_000, 0..1, 0..0, 5..17 + gap, 6..20, 18 + 2 * gap..49_999];
        file.will_read(&ranges);
        for (bytes, expected) in self.read_ranges(&file, &ranges).iter().zip(&ranges) {
            let expected = expected.start as usize..expected.end as usize;
            assert!(*bytes == self.slice(&file, expected), "ranges");
        }
        // More requests than run at the same time.
        let mut many: Vec<Range<u64>> = (0..2000).map(|it| it * 25..it * 25 + 1).collect();
        many.push(0..50_000);
        let read = self.read_ranges(&file, &many);
        assert!(read.iter().take(2000).zip(bytes.iter().step_by(25)).all(|(a, b)| a[0] == *b));
        assert!(read[2000] == bytes);
        // Reads whose results are dropped end by themselves.
        drop(Arc::clone(&file).start_read(0..50_000, &BufferPool::default()));
        self.remove(&["ranges"]);
    }

    fn slice(&self, file: &Arc<dyn RandomAccessFile>, range: Range<usize>) -> Bytes {
        file.read(range.start as u64..range.end as u64).expect("a range within the file")
    }

    fn read_ranges(&self, file: &Arc<dyn RandomAccessFile>, ranges: &[Range<u64>]) -> Vec<Bytes> {
        let reads = RangeReads::start(Arc::clone(file), ranges.to_vec(), &BufferPool::default());
        let mut reads = reads.expect("reads start");
        let bytes = wait_polling(|cx| match reads.poll(cx.waker()) {
            Ok(None) => Poll::Pending,
            Ok(Some(bytes)) => Poll::Ready(Ok(bytes)),
            Err(error) => Poll::Ready(Err(error)),
        });
        bytes.expect("reads end")
    }

    /// Names below the folder, in order.
    fn names(&self, scope: ListScope) -> Vec<String> {
        let mut entries = self.file_system.list(self.folder, scope);
        let mut names = BTreeSet::new();
        while let Some(entry) = wait_polling(|cx| entries.poll_next(cx)).expect("the list goes on")
        {
            let below = entry.location.strip_prefix(self.folder).expect("a location in the folder");
            let slash = if entry.kind == EntryKind::Folder { "/" } else { "" };
            assert!(names.insert(format!("{}{slash}", &below[1..])), "listed twice: {below}");
        }
        names.into_iter().collect()
    }

    fn lists(&self) {
        if !self.file_system.capabilities().can_list {
            return;
        }
        let names = ["b", "a", "_hidden", "sub-b", "sub/c", "sub/deep/d", "_sub/e", "sub/.f"];
        // Twice, since a folder may exist already.
        for folder in ["sub/deep", "_sub", "sub"] {
            done(self.file_system.create_folder(&self.at(folder)));
        }
        names.iter().for_each(|it| self.write(it, &content(1)));
        let children = ["_hidden", "_sub/", "a", "b", "sub-b", "sub/"];
        assert_eq!(self.names(ListScope::Children), children);
        assert_eq!(self.names(ListScope::VisibleTree), ["a", "b", "sub-b", "sub/c", "sub/deep/d"]);
        let sub = done(self.file_system.entry(&self.at("sub"))).expect("the folder exists");
        assert_eq!(sub.kind, EntryKind::Folder);
        assert_eq!(done(self.file_system.entry(&self.at("su"))), None);
        self.remove(&names);
        assert_eq!(self.names(ListScope::VisibleTree), Vec::<String>::new());
    }

    fn appends(&self) {
        let appended = self.file_system.append(&self.at("appended"));
        if !self.file_system.capabilities().can_append {
            let error = wait(appended).err().expect("appends are unsupported");
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            return;
        }
        let mut writer = done(appended);
        writer.write_all(b"one").expect("bytes are written");
        done(writer.sync());
        self.check_content("appended", b"one");
        writer.write_all(b"two").expect("bytes are written");
        drop(writer);
        self.check_content("appended", b"onetwo");
        let mut writer = done(self.file_system.append(&self.at("appended")));
        writer.write_all(b"three").expect("bytes are written");
        assert!(matches!(done(writer.commit()), WriteOutcome::Written(_)));
        self.check_content("appended", b"onetwothree");
        self.remove(&["appended"]);
    }
}
