"""The parts of the bench that are Python, from recorded or made-up data: no GPU, no torch."""

import contextlib
import io
import json
import pathlib
import random
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import paired
import peers
import tables


def bench_document():
    side = lambda name, speed: {"name": name, "teraflops": speed, "interval": [speed - 1, speed + 1], "error": 1e-3}
    return {"schema": "namesake.attention-bench/1.0", "gpu": {"name": "NVIDIA H200", "driver": "580"}, "date": "2026",
            "cudnn": "9.19.0", "assembler": "nvcc 13.0.88",
            "cells": [{"cell": f"bf16-d64-full-n{n}", "namesake": side("namesake", 500.0), "cudnn": side("cuDNN", 450.0),
                       "speed_ratio": {"ratio": 500 / 450, "interval": [1.1, 1.12]}} for n in (512, 16384)],
            "sustained": [{"cell": "bf16-d64-full-n2048", "sides": [
                {"name": "namesake", "teraflops": 480, "clock_mhz": 1700, "watts": 690,
                 "flop_per_clock_and_multiprocessor": 2139, "of_peak": 0.52, "gigaflop_per_joule": 695}]}],
            "judgement": {"void": False, "peer_below_its_figure": [],
                          "geometric_mean_of_speed_ratios": {"head_dim 64": 1.111}}}


class Paired(unittest.TestCase):
    def test_interval_covers_the_median_as_often_as_it_says(self):
        generator, covered = random.Random(3), 0
        for _ in range(2000):
            low, high = paired.interval([generator.expovariate(1) for _ in range(20)])
            covered += low <= 0.6931471805599453 <= high
        self.assertGreater(covered, 1880)

    def test_interval_needs_six_values(self):
        self.assertIsNone(paired.interval([1, 2, 3, 4, 5]))
        self.assertEqual(paired.interval([6, 1, 2, 3, 4, 5]), (1, 6))

    def test_every_second_round_reverses_the_one_before(self):
        orders = paired.orders(3, 20)
        self.assertEqual(len(orders), 20)
        for first, second in zip(orders[::2], orders[1::2]):
            self.assertEqual(first, second[::-1])
            self.assertEqual(sorted(first), [0, 1, 2])

    def test_ratio_is_that_of_the_times(self):
        found = paired.ratio([2.0] * 8, [1.0] * 8)
        self.assertAlmostEqual(found["ratio"], 2)
        self.assertAlmostEqual(found["interval"][0], 2)


class Peers(unittest.TestCase):
    def test_a_run_is_void_if_flash_attention_stays_below_its_figure(self):
        figures = json.loads((HERE / "peer_figures.json").read_text())
        for speed, void in ((653 * 0.98, False), (653 * 0.96, True)):
            document = {"gpu": {"name": "NVIDIA H200"}, "cells": [
                {"cell": "bf16-d128-causal-n4096",
                 "sides": {"FlashAttention-3": {"teraflops": speed, "speed_ratio": {"ratio": 1.02}}}}]}
            peers.judge(document, figures)
            self.assertEqual(document["judgement"]["void"], void)

    def test_what_flash_attention_reached_alone_counts_for_its_figure(self):
        figures = json.loads((HERE / "peer_figures.json").read_text())
        document = {"gpu": {"name": "NVIDIA H200"}, "cells": [
            {"cell": "bf16-d128-causal-n4096",
             "sides": {"FlashAttention-3": {"teraflops": 600, "teraflops_alone": 650, "speed_ratio": {"ratio": 1.02}}}}]}
        peers.judge(document, figures)
        self.assertFalse(document["judgement"]["void"])

    def test_decoding_has_a_table_of_its_own(self):
        side = lambda ms: {"milliseconds": ms, "ratio_to_divided": {"ratio": ms / 0.1, "interval": [1.9, 2.1]}}
        table = tables.decode_table({"decode": [{"cell": "bf16-d128-decode-n8192-h32x8-b1", "sides": {
            "namesake": side(0.3), "namesake, keys divided": {"milliseconds": 0.1}, "FlashAttention-3": side(0.2)}}]})
        self.assertIn("| 300.0 | 100.0 | 200.0 | 2.000 (1.900–2.100) |", table)

    def test_cells_have_the_names_of_the_bench(self):
        self.assertEqual([cell.name for cell in peers.cells("*-d128-causal-n4096")], ["bf16-d128-causal-n4096"])
        self.assertEqual([cell.name for cell in peers.cells("*decode-n2048*")],
                         ["bf16-d128-decode-n2048-h32x8-b1", "bf16-d128-decode-n2048-h32x8-b8"])


class Tables(unittest.TestCase):
    def run_tables(self, folder, *more):
        arguments = ["tables.py", str(folder / "page.md"), str(folder / "results.json"), *more]
        saved, sys.argv = sys.argv, arguments
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                tables.main()
        finally:
            sys.argv = saved

    def test_the_page_holds_what_the_results_say_and_check_notices_when_not(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "results.json").write_text(json.dumps(bench_document()))
            page = folder / "page.md"
            page.write_text("before\n<!-- table attention-cudnn -->\nold\n<!-- end attention-cudnn -->\nafter\n")
            with self.assertRaises(SystemExit):
                self.run_tables(folder, "--check")
            self.run_tables(folder)
            text = page.read_text()
            self.assertIn("| **bf16 64 full** namesake | 500 | 500 |", text)
            self.assertIn("1.111 (1.100–1.120)", text)
            self.assertNotIn("old", text)
            self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
            self.run_tables(folder, "--check")

    def test_every_table_can_be_made(self):
        made = tables.tables({"bench": bench_document()})
        self.assertIn("| 690 |", made["attention-sustained"])
        self.assertIn("1.0e-03", made["attention-error"])
        self.assertIn("valid", made["attention-origin"])

    def test_a_foreign_file_is_refused(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "x.json"
            path.write_text('{"schema": "other/1.0"}')
            with self.assertRaises(SystemExit):
                tables.load([path])


if __name__ == "__main__":
    unittest.main()
