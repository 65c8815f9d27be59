"""Builds the optional native kernels; everything else is in pyproject.toml.

Without a C compiler the build goes on and wayscore runs on its NumPy kernels.
`WAYSCORE_CFLAGS` adds compiler and linker flags (the sanitizer build uses it).
"""

import os
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NATIVE = Path("src/wayscore/kernels/native")

# One wheel serves every Python from 3.11 on, where buffers entered the limited API. 3.10 compiles the same sources for
# itself alone, and so do free-threaded builds, which have no limited API.
LIMITED = sys.version_info >= (3, 11) and not sysconfig.get_config_var("Py_GIL_DISABLED")


class BuildNative(build_ext):
    """Chooses flags by compiler; contraction stays off so that native and NumPy results are the same bits."""

    def build_extensions(self) -> None:
        extra = os.environ.get("WAYSCORE_CFLAGS", "").split()
        if self.compiler.compiler_type == "msvc":
            flags = ["/O2", "/fp:precise"]
        else:
            flags = ["-O3", "-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden"]
            flags += ["-g0", "-Wall", "-Wextra", "-Wno-unused-parameter"]
        for extension in self.extensions:
            extension.extra_compile_args = flags + extra
            extension.extra_link_args = extra
        super().build_extensions()


setup(
    ext_modules=[
        Extension(
            "wayscore.kernels._native",
            sources=sorted(str(path) for path in NATIVE.glob("*.c")),
            depends=sorted(str(path) for path in NATIVE.glob("*.h")),
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED else [],
            py_limited_api=LIMITED,
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildNative},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {},
)
