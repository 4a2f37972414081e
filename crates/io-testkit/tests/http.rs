//! Files of HTTP servers.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};
use volley_error::ErrorKind;
use volley_io::{
    BufferPool, CloudEnvironment, FileSystems, OnExistingSecret, Secret, SecretKind,
    SecretProvider, WriteMode, wait,
};

/// A server with one file; requests are logged.
struct Server {
    address: String,
    log: Arc<Mutex<Vec<String>>>,
}

fn content() -> Vec<u8> {
    (0..200_000u32).map(|it| (it % 251) as u8).collect()
}

fn serve(ranges: Ranges) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a server on loopback");
    let address = listener.local_addr().expect("a server on loopback").to_string();
    let log = Arc::new(Mutex::new(Vec::new()));
    let of_thread = Arc::clone(&log);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let log = Arc::clone(&of_thread);
            // A client that goes away ends its thread.
            thread::spawn(move || answer_all(stream, ranges, &log).unwrap_or(()));
        }
    });
    Server { address, log }
}

#[derive(Clone, Copy, PartialEq)]
enum Ranges {
    Answered,
    Ignored,
}

fn answer_all(stream: TcpStream, ranges: Ranges, log: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let (mut request, mut range, mut header) = (String::new(), None, String::new());
        if reader.read_line(&mut request)? == 0 {
            return Ok(());
        }
        while reader.read_line(&mut header)? > 2 {
            let lower = header.to_ascii_lowercase();
            range = range.or(lower.trim().strip_prefix("range: bytes=").map(str::to_owned));
            if lower.starts_with("authorization") {
                log.lock().expect("a request of the client").push(header.trim().to_owned());
            }
            header.clear();
        }
        log.lock().expect("a request of the client").push(request.trim().to_owned());
        if request.contains("/moved") {
            let to = "/folder/a%20b.bin?key=1%2F2";
            write!(stream, "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")?;
            continue;
        }
        if !request.contains("/folder/a%20b.bin?key=1%2F2 ") {
            write!(stream, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")?;
            continue;
        }
        let bytes = content();
        match range.filter(|_| ranges == Ranges::Answered) {
            Some(range) => {
                let (start, end) = range.split_once('-').expect("a request of the client");
                let (start, end) = match (start, end) {
                    ("", last) => (
                        bytes.len() - last.parse::<usize>().expect("a request of the client"),
                        bytes.len(),
                    ),
                    _ => (
                        start.parse().expect("a request of the client"),
                        end.parse::<usize>().expect("a request of the client") + 1,
                    ),
                };
                write!(
                    stream,
                    "HTTP/1.1 206 Partial Content\r\netag: \"1\"\r\ncontent-length: {}\r\n\
                     content-range: bytes {start}-{}/{}\r\n\r\n",
                    end - start,
                    end - 1,
                    bytes.len()
                )?;
                stream.write_all(&bytes[start..end])?;
            }
            None => {
                write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", bytes.len())?;
                stream.write_all(&bytes)?;
            }
        }
    }
}

fn file_systems() -> FileSystems {
    FileSystems::default().with_cloud(CloudEnvironment::default())
}

#[test]
fn files_are_read_by_ranges_and_redirects_are_followed() {
    let server = serve(Ranges::Answered);
    let files = file_systems();
    let url = format!("http://{}/folder/a%20b.bin?key=1%2F2", server.address);
    let found = files.list(&url, &|_| true).unwrap();
    assert_eq!(found, [url.clone()]);
    let file = files.open(&url).unwrap();
    assert_eq!(file.size_bytes(), 200_000);
    assert!(!file.path().contains("key"), "{}", file.path());
    let read = wait(Arc::clone(&file).start_read(10..100_000, &BufferPool::default())).unwrap();
    assert!(read == content()[10..100_000]);
    assert!(file.read(150_000..200_000).unwrap() == content()[150_000..]);
    assert_eq!(server.log.lock().unwrap().len(), 2);
    let moved = files.open(&format!("http://{}/moved", server.address)).unwrap();
    assert!(moved.read(0..200_000).unwrap() == content());
}

#[test]
fn missing_files_writes_and_servers_without_ranges_are_errors() {
    let server = serve(Ranges::Ignored);
    let files = file_systems();
    let url = format!("http://{}/folder/none.bin", server.address);
    let error = files.open(&url).unwrap_err();
    assert_eq!((error.kind(), error.message().contains(&url)), (ErrorKind::Io, true));
    assert!(files.list(&url, &|_| true).is_err());
    let url = format!("http://{}/folder/a%20b.bin?key=1%2F2", server.address);
    let error = files.open(&url).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(!format!("{error} {error:?}").contains("key=1"), "{error:?}");
    assert_eq!(files.create(&url).err().unwrap().kind(), ErrorKind::Unsupported);
    let written = files.of(&url).unwrap().write(&url, "x".into(), WriteMode::Replace);
    assert_eq!(wait(written).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn a_token_is_sent_within_its_scope_alone() {
    let server = serve(Ranges::Answered);
    let files = file_systems();
    let scopes = [format!("http://{}/folder", server.address)];
    let values = [("bearer_token".to_owned(), "t0ken".to_owned())].into();
    let (kind, provider) = (SecretKind::Http, SecretProvider::Config);
    let secret = Secret::new("t", kind, provider, &scopes, values).unwrap();
    files.secrets().add(secret, OnExistingSecret::Fail).unwrap();
    files.open(&format!("http://{}/folder/a%20b.bin?key=1%2F2", server.address)).unwrap();
    assert!(files.open(&format!("http://{}/other", server.address)).is_err());
    let log = server.log.lock().unwrap().clone();
    assert_eq!(log[0].to_ascii_lowercase(), "authorization: bearer t0ken");
    assert_eq!(log.iter().filter(|it| it.contains("t0ken")).count(), 1, "{log:?}");
}
