"""Paired timing and its statistics, as src/gpu does them (pairing.h, statistics.h), for sides that live in Python."""

import math
import random


def orders(alternatives, rounds, seed=1):
    """Rounds in twos, the second the reverse of the first, the first drawn at random."""
    generator, result = random.Random(seed), []
    while len(result) < rounds:
        order = list(range(alternatives))
        generator.shuffle(order)
        result += [order, order[::-1]]
    return result[:rounds]


def median(values):
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def interval(values, confidence=0.95):
    """The exact interval on the median by the sign test; None if the values are too few."""
    n, tail, rank = len(values), 0.0, 0
    for k in range(n // 2):
        tail += math.comb(n, k) / 2**n
        if 1 - 2 * tail < confidence:
            break
        rank = k + 1
    ordered = sorted(values)
    return (ordered[rank - 1], ordered[n - rank]) if rank else None


def ratio(numerators, denominators):
    """The median of paired ratios with its interval."""
    logs = [math.log(a / b) for a, b in zip(numerators, denominators)]
    bounds = interval(logs)
    return {"ratio": math.exp(median(logs)), "interval": [math.exp(b) for b in bounds] if bounds else None}


def time_rounds(torch, graphs, rounds, warm_up):
    """Milliseconds [alternative][round]. Everything is queued before the first wait, so the GPU never idles."""
    for _ in range(warm_up):
        for graph in graphs:
            graph.replay()
    marks = []
    for order in orders(len(graphs), rounds):
        row = [None] * len(graphs)
        for side in order:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graphs[side].replay()
            end.record()
            row[side] = (begin, end)
        marks.append(row)
    torch.cuda.synchronize()
    return [[row[side][0].elapsed_time(row[side][1]) for row in marks] for side in range(len(graphs))]
