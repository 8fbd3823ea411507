#!/usr/bin/env python3
"""Chooses the inputs that Miri runs: scripts/seeds.py > tests/corpus/seeds.txt

Miri takes a thousand times as long as a processor. Of the first SEEDS (300) inputs
of each target of the test `corpus` this takes PICK (12) each, one after the other
the one that reaches most of what none before it reached. It counts with the
compiler's own counters, in a build that takes itself for Miri's, so that thresholds
and sizes are those.
"""
import array
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = "faults gather gather_elements gather_nd roll scatter scatter_elements scatter_nd".split()
SEEDS = int(os.environ.get("SEEDS", 300))
PICK = int(os.environ.get("PICK", 12))


def build():
    """The test's executable, with counters."""
    flags = "-C instrument-coverage --cfg miri -A explicit_builtin_cfgs_in_flags"
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "seeds"
    command = "cargo test -p opkernels --no-default-features --features half,num-complex --test corpus --no-run"
    said = subprocess.run(
        command.split(), cwd=ROOT, check=True, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ, RUSTFLAGS=flags, CARGO_TARGET_DIR=str(folder),
                 LLVM_PROFILE_FILE=os.devnull),
    ).stderr
    return re.search(r"Executable .*\((.*)\)", said).group(1)


def number(data, at):
    """A number in LEB128, and what follows it."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


class Layout:
    """Where a raw profile (version 10) has its counters, and which are the crate's."""

    def __init__(self, data):
        head = struct.unpack("<16Q", data[:128])
        assert head[1] & 0xFF == 10, f"raw profiles of version {head[1] & 0xFF} are not known here"
        records, functions, self.count, names, delta = 128 + head[2], head[3], head[5], head[9], head[10]
        self.start = records + 64 * functions
        called = self.names(data, self.start + 8 * self.count, names)
        self.keys = [None] * self.count
        for k in range(functions):
            record = data[records + 64 * k : records + 64 * k + 64]
            name, _, place = struct.unpack("<QQQ", record[:24])
            (counters,) = struct.unpack("<I", record[48:52])
            first = (place - (delta - 64 * k) & 2**64 - 1) // 8
            if re.search("opkernels.*(memory|family|parallel)", called.get(name, "")):
                for k_th in range(counters):
                    self.keys[first + k_th] = (called[name], k_th)

    @staticmethod
    def names(data, at, size):
        called, end = {}, at + size
        while at < end:
            plain, at = number(data, at)
            packed, at = number(data, at)
            text = zlib.decompress(data[at : at + packed]) if packed else data[at : at + plain]
            at += packed or plain
            for name in text.split(b"\1"):
                key = struct.unpack("<Q", hashlib.md5(name).digest()[:8])[0]
                called[key] = name.decode(errors="replace").split(":")[-1]
            while at < end and data[at] == 0:
                at += 1
        return called

    def reached(self, data):
        counts = array.array("Q")
        counts.frombytes(data[self.start : self.start + 8 * self.count])
        return {key for key, count in zip(self.keys, counts) if count and key}


def main():
    if not shutil.which("cargo"):
        sys.exit("cargo is missing: see https://rustup.rs")
    program, layout, reached = build(), None, {}
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "one.profraw"
        for target in TARGETS:
            for seed in range(SEEDS):
                subprocess.run(
                    [program, f"{target}::numbers", "--exact"], cwd=ROOT, check=True, capture_output=True,
                    env=dict(os.environ, LLVM_PROFILE_FILE=str(profile), CORPUS_FIRST=str(seed), CORPUS_INPUTS="1"),
                )
                data = profile.read_bytes()
                layout = layout or Layout(data)
                reached[target, seed] = layout.reached(data)
    chosen, seen = {target: [] for target in TARGETS}, set()
    while True:
        open_ones = [key for key in reached if len(chosen[key[0]]) < PICK]
        best = max(open_ones, key=lambda key: len(reached[key] - seen), default=None)
        if best is None or not reached[best] - seen:
            break
        seen |= reached[best]
        chosen[best[0]].append(best[1])
    print(f"# Of the first {SEEDS} inputs of each target those that reach most of the crate, at the sizes of Miri:")
    print("# scripts/seeds.py")
    for target in TARGETS:
        print(target, *sorted(chosen[target]))
    print(f"{len(seen)} of {len(set().union(*reached.values()))} counters", file=sys.stderr)


main()
