//! What statements change of a session, and tables that describe it show.

use crate::{Settings, reject_scans::RejectScans, variables::Variable};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use volley_types::{Type, Value};

/// Settings and variables of one session.
#[derive(Debug)]
pub(crate) struct SessionState {
    settings: Mutex<Settings>,
    /// What SET VARIABLE gave values, by lower-case name.
    variables: Mutex<BTreeMap<String, Variable>>,
    /// Scans of CSV that collect lines that do not fit.
    reject_scans: RejectScans,
}

impl SessionState {
    /// These settings, and no variables.
    pub(crate) fn new(settings: Settings) -> SessionState {
        let (variables, reject_scans) = (Mutex::default(), RejectScans::default());
        SessionState { settings: Mutex::new(settings), variables, reject_scans }
    }

    /// The settings as they are now.
    pub(crate) fn settings(&self) -> Settings {
        self.lock_settings().clone()
    }

    /// The settings, to change them.
    pub(crate) fn lock_settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scans of CSV that collect lines that do not fit.
    pub(crate) fn reject_scans(&self) -> &RejectScans {
        &self.reject_scans
    }

    /// Gives a variable a value.
    pub(crate) fn set_variable(&self, name: &str, variable: Variable) {
        self.lock_variables().insert(name.to_lowercase(), variable);
    }

    /// Removes a variable, if it is there.
    pub(crate) fn reset_variable(&self, name: &str) {
        self.lock_variables().remove(&name.to_lowercase());
    }

    /// The value and type of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<(Value, Type)> {
        self.lock_variables().get(&name.to_lowercase()).map(Variable::to_pair)
    }

    /// All variables by name, with values and types.
    pub(crate) fn variables(&self) -> Vec<(String, (Value, Type))> {
        let variables = self.lock_variables();
        variables.iter().map(|(name, it)| (name.clone(), it.to_pair())).collect()
    }

    fn lock_variables(&self) -> MutexGuard<'_, BTreeMap<String, Variable>> {
        self.variables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
