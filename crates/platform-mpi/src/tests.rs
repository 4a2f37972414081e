use crate::{
    message::{Message, ScanId, frame_bytes},
    messenger::{Channels, Messenger},
    world::World,
};
use std::sync::Arc;
use volley_connector::Split;
use volley_error::{Error, ErrorKind};
use volley_exchange::{Failure, TaskId};
use volley_expression::filter::KeyFilter;
use volley_plan::PlanNodeId;
use volley_schedule::{Platform, ProcessEnd, TaskNumbers};

fn messages() -> Vec<Message> {
    let scan = ScanId { fragment: 3, scan: PlanNodeId::new(9) };
    let failure = || Failure::new(Error::invalid_value("a").hint("b")).through(TaskId(1));
    let whole = Split {
        hosts: ["one".to_owned(), "é".to_owned()].into(),
        size_bytes: 1 << 40,
        readers_max: 4,
        ..Split::new(vec![1, 2, 3], "file, row group 1")
    };
    let tasks = TaskNumbers { first_tasks: vec![0, 4, 8] };
    vec![
        Message::Frame { from: TaskId(1), to: TaskId(2), frame: vec![7; 100] },
        Message::Start { tasks, spec: vec![1, 2, 3] },
        Message::Splits { scan, splits: vec![whole, Split::new(Vec::new(), "")] },
        Message::NoMoreSplits { scan },
        Message::End,
        Message::Ended { end: ProcessEnd::default() },
        Message::Ended { end: ProcessEnd { failure: Some(failure()), statistics: vec![1, 2] } },
        Message::Failed { failure: failure() },
        Message::Ready { failure: None },
        Message::Ready { failure: Some(failure()) },
        Message::Leave,
        Message::Filter { filter: 1, task: 2, keys: None },
        Message::Filter { filter: 1, task: 0, keys: Some(Arc::new(KeyFilter::range(3, 70))) },
        Message::Filter {
            filter: 0,
            task: 3,
            keys: Some(Arc::new(KeyFilter::bitmap(-5, vec![1, 2]))),
        },
    ]
}

#[test]
fn messages_come_back() {
    for message in messages() {
        let bytes = message.to_bytes(77);
        let (query, found) = Message::from_bytes(bytes.clone()).unwrap();
        assert_eq!((query, found.to_bytes(77)), (77, bytes));
        assert_eq!(format!("{found:?}"), format!("{message:?}"));
    }
    let frame = Message::Frame { from: TaskId(1), to: TaskId(2), frame: vec![5; 10] };
    assert_eq!(frame.to_bytes(3), frame_bytes(3, TaskId(1), TaskId(2), vec![5; 10]));
}

#[test]
fn damaged_messages_are_errors_or_messages() {
    let mut random = fastrand::Rng::with_seed(1);
    for message in messages() {
        let bytes = message.to_bytes(1);
        for end in 0..24 {
            let error = Message::from_bytes(bytes[..end].to_vec()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption);
        }
        for _ in 0..500 {
            let mut damaged = bytes.clone();
            damaged[random.usize(..bytes.len())] = random.u8(..);
            damaged.truncate(random.usize(..=bytes.len()));
            let _ = Message::from_bytes(damaged);
        }
    }
}

/// The processes of a job, as threads of this one.
fn worlds(ranks: usize) -> Vec<World> {
    let channels = Channels::connected(ranks).into_iter();
    channels
        .map(|it| World::join(move || Ok(Box::new(it) as Box<dyn Messenger>)).unwrap())
        .collect()
}

#[test]
fn ranks_that_cannot_run_queries_say_why() {
    let worlds = worlds(3);
    worlds[1].ready(Ok(()));
    worlds[2].ready(Err(Error::invalid_value("no such setting").hint("look")));
    let error = worlds[0].wait_ready().unwrap_err();
    assert_eq!(error.to_string(), "no such setting (rank: 2)");
    assert_eq!(error.hint_text(), Some("look"));
}

#[test]
fn ranks_serve_until_rank_0_leaves() {
    let mut worlds = worlds(3);
    let first = worlds.remove(0);
    assert_eq!((first.rank(), first.processes(), first.name()), (0, 3, "mpi"));
    std::thread::scope(|scope| {
        for world in &worlds {
            scope.spawn(move || {
                world.ready(Ok(()));
                world.serve(&|_, _| Err(Error::internal("no query was begun"))).unwrap();
                world.leave();
            });
        }
        first.wait_ready().unwrap();
        first.leave();
    });
}

#[test]
fn a_query_that_does_not_start_in_a_rank_fails_with_its_reason() {
    let mut worlds = worlds(3);
    let first = worlds.remove(0);
    std::thread::scope(|scope| {
        for world in &worlds {
            scope.spawn(move || {
                world.ready(Ok(()));
                let start = |spec: &[u8], _| {
                    assert_eq!(spec, [1, 2, 3]);
                    Err(Error::invalid_value("no such file"))
                };
                world.serve(&start).unwrap();
            });
        }
        first.wait_ready().unwrap();
        let tasks = TaskNumbers { first_tasks: vec![0] };
        let processes = first.begin(vec![1, 2, 3], tasks).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        processes.on_failure(Box::new(move |it| drop(sender.send(it.error.to_string()))));
        assert!(receiver.recv().unwrap().starts_with("no such file (rank: "));
        let ends = processes.end();
        assert_eq!(ends.iter().filter(|it| it.failure.is_some()).count(), 2);
        assert!(processes.end().is_empty());
        first.leave();
    });
}
