use super::{block::HEADER_BYTES, *};
use std::{
    fs::{self, OpenOptions},
    io::ErrorKind as Io,
    os::unix::fs::MetadataExt,
    path::Path,
};
use tempfile::TempDir;
use volley_error::{ErrorKind, Result};

fn space() -> (TempDir, SpillSpace) {
    let directory = tempfile::tempdir().unwrap();
    let space = SpillSpace::new(directory.path(), None);
    (directory, space)
}

/// Blocks of all kinds: empty, tiny, that compress well, that do not compress.
fn blocks() -> Vec<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(1);
    let noise = (0..70_000).map(|_| random.u8(..)).collect();
    vec![vec![], vec![7], b"some text".to_vec(), vec![0; 300_000], noise, vec![], vec![1; 100]]
}

fn filled(space: &SpillSpace, blocks: &[Vec<u8>]) -> Result<SpillFile> {
    let mut file = space.create_file()?;
    blocks.iter().try_for_each(|it| file.append(it).map(drop))?;
    Ok(file)
}

fn read(reader: &mut SpillFileReader) -> Result<Vec<Vec<u8>>> {
    let (mut blocks, mut block) = (Vec::new(), Vec::new());
    while reader.next(&mut block)? {
        blocks.push(block.clone());
    }
    Ok(blocks)
}

fn entries(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap();
    names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn blocks_come_back_in_their_order_to_every_reader() {
    let (_directory, space) = space();
    let file = filled(&space, &blocks()).unwrap();
    let (mut first, mut second) = (file.reader(), file.reader());
    let mut block = Vec::new();
    assert!(first.next(&mut block).unwrap());
    assert_eq!(read(&mut second).unwrap(), blocks());
    assert_eq!(read(&mut first).unwrap(), blocks()[1..]);
    assert!(!first.next(&mut block).unwrap());
}

#[test]
fn blocks_are_compressed_where_that_pays() {
    let (_directory, space) = space();
    let mut file = space.create_file().unwrap();
    let stored = blocks().iter().map(|it| file.append(it).unwrap()).collect::<Vec<_>>();
    assert!(stored[3] < 3000, "zeros: {}", stored[3]);
    assert_eq!(stored[4], (HEADER_BYTES + blocks()[4].len()) as u64, "noise");
    assert_eq!(file.bytes(), stored.iter().sum::<u64>());
}

#[test]
fn bytes_count_while_the_file_or_a_reader_lives() {
    let (_directory, space) = space();
    let file = filled(&space, &blocks()).unwrap();
    let bytes = file.bytes();
    let other = filled(&space, &blocks()[..3]).unwrap();
    let all = bytes + other.bytes();
    assert_eq!(space.stats(), SpillStats { bytes: all, bytes_peak: all, bytes_written: all });
    drop(other);
    let reader = file.reader();
    drop(file);
    assert_eq!(space.stats().bytes, bytes);
    drop(reader);
    assert_eq!(space.stats(), SpillStats { bytes: 0, bytes_peak: all, bytes_written: all });
}

#[test]
fn the_limit_is_checked_before_writing_and_says_how_to_raise_it() {
    let (_directory, space) = space();
    let mut file = space.create_file().unwrap();
    space.set_bytes_max(Some(1000));
    file.append(b"fits").unwrap();
    let before = (file.bytes(), space.stats());
    let error = file.append(&blocks()[4]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().starts_with("max_spill_size exceeded"), "{error}");
    assert!(error.hint_text().unwrap().contains("SET max_spill_size"));
    assert_eq!((file.bytes(), space.stats()), before);
    space.set_bytes_max(None);
    file.append(&blocks()[4]).unwrap();
    let expected = [b"fits".to_vec(), blocks()[4].clone()];
    assert_eq!(read(&mut file.reader()).unwrap(), expected);
}

#[test]
fn the_folder_comes_with_the_first_file_and_goes_with_the_last_holder() {
    let (directory, space) = space();
    assert_eq!(entries(directory.path()).len(), 0);
    let file = space.create_file().unwrap();
    let folders = entries(directory.path());
    assert_eq!(folders.len(), 1);
    assert!(folders[0].starts_with(&format!("volley-spill-{}-", std::process::id())));
    assert_eq!(entries(&directory.path().join(&folders[0])), ["lock"], "files have no name");
    drop((space, file));
    assert_eq!(entries(directory.path()).len(), 0);
}

#[test]
fn files_are_used_again_and_are_empty_then() {
    let (_directory, space) = space();
    let inode = |it: &SpillFile| it.0.file.metadata().unwrap().ino();
    let file = filled(&space, &blocks()).unwrap();
    let (first, reader) = (inode(&file), file.reader());
    drop(file);
    let other = space.create_file().unwrap();
    assert_ne!(inode(&other), first, "a reader holds it");
    drop(reader);
    let mut again = space.create_file().unwrap();
    assert_eq!((inode(&again), again.0.file.metadata().unwrap().len()), (first, 0));
    again.append(b"new").unwrap();
    assert_eq!(read(&mut again.reader()).unwrap(), [b"new"]);
}

#[test]
fn further_files_go_to_another_directory_once_it_is_set() {
    let (directory, space) = space();
    let other = directory.path().join("made").join("on the way");
    let mut file = space.create_file().unwrap();
    space.set_directory(&other);
    assert_eq!(entries(directory.path()).len(), 1, "lazily");
    let second = filled(&space, &blocks()).unwrap();
    assert_eq!(entries(&other).len(), 1);
    file.append(b"still there").unwrap();
    assert_eq!(read(&mut file.reader()).unwrap(), [b"still there"]);
    drop(file);
    assert_eq!(entries(directory.path()), ["made"], "the old folder is gone");
    assert_eq!(read(&mut second.reader()).unwrap(), blocks());
}

#[test]
fn folders_that_crashes_left_are_removed_and_no_others() {
    let (directory, space) = space();
    let at = |name: &str| directory.path().join(name);
    for name in ["volley-spill-1-a", "volley-spill-2-b", "volley-spill-3-c", "other"] {
        fs::create_dir(at(name)).unwrap();
    }
    fs::write(at("volley-spill-file"), "").unwrap();
    // Left by a crash, with a file; in use; left before it had a lock.
    fs::write(at("volley-spill-1-a/lock"), "").unwrap();
    fs::write(at("volley-spill-1-a/17"), "some bytes").unwrap();
    fs::write(at("volley-spill-2-b/lock"), "").unwrap();
    let lock = OpenOptions::new().write(true).open(at("volley-spill-2-b/lock")).unwrap();
    lock.try_lock().unwrap();
    let live = SpillSpace::new(directory.path(), None);
    let live_file = live.create_file().unwrap();
    let file = space.create_file().unwrap();
    let mut left = entries(directory.path());
    left.retain(|it| !it.starts_with(&format!("volley-spill-{}-", std::process::id())));
    left.sort();
    assert_eq!(left, ["other", "volley-spill-2-b", "volley-spill-file"]);
    assert_eq!(entries(directory.path()).len(), 5, "two in use by this process");
    drop((file, live_file));
}

#[test]
fn spaces_that_are_made_at_once_do_not_take_each_other_for_abandoned() {
    let directory = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let space = SpillSpace::new(directory.path(), None);
                    let files = [(); 2].map(|()| filled(&space, &blocks()[..3]).unwrap());
                    files.iter().for_each(|it| {
                        assert_eq!(read(&mut it.reader()).unwrap(), blocks()[..3]);
                    });
                }
            });
        }
    });
    assert_eq!(entries(directory.path()).len(), 0);
}

#[test]
fn every_operation_that_fails_is_an_error_of_its_own() {
    let faults = [
        (Fault::Error(Io::StorageFull), ErrorKind::Io, "no space left"),
        (Fault::Error(Io::PermissionDenied), ErrorKind::Io, "permission denied"),
        (Fault::Short, ErrorKind::Io, ""),
        (Fault::FlippedBit, ErrorKind::Corruption, "damaged spill file"),
    ];
    for (fault, kind, text) in faults {
        let mut failures = 0;
        for operation in 0.. {
            let (directory, space) = space();
            space.inject(operation, fault);
            let result = filled(&space, &blocks()).and_then(|it| read(&mut it.reader()));
            match result {
                Ok(found) => assert_eq!(found, blocks(), "{fault:?} at {operation}"),
                Err(error) => {
                    failures += 1;
                    // A short read is a file that is damaged.
                    assert!([kind, ErrorKind::Corruption].contains(&error.kind()), "{error}");
                    let is_expected = error.to_string().contains(text);
                    assert!(is_expected, "{fault:?} at {operation}: {error}");
                    assert!(error.hint_text().is_some());
                }
            }
            assert_eq!(space.stats().bytes, 0, "{fault:?} at {operation}");
            if operation >= space.operations() {
                break;
            }
            drop(space);
            assert_eq!(entries(directory.path()).len(), 0);
        }
        // A file, a write and two reads per block; an empty block has no bit to flip.
        assert!(failures >= 3 * blocks().len() - 2, "{fault:?}: {failures}");
    }
}

#[test]
fn a_write_that_failed_leaves_the_file_as_it_was() {
    let (_directory, space) = space();
    let mut file = filled(&space, &blocks()[..2]).unwrap();
    space.inject(space.operations(), Fault::Short);
    assert!(file.append(&blocks()[4]).is_err());
    file.append(&blocks()[2]).unwrap();
    assert_eq!(read(&mut file.reader()).unwrap(), blocks()[..3]);
}

#[test]
fn a_header_of_impossible_lengths_takes_no_memory() {
    let mut header = [0; HEADER_BYTES];
    for (bytes, stored_bytes) in [(1 << 31, 1 << 30), (100, 101), (1000, 3), (10, 0), (u32::MAX, 9)]
    {
        header[..4].copy_from_slice(&u32::to_le_bytes(bytes));
        header[4..8].copy_from_slice(&u32::to_le_bytes(stored_bytes));
        let error = block::Header::read(header, 1 << 40).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
    }
}

#[test]
fn any_flipped_bit_of_a_block_is_found() {
    let text = b"a block, a block, a block, a block that compresses".to_vec();
    let (mut packed, mut out) = (Vec::new(), Vec::new());
    block::pack(&text, &mut packed).unwrap();
    assert!(packed.len() < text.len() + HEADER_BYTES);
    let mut unpack = |packed: &[u8]| {
        let (header, stored) = packed.split_first_chunk().unwrap();
        let header = block::Header::read(*header, stored.len() as u64)?;
        header.unpack(&stored[..header.stored_bytes], &mut out).map(|()| out.clone())
    };
    assert_eq!(unpack(&packed).unwrap(), text);
    for bit in 0..packed.len() * 8 {
        let mut damaged = packed.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(unpack(&damaged).unwrap_err().kind(), ErrorKind::Corruption, "bit {bit}");
    }
}

#[test]
fn buffers_are_used_again() {
    let space = SpillSpace::new("", None);
    let mut buffer = space.buffer();
    buffer.extend_from_slice(&[1; 1000]);
    let address = buffer.as_ptr();
    drop(buffer);
    let again = space.buffer();
    assert_eq!((again.as_ptr(), again.len()), (address, 0));
    assert_ne!(space.buffer().as_ptr(), address);
}
