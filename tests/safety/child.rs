//! Tests that run in a process of their own: because a fault would end it, or
//! because its memory is limited.

use std::env;
use std::process::Command;

/// Names the case that a process of its own is to run.
const CASE: &str = "OPKERNELS_TEST_CASE";

/// What a process of its own is given.
#[derive(Debug, Default)]
pub(crate) struct Limits<'a> {
    /// KiB of addresses, if there is a limit.
    pub(crate) addresses: Option<u32>,
    pub(crate) variables: &'a [(&'a str, &'a str)],
}

/// The case that this process is to run, if it was started for one.
pub(crate) fn case() -> Option<String> {
    env::var(CASE).ok()
}

/// Whether stacks and memory are what a program has without tools:
/// AddressSanitizer takes far more of both.
pub(crate) fn untooled() -> bool {
    env::var_os("ASAN_OPTIONS").is_none()
}

/// Runs one case of a test, called `name` within this executable, in a process
/// of its own. What that printed, if it failed.
pub(crate) fn run(name: &str, case: &str, limits: &Limits<'_>) -> Result<(), String> {
    let this = env::current_exe().expect("the executable has a path");
    let mut command = match limits.addresses {
        None => Command::new(this),
        Some(addresses) => {
            let mut command = Command::new("sh");
            let script = format!("ulimit -v {addresses} && exec \"$0\" \"$@\"");
            command.args(["-c", &script]).arg(this);
            command
        }
    };
    command.args(["--exact", name, "--nocapture", "--include-ignored", "--test-threads", "1"]);
    command.env(CASE, case).env_remove("RUST_MIN_STACK").env("RUST_BACKTRACE", "0");
    command.envs(limits.variables.iter().copied());
    let output = command.output().expect("a process can be started");
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let lines: Vec<&str> = printed.lines().collect();
        let last = &lines[lines.len().saturating_sub(12)..];
        return Err(format!("{case}: {}\n    {}", output.status, last.join("\n    ")));
    }
    assert!(printed.contains("1 passed"), "no test is called {name}:\n{printed}");
    Ok(())
}

/// Runs all cases, and fails if some did.
pub(crate) fn run_all<'c>(
    name: &str,
    cases: impl IntoIterator<Item = &'c str>,
    limits: &Limits<'_>,
) {
    let run = |case| run(name, case, limits).err();
    let failures: Vec<String> = cases.into_iter().filter_map(run).collect();
    assert!(failures.is_empty(), "{} cases failed:\n{}", failures.len(), failures.join("\n"));
}
