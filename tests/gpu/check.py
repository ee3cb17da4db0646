"""Compares what programs print on the card with what they print on the processor, then times the others.

NAME.head is the program's first line, `{ tolerance: 2e-6 }`: how far a number may be from the processor's, as a
share of the largest number of its line (0: the same digits); `{ exit: 70 }`: the code that both end with, and
then the same message; `{ twice }`: two runs print the same. A program without NAME.cpu is a measurement: its lines
`name value unit` go into the table beside PyTorch's (torch_times.py), where PyTorch is there."""
import glob, math, os, re, subprocess, sys, time

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)", re.I)


def run(path, arguments=()):
    begin = time.time()
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout, done.stderr, time.time() - begin
    except subprocess.TimeoutExpired:
        return -1, "", "no end after 120 s", 120.0


def differs(card, processor, tolerance):
    """Where two outputs differ by more than the tolerance, and by how much they differ at most."""
    a, b = card.splitlines(), processor.splitlines()
    worst = 0.0
    if len(a) != len(b):
        return f"{len(a)} lines, not {len(b)}", worst
    for number, (x, y) in enumerate(zip(a, b), 1):
        if x == y:
            continue
        if NUMBER.sub("#", x) != NUMBER.sub("#", y):
            return f"line {number}: {x[:120]}\n      instead of: {y[:120]}", worst
        p, q = [float(v) for v in NUMBER.findall(x)], [float(v) for v in NUMBER.findall(y)]
        top = max((abs(v) for v in q if math.isfinite(v)), default=0.0)
        for i, (u, v) in enumerate(zip(p, q)):
            if u == v or (math.isnan(u) and math.isnan(v)):
                continue
            error = abs(u - v) / top if top and math.isfinite(u) and math.isfinite(v) else math.inf
            worst = max(worst, error)
            if error > tolerance:
                return f"line {number} ({y.split(' ')[0][:20]}), number {i + 1}: {u!r} instead of {v!r}, off by {error:.2g} of {top:.4g}", worst
    return None, worst


def head_of(folder, name):
    with open(os.path.join(folder, name + ".head")) as f:
        line = f.read()
    found = lambda key, otherwise: (re.search(key + r": *([-+.e\d]+)", line) or [None, otherwise])[1]
    return float(found("tolerance", 0)), int(found("exit", 0)), "twice" in line


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    every = sorted(os.path.basename(p)[:-4] for p in glob.glob(os.path.join(folder, "*.gpu")))
    chosen = [n for n in every if not names or n in names]
    checks = [n for n in chosen if os.path.exists(os.path.join(folder, n + ".cpu"))]
    failed = 0
    for name in checks:
        tolerance, code, twice = head_of(folder, name)
        path = os.path.join(folder, name)
        card, processor = run(path + ".gpu"), run(path + ".cpu")
        why, worst = differs(card[1], processor[1], tolerance)
        if card[0] != code or processor[0] != code:
            why = f"exit codes {card[0]} and {processor[0]}, expected {code}: {card[2].strip()[-400:]}"
        elif code and card[2].splitlines()[:1] != processor[2].splitlines()[:1]:
            why = f"says {card[2].strip()[:200]}\n      instead of: {processor[2].strip()[:200]}"
        elif not why and twice and run(path + ".gpu")[1] != card[1]:
            why = "two runs print different digits"
        failed += bool(why)
        print(f"{'FAIL' if why else 'ok  '} {name:28} {card[3]:6.2f} s, processor {processor[3]:6.2f} s, worst {worst:.2g}"
              + (f"\n      {why}" if why else ""), flush=True)
    print(f"{len(checks) - failed} passed, {failed} failed", flush=True)

    times = [n for n in chosen if n not in checks]
    if times:
        beside = {}
        try:
            sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
            import torch_times
            beside = torch_times.measure()
        except Exception as error:  # the table is then Mica's alone
            print(f"(no PyTorch beside it: {error})")
        print(f"\n{'what':40} {'mica':>12} {'torch':>12} {'ratio':>7}")
        for name in times:
            code, out, err, _ = run(os.path.join(folder, name + ".gpu"))
            if code:
                print(f"FAIL {name}: {err.strip()[-300:]}")
                failed += 1
            for line in out.splitlines():
                words = line.split()
                if len(words) < 3:
                    print(line)
                    continue
                what, value, unit = words[0], float(words[1]), words[2]
                other = beside.get(what)
                ratio = f"{other / value:7.2f}" if other else ""
                print(f"{what:40} {value:9.4g} {unit:2} {f'{other:9.4g} {unit:2}' if other else '':>12} {ratio}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
