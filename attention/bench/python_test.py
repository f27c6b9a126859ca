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
import accuracy
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
        self.assertEqual([cell.name for cell in peers.cells("*-d128-causal-n4096*")],
                         ["e4m3-d128-causal-n4096", "e4m3-d128-causal-n4096-vt", "bf16-d128-causal-n4096"])
        self.assertEqual([cell.name for cell in peers.cells("*decode-n2048*")],
                         ["bf16-d128-decode-n2048-h32x8-b1", "bf16-d128-decode-n2048-h32x8-b8"])

    def test_fp8_has_figures_of_its_own_and_a_transposed_v_none(self):
        figures = json.loads((HERE / "peer_figures.json").read_text())
        for name, void in (("e4m3-d128-causal-n4096", True), ("bf16-d128-causal-n4096", False), ("e4m3-d128-causal-n4096-vt", False)):
            document = {"gpu": {"name": "NVIDIA H200"}, "cells": [
                {"cell": name, "sides": {"FlashAttention-3": {"teraflops": 700, "speed_ratio": {"ratio": 1.1}}}}]}
            peers.judge(document, figures)  # 741 in fp8, 653 in 16 bits
            self.assertEqual(document["judgement"]["void"], void, name)

    def test_layouts_of_v_are_averaged_apart(self):
        document = {"gpu": {"name": "another"}, "cells": [
            {"cell": f"{name}-d64-full-n4096{vt}", "sides": {"FlashAttention-3": {"teraflops": 1, "speed_ratio": {"ratio": ratio}}}}
            for name, vt, ratio in (("bf16", "", 1.0), ("e4m3", "", 2.0), ("e4m3", "-vt", 3.0))]}
        peers.judge(document, {"figures": [], "gpu": "", "lengths": [], "tolerance": 0})
        means = document["judgement"]["geometric_mean_of_speed_ratios"]
        for group, mean in (("head_dim 64", 1), ("fp8, head_dim 64", 2), ("fp8, V transposed, head_dim 64", 3)):
            self.assertAlmostEqual(means[group], mean)


def accuracy_entry(keys, ours, flash):
    return {"cell": f"e4m3-d64-accuracy-normal-n{keys}", "head_dim": 64, "data": "normal", "keys": keys,
            "sides": {"namesake": {"error": ours}, "FlashAttention-3": {"error": flash}}}


class Accuracy(unittest.TestCase):
    def test_growth_is_the_error_at_128k_over_that_at_4k(self):
        found = accuracy.judge([accuracy_entry(4096, 0.02, 0.02), accuracy_entry(131072, 0.024, 0.08)])
        growth = found["growth_of_error_from_4k_to_128k"]["head_dim 64, normal"]
        self.assertAlmostEqual(growth["namesake"], 1.2)
        self.assertAlmostEqual(growth["FlashAttention-3"], 4)

    def test_a_peer_that_is_more_accurate_shows_as_a_ratio_above_one(self):
        found = accuracy.judge([accuracy_entry(4096, 0.03, 0.02)])
        self.assertAlmostEqual(found["error_to_peers"]["e4m3-d64-accuracy-normal-n4096"]["FlashAttention-3"], 1.5)
        self.assertEqual(found["growth_of_error_from_4k_to_128k"], {})


def story_document():
    speed = lambda value: {"teraflops": value}
    shape = {"dtype": "fp16", "length": 2048, "head_dim": 64, "mask": "full"}
    return {"schema": "namesake.attention-bench/1.1", "gpu": {"name": "NVIDIA H200", "driver": "580"}, "date": "2026",
            "cudnn": "9.19.0", "assembler": "nvcc 13.0.88", "cells": [], "judgement": {"void": False}, "story": [
                {"cell": "fp16-d64-full-n2048", "shape": shape, "cudnn": speed(450.0),
                 "hopper": {"code": {"untreated": "aa", "treated": "aa", "same": True}, "untreated": speed(500.0)},
                 "portable": {"code": {"untreated": "bb", "treated": "cc", "same": False}, "untreated": speed(200.0),
                              "treated": speed(220.0), "differing_bytes": 0,
                              "treated_to_untreated": {"ratio": 1.1, "interval": [1.09, 1.11]}}}]}


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
        made = tables.tables({("bench", "attention"): bench_document()})
        self.assertIn("| 690 |", made["attention-sustained"])
        self.assertIn("1.0e-03", made["attention-error"])
        self.assertIn("valid", made["attention-origin"])

    def test_the_story_says_where_the_name_changes_nothing(self):
        made = tables.tables({("bench", "attention-story"): story_document()})
        self.assertIn("| 2048 | 500 | same code | 450 |", made["attention-story"])
        self.assertIn("both codes have the hash `aa`", made["attention-story"])
        self.assertIn("| 2048 | 200 | 220, × 1.100 (1.090–1.110) | 450 |", made["attention-story"])
        self.assertIn("results are equal bit for bit in 1 of 1 cells", made["attention-story"])
        self.assertIn("nvcc 13.0.88", made["attention-story-origin"])

    def test_fp8_has_tables_of_its_own(self):
        document = bench_document()
        for cell in document["cells"] + document["sustained"]:
            cell["cell"] = cell["cell"].replace("bf16", "e4m3")
        document["cells"].append(dict(document["cells"][0], cell="e4m3-d64-full-n512-vt"))
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "fp8.json"
            path.write_text(json.dumps(document))
            made = tables.tables(tables.load([path]))
        self.assertIn("| **e4m3 64 full** namesake | 500 | 500 |", made["attention-fp8-cudnn"])
        self.assertIn("| **e4m3 64 full** namesake | 500 |", made["attention-fp8-cudnn-transposed"])
        self.assertIn("| 690 |", made["attention-fp8-sustained"])

    def test_the_faster_peer_counts_in_each_cell(self):
        ours = {"cells": [{"cell": "e4m3-d64-full-n1024", "speed_ratio": {"ratio": 1.2}},
                          {"cell": "e4m3-d64-full-n2048", "speed_ratio": {"ratio": 0.8}}]}
        theirs = {"cells": [{"cell": "e4m3-d64-full-n1024", "sides": {"FlashAttention-3": {"speed_ratio": {"ratio": 1.0}}}},
                            {"cell": "e4m3-d64-full-n2048", "sides": {"FlashAttention-3": {"speed_ratio": {"ratio": 1.5}}}},
                            {"cell": "e4m3-d256-full-n2048-vt", "sides": {"FlashAttention-3": {"speed_ratio": {"ratio": 1.1}}}}]}
        text = tables.better_peer_table(ours, theirs)
        self.assertIn(f"| 64 | as it comes | 2 | {0.8 ** 0.5:.3f} |", text)
        self.assertIn("| 256 | supplied transposed | 1 | 1.100 |", text)

    def test_accuracy_and_the_cost_of_promotion_are_tables(self):
        text = tables.accuracy_table([accuracy_entry(131072, 0.024, 0.08)])
        self.assertIn("| 64, normal, 128k | 0.0240 | 0.0800 |", text)
        text = tables.promotion_table([{"cell": "e4m3-d64-full-promotion-n16384", "sides": {
            "namesake": {"teraflops": 700}, "namesake, never promoted": {"teraflops": 707, "speed_ratio": {
                "ratio": 0.99, "interval": [0.98, 1.0]}}}}])
        self.assertIn("| 64 full, 16k | 700 | 707, time × 0.990 (0.980–1.000) |", text)

    def test_a_foreign_file_is_refused(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "x.json"
            path.write_text('{"schema": "other/1.0"}')
            with self.assertRaises(SystemExit):
                tables.load([path])


if __name__ == "__main__":
    unittest.main()
