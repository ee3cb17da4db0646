#!/usr/bin/env python3
"""Writes what tests/outside compares with: a GPT of nanoGPT's shape (github.com/karpathy/nanoGPT, model.py: learned positions,
pre-norm blocks, erf GELU, no dropout, tied head), run by PyTorch in float64 on the processor.

  start.safetensors     the weights under the names of Mica's aggregate, and a batch (x, y)
  expected.safetensors  logits, loss, every gradient, the joint norm, and weights and moments after three steps

Steps are clip to 1.0, then AdamW with decay on matrices only, as nanoGPT trains. Needs torch, numpy and safetensors from PyPI:
  python3 -m venv v && v/bin/pip install torch numpy safetensors && v/bin/python tests/outside/make.py
The files are checked in; checksums.txt holds their SHA-256, and the versions that made them.
"""
import hashlib
import math
import os
import sys

import safetensors
import safetensors.torch
import torch
import torch.nn.functional as F

DEPTH, HEADS, C, V, T, B = 2, 2, 16, 11, 8, 2
RATE, BETA1, BETA2, EPS, DECAY, CLIP, STEPS = 1e-2, 0.9, 0.95, 1e-8, 0.1, 1.0, 3
HERE = os.path.dirname(os.path.abspath(__file__))


def weights(generator):
    """Every weight random, biases and gains too, so that no gradient is hidden behind a zero."""
    def normal(*sizes, mean=0.0, dev=0.2):
        return (torch.randn(*sizes, generator=generator, dtype=torch.float64) * dev + mean).requires_grad_()
    w = {"model.wte": normal(V, C, dev=0.5), "model.wpe": normal(T, C, dev=0.5)}
    for i in range(1, DEPTH + 1):
        p = f"model.layers.{i}."
        w.update({
            p + "g1": normal(C, mean=1.0), p + "b1": normal(C),
            p + "Wqkv": normal(C, 3 * C, dev=0.4), p + "bqkv": normal(3 * C),
            p + "Wo": normal(C, C, dev=0.4), p + "bo": normal(C),
            p + "g2": normal(C, mean=1.0), p + "b2": normal(C),
            p + "Wup": normal(C, 4 * C, dev=0.4), p + "bup": normal(4 * C),
            p + "Wdn": normal(4 * C, C, dev=0.4), p + "bdn": normal(C),
        })
    w.update({"model.g": normal(C, mean=1.0), "model.b": normal(C)})
    return w


def logits_of(w, x):
    h = w["model.wte"][x] + w["model.wpe"]
    for i in range(1, DEPTH + 1):
        l = {k: w[f"model.layers.{i}.{k}"] for k in
             ("g1", "b1", "Wqkv", "bqkv", "Wo", "bo", "g2", "b2", "Wup", "bup", "Wdn", "bdn")}
        a = F.layer_norm(h, (C,), l["g1"], l["b1"], 1e-5) @ l["Wqkv"] + l["bqkv"]
        q, k, v = (part.view(B, T, HEADS, C // HEADS).transpose(1, 2) for part in a.split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(B, T, C)
        h = h + y @ l["Wo"] + l["bo"]
        u = F.gelu(F.layer_norm(h, (C,), l["g2"], l["b2"], 1e-5) @ l["Wup"] + l["bup"])
        h = h + u @ l["Wdn"] + l["bdn"]
    return F.layer_norm(h, (C,), w["model.g"], w["model.b"], 1e-5) @ w["model.wte"].t()


def main():
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(2026)
    w = weights(generator)
    x = torch.randint(V, (B, T), generator=generator)
    y = torch.randint(V, (B, T), generator=generator)
    start = {name: t.detach().clone() for name, t in w.items()}
    start["x"], start["y"] = x.to(torch.int32), y.to(torch.int32)

    expected = {}
    matrices = [t for t in w.values() if t.dim() > 1]
    vectors = [t for t in w.values() if t.dim() == 1]
    adamw = torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}],
                              lr=RATE, betas=(BETA1, BETA2), eps=EPS, foreach=False)
    for step in range(1, STEPS + 1):
        logits = logits_of(w, x)
        loss = F.cross_entropy(logits.view(-1, V), y.view(-1))
        adamw.zero_grad()
        loss.backward()
        if step == 1:
            expected["logits"] = logits.detach()
            expected.update({name.replace("model.", "gradient.", 1): t.grad.clone() for name, t in w.items()})
        # The norm and the scaling by hand: torch.nn.utils.clip_grad_norm_ divides by norm + 1e-6.
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(t.grad) for t in w.values()]))
        if norm > CLIP:
            for t in w.values():
                t.grad.mul_(CLIP / norm)
        expected[f"loss{step}"] = loss.detach()
        expected[f"norm{step}"] = norm
        adamw.step()
    for name, t in w.items():
        expected[name] = t.detach().clone()
        expected[name.replace("model.", "m.", 1)] = adamw.state[t]["exp_avg"]
        expected[name.replace("model.", "v.", 1)] = adamw.state[t]["exp_avg_sq"]
    assert all(math.isfinite(t.double().abs().sum()) for t in expected.values())

    lines = [f"# torch {torch.__version__}, safetensors {safetensors.__version__}, Python {sys.version.split()[0]}"]
    for name, tensors in (("start", start), ("expected", expected)):
        path = os.path.join(HERE, name + ".safetensors")
        safetensors.torch.save_file({k: t.contiguous() for k, t in tensors.items()}, path)
        with open(path, "rb") as f:
            lines.append(f"{hashlib.sha256(f.read()).hexdigest()}  {name}.safetensors")
    with open(os.path.join(HERE, "checksums.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")
    print("\n".join(lines), float(expected["loss1"]), [float(expected[f"norm{i}"]) for i in (1, 2, 3)])


main()
