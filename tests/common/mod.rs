//! What the tests share: a naive reference for every operation, views of every
//! layout, and values made from numbers and compared by their bits.

// Each test binary takes what it needs.
#![allow(dead_code, unused_imports)]

pub(crate) mod calls;
pub(crate) mod layout;
pub(crate) mod oracle;
pub(crate) mod plans;
pub(crate) mod pools;
pub(crate) mod reduce;
pub(crate) mod value;

pub(crate) use layout::{Laid, Layout};
pub(crate) use plans::plan_of;
pub(crate) use pools::here_and_on_pools;
#[cfg(feature = "rayon")]
pub(crate) use pools::on_every_pool;
pub(crate) use reduce::{REDUCTIONS, Reduce, settled};
pub(crate) use value::{Index, Numbers, Value, array_of, assert_same, same_contents};

/// The number in an environment variable, if it is set.
pub(crate) fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}
