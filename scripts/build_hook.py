"""Puts kernels into a wheel: the folder that WORKLOADKIT_KERNELS names, of `make_kernels.py`.

Such a wheel is for one platform; without it, a wheel is for all.
"""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface):
    """Includes the libraries, and names the platform after them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Prepare a build."""
        folder = os.environ.get("WORKLOADKIT_KERNELS")
        if not folder or self.target_name != "wheel" or version == "editable":
            return
        found = {path.stem.partition("-")[0] for path in Path(folder).glob("*.so")}
        if len(found) != 1:
            sys.exit(f"WORKLOADKIT_KERNELS: {folder} has no libraries of one architecture: {found}")
        (architecture,) = found
        system = "macosx_11_0" if architecture == "arm64" else "manylinux_2_17"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{system}_{architecture}"
        build_data["force_include"][folder] = "workloadkit/_kernels/native"
