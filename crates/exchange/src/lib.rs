//! Pages between tasks.
//!
//! ```text
//! batches ── PageSink ──> batches by lane ── PageEncoder ──> pages ── OutputBuffer ─┐ producer
//!                                                                                   │
//!            PageSupply <────────── Transport: offer, open ─────────────────────────┘
//!                │
//! batches <── ExchangeReader <── PageStream: requests within a budget                  consumer
//! ```
//!
//! An *edge* is one exchange; a *lane* is what one consuming task reads of one producing task; a
//! *page* is rows in transit, as a batch or as bytes. Where all ranks take part, rows are written
//! to a *window* at exact offsets instead ([`WindowWriter`]). Read [`Transport`], [`OutputBuffer`]
//! and [`PageSink`] first.
//!
//! Invariants: readers pull, producers announce the sizes of waiting pages. A lane with a waiting
//! reader never waits for lanes without one: the largest unread lane overflows to disk. One page,
//! of any size, may always pass. Budgets count decoded bytes. Errors cross as typed data; the first
//! real cause wins.
//!
//! This crate does not know operators, drivers, plans, sockets, MPI or stores. A transport of
//! another crate passes the suite in [`conformance`].

pub mod partition;
pub mod page_sink;
mod page;
mod failure;
mod transport;
mod output_buffer;
mod reader;
mod in_process;
mod frame;
mod link;
mod routed;
mod window;
pub mod conformance;
pub mod simulation;

pub use failure::{Failure, FailureSlot, Rank};
pub use frame::Frame;
pub use in_process::{InProcessHub, InProcessTransport};
pub use link::{Link, LinkConfig, LinkTransport};
pub use output_buffer::{OutputBuffer, OutputBufferConfig, Producer, Readiness};
pub use page::{Page, PageCodec, PageContent, PageEncoder};
pub use page_sink::{LaneBatch, PageSink, PageSizes, RowSink};
pub use partition::{LaneFunction, Partitioning, RangeBounds};
pub use reader::{ExchangeReader, ReaderStatistics};
pub use routed::{IsHere, RoutedTransport};
pub use transport::{
    Closed, ContentKind, Delivery, EdgeId, Lane, LaneSize, Message, Offer, PageStream, PageSupply,
    ProducerId, StreamId, Supply, TaskId, Transport, TransportProfile,
};
pub use window::{Scan, ThreadPort, WindowHistogram, WindowMemory, WindowPort, WindowWriter};
