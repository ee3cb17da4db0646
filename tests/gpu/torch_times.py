"""The same work in PyTorch, in milliseconds, by the names that the programs of tests/gpu/speed print."""
import time

import torch


def timed(work, turns=20):
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(turns):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / turns * 1000


def measure():
    torch.backends.cuda.matmul.allow_tf32 = False
    times = {}
    new = lambda *sizes, dtype=torch.float32: torch.randn(*sizes, device="cuda", dtype=dtype)
    x, y, v = new(16384, 3072), new(16384, 3072), new(3072)
    z = torch.empty_like(x)
    gelu = torch.nn.functional.gelu
    times["copy_16384x3072"] = timed(lambda: z.copy_(x), 50)
    times["add_16384x3072"] = timed(lambda: torch.add(x, y, out=z), 50)
    times["bias_16384x3072"] = timed(lambda: torch.add(x, v, out=z), 50)
    times["exp_16384x3072"] = timed(lambda: torch.exp(x, out=z), 50)
    times["gelu_16384x3072"] = timed(lambda: gelu(x), 50)
    times["gelutanh_16384x3072"] = timed(lambda: gelu(x, approximate="tanh"), 50)
    times["normal_16384x3072"] = timed(lambda: z.normal_(), 50)
    s = new(1)
    times["launch_x10"] = timed(lambda: [s.add_(1.0) for _ in range(10)], 50)
    x, f, w = new(16384, 384), new(16384, 1536), new(384, 1536)
    times["f32_nn_16384x1536x384"] = timed(lambda: x @ w)
    times["f32_nt_16384x384x1536"] = timed(lambda: f @ w.t())
    times["f32_tn_384x1536x16384"] = timed(lambda: x.t() @ f)
    a, b = new(4096, 4096), new(4096, 4096)
    times["f32_nn_4096x4096x4096"] = timed(lambda: a @ b)
    a, b = new(2048, 2048, dtype=torch.float64), new(2048, 2048, dtype=torch.float64)
    times["f64_nn_2048x2048x2048"] = timed(lambda: a @ b)
    return times
