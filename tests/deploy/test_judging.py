"""What ``check`` finds wrong with a file, and what it lets pass."""

from collections.abc import Callable

import pytest
from omnitalk.deploy import DeployFile, DeployFileError, Report, check, described, parse_overrides, window_marks

Overlay = Callable[[str], DeployFile]
BASE = "base_config: minicpmo_4_5.yaml\n"


def _told(report: Report, level: str) -> str:
    return "\n".join(finding.text for finding in report.findings if finding.level == level)


def test_a_plain_overlay_is_accepted(overlay_file: Overlay) -> None:
    report = check(overlay_file(BASE), described("h200"))
    assert report.accepted
    assert _told(report, "warning") == ""
    assert report.sessions == 4
    assert [stage.replicas for stage in report.stages] == [((0,),)] * 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("max_sessions: 3\n", "max_sessions is no key of a deploy file"),
        ("sessions_mode: duplex\n", "Did you mean session_mode?"),
        ("duplex_session: {max_session: 3}\n", "Did you mean max_sessions?"),
        ("duplex_session: {max_sessions: 0}\n", "must be a whole number from 1, not 0"),
        ("duplex_session: {max_sessions: 4, disconnect_grace_s: 0}\n", "disconnect_grace_s must be more than 0"),
        ("session_mode: both\n", "session_mode is turn or duplex, not 'both'"),
        ("stages: [{stage_id: 0, gpu_memory_utilisation: 0.5}]\n", "Did you mean gpu_memory_utilization?"),
        ("stages: [{stage_id: 0, engine_extras: {colour: red}}]\n", "Stage 0: colour is no key of a stage"),
        ("platforms: {cuda: {stages: [{stage_id: 0, colour: red}]}}\n", "platforms.cuda: Stage 0: colour is no key"),
        ("platforms: {cudaa: {}}\n", "Did you mean cuda?"),
        ("stages: [{stage_id: 3, max_num_seqs: 4}]\n", "there is no stage 3"),
        ("platforms: {cuda: {stages: [{stage_id: 4, enforce_eager: true}]}}\n", "there is no stage 4"),
        ("duplex_session: {max_sessions: 5}\n", "Stage 0: max_num_seqs 4 serves 4 at once, and max_sessions is 5"),
        ("stages: [{stage_id: 2, max_num_seqs: 2}]\n", "Stage 2: max_num_seqs 2 serves 2 at once"),
        ("stages: [{stage_id: 0, gpu_memory_utilization: 0.7}]\n", "GPU 0: gpu_memory_utilization adds up to 1.03"),
        ("stages: [{stage_id: 0, gpu_memory_utilization: 55}]\n", "a share of a GPU, more than 0 and at most 1, not 55"),
        ("stages: [{stage_id: 0, gpu_memory_utilization: true}]\n", "a share of a GPU"),
        ('stages: [{stage_id: 0, devices: "0,1"}]\n', "names 2 of the 1 GPUs it needs (1 replica of 1 in parallel)"),
        ('stages: [{stage_id: 1, devices: "1,2", num_replicas: 3}]\n', "names 2 of the 3 GPUs it needs (3 replicas"),
        ('stages: [{stage_id: 0, devices: "0,0"}]\n', "names a GPU twice"),
        ("stages: [{stage_id: 0, devices: cuda:0}]\n", "devices is a list of GPU numbers"),
        ("stages: [{stage_id: 0, max_num_seqs: four}]\n", "max_num_seqs must be a whole number from 1, not 'four'"),
        ('stages: [{stage_id: 0, devices: "0,1,2", tensor_parallel_size: 3}]\n', "does not divide the 32 attention heads"),
        ("stages: [{stage_id: 0, max_model_len: 50000}]\n", "is more than the model's 40960 tokens"),
        ("stages: [{stage_id: 2, input_connectors: {from_stage_1: tube}}]\n", "names tube, which is not among connectors"),
        ("connectors: {pipe: {name: SharedMemory}}\n", "there is no SharedMemory."),
        ("platforms: {cuda: {stages: [{stage_id: 1, kv_cache_memory_bytes: 500000000}]}}\n", "4 sequences of 4096 tokens need 0.94 GiB"),
        ("stages: [{stage_id: 0, env: {A: '${oc.env:HOME}'}}]\n", "Write the value."),
    ],
)
def test_an_error_names_what_is_wrong(overlay_file: Overlay, text: str, told: str) -> None:
    report = check(overlay_file(BASE + text))
    assert not report.accepted
    assert told in _told(report, "error")


def test_the_keys_of_vllm_omnis_own_files_are_not_judged(overlay_file: Overlay) -> None:
    file = overlay_file(BASE)
    (file.chain[-1]).write_text(file.chain[-1].read_text() + "from_the_future: true\n")
    assert check(overlay_file(BASE)).accepted


def test_too_many_calls_for_one_gpu_is_a_warning(overlay_file: Overlay) -> None:
    seats = "stages: [{stage_id: 0, max_num_seqs: 6}, {stage_id: 1, max_num_seqs: 6}, {stage_id: 2, max_num_seqs: 6}]\n"
    report = check(overlay_file(BASE + "duplex_session: {max_sessions: 6}\n" + seats))
    assert report.accepted
    assert "4 calls that speak at once keep up" in _told(report, "warning")


def test_smaller_chunks_are_advised_against(overlay_file: Overlay) -> None:
    report = check(overlay_file(BASE + "connectors: {pipe: {extra: {codec_chunk_frames: 8}}}\n"))
    assert report.accepted
    assert "codec_chunk_frames is 8" in _told(report, "warning")


def test_a_turn_based_file_takes_no_calls(overlay_file: Overlay) -> None:
    report = check(overlay_file(BASE + "session_mode: turn\n"))
    assert (report.duplex, report.sessions) == (False, None)
    assert "takes no calls" in _told(report, "warning")


def test_replicas_must_each_have_room_for_an_unlucky_deal(overlay_file: Overlay) -> None:
    text = 'stages: [{stage_id: 1, devices: "1,2", num_replicas: 2, max_num_seqs: 2}]\n'
    report = check(overlay_file(BASE + text))
    assert report.accepted
    assert "dealt to replicas by turns" in _told(report, "warning")
    assert report.stages[1].replicas == ((1,), (2,))


def test_a_list_for_the_first_replica_is_counted_on(overlay_file: Overlay) -> None:
    text = 'stages: [{stage_id: 0, devices: "0,1", tensor_parallel_size: 2, num_replicas: 2}]\n'
    report = check(overlay_file("base_config: minicpmo_4_5_8x4090.yaml\n" + text))
    assert report.stages[0].replicas == ((0, 1), (2, 3))


def test_a_stage_on_another_host_is_left_out(overlay_file: Overlay) -> None:
    text = "stages: [{stage_id: 0, gpu_memory_utilization: 0.9}]\n"
    assert not check(overlay_file(BASE + text)).accepted
    report = check(overlay_file(BASE + text), only=[0])
    assert report.accepted
    assert [stage.stage_id for stage in report.stages] == [0]
    assert check(overlay_file(BASE + text), only=[1, 2]).accepted


def test_shared_memory_does_not_reach_another_host(overlay_file: Overlay) -> None:
    told = _told(check(overlay_file(BASE), only=[0, 1]), "error")
    assert "Stages 1 and 2 pass each other chunks through SharedMemoryConnector" in told
    reaching = BASE + "connectors: {pipe: {name: MooncakeStoreConnector}}\n"
    assert check(overlay_file(reaching), only=[0, 1]).accepted
    assert "There is no stage 9" in _told(check(overlay_file(BASE), only=[9]), "error")


def test_a_short_context_needs_marks_of_its_own(overlay_file: Overlay) -> None:
    short = check(overlay_file(BASE + "stages: [{stage_id: 0, max_model_len: 4096}]\n"))
    assert "ends after 52 s with a camera" in _told(short, "warning")
    assert "basic_window_high_tokens 3000 and basic_window_low_tokens 2200" in _told(short, "warning")
    shorter = check(overlay_file(BASE + "stages: [{stage_id: 0, max_model_len: 1500}]\n"))
    assert "no room for a window" in _told(shorter, "error")
    assert "has room" in _told(check(overlay_file(BASE)), "note")


@pytest.mark.parametrize(("length", "share"), [(40960, None), (40960, 8500), (4096, None), (2500, 9000), (24576, 3300)])
def test_marks_leave_room_below_every_limit(length: int, share: int | None) -> None:
    marks = window_marks(length, share)
    assert marks is not None
    high, low = marks
    assert low < high <= min(length, share or length) - 1000
    assert (high, low) <= (8000, 6000)


def test_an_unknown_model_is_judged_by_form_only(overlay_file: Overlay) -> None:
    report = check(
        overlay_file("pipeline: nobodys\nsession_mode: duplex\nstages: [{stage_id: 0, vae_use_tiling: true}]\n"), described("80")
    )
    assert report.accepted
    assert "Nothing is known of the memory of nobodys" in _told(report, "warning")
    assert report.memory == {}


def test_overrides_win_over_file_and_platform(overlay_file: Overlay) -> None:
    given = parse_overrides('{"1": {"kv_cache_memory_bytes": 4294967296, "max_num_seqs": null}, "0": {"devices": "1"}}')
    report = check(overlay_file(BASE), overrides=given)
    assert report.accepted
    assert (report.stages[1].cache_bytes, report.stages[1].sequences) == (4294967296, 4)
    assert report.stages[0].replicas == ((1,),)


def test_wrong_overrides_are_named(overlay_file: Overlay) -> None:
    report = check(overlay_file(BASE), overrides={5: {}, 0: {"max_num_seq": 3}})
    told = _told(report, "error")
    assert "--stage-overrides: there is no stage 5" in told
    assert "--stage-overrides: stage 0: max_num_seq is no key of a stage" in told
    assert "Did you mean max_num_seqs?" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not JSON"),
        ("[1]", "an object of stages, not list"),
        ('{"a": {}}', "'a' is no stage id"),
        ('{"0": 5}', "stage 0 is an object of keys"),
    ],
)
def test_overrides_that_cannot_be_read_are_refused(text: str, told: str) -> None:
    with pytest.raises(DeployFileError) as refused:
        parse_overrides(text)
    assert told in str(refused.value)
    assert "use {" in str(refused.value)
