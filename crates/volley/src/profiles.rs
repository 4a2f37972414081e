//! Progress and profiles of the queries of a session.

use crate::{ResultStream, Session, Settings, fragment_profile, planning::Planned};
use std::{
    io::Write,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};
use volley_error::{Error, Result};
use volley_exec::{Stage, Task, TaskMonitor, TaskProgress};
use volley_io::{AccessGate, FileSystems, wait};
use volley_plan::{DistributedPlan, PlanNode, PlanNodeId};
use volley_profile::{QueryProfile, RunProfile};
use volley_schedule::DistributedQuery;

/// What a session knows of its queries.
#[derive(Default)]
pub(crate) struct Profiles {
    /// Whether the profile of the last query is kept.
    keeps_last: AtomicBool,
    /// Whether plans are to say how many rows are expected.
    expects_rows: AtomicBool,
    last: Mutex<Option<Arc<QueryProfile>>>,
    /// The tasks of each query of the session, in the order of their starts; ended ones are removed
    /// at the next.
    monitors: Mutex<Vec<Vec<TaskMonitor>>>,
    /// Pages written so far.
    written: AtomicU64,
}

/// What a profile is made of, apart from the task.
pub(crate) struct ProfileSource {
    plan: Arc<PlanNode>,
    estimates: Vec<(PlanNodeId, f64)>,
    statement: Arc<str>,
    settings: Settings,
    profiles: Arc<Profiles>,
    files: FileSystems,
    /// Whether the end of the query was seen.
    has_ended: bool,
}

impl Session {
    /// How far the statement is that runs now, for another thread; `None` when none runs. While a
    /// statement has several queries, the one that began last.
    ///
    /// ```
    /// # fn main() -> volley::Result<()> {
    /// let session = volley::Session::new()?;
    /// assert!(session.progress().is_none());
    /// let rows = session.sql("SELECT count(*) FROM range(100000)")?;
    /// if let Some(progress) = session.progress() {
    ///     assert!((0.0..=1.0).contains(&progress.done));
    /// }
    /// rows.collect()?;
    /// assert!(session.progress().is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn progress(&self) -> Option<TaskProgress> {
        let monitors = self.profiles.lock_monitors();
        let mut running = monitors.iter().rev().filter_map(|it| progress_of(it));
        running.find(|it| it.pipelines.iter().any(|it| it.stage != Stage::Done))
    }

    /// From now on, statements are planned with the rows that are expected of each step, so that
    /// [`Session::progress`] estimates the work of steps that have not begun. Planning takes a
    /// little longer.
    pub fn expect_rows(&self) {
        self.profiles.expects_rows.store(true, Ordering::Relaxed);
    }

    /// From now on, keeps the profile of the query that ended last.
    pub fn keep_last_profile(&self) {
        self.profiles.keeps_last.store(true, Ordering::Relaxed);
    }

    /// The profile of the query that ended last, after [`Session::keep_last_profile`].
    ///
    /// ```
    /// # fn main() -> volley::Result<()> {
    /// let session = volley::Session::new()?;
    /// session.keep_last_profile();
    /// session.sql("SELECT count(*) FROM range(10)")?.collect()?;
    /// let profile = session.last_profile().expect("a query ran");
    /// assert!(profile.html().contains("range(10)"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn last_profile(&self) -> Option<Arc<QueryProfile>> {
        self.profiles.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What files and networks the statements of all sessions of this engine may reach.
    pub fn access_gate(&self) -> &AccessGate {
        self.files.gate()
    }

    /// Whether plans should know how many rows are expected.
    pub(crate) fn wants_estimates(&self) -> bool {
        self.profiles.expects_rows.load(Ordering::Relaxed) || self.keeps_profiles(&self.settings())
    }

    /// Whether profiles of queries are kept or written.
    pub(crate) fn keeps_profiles(&self, settings: &Settings) -> bool {
        self.profiles.keeps_last.load(Ordering::Relaxed) || settings.profile_directory.is_some()
    }

    /// Makes a task that started known to [`Session::progress`]; what its profile is made of.
    pub(crate) fn watch(
        &self,
        task: &Task,
        planned: WatchedPlan,
        settings: Settings,
    ) -> ProfileSource {
        task.expect_rows(&planned.estimates);
        self.profiles.watch(vec![task.monitor()]);
        self.profile_source(planned, settings)
    }

    /// As [`Session::watch`], of a query of several tasks.
    pub(crate) fn watch_query(
        &self,
        query: &DistributedQuery,
        planned: WatchedPlan,
        settings: Settings,
    ) -> ProfileSource {
        self.profiles.watch(query.monitors());
        self.profile_source(planned, settings)
    }

    /// What makes the profile of a plan that is about to run.
    pub(crate) fn profile_source(&self, planned: WatchedPlan, settings: Settings) -> ProfileSource {
        ProfileSource {
            plan: planned.plan,
            estimates: planned.estimates,
            statement: planned.statement,
            settings,
            profiles: Arc::clone(&self.profiles),
            files: self.files.clone(),
            has_ended: false,
        }
    }
}

/// What a profile needs of a plan that starts.
pub(crate) struct WatchedPlan {
    plan: Arc<PlanNode>,
    estimates: Vec<(PlanNodeId, f64)>,
    statement: Arc<str>,
}

impl WatchedPlan {
    pub(crate) fn of(planned: &mut Planned) -> WatchedPlan {
        WatchedPlan {
            plan: Arc::clone(&planned.plan),
            estimates: std::mem::take(&mut planned.estimates),
            statement: Arc::clone(&planned.statement),
        }
    }
}

impl Profiles {
    fn watch(&self, tasks: Vec<TaskMonitor>) {
        let mut monitors = self.lock_monitors();
        monitors.retain(|it| !it.iter().all(TaskMonitor::is_dead));
        monitors.push(tasks);
    }

    fn lock_monitors(&self) -> std::sync::MutexGuard<'_, Vec<Vec<TaskMonitor>>> {
        self.monitors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProfileSource {
    /// The profile of the task as it is now.
    pub(crate) fn profile(&self, task: &Task, error: Option<&Error>) -> QueryProfile {
        let mut profile = QueryProfile::of_plan(&self.plan, &self.estimates);
        profile.statement = self.statement.to_string();
        profile.version = env!("CARGO_PKG_VERSION").to_owned();
        profile.settings = self.shown_settings();
        profile.with_run(task.statistics(), task.timeline(), error.map(Error::to_string))
    }

    /// The profile of a query of several tasks as it is now.
    pub(crate) fn query_profile(
        &self,
        query: &DistributedQuery,
        error: Option<&Error>,
    ) -> QueryProfile {
        let mut profile = self.described(fragment_profile::profile_of_query(query));
        if let Some(run) = &mut profile.run {
            run.error = error.map(Error::to_string);
        }
        profile
    }

    fn described(&self, mut profile: QueryProfile) -> QueryProfile {
        profile.statement = self.statement.to_string();
        profile.settings = self.shown_settings();
        profile
    }

    fn shown_settings(&self) -> Vec<(String, String)> {
        let listed = self.settings.list();
        listed.into_iter().map(|(name, value, _)| (name.to_owned(), value)).collect()
    }

    /// Keeps and writes the profile of a task that has ended, once.
    ///
    /// # Errors
    ///
    /// I/O: the page cannot be written to `profile_directory`.
    pub(crate) fn end(&mut self, task: &Task, error: Option<&Error>) -> Result<()> {
        self.end_with(|it| it.profile(task, error))
    }

    /// As [`ProfileSource::end`], of a query of several tasks.
    pub(crate) fn end_query(
        &mut self,
        query: &DistributedQuery,
        error: Option<&Error>,
    ) -> Result<()> {
        self.end_with(|it| it.query_profile(query, error))
    }

    /// As [`ProfileSource::end_query`], of a query that failed before all of its tasks had started:
    /// nothing is known of what the others did.
    pub(crate) fn end_unstarted(&mut self, plan: &DistributedPlan, error: &Error) -> Result<()> {
        self.end_with(|it| {
            let run = RunProfile { error: Some(error.to_string()), ..RunProfile::default() };
            let mut profile = it.described(fragment_profile::profile_of_plan(plan));
            profile.run = Some(run);
            profile
        })
    }

    fn end_with(&mut self, profile: impl FnOnce(&ProfileSource) -> QueryProfile) -> Result<()> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        let keeps = self.profiles.keeps_last.load(Ordering::Relaxed);
        let directory = self.settings.profile_directory.clone();
        if !keeps && directory.is_none() {
            return Ok(());
        }
        let profile = profile(self);
        let written = directory.map_or(Ok(()), |it| self.write(&it, &profile));
        if keeps {
            let mut last = self.profiles.last.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some(Arc::new(profile));
        }
        written
    }

    /// Writes the page, under a name that sorts by time.
    fn write(&self, directory: &str, profile: &QueryProfile) -> Result<()> {
        let number = self.profiles.written.fetch_add(1, Ordering::Relaxed) + 1;
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (millis, process) = (since_epoch.as_millis(), std::process::id());
        let path =
            format!("{}/query-{millis}-{process}-{number}.html", directory.trim_end_matches('/'));
        let hint = "make the folder that profile_directory names, or RESET profile_directory";
        let failed = |it: Error| it.at("profile page", &path).hint(hint);
        let mut file = self.files.create(&path).map_err(failed)?;
        let written = file.write_all(profile.html().as_bytes());
        written.map_err(|it| failed(Error::io(&path, it)))?;
        wait(file.commit()).map(drop).map_err(failed)
    }
}

impl ResultStream {
    /// What the query did so far, with its plan; `None` when no plan runs. Of a query of several
    /// tasks, what all of them did.
    ///
    /// ```
    /// # fn main() -> volley::Result<()> {
    /// let session = volley::Session::new()?;
    /// let mut rows = session.sql("SELECT count(*) FROM range(10)")?;
    /// while rows.next()?.is_some() {}
    /// let profile = rows.profile().expect("a plan ran");
    /// assert!(profile.text().contains("Aggregation"));
    /// assert!(profile.json().starts_with("{\"format\":1,"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn profile(&self) -> Option<QueryProfile> {
        if let Some((query, source)) = self.distributed_query() {
            return Some(source.query_profile(query, None));
        }
        let (task, source) = self.task_and_source()?;
        let outcome = task.outcome().and_then(Result::err);
        Some(source.profile(task, outcome.as_ref()))
    }
}

/// How far the tasks of a query are together; `None` once all of them were dropped.
fn progress_of(tasks: &[TaskMonitor]) -> Option<TaskProgress> {
    let all: Vec<TaskProgress> = tasks.iter().filter_map(TaskMonitor::progress).collect();
    let mut whole = TaskProgress::default();
    if all.is_empty() {
        return None;
    }
    // Tasks that wait for others have done nothing yet, and the last one ends the query.
    whole.done = all.iter().map(|it| it.done).sum::<f64>() / all.len() as f64;
    whole.elapsed = all.iter().map(|it| it.elapsed).max().unwrap_or_default();
    whole.remaining = all.iter().filter_map(|it| it.remaining).max();
    for task in all {
        whole.rows += task.rows;
        whole.bytes += task.bytes;
        whole.pipelines.extend(task.pipelines);
    }
    Some(whole)
}
