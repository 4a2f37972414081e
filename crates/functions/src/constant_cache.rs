//! A cache of the compiled form of the last text, such as a pattern or a path, for columns in which
//! many rows have the same one.

use std::{cell::RefCell, rc::Rc};
use volley_error::Result;

/// The last text and its compiled form.
pub struct ConstantCache<T> {
    last: RefCell<Option<(String, Rc<T>)>>,
}

impl<T> Default for ConstantCache<T> {
    fn default() -> ConstantCache<T> {
        ConstantCache { last: RefCell::new(None) }
    }
}

impl<T> ConstantCache<T> {
    /// The compiled form of `text`: the cached one if the text is the last one, or the result of
    /// `make`.
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
