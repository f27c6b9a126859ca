#!/usr/bin/env python3
"""The error of cuDNN, and in fp8 of FlashAttention-3, on the suite's own inputs: the bound that attention-test holds the
kernels to.

    attention-test --list-peers | python3 peers.py > peers.json     (needs torch with cuDNN on the GPU)
    attention-test --peers peers.json

Inputs are made as tests/gpu/data.cu makes them, bit for bit: integer hashes, then one rounding to the element type.
A case that the peer refuses, or whose peer is not installed, is left out, and its bound is computed from the element type
instead.
"""
import json
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

MASK = 0xFFFFFFFF


def mix(h):
    h = h ^ (h >> 16)
    h = (h * 0x85EBCA6B) & MASK
    h = h ^ (h >> 13)
    h = (h * 0xC2B2AE35) & MASK
    return h ^ (h >> 16)


def filled(seed, shape, dtype, outliers=0, mean=0.0):
    elements = 1
    for size in shape:
        elements *= size
    index = torch.arange(elements, dtype=torch.int64, device="cuda")
    h = mix(mix((index & MASK) ^ (seed & MASK)) ^ (index >> 32))
    a, b = mix((h + 0x9E3779B9) & MASK), mix((h + 0x3C6EF372) & MASK)
    total = (a & 0xFFFF) + (a >> 16) + (b & 0xFFFF) + (b >> 16) - 131070
    sigma = torch.tensor(0.8660254, dtype=torch.float32, device="cuda")
    x = total.to(torch.float32) / 32768 * sigma
    if outliers:
        x = torch.where(mix((h + 0xDAA66D2B) & MASK) % outliers == 0, x * 10, x)
    return (x + mean).to(dtype).reshape(shape).transpose(1, 2)


def reference(q, k, v, causal):
    scores = q.double() @ k.double().transpose(-1, -2) * (1 / q.shape[-1] ** 0.5)
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device="cuda").triu(1 + k.shape[2] - q.shape[2])
        scores.masked_fill_(hidden, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v.double()


def flash_attention_3(q, k, v, causal):
    from fa3_fwd_interface import flash_attn_func

    one = torch.ones((q.shape[0], k.shape[1]), dtype=torch.float32, device="cuda")
    o = flash_attn_func(*(x.transpose(1, 2) for x in (q, k, v)), causal=causal, q_descale=one, k_descale=one,
                        v_descale=one)
    return (o[0] if isinstance(o, tuple) else o).transpose(1, 2)


def cudnn(q, k, v, causal):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


def error_of(case):
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "e4m3": torch.float8_e4m3fn}[case["dtype"]]
    peer = flash_attention_3 if case["dtype"] == "e4m3" else cudnn
    rows_q = (case["batch"], case["seqlen_q"], case["heads_q"], case["head_dim"])
    rows_kv = (case["batch"], case["seqlen_kv"], case["heads_kv"], case["head_dim"])
    q, k, v = (filled(seed, rows, dtype, case["outliers"], mean) for seed, rows, mean in
               zip(case["seeds"], (rows_q, rows_kv, rows_kv), (0.0, 0.0, case["mean_of_v"])))
    o = peer(q, k, v, case["causal"])
    group = case["heads_q"] // case["heads_kv"]
    k, v = (x.double().repeat_interleave(group, dim=1) for x in (k, v))
    want = reference(q, k, v, case["causal"])
    return ((o.double() - want).norm(dim=(2, 3)) / want.norm(dim=(2, 3))).max().item()


def main():
    errors = {}
    for line in sys.stdin:
        case = json.loads(line)
        try:
            errors[case["name"]] = error_of(case)
        except (RuntimeError, ImportError) as refusal:
            print(f"{case['name']}: {str(refusal).splitlines()[0]}", file=sys.stderr)
    json.dump(errors, sys.stdout, indent=0)


if __name__ == "__main__":
    main()
