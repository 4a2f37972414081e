//! The disk as a disk, and programs that write to it: a log that is right, and canaries, each with
//! one mistake that some seed must find.

use super::*;
use twox_hash::XxHash3_64;
use volley_error::ErrorKind;

/// Seeds within which every mistake must be found.
const CANARY_SEEDS: u64 = 1000;

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn read_all(disk: &SimDisk, name: &Name) -> Result<Vec<u8>> {
    let file = disk.open(name)?;
    file.read(0..file.size_bytes()).map(|it| it.to_vec())
}

/// What is wrong in a program; nothing in the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    NoSync,
    NoNameSync,
    AcknowledgeBeforeSync,
    RetriedSync,
    NoChecksum,
    NoLengthCheck,
    ShortWriteIgnored,
    ErrorOfAppendIgnored,
}

/// A log: records of 4 bytes length, payload, 8 bytes checksum. The checksum includes the record's
/// number, so that a record at another one's place is damage.
struct Log {
    mistake: Mistake,
    acknowledged: usize,
}

/// The payload of a record: some are several sectors long.
fn payload(number: usize) -> Vec<u8> {
    let len = [3, 40, 700, 1500][number % 4];
    (0..len).map(|it| (number * 31 + it * 7) as u8 | 1).collect()
}

fn record(number: usize) -> Vec<u8> {
    let payload = payload(number);
    let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(&payload);
    bytes.extend_from_slice(&XxHash3_64::oneshot_with_seed(number as u64, &payload).to_le_bytes());
    bytes
}

impl Log {
    /// Writes records until something fails.
    fn write(&mut self, disk: &SimDisk, records: usize) -> Result<()> {
        let mut file = disk.create(&name("log/1"))?;
        if self.mistake != Mistake::NoNameSync {
            disk.sync_names(&name("log"))?;
        }
        for number in 0..records {
            let bytes = record(number);
            match self.mistake {
                Mistake::ShortWriteIgnored => drop(file.append(&bytes)?),
                Mistake::ErrorOfAppendIgnored => drop(file.append_all(&bytes)),
                _ => file.append_all(&bytes)?,
            }
            if self.mistake == Mistake::AcknowledgeBeforeSync {
                self.acknowledged = number + 1;
            }
            match self.mistake {
                Mistake::NoSync => {}
                Mistake::RetriedSync => file.sync().or_else(|_| file.sync())?,
                _ => file.sync()?,
            }
            self.acknowledged = number + 1;
        }
        Ok(())
    }

    /// The records in the file up to the first one that is damaged.
    fn recover(&self, disk: &SimDisk) -> Result<Vec<Vec<u8>>> {
        let bytes = match read_all(disk, &name("log/1")) {
            Ok(bytes) => bytes,
            Err(error) if error.to_string().contains("no such file") => Vec::new(),
            Err(error) => return Err(error),
        };
        let (mut rest, mut records) = (&bytes[..], Vec::new());
        while let Some((len, after)) = rest.split_first_chunk::<4>() {
            let len = u32::from_le_bytes(*len) as usize;
            let len = if self.mistake == Mistake::NoLengthCheck { len % 2000 } else { len };
            let Some((payload, after)) = after.split_at_checked(len) else { break };
            let Some((sum, after)) = after.split_first_chunk::<8>() else { break };
            let checks = !matches!(self.mistake, Mistake::NoChecksum | Mistake::NoLengthCheck);
            if checks
                && XxHash3_64::oneshot_with_seed(records.len() as u64, payload).to_le_bytes()
                    != *sum
            {
                break;
            }
            // Zeros are what sectors are that were never written.
            if len == 0 {
                break;
            }
            records.push(payload.to_vec());
            rest = after;
        }
        Ok(records)
    }
}

/// Runs a program, crashes, and says what is wrong with what recovery finds.
fn run(seed: u64, mistake: Mistake, faults: Faults) -> (std::result::Result<(), String>, Fired) {
    let disk = SimDisk::new(seed);
    disk.set_faults(faults);
    disk.crash_at(seed % 40);
    let mut log = Log { mistake, acknowledged: 0 };
    let written = log.write(&disk, 12);
    disk.set_faults(Faults::default());
    disk.restart();
    let result = log.recover(&disk).map_err(|it| it.to_string()).and_then(|records| {
        if records.len() < log.acknowledged {
            return Err(format!("{} of {} records", records.len(), log.acknowledged));
        }
        let wrong = (0..).zip(&records).find(|(number, it)| **it != payload(*number));
        wrong.map_or(Ok(()), |it| Err(format!("record {} is another one", it.0)))
    });
    let describe = |it: String| format!("seed {seed}: {it}, {written:?}\n{}", disk.trace());
    (result.map_err(describe), disk.fired())
}

/// Faults that a program can survive.
const SURVIVABLE: Faults = Faults {
    short_write: Chance(2000),
    full_disk: Chance(200),
    read_error: Chance(0),
    sync_error: Chance(500),
    name_sync_error: Chance(500),
    misdirected_read: Chance(0),
    misdirected_write: Chance(0),
    flipped_bit: Chance(0),
};

#[test]
fn a_log_that_syncs_loses_nothing() {
    let mut fired = Fired::default();
    for seed in 0..4000 {
        let (result, of_seed) = run(seed, Mistake::None, SURVIVABLE);
        assert!(result.is_ok(), "{}", result.unwrap_err());
        fired.add(of_seed);
    }
    let seen = [
        Fault::ShortWrite,
        Fault::FullDisk,
        Fault::SyncError,
        Fault::NameSyncError,
        Fault::LostSector,
        Fault::TornSector,
        Fault::ReorderedSector,
        Fault::LostName,
    ];
    for fault in seen {
        assert!(fired.of(fault) >= 100, "{fault:?}: {}", fired.of(fault));
    }
}

#[test]
fn every_canary_is_caught() {
    let mistakes = [
        Mistake::NoSync,
        Mistake::NoNameSync,
        Mistake::AcknowledgeBeforeSync,
        Mistake::RetriedSync,
        Mistake::NoChecksum,
        Mistake::NoLengthCheck,
        Mistake::ShortWriteIgnored,
        Mistake::ErrorOfAppendIgnored,
    ];
    for mistake in mistakes {
        let caught = (0..CANARY_SEEDS).find(|it| run(*it, mistake, SURVIVABLE).0.is_err());
        assert!(caught.is_some(), "{mistake:?} was not caught in {CANARY_SEEDS} seeds");
    }
}

#[test]
fn damage_is_found_and_never_an_answer() {
    let faults =
        Faults { misdirected_write: Chance(1500), flipped_bit: Chance(1500), ..Faults::default() };
    let (mut damaged, mut fired) = (0, Fired::default());
    for seed in 0..2000 {
        let disk = SimDisk::new(seed);
        disk.set_faults(faults);
        let mut log = Log { mistake: Mistake::None, acknowledged: 0 };
        log.write(&disk, 12).unwrap();
        disk.set_faults(Faults::default());
        disk.restart();
        let records = log.recover(&disk).unwrap();
        damaged += usize::from(records.len() < log.acknowledged);
        for (number, found) in records.iter().enumerate() {
            assert_eq!(*found, payload(number), "seed {seed}\n{}", disk.trace());
        }
        fired.add(disk.fired());
    }
    assert!(damaged > 500, "{damaged}");
    assert!(fired.of(Fault::MisdirectedWrite) > 100 && fired.of(Fault::FlippedBit) > 100);
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in 0..100 {
        let run = || {
            let disk = SimDisk::new(seed);
            disk.set_faults(SURVIVABLE);
            disk.crash_at(25);
            let written = Log { mistake: Mistake::None, acknowledged: 0 }.write(&disk, 20);
            disk.restart();
            let bytes = read_all(&disk, &name("log/1")).map_err(|it| it.to_string());
            (format!("{written:?}"), bytes, disk.trace(), disk.fired())
        };
        assert_eq!(run(), run());
    }
}

#[test]
fn a_failed_sync_loses_bytes_that_reads_show() {
    let is_lost = |seed: u64| {
        let disk = SimDisk::new(seed);
        let mut file = disk.create(&name("a")).unwrap();
        disk.sync_names(&Name::default()).unwrap();
        file.append_all(&[7; 5000]).unwrap();
        disk.set_faults(Faults { sync_error: Chance(10_000), ..Faults::default() });
        assert_eq!(file.sync().unwrap_err().kind(), ErrorKind::Io);
        disk.set_faults(Faults::default());
        file.sync().unwrap();
        assert_eq!(read_all(&disk, &name("a")).unwrap(), [7; 5000]);
        disk.restart();
        read_all(&disk, &name("a")).unwrap() != [7; 5000]
    };
    assert!((0..20).any(is_lost));
}

#[test]
fn put_is_all_or_nothing_and_conditional() {
    let current = name("CURRENT");
    let (mut old, mut new) = (0, 0);
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        assert_eq!(disk.put(&current, b"1", Expected::Bytes(b"0")).unwrap(), Put::Refused);
        assert_eq!(disk.put(&current, b"1", Expected::Nothing).unwrap(), Put::Written);
        assert_eq!(disk.put(&current, b"2", Expected::Nothing).unwrap(), Put::Refused);
        disk.crash_at(disk.operations());
        disk.put(&current, &[2; 3000], Expected::Bytes(b"1")).unwrap_err();
        assert!(disk.has_crashed());
        disk.restart();
        match read_all(&disk, &current).unwrap() {
            bytes if bytes == b"1" => old += 1,
            bytes => {
                assert_eq!(bytes, [2; 3000]);
                new += 1;
            }
        }
    }
    assert!(old > 50 && new > 50, "{old} {new}");
}

#[test]
fn names_need_a_sync_of_their_folder() {
    let (mut lost, mut returned) = (0, 0);
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        let (a, b) = (name("x/a"), name("x/b"));
        disk.put(&b, b"b", Expected::Any).unwrap();
        let mut file = disk.create(&a).unwrap();
        file.append_all(b"a").unwrap();
        file.sync().unwrap();
        disk.remove(&b).unwrap();
        // Another folder's names do not count.
        disk.sync_names(&Name::default()).unwrap();
        assert_eq!(disk.durable_bytes(&a), None);
        disk.restart();
        let names: Vec<Name> =
            disk.list(&name("x")).unwrap().into_iter().map(|it| it.name).collect();
        lost += usize::from(!names.contains(&a));
        returned += usize::from(names.contains(&b));
    }
    assert!(lost > 20 && returned > 20, "{lost} {returned}");
}

#[test]
fn removed_files_can_be_read_while_they_are_open() {
    let disk = SimDisk::new(1);
    disk.put(&name("a"), b"abc", Expected::Any).unwrap();
    let file = disk.open(&name("a")).unwrap();
    disk.remove(&name("a")).unwrap();
    assert_eq!(file.read(0..3).unwrap(), b"abc"[..]);
    assert!(disk.open(&name("a")).unwrap_err().to_string().contains("no such file"));
    assert_eq!(file.read(1..9).unwrap_err().kind(), ErrorKind::Corruption);
    disk.restart();
    assert!(file.read(0..3).unwrap_err().to_string().contains("crashed"));
}

#[test]
fn a_full_disk_refuses_and_changes_nothing() {
    let disk = SimDisk::new(1);
    disk.set_capacity(1000);
    let mut file = disk.create(&name("a")).unwrap();
    assert_eq!(file.append(&[1; 600]).unwrap(), 600);
    assert_eq!(file.append(&[1; 600]).unwrap(), 400);
    let error = file.append(&[1]).unwrap_err();
    assert!(error.to_string().contains("no space left"), "{error}");
    assert_eq!(file.len(), 1000);
    assert!(disk.put(&name("b"), b"b", Expected::Any).is_err());
    disk.remove(&name("a")).unwrap();
    disk.put(&name("b"), b"b", Expected::Any).unwrap();
}

#[test]
fn reads_fail_or_get_another_place() {
    let disk = SimDisk::new(1);
    disk.put(&name("a"), &[1; 2000], Expected::Any).unwrap();
    disk.put(&name("b"), &[2; 2000], Expected::Any).unwrap();
    let file = disk.open(&name("a")).unwrap();
    disk.set_faults(Faults { read_error: Chance(5000), ..Faults::default() });
    let failed = (0..100).filter(|_| file.read(0..10).is_err()).count();
    assert!((20..80).contains(&failed), "{failed}");
    disk.set_faults(Faults { misdirected_read: Chance(5000), ..Faults::default() });
    let wrong = (0..100).filter(|_| file.read(0..10).unwrap() != [1; 10][..]).count();
    assert!((5..60).contains(&wrong), "{wrong}");
    assert_eq!(disk.fired().of(Fault::ReadError), failed as u64);
}
