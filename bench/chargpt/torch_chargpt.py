#!/usr/bin/env python3
"""examples/chargpt in PyTorch, for the race: the same model, batches of the same size, the same optimizer and clipping.

  torch_chargpt.py TEXT STEPS eager|compile        prints milliseconds a step and of the processor (medians, behind
                                                   the first ten) and the last loss
"""
import statistics
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

DEPTH, HEADS, C, T, B, V = 4, 4, 128, 64, 12, 256


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(C, bias=False), nn.LayerNorm(C, bias=False)
        self.qkv, self.out = nn.Linear(C, 3 * C, bias=False), nn.Linear(C, C, bias=False)
        self.up, self.down = nn.Linear(C, 4 * C, bias=False), nn.Linear(4 * C, C, bias=False)

    def forward(self, x):
        q, k, v = (p.view(B, T, HEADS, C // HEADS).transpose(1, 2) for p in self.qkv(self.norm1(x)).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(B, T, C))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, C), nn.Embedding(T, C)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.norm = nn.LayerNorm(C, bias=False)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, 0.0, 0.02 / (2 * DEPTH) ** 0.5 if "out" in name or "down" in name else 0.02)

    def forward(self, x, y):
        h = self.wte(x) + self.wpe.weight
        for block in self.blocks:
            h = block(h)
        return F.cross_entropy((self.norm(h) @ self.wte.weight.t()).view(-1, V), y.view(-1))


def main():
    text = np.fromfile(sys.argv[1], dtype=np.uint8).astype(np.int64)
    steps, mode = int(sys.argv[2]), sys.argv[3]
    torch.manual_seed(1337)
    rng = np.random.default_rng(1338)
    model = GPT()
    step_model = torch.compile(model) if mode == "compile" else model
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
    adamw = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), fused=True)
    times, work = [], []
    for step in range(1, steps + 1):
        start, worked = time.perf_counter(), time.process_time()
        at = rng.integers(len(text) - T - 1, size=B)
        x = torch.from_numpy(np.stack([text[a:a + T] for a in at]))
        y = torch.from_numpy(np.stack([text[a + 1:a + T + 1] for a in at]))
        for group in adamw.param_groups:
            group["lr"] = 1e-3 * min(1.0, step / 100)
        loss = step_model(x, y)
        adamw.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adamw.step()
        times.append((time.perf_counter() - start) * 1000)
        work.append((time.process_time() - worked) * 1000)
    print(f"{statistics.median(times[10:]):.2f} ms a step, {statistics.median(work[10:]):.2f} of the processor, loss {loss.item():.4f}")


main()
