//! Object stores, against the server of `tests/cloud/run.py`:
//!
//! ```text
//! tests/cloud/run.py -- cargo test -p volley-io-testkit --features cloud --test cloud -- \
//!     --ignored --test-threads 1
//! ```

use std::{
    env, fs,
    io::{Read, Write},
    net::TcpStream,
    path::PathBuf,
    sync::Arc,
};
use volley_error::ErrorKind;
use volley_io::{
    BufferPool, CloudEnvironment, FileSystem, FileSystems, OnExistingSecret, RandomAccessFile,
    Secret, SecretKind, SecretProvider, WriteMode, WriteOutcome, wait, wait_polling,
};
use volley_io_testkit::conformance;

fn variable(name: &str) -> String {
    env::var(name).expect("run this by tests/cloud/run.py")
}

fn file_systems() -> FileSystems {
    FileSystems::default().with_cloud(CloudEnvironment::new(env::vars()))
}

/// A folder of the bucket for one test.
fn folder(name: &str) -> String {
    format!("s3://{}/{name}", variable("VOLLEY_S3_BUCKET"))
}

fn local_folder(name: &str) -> PathBuf {
    PathBuf::from(variable("VOLLEY_S3_FOLDER")).join(name)
}

/// Asks the proxy.
fn proxy(request: &str) -> String {
    let address = variable("VOLLEY_S3_PROXY");
    let mut stream =
        TcpStream::connect(address.trim_start_matches("http://")).expect("the proxy answers");
    write!(stream, "GET /__proxy/{request} HTTP/1.1\r\n\r\n").expect("the proxy answers");
    stream.shutdown(std::net::Shutdown::Write).expect("the proxy answers");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the proxy answers");
    answer.split_once("\r\n\r\n").expect("the proxy answers").1.to_owned()
}

/// The requests of `work`, as the proxy saw them.
fn requests(work: impl FnOnce()) -> Vec<String> {
    proxy("reset");
    work();
    proxy("log").lines().map(str::to_owned).collect()
}

fn content(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|it| ((it * 31 + seed * 7 + it / 255) % 251) as u8).collect()
}

fn write_parts(
    file_system: &dyn FileSystem,
    location: &str,
    bytes: &[u8],
    mode: WriteMode,
) -> volley_error::Result<WriteOutcome> {
    let mut writer = wait(file_system.create(location, mode))?;
    for part in bytes.chunks(1 << 20) {
        wait_polling(|cx| writer.poll_ready(cx))?;
        writer.write_all(part).map_err(|it| volley_error::Error::io(location, it))?;
    }
    wait(writer.commit())
}

fn read_all(file: &Arc<dyn RandomAccessFile>) -> volley_error::Result<bytes::Bytes> {
    wait(Arc::clone(file).start_read(0..file.size_bytes(), &BufferPool::default()))
}

#[test]
#[ignore = "needs the server of tests/cloud/run.py"]
fn a_bucket_conforms() {
    let files = file_systems();
    let folder = folder("conformance");
    conformance::file_system(&**files.of(&folder).unwrap(), &folder);
}

#[test]
#[ignore = "needs the server of tests/cloud/run.py"]
fn long_objects_are_written_in_parts_and_appear_whole() {
    let files = file_systems();
    let location = format!("{}/object", folder("long"));
    let file_system = files.of(&location).unwrap();
    let bytes = content(37_000_001, 1);
    let mut outcome = None;
    let log = requests(|| {
        outcome = Some(write_parts(&**file_system, &location, &bytes, WriteMode::CreateNew));
    });
    assert!(matches!(outcome.unwrap().unwrap(), WriteOutcome::Written(_)));
    let parts = log.iter().filter(|it| it.contains("partNumber")).count();
    assert!(parts >= 5, "{log:?}");
    let file = files.open(&location).unwrap();
    assert!(read_all(&file).unwrap() == bytes);
    let again = write_parts(&**file_system, &location, &bytes[1..], WriteMode::CreateNew);
    assert_eq!(again.unwrap(), WriteOutcome::AlreadyExists);
    let names: Vec<_> = fs::read_dir(local_folder("long")).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    // The object is replaced while it is open.
    write_parts(&**file_system, &location, &bytes[1..], WriteMode::Replace).unwrap();
    let error = read_all(&file).unwrap_err();
    assert!(error.message().starts_with("file was replaced"), "{error:?}");
    // An upload that is dropped, or aborted, leaves the object.
    for is_dropped in [true, false] {
        let mut writer = wait(file_system.create(&location, WriteMode::Replace)).unwrap();
        writer.write_all(&bytes).unwrap();
        match is_dropped {
            true => drop(writer),
            false => wait(writer.abort()).unwrap(),
        }
        let file = files.open(&location).unwrap();
        assert_eq!(file.size_bytes(), bytes.len() as u64 - 1);
    }
    wait(file_system.remove(&location)).unwrap();
}

#[test]
#[ignore = "needs the server of tests/cloud/run.py"]
fn requests_are_few() {
    let files = file_systems();
    let folder = folder("few");
    for name in ["k=1/a", "k=1/b", "k=2/a"] {
        let location = format!("{folder}/{name}");
        let bytes = content(200_000, 2).into();
        wait(files.of(&location).unwrap().write(&location, bytes, WriteMode::Replace)).unwrap();
    }
    // A file: one request says that it is one, how long it is, and has its end.
    let location = format!("{folder}/k=1/a");
    let log = requests(|| {
        let found = files.list(&location, &|_| true).unwrap();
        let file = files.open(&found[0]).unwrap();
        assert!(file.read(199_000..200_000).unwrap() == content(200_000, 2)[199_000..]);
    });
    assert_eq!(log.len(), 1, "{log:?}");
    // A glob: one list, and one request for each file.
    let log = requests(|| {
        let found = files.list(&format!("{folder}/k=*/*"), &|_| true).unwrap();
        let opened: Vec<_> = files.open_each(&found).collect();
        assert_eq!(opened.len(), 3);
        assert!(opened.iter().all(Result::is_ok));
    });
    assert_eq!(log.len(), 4, "{log:?}");
    // Near ranges are one request.
    let file = files.open(&location).unwrap();
    let log = requests(|| {
        let ranges = vec![0..10, 50_000..60_000, 100_000..100_001];
        let mut reads =
            volley_io::RangeReads::start(Arc::clone(&file), ranges, &BufferPool::default())
                .unwrap();
        let bytes = wait_polling(|cx| match reads.poll(cx.waker()) {
            Ok(Some(bytes)) => std::task::Poll::Ready(Ok(bytes)),
            Ok(None) => std::task::Poll::Pending,
            Err(error) => std::task::Poll::Ready(Err(error)),
        });
        assert!(bytes.unwrap()[1] == content(200_000, 2)[50_000..60_000]);
    });
    assert_eq!(log.len(), 1, "{log:?}");
}

#[test]
#[ignore = "needs the server of tests/cloud/run.py"]
fn secrets_take_precedence_and_are_not_shown() {
    let files = file_systems();
    let location = format!("{}/object", folder("secret"));
    let file_system = files.of(&location).unwrap();
    wait(file_system.write(&location, "x".into(), WriteMode::Replace)).unwrap();
    let endpoint = variable("VOLLEY_S3_DIRECT");
    let add = |scope: &str, secret: &str| {
        let values = [("key_id", "testuser"), ("secret", secret), ("endpoint", &endpoint)];
        let values = values.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let scopes = [scope.to_owned()];
        let (kind, provider) = (SecretKind::S3, SecretProvider::Config);
        let secret = Secret::new("test", kind, provider, &scopes, values).unwrap();
        files.secrets().add(secret, OnExistingSecret::Replace).unwrap();
    };
    add(&folder("secret"), "wrong-value");
    let error = wait(file_system.open(&location)).unwrap_err();
    let shown = format!("{error} {error:?} {:?}", files.secrets());
    assert!(
        shown.contains("permission denied") && shown.contains("SignatureDoesNotMatch"),
        "{shown}"
    );
    assert!(!shown.contains("wrong-value"), "{shown}");
    add(&folder("secre"), "wrong-value");
    wait(file_system.open(&location)).unwrap();
    add(&folder("secret"), "testpass123");
    // The secret's endpoint is the server itself: the proxy sees nothing.
    let log = requests(|| drop(wait(file_system.open(&location)).unwrap()));
    assert_eq!(log, Vec::<String>::new());
}

/// With requests that fail, hang or end early, answers are right or errors say so.
#[test]
#[ignore = "needs the server of tests/cloud/run.py"]
fn faults_are_repeated_or_reported() {
    let folder = folder("faults");
    let bytes = content(20_000_000, 3);
    let seeds = env::var("VOLLEY_SEEDS").map_or(10, |it| it.parse().unwrap());
    let mut failed = 0;
    for seed in 0..seeds {
        let files = file_systems();
        let location = format!("{folder}/{seed}");
        let file_system = files.of(&location).unwrap();
        proxy(&format!("faults?seed={seed}&fail=10&hang=0.2&truncate=3"));
        let work = || -> volley_error::Result<()> {
            write_parts(&**file_system, &location, &bytes, WriteMode::Replace)?;
            let file = files.open(&location)?;
            for start in (0..bytes.len() - 100_000).step_by(900_000) {
                let range = start as u64..start as u64 + 100_000;
                let read = wait(Arc::clone(&file).start_read(range, &BufferPool::default()))?;
                assert!(read == bytes[start..start + 100_000], "seed {seed}");
            }
            assert!(read_all(&file)? == bytes, "seed {seed}");
            Ok(())
        };
        let result = work();
        proxy("faults");
        if let Err(error) = result {
            assert_eq!(error.kind(), ErrorKind::Io, "seed {seed}: {error}");
            failed += 1;
            // What is there is whole.
            if let Ok(file) = files.open(&location) {
                assert!(read_all(&file).unwrap() == bytes, "seed {seed}");
            }
        }
    }
    assert!(failed * 10 <= seeds, "{failed} of {seeds} failed");
}

/// A cache on disk asks the store for versions only, also in another process.
#[test]
#[ignore = "needs the server of tests/cloud/run.py"]
fn a_cache_sends_one_request_for_an_object_that_has_not_changed() {
    let location = format!("{}/object", folder("cached"));
    let bytes = content(3_000_000, 4);
    let cache = tempfile::tempdir().unwrap();
    let read = |expected: &[u8]| {
        let files = file_systems().with_cache();
        files.cache().set_directory(Some(cache.path())).unwrap();
        let file = files.open(&location).unwrap();
        assert!(read_all(&file).unwrap() == *expected);
        files.cache().wait_written();
        files.cache().set_directory(None).unwrap();
        files.cache().counts().missed_bytes
    };
    wait(file_systems().of(&location).unwrap().write(
        &location,
        bytes.clone().into(),
        WriteMode::Replace,
    ))
    .unwrap();
    assert!(read(&bytes) > 0);
    let log = requests(|| assert_eq!(read(&bytes), 0));
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(proxy("counts").contains("\"bytes\": 0"), "{}", proxy("counts"));
    let changed = content(2_000_000, 5);
    wait(file_systems().of(&location).unwrap().write(
        &location,
        changed.clone().into(),
        WriteMode::Replace,
    ))
    .unwrap();
    assert!(read(&changed) > 0);
}
