"""The kernels of kernels.mica in PyTorch on the processor: name, milliseconds, GB/s."""
import sys
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
R, C, V, TURNS = 8192, 768, 1024, 15
x, dy, z = torch.randn(R, C), torch.randn(R, C), torch.randn(R, V)
gamma, ids = torch.ones(C), torch.arange(R) * 37 % V
y = torch.empty_like(x)
w = x.clone().requires_grad_()
w.grad = dy.clone()
adamw = torch.optim.AdamW([w], lr=0.001, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1, fused=True)


def show(name, size, run):
    times = []
    run()
    for _ in range(TURNS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    t = min(times)
    print(f"{name:14} {t * 1e3:8.3f} ms {size / t * 1e-9:7.2f} GB/s")


with torch.no_grad():
    show("copy", 8 * R * C, lambda: torch.neg(x, out=y))
    show("layernorm", 8 * R * C, lambda: F.layer_norm(x, (C,), gamma))
    show("softmax", 8 * R * C, lambda: torch.softmax(x, 1))
    show("gelu", 8 * R * C, lambda: F.gelu(x))
    show("exp", 8 * R * C, lambda: torch.exp(x, out=y))
    show("tanh", 8 * R * C, lambda: torch.tanh(x, out=y))
    show("crossentropy", 4 * R * V, lambda: F.cross_entropy(z, ids))
    show("adamw", 28 * R * C, lambda: adamw.step())
