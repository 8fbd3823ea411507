//! A table of bad and extreme inputs. Each gives the error or the result that
//! the documentation names, in every form of its operation, and leaves a
//! target that it does not fill as it was, to the bit.

mod forms;
mod gather;
mod indices;
mod messages;
mod roll;
mod scatter_elements;
#[cfg(target_pointer_width = "64")]
mod sizes;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The inputs tried so far, by name.
#[derive(Default)]
struct Table {
    names: HashSet<String>,
    failures: Vec<String>,
}

impl Table {
    /// Runs `check`, which panics unless the input called `name` gets its
    /// answer. A panic of the operation itself is a failure like any other.
    fn case(&mut self, name: impl Into<String>, check: impl FnOnce()) {
        let name = name.into();
        if catch_unwind(AssertUnwindSafe(check)).is_err() {
            self.failures.push(name.clone());
        }
        assert!(!self.names.contains(&name), "two inputs are called {name}");
        self.names.insert(name);
    }
}

#[test]
fn every_bad_input_gets_its_answer() {
    let mut table = Table::default();
    messages::cases(&mut table);
    indices::cases(&mut table);
    gather::cases(&mut table);
    roll::cases(&mut table);
    scatter_elements::cases(&mut table);
    #[cfg(target_pointer_width = "64")]
    sizes::cases(&mut table);
    let Table { names, failures } = table;
    println!("{} inputs", names.len());
    assert!(failures.is_empty(), "{} of {} failed: {failures:#?}", failures.len(), names.len());
    assert!(names.len() >= 200, "only {} inputs were tried", names.len());
}
