//! What ends a call early: an index out of bounds that the policy refuses.
//!
//! The parts of a call note it in a [`Refusal`], which those that take long look at from time to time. Functions return
//! [`Refused`]; which index it was, the caller finds by
//! [`Indices::first_outside`](super::indices::Indices::first_outside).

use std::sync::atomic::Ordering;

use crate::error::{Error, Result};
use crate::sync::AtomicBool;

/// An index is out of bounds, and the policy refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused;

/// Whether a part of a call has met an index that is refused.
pub(super) struct Refusal(AtomicBool);

impl Refusal {
    pub(super) fn new() -> Self {
        Refusal(AtomicBool::new(false))
    }

    /// Notes that an index is refused.
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// What the call returns, once all of its parts have ended.
    pub(super) fn result(self) -> Result<(), Refused> {
        if self.0.into_inner() { Err(Refused) } else { Ok(()) }
    }
}

/// Why a call that may need work memory ended early.
pub(crate) enum Failure {
    /// An index was refused.
    Index,
    /// Anything else.
    Error(Error),
}

impl Failure {
    /// The error that the caller sees: `first_outside` finds the index that was refused.
    pub(crate) fn error(self, first_outside: impl FnOnce() -> Error) -> Error {
        match self {
            Failure::Index => first_outside(),
            Failure::Error(error) => error,
        }
    }
}

impl From<Refused> for Failure {
    fn from(_: Refused) -> Self {
        Failure::Index
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error(error)
    }
}
