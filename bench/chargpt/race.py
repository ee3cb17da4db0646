#!/usr/bin/env python3
"""chargpt's processor setting (4 layers, 4 heads, 128 wide, context 64, batch 12, float32, no dropout) in Mica beside PyTorch's
eager mode and torch.compile, on the same cores, in turns, so that what else the machine does meets all alike.

  bench/chargpt/race.py [--python PYTHON] [--rounds N] [--steps N] [--threads N]     PYTHON has torch and numpy (PyPI)

A step is everything between two steps: batch, forward, backward, clipping, AdamW. `processor ms` is the processor's time of
a step (for Mica the difference of two runs, so that start and validation go): with --threads 1 it means something on a busy machine
too, where the wall clock does not. Memory is the highest resident size of the
process (PyTorch's libraries are part of that; `without libraries` takes off what `import torch` alone needs).
"""
import argparse
import os
import re
import statistics
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TEXT = os.path.join(ROOT, "examples/data/shakespeare.txt")


def run(command, folder, threads=0):
    """What it printed, its highest resident size in MiB, its processor time in seconds."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads)) if threads else None
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return out, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--python", default="python3")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--steps", type=int, default=150)
    options.add_argument("--threads", type=int, default=os.cpu_count())
    options = options.parse_args()
    torch = os.path.join(ROOT, "bench/chargpt/torch_chargpt.py")
    names = {"Mica O3": None, "PyTorch eager": "eager", "PyTorch compile": "compile"}
    times, work, memory, last = ({n: [] for n in names} for _ in range(4))
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "chargpt")
        subprocess.run([os.path.join(ROOT, "build/bin/micac"), "--device", "cpu", "--optimize", "O3", "--remarks", "none",
                        os.path.join(ROOT, "examples/chargpt/chargpt.mica"), "-o", program], check=True)
        base = run([options.python, "-c", "import torch, numpy"], folder)[1]

        def once(name, steps):
            """Milliseconds a step, the last loss, memory, processor milliseconds (of a step, or of the run for Mica)."""
            if names[name]:
                out, peak, cpu = run([options.python, torch, TEXT, str(steps), names[name]], folder, options.threads)
                ms, cpu, loss = map(float, re.match(r"(\S+) ms a step, (\S+) of the processor, loss (\S+)", out).groups())
                return ms, loss, peak, cpu
            if os.path.exists(os.path.join(folder, "c.safetensors")):
                os.unlink(os.path.join(folder, "c.safetensors"))
            # PAUSE keeps the schedule long and leaves the sample out; each progress line is 50 steps.
            out, peak, cpu = run([program, TEXT, "2000", "c.safetensors", str(steps), "+mica", f"threads={options.threads}",
                                  "-mica"], folder)
            lines = re.findall(r"step \d+ of \d+  loss (\S+)  (\d+) tokens/s", out)
            return statistics.median(12 * 64 * 1000 / int(s) for _, s in lines), float(lines[-1][0]), peak, cpu * 1000

        for _ in range(options.rounds):
            for name in names:
                ms, loss, peak, cpu = once(name, options.steps)
                if not names[name]:
                    short = options.steps // 3
                    cpu = (cpu - once(name, short)[3]) / (options.steps - short)
                times[name].append(ms)
                work[name].append(cpu)
                memory[name].append(peak)
                last[name] = loss
        version = run([options.python, "-c", "import torch; print(torch.__version__)"], folder)[0].strip()
    cpu = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo", encoding="utf-8").read()).group(1)
    print(f"chargpt's processor setting on {cpu}, {os.cpu_count()} cores, {options.threads} threads, PyTorch {version}; median of "
          f"{options.rounds} rounds of {options.steps} steps in turns\n")
    print("| | ms a step | of PyTorch's best | processor ms | of PyTorch's best | highest memory, MiB | without libraries | loss |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    best = min(statistics.median(times[n]) for n in names if names[n])
    least = min(statistics.median(work[n]) for n in names if names[n])
    for name in names:
        ms, cpu, peak = statistics.median(times[name]), statistics.median(work[name]), max(memory[name])
        own = peak - base if names[name] else peak
        print(f"| {name} | {ms:.1f} | {best / ms:.2f} x | {cpu:.1f} | {least / cpu:.2f} x | {peak:.0f} | {own:.0f} | {last[name]:.3f} |")


main()
