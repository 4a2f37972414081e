//! The tasks of a worker.

use crate::{
    protocol::TaskUpdateRequest,
    task::{Stop, WorkerTask},
    worker::Engine,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use volley_error::Result;

/// How long tasks live without a coordinator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expiry {
    /// A task whose coordinator does not ask for it is aborted after this time.
    pub client_timeout: Duration,
    /// A task that has ended is forgotten after this time.
    pub info_age_max: Duration,
}

/// Finds tasks by their identities.
pub(crate) struct TaskManager {
    engine: Arc<Engine>,
    /// `http://host:port`, where tasks are found.
    base: String,
    expiry: Expiry,
    tasks: Mutex<BTreeMap<String, Arc<WorkerTask>>>,
}

impl TaskManager {
    pub(crate) fn new(engine: Arc<Engine>, base: String, expiry: Expiry) -> TaskManager {
        TaskManager { engine, base, expiry, tasks: Mutex::default() }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The task, made if it does not exist: requests about a task may come before its fragment.
    ///
    /// # Errors
    ///
    /// Internal: no random numbers.
    pub(crate) fn task(&self, id: &str) -> Result<Arc<WorkerTask>> {
        let task = self.task_for_reader(id)?;
        task.touch();
        Ok(task)
    }

    /// As [`TaskManager::task`], for a reader of its pages: other workers go on reading when the
    /// coordinator disappears.
    ///
    /// # Errors
    ///
    /// As [`TaskManager::task`].
    pub(crate) fn task_for_reader(&self, id: &str) -> Result<Arc<WorkerTask>> {
        let mut tasks = self.lock();
        if let Some(task) = tasks.get(id) {
            return Ok(Arc::clone(task));
        }
        let location = format!("{}/v1/task/{id}", self.base);
        let task = Arc::new(WorkerTask::new(id, location, &self.engine)?);
        tasks.insert(id.to_owned(), Arc::clone(&task));
        Ok(task)
    }

    pub(crate) fn all(&self) -> Vec<Arc<WorkerTask>> {
        self.lock().values().cloned().collect()
    }

    /// Applies an update. Blocks.
    ///
    /// # Errors
    ///
    /// As [`TaskManager::task`].
    pub(crate) fn update(&self, id: &str, request: &TaskUpdateRequest) -> Result<Arc<WorkerTask>> {
        let task = self.task(id)?;
        task.update(request);
        Ok(task)
    }

    /// Aborts tasks without a coordinator and forgets tasks that ended long ago.
    pub(crate) fn expire(&self) {
        let Expiry { client_timeout, info_age_max } = self.expiry;
        for task in self.all() {
            let (last_request, is_done) = task.last_request();
            if !is_done && last_request.elapsed() > client_timeout {
                task.stop(Stop::Abort);
            }
        }
        self.lock().retain(|_, task| {
            let (last_request, is_done) = task.last_request();
            !is_done || last_request.elapsed() <= info_age_max
        });
    }

    /// Aborts all tasks.
    pub(crate) fn stop_all(&self) {
        self.all().iter().for_each(|it| it.stop(Stop::Abort));
    }

    /// How many tasks have not ended.
    pub(crate) fn running(&self) -> usize {
        self.all().iter().filter(|it| !it.state().is_done()).count()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<WorkerTask>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
