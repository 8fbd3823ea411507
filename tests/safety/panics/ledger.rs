//! Elements that report each birth and death, and whose clones panic on
//! demand.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a clone panics with.
pub(super) struct Spark;

/// When clones panic.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fuse {
    Never,
    /// The clone of this number, counted from 1.
    At(u64),
    /// That one and all after it, on whichever thread.
    #[cfg_attr(not(feature = "rayon"), expect(dead_code, reason = "asked for on thread pools"))]
    From(u64),
}

/// Who lives, and how many clones are left before one panics.
#[derive(Debug)]
pub(super) struct Ledger {
    alive: Mutex<Option<BTreeSet<u64>>>,
    born: AtomicU64,
    count: AtomicI64,
    /// Deaths of elements that did not live.
    strangers: AtomicU64,
    clones_left: AtomicU64,
    then_all: AtomicBool,
}

impl Ledger {
    pub(super) const fn new() -> Self {
        Ledger {
            alive: Mutex::new(None),
            born: AtomicU64::new(0),
            count: AtomicI64::new(0),
            strangers: AtomicU64::new(0),
            clones_left: AtomicU64::new(0),
            then_all: AtomicBool::new(false),
        }
    }

    pub(super) fn arm(&self, fuse: Fuse) {
        let (number, all) = match fuse {
            Fuse::Never => (0, false),
            Fuse::At(number) => (number, false),
            Fuse::From(number) => (number, true),
        };
        self.clones_left.store(number, Ordering::SeqCst);
        self.then_all.store(all, Ordering::SeqCst);
    }

    /// How many elements live.
    pub(super) fn count(&self) -> i64 {
        self.count.load(Ordering::SeqCst)
    }

    pub(super) fn lives(&self, id: u64) -> bool {
        self.with_alive(|alive| alive.contains(&id))
    }

    /// Fails if some element died that did not live.
    #[track_caller]
    pub(super) fn assert_no_strangers(&self) {
        assert_eq!(self.strangers.load(Ordering::SeqCst), 0, "an element was dropped twice");
    }

    fn with_alive<R>(&self, look: impl FnOnce(&mut BTreeSet<u64>) -> R) -> R {
        let mut alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        look(alive.get_or_insert_default())
    }

    fn birth(&self) -> u64 {
        let id = self.born.fetch_add(1, Ordering::SeqCst) + 1;
        self.count.fetch_add(1, Ordering::SeqCst);
        self.with_alive(|alive| alive.insert(id));
        id
    }

    fn death(&self, id: u64) {
        self.count.fetch_sub(1, Ordering::SeqCst);
        if !self.with_alive(|alive| alive.remove(&id)) {
            self.strangers.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// One clone; the one that the fuse names does not return.
    fn spend(&self) {
        let one_less = |left: u64| left.checked_sub(1);
        let left = self.clones_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        if left != Ok(1) {
            return;
        }
        if self.then_all.load(Ordering::SeqCst) {
            self.clones_left.fetch_add(1, Ordering::SeqCst);
        }
        // Unwinds like any panic, without the hook that would print thousands
        // of messages.
        std::panic::resume_unwind(Box::new(Spark));
    }
}

/// An element type of these tests.
pub(super) trait Element<'l>: Clone + Send + Sync {
    /// How many entries in the ledger one element has.
    const ENTRIES: usize;

    fn new(value: u32, ledger: &'l Ledger) -> Self;
    fn value(&self) -> u32;
    /// The numbers in the ledger.
    fn ids(&self) -> Vec<u64>;

    /// What `value` says of an element made from a number.
    fn seen(value: u32) -> u32 {
        value
    }
}

/// Needs dropping, and owns memory that a leak would leave.
#[derive(Debug)]
pub(super) struct Counted<'l> {
    ledger: &'l Ledger,
    id: u64,
    value: Box<u32>,
}

impl<'l> Element<'l> for Counted<'l> {
    const ENTRIES: usize = 1;

    fn new(value: u32, ledger: &'l Ledger) -> Self {
        Counted { ledger, id: ledger.birth(), value: Box::new(value) }
    }
    fn value(&self) -> u32 {
        *self.value
    }
    fn ids(&self) -> Vec<u64> {
        vec![self.id]
    }
}

impl Clone for Counted<'_> {
    fn clone(&self) -> Self {
        self.ledger.spend();
        Self::new(*self.value, self.ledger)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.ledger.death(self.id);
    }
}

/// Needs no dropping, though its clone may panic.
#[derive(Debug)]
pub(super) struct Plain<'l> {
    ledger: &'l Ledger,
    value: u32,
}

impl<'l> Element<'l> for Plain<'l> {
    const ENTRIES: usize = 0;

    fn new(value: u32, ledger: &'l Ledger) -> Self {
        Plain { ledger, value }
    }
    fn value(&self) -> u32 {
        self.value
    }
    fn ids(&self) -> Vec<u64> {
        Vec::new()
    }
}

impl Clone for Plain<'_> {
    fn clone(&self) -> Self {
        self.ledger.spend();
        Plain { ..*self }
    }
}

/// Elements in elements: a panic leaves a clone that is done in part.
#[derive(Debug, Clone)]
pub(super) struct Nested<'l> {
    first: Counted<'l>,
    name: String,
    others: Vec<Counted<'l>>,
}

impl<'l> Element<'l> for Nested<'l> {
    const ENTRIES: usize = 3;

    fn new(value: u32, ledger: &'l Ledger) -> Self {
        let counted = || Counted::new(value, ledger);
        let others = vec![counted(), counted()];
        Nested { first: counted(), name: value.to_string(), others }
    }
    fn value(&self) -> u32 {
        let value = self.first.value();
        assert_eq!(self.name, value.to_string());
        assert!(self.others.len() == 2 && self.others.iter().all(|other| other.value() == value));
        value
    }
    fn ids(&self) -> Vec<u64> {
        self.others.iter().chain([&self.first]).map(|counted| counted.id).collect()
    }
}

/// The ledger of elements that have no room to name one. They are counted,
/// not told apart, in the one test that uses it.
pub(super) static OF_NOTHING: Ledger = Ledger::new();

/// Has no size, and needs dropping.
#[derive(Debug)]
pub(super) struct Nothing;

impl Element<'static> for Nothing {
    const ENTRIES: usize = 1;

    fn new(_value: u32, _ledger: &'static Ledger) -> Self {
        OF_NOTHING.count.fetch_add(1, Ordering::SeqCst);
        Nothing
    }
    fn value(&self) -> u32 {
        0
    }
    fn ids(&self) -> Vec<u64> {
        Vec::new()
    }
    fn seen(_value: u32) -> u32 {
        0
    }
}

impl Clone for Nothing {
    fn clone(&self) -> Self {
        OF_NOTHING.spend();
        Self::new(0, &OF_NOTHING)
    }
}

impl Drop for Nothing {
    fn drop(&mut self) {
        OF_NOTHING.count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Has no size, and needs no dropping.
#[derive(Debug)]
pub(super) struct Void;

impl Element<'static> for Void {
    const ENTRIES: usize = 0;

    fn new(_value: u32, _ledger: &'static Ledger) -> Self {
        Void
    }
    fn value(&self) -> u32 {
        0
    }
    fn ids(&self) -> Vec<u64> {
        Vec::new()
    }
    fn seen(_value: u32) -> u32 {
        0
    }
}

impl Clone for Void {
    fn clone(&self) -> Self {
        OF_NOTHING.spend();
        Void
    }
}

macro_rules! aligned {
    ($($(#[$doc:meta])* $name:ident: $align:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone)]
        #[repr(align($align))]
        pub(super) struct $name<E>(E);

        impl<'l, E: Element<'l>> Element<'l> for $name<E> {
            const ENTRIES: usize = E::ENTRIES;

            fn new(value: u32, ledger: &'l Ledger) -> Self {
                $name(E::new(value, ledger))
            }
            fn value(&self) -> u32 {
                assert_eq!(std::ptr::from_ref(self).addr() % $align, 0, "not aligned");
                self.0.value()
            }
            fn ids(&self) -> Vec<u64> {
                self.0.ids()
            }
            fn seen(value: u32) -> u32 {
                E::seen(value)
            }
        }
    )*};
}
aligned! {
    /// As long as a cache line.
    Line: 64;
    /// As long as a page.
    Page: 4096;
}
