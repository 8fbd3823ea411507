#!/usr/bin/env python3
"""Runs every mutant of the crate's source against the tests that reach it:

    scripts/mutants.py [files, such as 'src/memory/walk/*.rs']...

`cargo mutants --list` says what the mutants are. A build for each would take days. So
scripts/mutants writes all of them into a copy of the crate, where a variable of the
environment chooses one, and there is one build, with small thresholds
(src/threshold.rs). Mutants that do not compile are found by building and left out, and
those of constants are listed and not run. Then each test runs once, to see how long
it takes and which mutants it reaches, and each mutant runs the tests that reach it,
those first that were quick and caught many of its file, until one fails or does not
end, or until SECONDS (30) of a processor are spent. Outcomes are kept in
target/mutants/outcomes.tsv; the next run goes on with what is left, and ONLY=missed tries
again those that survived, which takes into account what tests came since. SHARD=0/4
takes every fourth mutant, JOBS (1) so many at a time, TESTS names other tests, MATCH those mutants whose names it is
found in (a regular expression). Needs x86-64 Linux and rustup.
"""
import collections
import concurrent.futures
import hashlib
import json
import math
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = Path(os.environ.get("MUTANTS_OUT", ROOT / "target/mutants"))
COPY = OUT / "copy"
FILES = sys.argv[1:] or [
    "src/*/plan.rs", "src/family/*.rs", "src/memory/**/*.rs", "src/index/*.rs", "src/roll/run.rs", "src/parallel.rs"
]
SECONDS = float(os.environ.get("SECONDS", 30))
# Tests that take longer catch hardly anything that others do not.
LONGEST = float(os.environ.get("LONGEST", 5))
TESTS = os.environ.get(
    "TESTS", "lib semantics gather roll scatter_elements family properties corpus guard_pages parallel safety"
).split()
# The random inputs of the corpus, from the first on so many: tests that follow each other.
PARTS = [(0, 20), (20, 60), (80, 220)]
# Such as need the machine for themselves, or gigabytes.
SKIPPED = re.compile(r"huge|large_on_32|refused_threads|memory_limits")
ENVIRONMENT = dict(
    os.environ, RUSTFLAGS="--cfg small_thresholds --cap-lints allow", CARGO_INCREMENTAL="0",
    CARGO_TARGET_DIR=str(OUT / "target"), CARGO_PROFILE_DEV_OPT_LEVEL="1", CARGO_PROFILE_DEV_DEBUG="0",
    PROPTEST_CASES="32", GUARD_CALLS="10", RUST_BACKTRACE="0", MALLOC_ARENA_MAX="2", PROPTEST_FAILURE_PERSISTENCE="off",
)
FEATURES = ["-p", "opkernels", "--features", "half,num-complex"]

# Which mutant runs, and which places of mutants were reached: asked before main
# begins, written after it ends, so that tests that count or refuse allocations see none.
CHOICE = """
pub(crate) mod mutant {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
    static CHOSEN: AtomicU32 = AtomicU32::new(u32::MAX);
    static RECORDS: AtomicBool = AtomicBool::new(false);
    static REACHED: [AtomicBool; MUTANTS] = [const { AtomicBool::new(false) }; MUTANTS];
    #[inline]
    pub(crate) fn is(number: u32) -> bool {
        if RECORDS.load(Relaxed) {
            REACHED[number as usize].store(true, Relaxed);
        }
        CHOSEN.load(Relaxed) == number
    }
    extern "C" fn begin() {
        if let Ok(number) = std::env::var("MUTANT") {
            CHOSEN.store(number.parse().unwrap(), Relaxed);
        }
        RECORDS.store(std::env::var("MUTANTS_REACHED").is_ok(), Relaxed);
    }
    extern "C" fn end() {
        use std::io::Write;
        if let Ok(name) = std::env::var("MUTANTS_REACHED") {
            let all = (0..MUTANTS).filter(|&k| REACHED[k].load(Relaxed));
            let text: String = all.map(|k| format!("{k}\\n")).collect();
            let mut file = std::fs::OpenOptions::new().append(true).create(true).open(name).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
    }
    #[used]
    #[unsafe(link_section = ".init_array")]
    static BEGIN: extern "C" fn() = begin;
    #[used]
    #[unsafe(link_section = ".fini_array")]
    static END: extern "C" fn() = end;
}
"""


def say(*words):
    print(time.strftime("%H:%M:%S"), *words, flush=True)


def listed():
    """All mutants, as cargo-mutants names them. It passes over what is unsafe, the kernels, and
    what is called `new`, so it is shown sources in which nothing is, with all in its place."""
    shown = OUT / "shown"
    copied(shown)
    for path in shown.glob("src/**/*.rs"):
        text = re.sub(r"\bunsafe (?=fn )", " " * 7, path.read_text())
        path.write_text(re.sub(r"\bfn new\b", "fn neW", text))
    command = ["cargo", "mutants", "--list", "--json", "--exclude", "**/tests.rs"]
    for name in FILES:
        command += ["--file", name]
    said = subprocess.run(command, cwd=shown, check=True, stdout=subprocess.PIPE, text=True).stdout
    mutants = json.loads(said)
    for mutant in mutants:
        mutant["name"] = re.sub(r"\bneW\b", "new", mutant["name"])
    mutants = [mutant for mutant in mutants if re.search(os.environ.get("MATCH", ""), mutant["name"])]
    (OUT / "list.json").write_text(json.dumps(mutants))
    return mutants


def copied(folder):
    """A fresh copy of the sources."""
    shutil.rmtree(folder, ignore_errors=True)
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    for name in names.split("\n"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def chosen_from(count):
    """The copy that is built, with what chooses one of so many mutants."""
    copied(COPY)
    with open(COPY / "src/lib.rs", "a") as file:
        file.write(CHOICE.replace("MUTANTS]", f"{count}]").replace("..MUTANTS)", f"..{count})"))


def cargo(*arguments):
    """What the compiler says, message by message."""
    run = subprocess.run(
        ["cargo", *arguments, "--message-format=json"], cwd=COPY, env=ENVIRONMENT,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    return run, [json.loads(line) for line in run.stdout.split("\n") if line.startswith("{")]


NUMBER = re.compile(r"crate::mutant::is\((\d+)u32\)")


def last_arm(lines, first):
    """The last arm without which a match is to do, of the match that begins in this line."""
    indent = re.match(" *", lines[first]).group()
    found = set()
    for line in lines[first + 1 :]:
        if line.startswith(indent + "    ") and line[len(indent) + 4] != " ":
            found = set(map(int, re.findall(r"!" + NUMBER.pattern, line))) or found
        if line.startswith(indent + "}"):
            break
    return found


def blamed(message):
    """The mutants in whose branches the compiler found an error."""
    spans = sorted(message["spans"], key=lambda span: not span["is_primary"])
    for span in spans:
        path = COPY / span["file_name"]
        if not path.is_file():
            continue
        lines = path.read_text().split("\n")
        # An arm too few: the others may do without one of those before.
        if (message["code"] or {}).get("code") == "E0004":
            return last_arm(lines, span["line_start"] - 1)
        for line in range(span["line_start"] - 1, max(span["line_start"] - 40, -1), -1):
            found = NUMBER.findall(lines[line])
            if found:
                return {int(found[-1])}
    return set()


def compiled(count):
    """The mutants of which one build is made."""
    left_out = {}
    transform = ["cargo", "run", "-q", "--release", "--manifest-path", str(ROOT / "scripts/mutants/Cargo.toml"), "--target-dir", str(OUT / "target")]
    while True:
        chosen_from(count)
        said = subprocess.run(
            [*transform, "--", str(OUT / "list.json"), str(COPY), *map(str, left_out)], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        run, messages = cargo("check", "--lib", *FEATURES)
        errors = [m["message"] for m in messages if m["reason"] == "compiler-message" and m["message"]["level"] == "error"]
        if run.returncode == 0:
            return {int(number) for number in said.split()}, left_out
        new = {}
        for error in errors:
            for number in blamed(error):
                new[number] = error["message"]
        say(f"{len(errors)} errors, {len(new)} mutants do not compile")
        if not new.keys() - left_out.keys():
            sys.exit("errors that belong to no mutant:\n" + "\n".join(error["rendered"] or "" for error in errors) + run.stderr)
        left_out.update(new)


def built():
    """The tests' executables."""
    tests = [f for name in TESTS for f in (["--lib"] if name == "lib" else ["--test", name])]
    run, messages = cargo("test", "--no-run", *tests, *FEATURES)
    if run.returncode:
        sys.exit("\n".join(m["message"]["rendered"] for m in messages if m["reason"] == "compiler-message") + run.stderr)
    return {m["target"]["name"]: m["executable"] for m in messages if m.get("executable")}


def execute(test, seconds, **more):
    """Whether a test passes, nothing where it does not end, and how many seconds of a
    processor it takes: a busy machine is no reason to call a mutant caught."""
    program, name, variables = test

    def limited():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))

    run = subprocess.Popen(
        [program, name, "--exact", "--test-threads=1"], cwd=COPY,
        env={**ENVIRONMENT, "CARGO_MANIFEST_DIR": str(COPY), **dict(variables), **more},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, preexec_fn=limited,
    )
    # Threads that wait for each other take no time of a processor. Tests start
    # processes of their own.
    waits = threading.Timer(60 + 10 * seconds, os.killpg, (run.pid, signal.SIGKILL))
    waits.start()
    _, status, usage = os.wait4(run.pid, 0)
    waits.cancel()
    run.returncode = os.waitstatus_to_exitcode(status)
    ended = run.returncode not in (-signal.SIGXCPU, -signal.SIGKILL)
    return run.returncode == 0 if ended else None, usage.ru_utime + usage.ru_stime


def reached(programs, pool):
    """For each mutant the tests that come by it, and how long each test takes."""

    def record(test):
        file = OUT / f"reached-{threading.get_ident()}"
        file.unlink(missing_ok=True)
        passed, took = execute(test, LONGEST, MUTANTS_REACHED=str(file))
        return passed, took, set(file.read_text().split()) if file.exists() else ()

    all_tests = []
    for binary, program in programs.items():
        names = subprocess.run([program, "--list"], cwd=COPY, check=True, stdout=subprocess.PIPE, text=True).stdout
        for name in re.findall(r"^(.*): test$", names, re.M):
            parts = [()]
            if binary == "corpus" and "numbers" in name:
                parts = [(("CORPUS_FIRST", str(first)), ("CORPUS_INPUTS", str(count))) for first, count in PARTS]
            if not SKIPPED.search(name):
                all_tests += [(program, name, variables) for variables in parts]
    tests, times = collections.defaultdict(list), {}
    kept = OUT / "reached.json"
    if kept.exists() and kept.stat().st_mtime > (OUT / "build.json").stat().st_mtime:
        for (program, name, variables), took, numbers in json.loads(kept.read_text()):
            test = program, name, tuple(map(tuple, variables))
            times[test] = took
            for number in numbers:
                tests[number].append(test)
        return tests, times
    found = []
    for test, (passed, took, numbers) in zip(all_tests, pool.map(record, all_tests)):
        if not passed:
            say(f"not used: {Path(test[0]).name} {test[1]}: {'fails' if passed is False else 'takes long'}")
            continue
        times[test] = took
        found.append((test, took, sorted(map(int, numbers))))
        for number in found[-1][2]:
            tests[number].append(test)
    kept.write_text(json.dumps(found))
    return tests, times


class Judge:
    """Tries mutants, and learns which tests catch those of a file."""

    def __init__(self, mutants, tests, times):
        self.mutants, self.tests, self.times = mutants, tests, times
        self.runs, self.caught = collections.Counter(), collections.Counter()
        self.lock = threading.Lock()

    def cost(self, file, test):
        """How long it takes to catch one by this test, as far as is known."""
        runs = self.runs[test] / 8 + self.runs[file, test]
        caught = self.caught[test] / 8 + self.caught[file, test]
        return self.times[test] * (runs + 4) / (caught + 1)

    def outcome(self, number):
        file = self.mutants[number]["file"]
        left, spent, tried = set(self.tests[number]), 0, 0
        if not left:
            return "unreached", ""
        while left and spent < SECONDS:
            with self.lock:
                test = min(left, key=lambda test: self.cost(file, test))
            left.remove(test)
            passed, took = execute(test, 4 * self.times[test] + 2, MUTANT=str(number))
            tried, spent = tried + 1, spent + took
            with self.lock:
                self.runs.update([test, (file, test)])
                if not passed:
                    self.caught.update([test, (file, test)])
            if not passed:
                by = f"{Path(test[0]).name.rsplit('-', 1)[0]} {test[1]}"
                return "caught" if passed is False else "timeout", by
        return "missed", f"{tried} tests, {len(left)} not tried"


def prepared(mutants):
    """The numbers of mutants in the build, and the tests' executables: those of the run
    before, if nothing changed since."""
    sources = hashlib.sha256(json.dumps(mutants).encode())
    for path in sorted([*ROOT.glob("src/**/*"), *ROOT.glob("tests/**/*.rs"), *ROOT.glob("scripts/mutants/src/*")]):
        if path.is_file():
            sources.update(path.read_bytes())
    kept = OUT / "build.json"
    if kept.exists():
        before = json.loads(kept.read_text())
        if before["sources"] == sources.hexdigest():
            return before["written"], before["programs"]
    written, left_out = compiled(len(mutants))
    say(f"{len(written)} in one build, {len(left_out)} do not compile, {len(mutants) - len(written) - len(left_out)} are the compiler's")
    for name, numbers in [("unviable", left_out), ("constant", set(range(len(mutants))) - written - left_out.keys())]:
        lines = (f"{mutants[k]['name']}\t{left_out.get(k, '')}\n" for k in sorted(numbers))
        (OUT / f"{name}.tsv").write_text("".join(lines))
    programs = built()
    say("built")
    kept.write_text(json.dumps({"sources": sources.hexdigest(), "written": sorted(written), "programs": programs}))
    return sorted(written), programs


def main():
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        sys.exit("this script runs on x86-64 Linux only")
    if not shutil.which("cargo"):
        sys.exit("cargo is missing: see https://rustup.rs")
    OUT.mkdir(parents=True, exist_ok=True)
    if not shutil.which("cargo-mutants"):
        subprocess.run("cargo install cargo-mutants --locked".split(), check=True)
    mutants = listed()
    say(f"{len(mutants)} mutants")
    written, programs = prepared(mutants)
    outcomes = OUT / "outcomes.tsv"
    before = dict(line.split("\t")[:2] for line in outcomes.read_text().splitlines()) if outcomes.exists() else {}
    only = os.environ.get("ONLY")
    todo = [k for k in written if before.get(mutants[k]["name"]) == only]
    first, of = map(int, os.environ.get("SHARD", "0/1").split("/"))
    # Neighbours catch alike: those apart teach more of which tests catch.
    todo = sorted(todo[first::of], key=lambda k: (k * 7919) % 10007)
    counts, started = collections.Counter(), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", 1))) as pool, open(outcomes, "a") as file:
        tests, times = reached(programs, pool)
        say(f"{len(times)} tests take {sum(times.values()):.0f} s and reach {len(tests)} mutants")
        judge = Judge(mutants, tests, times)
        for number, (what, by) in zip(todo, pool.map(judge.outcome, todo)):
            counts[what] += 1
            file.write(f"{mutants[number]['name']}\t{what}\t{by}\n")
            file.flush()
            if sum(counts.values()) % 50 == 0:
                say(dict(counts), f"of {len(todo)}, {time.monotonic() - started:.0f} s")
    say(dict(counts), f"of {len(todo)}, {time.monotonic() - started:.0f} s")


main()
