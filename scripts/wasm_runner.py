"""Runs a program of wasm32-wasip1 by wasmtime: python wasm_runner.py program.wasm [arguments]"""

import os
import sys

from wasmtime import Engine, ExitTrap, Linker, Module, Store, WasiConfig

engine = Engine()
linker = Linker(engine)
linker.define_wasi()

wasi = WasiConfig()
wasi.argv = sys.argv[1:]
wasi.env = list(os.environ.items())
wasi.preopen_dir(os.getcwd(), os.getcwd())
wasi.inherit_stdout()
wasi.inherit_stderr()

store = Store(engine)
store.set_wasi(wasi)
program = linker.instantiate(store, Module.from_file(engine, sys.argv[1]))
try:
    program.exports(store)["_start"](store)
except ExitTrap as end:
    sys.exit(end.code)
