//! Synchronisation between the parts of a call: flags, by which a part tells the others to stop
//! early, and locks, each of which only one part takes, so that no part waits.
//!
//! A flag publishes no other memory, so its loads and stores are relaxed. A flag that decides
//! about a result is read after the driver (`parallel`) has joined all parts, which orders it.
//!
//! Under `cfg(shuttle)` these are the types of shuttle, which interrupts the thread at each use
//! and continues with a thread that it draws at random.

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
