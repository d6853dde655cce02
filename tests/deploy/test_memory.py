"""The arithmetic gives what was measured, and holds GPUs to it."""

import pytest
from omnitalk.deploy import CardUse, DeployFile, Gpu, Report, check, described

from .test_judging import BASE, Overlay, _told


def _at(report: Report, card: int) -> CardUse:
    return next(use for use in report.cards if use.index == card)


def test_an_h200_holds_what_it_was_measured_to_hold(overlay_file: Overlay) -> None:
    report = check(overlay_file(BASE), described("h200"))
    memory = report.memory
    # Measured: 39.5 GiB of cache for 288 k tokens; the talker 3.5 GiB; code2wav 10.2 after four calls spoke.
    assert memory[0].cache == pytest.approx(39.5, abs=0.2)
    assert memory[0].tokens == pytest.approx(288_000, rel=0.01)
    assert memory[1].weights + memory[1].working + (memory[1].cache or 0) == pytest.approx(3.5)
    assert memory[2].weights + memory[2].working == pytest.approx(10.2)
    assert not any(stage.estimate for stage in memory.values())
    # Held while four calls spoke: 75 GiB. What may be taken is an upper bound of it.
    assert 75 < _at(report, 0).taken < 139.8


def test_80_gib_hold_it_with_less_context(overlay_file: Overlay) -> None:
    report = check(overlay_file(BASE), described("h100"))
    assert report.accepted
    assert 40_960 <= (report.memory[0].tokens or 0) < 50_000
    assert "for each of 4 calls; a call may use 40960" in _told(report, "note")


def test_24_gib_do_not_and_the_stage_is_named(overlay_file: Overlay) -> None:
    report = check(overlay_file(BASE), described("24"))
    assert not report.accepted
    assert "Stage 0 (thinker) lacks" in _told(report, "error")
    assert "GPU 0 (24 GiB): the stages may take" in _told(report, "error")


def test_gpus_that_are_not_there_are_named(overlay_file: Overlay) -> None:
    report = check(overlay_file(BASE + 'stages: [{stage_id: 1, devices: "3"}]\n'), described("2x80"))
    assert "places stages on GPU 3; there are 2 GPUs, counted from 0" in _told(report, "error")


def test_what_others_use_counts(overlay_file: Overlay) -> None:
    file = overlay_file(BASE)
    assert check(file, [Gpu("H100", 79.2, 3.0)]).accepted
    busy = check(file, [Gpu("H100", 79.2, 40.0)])
    assert "beside the 40.0 GiB that are in use" in _told(busy, "error")
    assert not _at(busy, 0).fits


def test_tensor_parallel_divides_what_can_be_divided(overlay_file: Overlay) -> None:
    text = 'stages: [{stage_id: 0, devices: "0,1,2,3", tensor_parallel_size: 4, gpu_memory_utilization: 0.6}]\n'
    one = check(overlay_file(BASE), described("h200")).memory[0]
    four = check(overlay_file(BASE + text), described("4xh200")).memory[0]
    assert four.weights == pytest.approx(16.8 - 15.3 + 15.3 / 4)
    assert four.working == one.working
    per_token = [(memory.cache or 0) / (memory.tokens or 1) for memory in (one, four)]
    assert per_token[1] == pytest.approx(per_token[0] / 4, rel=1e-4)


def test_the_smallest_card_of_a_stage_counts(overlay_file: Overlay) -> None:
    text = 'stages: [{stage_id: 0, devices: "0,1", tensor_parallel_size: 2}]\n'
    mixed = check(overlay_file(BASE + text), described("h200,80")).memory[0]
    even = check(overlay_file(BASE + text), described("2x80")).memory[0]
    assert mixed == even


def test_another_batch_size_is_an_estimate(overlay_file: Overlay) -> None:
    report = check(overlay_file(BASE + "stages: [{stage_id: 0, max_num_batched_tokens: 4096}]\n"), described("h200"))
    assert report.memory[0].estimate
    assert report.memory[0].working == pytest.approx(20.6 / 4)


def test_graphs_are_counted_unless_switched_off(overlay_file: Overlay) -> None:
    def taken(text: str) -> float:
        return check(overlay_file(BASE + text), described("h200")).memory[0].taken

    assert taken("") - taken("stages: [{stage_id: 0, enforce_eager: true}]\n") == pytest.approx(1.5)


def test_replicas_take_their_cards(overlay_file: Overlay) -> None:
    file: DeployFile = overlay_file(BASE + 'stages: [{stage_id: 1, devices: "1,2", num_replicas: 2}]\n')
    report = check(file, described("80,24,24"))
    assert report.accepted
    assert _at(report, 1).taken == _at(report, 2).taken == pytest.approx(report.memory[1].taken + 1)


def test_a_card_too_full_to_start_stages_side_by_side_is_noted(overlay_file: Overlay) -> None:
    fuller = "stages: [{stage_id: 0, gpu_memory_utilization: 0.65}]\n"
    assert "parallel_stage_init" in _told(check(overlay_file(BASE + fuller), described("h200")), "note")
    assert "parallel_stage_init" not in _told(check(overlay_file(BASE), described("h200")), "note")


def test_shares_of_more_than_a_card_pass_only_where_the_sum_is_known_to_fit(overlay_file: Overlay) -> None:
    file = overlay_file(BASE + "stages: [{stage_id: 0, gpu_memory_utilization: 0.75}]\n")
    assert "adds up to 1.08" in _told(check(file), "error")
    roomy = check(file, described("h200"))
    assert roomy.accepted
    assert "adds up to 1.08" in _told(roomy, "warning")
    # The talker's cache is not fixed any more: it takes its share.
    free = BASE + "platforms: {cuda: {stages: [{stage_id: 1, kv_cache_memory_bytes: null}]}}\n"
    taken = overlay_file(free + "stages: [{stage_id: 0, gpu_memory_utilization: 0.85}]\n")
    assert "adds up to 1.18" in _told(check(taken, described("h200")), "error")


def test_a_cache_of_one_byte_a_value_holds_twice_as_much(overlay_file: Overlay) -> None:
    plain = check(overlay_file(BASE), described("h200")).memory[0].tokens or 0
    small = check(overlay_file(BASE + "stages: [{stage_id: 0, kv_cache_dtype: fp8}]\n"), described("h200")).memory[0].tokens or 0
    assert small == pytest.approx(2 * plain, abs=2)


def test_weights_of_another_kind_are_said_to_be_counted_in_16_bits(overlay_file: Overlay) -> None:
    report = check(overlay_file(BASE + "stages: [{stage_id: 0, quantization: fp8}]\n"), described("h200"))
    assert report.memory[0].estimate
    assert "not in 16 bits" in _told(report, "note")


def test_a_talker_without_a_fixed_cache_must_get_enough_from_its_share(overlay_file: Overlay) -> None:
    free = BASE + "platforms: {cuda: {stages: [{stage_id: 1, kv_cache_memory_bytes: null}]}}\n"
    assert check(overlay_file(free), described("h200")).accepted
    small = check(overlay_file(free + "stages: [{stage_id: 1, gpu_memory_utilization: 0.014}]\n"), described("h200"))
    assert "4 sequences of 4096 need 16384" in _told(small, "error")
