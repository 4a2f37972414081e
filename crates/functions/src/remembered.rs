//! What texts such as patterns and paths mean, found out once where many rows have the same one.

use std::{cell::RefCell, rc::Rc};
use volley_error::Result;

/// What the last text means.
pub struct Remembered<T> {
    last: RefCell<Option<(String, Rc<T>)>>,
}

impl<T> Default for Remembered<T> {
    fn default() -> Remembered<T> {
        Remembered { last: RefCell::new(None) }
    }
}

impl<T> Remembered<T> {
    /// What `text` means: what it meant the last time, or else what `make` says.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub fn get(&self, text: &str, make: impl FnOnce(&str) -> Result<T>) -> Result<Rc<T>> {
        let mut last = self.last.borrow_mut();
        if let Some((known, made)) = &*last
            && known == text
        {
            return Ok(Rc::clone(made));
        }
        let made = Rc::new(make(text)?);
        *last = Some((text.to_owned(), Rc::clone(&made)));
        Ok(made)
    }
}
