"""transformer.mica's training step in PyTorch on the processor, 50 steps after ten: torch_transformer.py [THREADS]"""
import sys
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
torch.manual_seed(1)
DEPTH, C, T, B, V = 4, 128, 64, 12, 65
parameters = []


def weight(*sizes):
    w = (torch.randn(*sizes) * 0.02).requires_grad_()
    parameters.append(w)
    return w


wte, wpe, gamma = weight(V, C), weight(T, C), weight(C)
layers = [[weight(C, C), weight(C, C), weight(C, C), weight(C, C), weight(C, 4 * C), weight(4 * C, C), weight(C), weight(C)]
          for _ in range(DEPTH)]
ids = (torch.arange(B)[:, None] * 7 + torch.arange(T) * 3) % V
following = (ids + 3) % V
optimizer = torch.optim.AdamW(parameters, lr=1e-3, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1, fused=True)


def step():
    h = wte[ids] + wpe
    for wq, wk, wv, wo, up, down, g1, g2 in layers:
        n = F.layer_norm(h, (C,), g1)
        s = torch.softmax(n @ wq @ (n @ wk).transpose(1, 2) * C**-0.5, -1)
        h = h + s @ (n @ wv) @ wo
        h = h + F.gelu(F.layer_norm(h, (C,), g2) @ up) @ down
    logits = F.layer_norm(h, (C,), gamma) @ wte.t()
    loss = F.cross_entropy(logits.view(-1, V), following.view(-1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()


for _ in range(10):
    step()
started = time.perf_counter()
for _ in range(50):
    step()
print(f"{(time.perf_counter() - started) * 20:.2f} ms a step")
