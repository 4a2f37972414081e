//! Windows of MPI: memory of a rank that all ranks write to (`MPI_Put`), without its help.
//!
//! ```text
//! scan       MPI_Exscan, MPI_Allreduce: exact offsets, exact room
//! allocate   MPI_Win_create over memory of ours, MPI_Win_lock_all
//! put        to this rank: a copy; to others: MPI_Put from a buffer that is kept until it is read
//! close      MPI_Win_unlock_all, MPI_Win_free: all ranks have written all
//! ```
//!
//! The memory is ours and outlives the window: readers keep it like any other buffer.

use crate::{
    MpiMessenger,
    messenger::Messenger,
    mpi::{byte_type, check, world},
};
use mpi_sys as ffi;
use std::{collections::VecDeque, ffi::c_int, marker::PhantomData};
use volley_error::{Error, Result};
use volley_exchange::{Scan, WindowMemory, WindowPort};
use volley_vector::{Buffer, MutableBuffer};

/// Buffers that MPI may read per rank, before the writer waits for them.
const BUFFERS_UNDER_WAY: usize = 4;

/// The windows of the ranks of a job. It belongs to the thread that makes all calls of MPI.
pub struct MpiWindows {
    rank: usize,
    ranks: usize,
    /// MPI was told that one thread calls it.
    _one_thread: PhantomData<*const ()>,
}

/// A window that is written.
struct MpiMemory {
    rank: usize,
    window: ffi::MPI_Win,
    memory: MutableBuffer,
    /// The sizes of all ranks' memory.
    bytes: Vec<u64>,
    /// By rank: buffers that MPI may still read.
    under_way: Vec<VecDeque<Vec<u8>>>,
}

impl MpiMessenger {
    /// The windows of the job. Messages can be sent and received as well, by the same thread.
    pub fn windows(&self) -> MpiWindows {
        MpiWindows { rank: self.rank(), ranks: self.ranks(), _one_thread: PhantomData }
    }
}

impl WindowPort for MpiWindows {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn scan(&mut self, values: &[u64]) -> Result<Scan> {
        let mut scan = Scan { below: vec![0; values.len()], total: vec![0; values.len()] };
        let count = count(values.len())?;
        // SAFETY: constants of the library.
        let (kind, sum) = (unsafe { ffi::RSMPI_UINT64_T }, unsafe { ffi::RSMPI_SUM });
        let (from, below) = (values.as_ptr().cast(), scan.below.as_mut_ptr().cast());
        // SAFETY: MPI is initialized, in this thread; both buffers have `count` numbers and do not
        // overlap; all ranks make this call.
        let code = unsafe { ffi::MPI_Exscan(from, below, count, kind, sum, world()) };
        check("MPI_Exscan", code)?;
        if self.rank == 0 {
            // MPI leaves the numbers of the first rank as they are, or not.
            scan.below.fill(0);
        }
        let total = scan.total.as_mut_ptr().cast();
        // SAFETY: as for MPI_Exscan.
        let code = unsafe { ffi::MPI_Allreduce(from, total, count, kind, sum, world()) };
        check("MPI_Allreduce", code)?;
        Ok(scan)
    }

    fn allocate(&mut self, bytes: usize) -> Result<Box<dyn WindowMemory>> {
        let mut sizes = vec![0; self.ranks];
        sizes[self.rank] = bytes as u64;
        let sizes = self.scan(&sizes)?.total;
        let mut memory = MutableBuffer::from_len_zeroed(bytes);
        let size = ffi::MPI_Aint::try_from(bytes)
            .map_err(|_| Error::unsupported("a window of more bytes than MPI can address"))?;
        // SAFETY: constants of the library.
        let (info, mut window) = (unsafe { ffi::RSMPI_INFO_NULL }, unsafe { ffi::RSMPI_WIN_NULL });
        let base = memory.as_mut_ptr().cast();
        // SAFETY: MPI is initialized, in this thread; `base` has `bytes` bytes, which stay where
        // they are while the window exists, as `MpiMemory` keeps them; a place for the window; all
        // ranks make this call.
        let code = unsafe { ffi::MPI_Win_create(base, size, 1, info, world(), &raw mut window) };
        check("MPI_Win_create", code).map_err(|it| {
            it.hint(
                "Open MPI makes windows of processes on one machine only with single copies: start \
                 the job without --mca btl_vader_single_copy_mechanism none",
            )
        })?;
        // SAFETY: a constant of the library.
        let errors_return = unsafe { ffi::RSMPI_ERRORS_RETURN };
        // SAFETY: a window, and a constant of the library.
        let code = unsafe { ffi::MPI_Win_set_errhandler(window, errors_return) };
        check("MPI_Win_set_errhandler", code)?;
        // SAFETY: a window that is not locked.
        check("MPI_Win_lock_all", unsafe { ffi::MPI_Win_lock_all(0, window) })?;
        let under_way = (0..self.ranks).map(|_| VecDeque::new()).collect();
        Ok(Box::new(MpiMemory { rank: self.rank, window, memory, bytes: sizes, under_way }))
    }
}

impl WindowMemory for MpiMemory {
    fn put(&mut self, to: usize, offset: usize, bytes: Vec<u8>, len: usize) -> Result<Vec<u8>> {
        let room = self.bytes.get(to).copied().unwrap_or(0);
        let end = offset.checked_add(len).map(|it| it as u64);
        if end.is_none_or(|it| it > room) || len > bytes.len() {
            return Err(Error::internal("bytes beyond a window"));
        }
        if to == self.rank {
            // Others write elsewhere: each rank has rows of its own.
            self.memory.as_slice_mut()[offset..offset + len].copy_from_slice(&bytes[..len]);
            return Ok(bytes);
        }
        let (rank, count) = (count(to)?, count(len)?);
        let displacement = ffi::MPI_Aint::try_from(offset)
            .map_err(|_| Error::unsupported("a window of more bytes than MPI can address"))?;
        let data = bytes.as_ptr().cast();
        let (kind, window) = (byte_type(), self.window);
        // SAFETY: the window is locked; `data` has `count` bytes, which stay where they are until
        // MPI_Win_flush_local or MPI_Win_unlock_all, as the buffer is kept; the target was compared
        // with the size of the rank's memory.
        let code =
            unsafe { ffi::MPI_Put(data, count, kind, rank, displacement, count, kind, window) };
        // Kept before the answer is looked at: MPI may read it in any case.
        let under_way = &mut self.under_way[to];
        let size = bytes.len();
        under_way.push_back(bytes);
        check("MPI_Put", code)?;
        if under_way.len() < BUFFERS_UNDER_WAY {
            return Ok(vec![0; size]);
        }
        // SAFETY: the window is locked.
        let code = unsafe { ffi::MPI_Win_flush_local(rank, self.window) };
        check("MPI_Win_flush_local", code)?;
        let found = under_way.iter().position(|it| it.len() == size);
        Ok(found.and_then(|it| under_way.remove(it)).unwrap_or_else(|| vec![0; size]))
    }

    fn close(mut self: Box<Self>) -> Result<Buffer> {
        // SAFETY: the window is locked; all that was put has arrived after this call.
        check("MPI_Win_unlock_all", unsafe { ffi::MPI_Win_unlock_all(self.window) })?;
        self.under_way.clear();
        // SAFETY: MPI is initialized, in this thread; all ranks make this call.
        check("MPI_Barrier", unsafe { ffi::MPI_Barrier(world()) })?;
        // SAFETY: the window is not used after this call; all ranks make it.
        check("MPI_Win_free", unsafe { ffi::MPI_Win_free(&raw mut self.window) })?;
        let memory = std::mem::replace(&mut self.memory, MutableBuffer::new(0));
        Ok(Buffer::from(memory))
    }
}

impl Drop for MpiMemory {
    fn drop(&mut self) {
        // After an error, other ranks may still write to the memory, and MPI read the buffers.
        let memory = std::mem::replace(&mut self.memory, MutableBuffer::new(0));
        // SAFETY: a constant of the library.
        if self.window != unsafe { ffi::RSMPI_WIN_NULL } {
            std::mem::forget(memory);
            std::mem::forget(std::mem::take(&mut self.under_way));
        }
    }
}

fn count(number: usize) -> Result<c_int> {
    c_int::try_from(number).map_err(|_| Error::unsupported("more than 2^31 of a thing in MPI"))
}
