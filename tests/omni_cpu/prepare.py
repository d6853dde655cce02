"""Makes torchvision and torchaudio importable without CUDA: their wheels on the public index are CUDA builds.

Their native libraries are removed (nothing here uses them), and the two operators that torchvision declares variants of are defined.
"""

import shutil
import sysconfig
from pathlib import Path

_DEFINE = (
    'import torch as _torch; _library = _torch.library.Library("torchvision", "FRAGMENT"); '
    '[_library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor") for name in ("nms", "qnms")]\n'
)


def main() -> None:
    """Idempotent."""
    site = Path(sysconfig.get_paths()["purelib"])
    for library in (site / "torchvision").glob("*.so"):
        library.unlink()
    for folder in (site / "torchvision.libs", site / "torchaudio" / "lib"):
        shutil.rmtree(folder, ignore_errors=True)
    start = site / "torchvision" / "__init__.py"
    text = start.read_text()
    if not text.startswith(_DEFINE):
        start.write_text(_DEFINE + text)


if __name__ == "__main__":
    main()
