#!/usr/bin/env python3
"""Writes the files that tests/data reads, by the packages whose formats they are, and checks what Mica wrote.

  make.py write FOLDER         python.safetensors and *.npy, by safetensors and numpy; llm.c's token file
  make.py verify FOLDER        reads mica.safetensors and mica_*.npy there, as writes.mica makes them: every value

Needs numpy and safetensors from PyPI. The files that `write` makes are checked in, with their SHA-256 in checksums.txt, so that
the suite needs no package; tests/long/python_files.sh does both ways anew with the packages.
"""
import hashlib
import os
import sys

import numpy as np
import safetensors
import safetensors.numpy

UMLAUT = "größe.β₁"


def values():
    """Every type that both sides have, with the values at its ends, shapes of rank 0 to 4, and an empty one."""
    f32 = np.array([[0.1, -0.0, np.inf], [-np.inf, 1e-45, 3.4028235e38]], dtype="<f4")
    return {
        "f32": f32,
        "f64": np.array([0.1, 5e-324, 1.7976931348623157e308, -2.5], dtype="<f8"),
        "f16": np.array(0.1, dtype="<f2"),
        "i8": np.array(-128, dtype="i1"), "i16": np.array(-32768, dtype="<i2"),
        "i32": np.arange(-3, 3, dtype="<i4").reshape(3, 2),
        "i64": np.array([-2**63, 2**63 - 1], dtype="<i8"),
        "u8": np.arange(24, dtype="u1").reshape(2, 3, 2, 2),
        "u16": np.array(65535, dtype="<u2"), "u32": np.array(2**32 - 1, dtype="<u4"),
        "u64": np.array(2**64 - 1, dtype="<u8"),
        "flags": np.array([True, False, True]),
        "empty": np.zeros((0, 3), dtype="<f4"),
        UMLAUT: np.array([1.5], dtype="<f4"),
        "model.layers.1.w": np.array([[1, 2], [3, 4]], dtype="<f4"),
        "model.layers.2.w": np.array([[5, 6], [7, 8]], dtype="<f4"),
    }


NPY = ("f32", "f64", "i32", "i64", "u8", "flags", "i16")


def write(folder):
    data = values()
    safetensors.numpy.save_file(data, os.path.join(folder, "python.safetensors"), metadata={"made by": "safetensors"})
    for name in NPY:
        np.save(os.path.join(folder, f"python_{name}.npy"), data[name])
    # The header's second version, which numpy chooses where the first is too short.
    with open(os.path.join(folder, "python_version2.npy"), "wb") as f:
        np.lib.format.write_array(f, data["i32"], version=(2, 0))
    # llm.c's token file (its data scripts): 256 words of int32, of which magic, version and count are used, then uint16.
    with open(os.path.join(folder, "llmc.bin"), "wb") as f:
        f.write(np.array([20240520, 1, 3] + [0] * 253, dtype="<i4").tobytes())
        f.write(np.array([50256, 15496, 995], dtype="<u2").tobytes())
    lines = [f"# numpy {np.__version__}, safetensors {safetensors.__version__}, Python {sys.version.split()[0]}"]
    for name in sorted(os.listdir(folder)):
        if name.endswith((".npy", ".safetensors", ".bin")):
            with open(os.path.join(folder, name), "rb") as f:
                lines.append(f"{hashlib.sha256(f.read()).hexdigest()}  {name}")
    with open(os.path.join(folder, "checksums.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


def same(name, got, want):
    assert got.dtype == want.dtype, f"{name}: {got.dtype}, not {want.dtype}"
    assert got.shape == want.shape, f"{name}: {got.shape}, not {want.shape}"
    assert got.tobytes() == want.tobytes(), f"{name}: {got}, not {want}"


def verify(folder):
    got = safetensors.numpy.load_file(os.path.join(folder, "mica.safetensors"))
    want = values()
    random = got.pop("r")
    assert random.dtype == np.uint64 and random.shape == (2,), random
    assert sorted(got) == sorted(want), sorted(got)
    for name, value in want.items():
        same(name, got[name], value)
    for name in NPY:
        same(name, np.load(os.path.join(folder, f"mica_{name}.npy")), want[name])
    print(f"{len(want) + len(NPY)} values agree")


if __name__ == "__main__":
    {"write": write, "verify": verify}[sys.argv[1]](sys.argv[2])
