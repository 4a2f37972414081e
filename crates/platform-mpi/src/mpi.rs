//! Messages of MPI: `MPI_Isend` from buffers that live until they are sent, `MPI_Iprobe` and
//! `MPI_Recv` for those that arrive.

use crate::messenger::Messenger;
use mpi_sys as ffi;
use std::{ffi::c_int, marker::PhantomData, mem::MaybeUninit, ptr::null_mut};
use volley_error::{Error, ErrorKind, Result};

/// The tag of all messages.
const TAG: c_int = 7;

/// The messages of a process of a job. It belongs to the thread that made it.
pub struct MpiMessenger {
    rank: usize,
    ranks: usize,
    ranks_of_machine: usize,
    sends: Vec<SendUnderWay>,
    /// MPI was told that one thread calls it.
    _one_thread: PhantomData<*const ()>,
}

/// A message that MPI reads until its request is done.
struct SendUnderWay {
    request: ffi::MPI_Request,
    _message: Vec<u8>,
}

impl MpiMessenger {
    /// Initializes MPI in this thread, once per process.
    ///
    /// # Errors
    ///
    /// What MPI reports; internal: MPI was initialized before.
    pub fn join() -> Result<MpiMessenger> {
        let mut is_initialized = 0;
        // SAFETY: MPI_Initialized may be called at any time, with a place for its answer.
        check("MPI_Initialized", unsafe { ffi::MPI_Initialized(&raw mut is_initialized) })?;
        if is_initialized != 0 {
            return Err(Error::internal("MPI was initialized before"));
        }
        // SAFETY: a constant of the library.
        let (wanted, mut provided) = (unsafe { ffi::RSMPI_THREAD_FUNNELED }, 0);
        // SAFETY: MPI is not initialized; no arguments are passed on; the last one is a place for
        // the answer.
        let code =
            unsafe { ffi::MPI_Init_thread(null_mut(), null_mut(), wanted, &raw mut provided) };
        check("MPI_Init_thread", code)?;
        // SAFETY: a constant of the library.
        let errors_return = unsafe { ffi::RSMPI_ERRORS_RETURN };
        // SAFETY: MPI is initialized, and both arguments are its constants.
        let code = unsafe { ffi::MPI_Comm_set_errhandler(world(), errors_return) };
        check("MPI_Comm_set_errhandler", code)?;
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: MPI is initialized; a place for the answer.
        check("MPI_Comm_rank", unsafe { ffi::MPI_Comm_rank(world(), &raw mut rank) })?;
        // SAFETY: MPI is initialized; a place for the answer.
        check("MPI_Comm_size", unsafe { ffi::MPI_Comm_size(world(), &raw mut ranks) })?;
        Ok(MpiMessenger {
            rank: size(rank)?,
            ranks: size(ranks)?,
            ranks_of_machine: size(ranks_of_machine(rank)?)?,
            sends: Vec::new(),
            _one_thread: PhantomData,
        })
    }
}

/// The communicator of all processes.
pub(crate) fn world() -> ffi::MPI_Comm {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_COMM_WORLD }
}

/// The type of bytes.
pub(crate) fn byte_type() -> ffi::MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_UINT8_T }
}

/// How many processes share the memory of this one's machine. All processes call it.
fn ranks_of_machine(rank: c_int) -> Result<c_int> {
    // SAFETY: constants of the library.
    let (kind, info) = (unsafe { ffi::RSMPI_COMM_TYPE_SHARED }, unsafe { ffi::RSMPI_INFO_NULL });
    // SAFETY: a constant of the library.
    let mut machine = unsafe { ffi::RSMPI_COMM_NULL };
    // SAFETY: MPI is initialized, all processes call it, the last argument is a place for the
    // communicator.
    let code = unsafe { ffi::MPI_Comm_split_type(world(), kind, rank, info, &raw mut machine) };
    check("MPI_Comm_split_type", code)?;
    let mut ranks = 0;
    // SAFETY: the communicator was made above; a place for the answer.
    check("MPI_Comm_size", unsafe { ffi::MPI_Comm_size(machine, &raw mut ranks) })?;
    // SAFETY: the communicator was made above and is not used after this call.
    check("MPI_Comm_free", unsafe { ffi::MPI_Comm_free(&raw mut machine) })?;
    Ok(ranks)
}

fn size(number: c_int) -> Result<usize> {
    usize::try_from(number).map_err(|_| Error::internal("a negative number of MPI"))
}

/// What a call of MPI has answered.
pub(crate) fn check(call: &'static str, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Io, format!("{call} reports error {code}"));
    Err(error.hint("a process of the job ended, or the network failed; start the job again"))
}

impl Messenger for MpiMessenger {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn ranks_of_machine(&self) -> usize {
        self.ranks_of_machine
    }

    fn send(&mut self, to: usize, message: Vec<u8>) -> Result<()> {
        let to = c_int::try_from(to).map_err(|_| Error::internal("no such rank"))?;
        let len = c_int::try_from(message.len()).map_err(|_| {
            let error = Error::unsupported("message of more than 2 GiB between processes");
            error.hint("SET exchange_page_bytes to less, or split very large values")
        })?;
        // SAFETY: a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        let data = message.as_ptr().cast();
        // SAFETY: MPI is initialized, in this thread; `data` has `len` bytes, which stay where they
        // are until the request is done, as the vector is kept with it; a place for the request.
        let code =
            unsafe { ffi::MPI_Isend(data, len, byte_type(), to, TAG, world(), &raw mut request) };
        check("MPI_Isend", code)?;
        self.sends.push(SendUnderWay { request, _message: message });
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<(usize, Vec<u8>)>> {
        let (mut is_there, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::uninit());
        // SAFETY: a constant of the library.
        let any = unsafe { ffi::RSMPI_ANY_SOURCE };
        // SAFETY: MPI is initialized, in this thread; places for the answers.
        let code =
            unsafe { ffi::MPI_Iprobe(any, TAG, world(), &raw mut is_there, status.as_mut_ptr()) };
        check("MPI_Iprobe", code)?;
        if is_there == 0 {
            return Ok(None);
        }
        // SAFETY: MPI_Iprobe has found a message, and so written the status.
        let mut status = unsafe { status.assume_init() };
        let (from, mut len) = (status.MPI_SOURCE, 0);
        // SAFETY: the status of a message; a place for the answer.
        let code = unsafe { ffi::MPI_Get_count(&raw const status, byte_type(), &raw mut len) };
        check("MPI_Get_count", code)?;
        let bytes = size(len)?;
        let mut message: Vec<u8> = Vec::with_capacity(bytes);
        let data = message.as_mut_ptr().cast();
        // SAFETY: MPI is initialized, in this thread; `data` has room for `len` bytes; a place for
        // the status.
        let code =
            unsafe { ffi::MPI_Recv(data, len, byte_type(), from, TAG, world(), &raw mut status) };
        check("MPI_Recv", code)?;
        // SAFETY: MPI_Recv has written the message, which has `bytes` bytes: no other thread can
        // have received it between the two calls.
        unsafe { message.set_len(bytes) };
        Ok(Some((size(from)?, message)))
    }

    fn is_sending(&mut self) -> Result<bool> {
        let mut left = Vec::with_capacity(self.sends.len());
        for mut send in self.sends.drain(..) {
            let mut is_done = 0;
            // SAFETY: a constant of the library.
            let status = unsafe { ffi::RSMPI_STATUS_IGNORE };
            // SAFETY: MPI is initialized, in this thread; the request is one of MPI_Isend that was
            // not done before; a place for the answer.
            let code = unsafe { ffi::MPI_Test(&raw mut send.request, &raw mut is_done, status) };
            check("MPI_Test", code)?;
            if is_done == 0 {
                left.push(send);
            }
        }
        self.sends = left;
        Ok(!self.sends.is_empty())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        // SAFETY: MPI is initialized, in this thread, and nothing is being sent.
        check("MPI_Finalize", unsafe { ffi::MPI_Finalize() })
    }
}

impl Drop for MpiMessenger {
    fn drop(&mut self) {
        // After an error, MPI may still read messages that were not sent.
        for send in self.sends.drain(..) {
            std::mem::forget(send);
        }
    }
}
