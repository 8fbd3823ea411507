//! What the parts of a call share: flags, which say that there is no use in going
//! on, and locks, each of which one part takes and nobody waits for.
//!
//! A flag publishes nothing but itself, so its order is relaxed. What decides about a
//! result is read after the driver has waited for all parts, which orders it.
//!
//! Under `cfg(shuttle)` they are shuttle's: it stops at each use, and goes on with the
//! thread that it draws.

#[cfg(all(test, shuttle))]
pub(crate) use shuttle::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU32},
};
#[cfg(not(all(test, shuttle)))]
pub(crate) use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU32},
};

#[cfg(all(test, shuttle))]
mod tests;
