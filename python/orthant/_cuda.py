# SPDX-License-Identifier: Apache-2.0
"""liborthant_cuda by its C interface (include/orthant/device/cuda.h): memory, step, pull_back.

Arrays of the device are anything with `data_ptr()` (torch) or `__cuda_array_interface__` (CuPy, JAX,
Numba): they are used where they are. NumPy arrays are copied.
"""
from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import numpy as np

NAME = "liborthant_cuda.so"


class DeviceError(ValueError):
    """No device, too little memory on it, or an array that is not on it."""


def _open() -> ctypes.CDLL:
    given = os.environ.get("ORTHANT_CUDA_LIBRARY")
    places = [given] if given else [str(Path(__file__).parent / NAME), NAME]
    for place in places:
        try:
            library = ctypes.CDLL(place)
        except OSError:
            continue
        library.orthant_cuda_error.restype = ctypes.c_char_p
        for name in ("orthant_cuda_destroy", "orthant_cuda_release"):
            getattr(library, name).restype = None
        return library
    raise DeviceError(f"device: {NAME} is not there (looked for {', '.join(places)}); build it with "
                      "`make cuda` and name it in ORTHANT_CUDA_LIBRARY, or use device=\"cpu\"")


class CudaBatch:
    """A program and its workspaces on the device."""

    def __init__(self, program: bytes, worlds: int, gradient: bool) -> None:
        self._library = _open()
        self._handle = ctypes.c_void_p()
        count, free, total = ctypes.c_int(), ctypes.c_size_t(), ctypes.c_size_t()
        name = ctypes.create_string_buffer(256)
        self._call("orthant_cuda_devices", ctypes.byref(count), name, ctypes.c_size_t(256),
                   ctypes.byref(free), ctypes.byref(total))
        self.name = name.value.decode()
        needed = ctypes.c_size_t()
        self._call("orthant_cuda_create", program, ctypes.c_size_t(len(program)),
                   ctypes.c_size_t(worlds), ctypes.c_int(gradient), ctypes.byref(needed),
                   ctypes.byref(self._handle))
        self.bytes = needed.value  #: of the device's memory
        self.milliseconds = 0.0  #: of the last kernel

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.orthant_cuda_destroy(self._handle)

    def _call(self, name: str, *arguments: Any) -> None:
        if getattr(self._library, name)(*arguments) != 0:
            raise DeviceError(f"device: {self._library.orthant_cuda_error().decode()}")

    def pointer(self, x: Any, keep: list["DeviceArray"]) -> ctypes.c_void_p | None:
        """Where an array of doubles (or bytes) lies on the device; copies of NumPy arrays are kept in `keep`."""
        if x is None:
            return None
        if isinstance(x, DeviceArray):
            return x.memory
        if hasattr(x, "__cuda_array_interface__") or hasattr(x, "data_ptr"):
            if hasattr(x, "is_cuda") and not x.is_cuda:
                raise DeviceError("device: a tensor is not on the device")
            if "float64" not in str(x.dtype) or not getattr(x, "is_contiguous", lambda: True)():
                raise DeviceError(f"device: expected contiguous float64, got {x.dtype}")
            at = x.data_ptr() if hasattr(x, "data_ptr") else x.__cuda_array_interface__["data"][0]
            return ctypes.c_void_p(at)
        keep.append(DeviceArray(self, np.ascontiguousarray(x)))
        return keep[-1].memory

    def step(self, q: Any, v: Any, warm: Any, u: Any, parameters: Any, rows: int, report: Any) -> None:
        keep: list[DeviceArray] = []
        ms = ctypes.c_float()
        self._call("orthant_cuda_step", self._handle, *(self.pointer(x, keep) for x in (q, v, warm, u, parameters)),
                   ctypes.c_size_t(rows), self.pointer(report, keep), ctypes.byref(ms))
        self.milliseconds = ms.value

    def pull_back(self, q: Any, v: Any, warm: Any, u: Any, parameters: Any, rows: int, by_q_next: Any,
                  by_v_next: Any, by_q: Any, by_v: Any, by_u: Any, by_parameters: Any, wanted: Any,
                  certificate: Any) -> None:
        keep: list[DeviceArray] = []
        ms = ctypes.c_float()
        given = [self.pointer(x, keep) for x in (q, v, warm, u, parameters)]
        rest = [self.pointer(x, keep) for x in (by_q_next, by_v_next, by_q, by_v, by_u, by_parameters, wanted,
                                                certificate)]
        self._call("orthant_cuda_pull_back", self._handle, *given, ctypes.c_size_t(rows), *rest, ctypes.byref(ms))
        self.milliseconds = ms.value


class DeviceArray:
    """Memory of the device with the shape of a NumPy array."""

    def __init__(self, batch: CudaBatch, x: Any) -> None:
        self._batch = batch
        self.shape, self.dtype, self._size = x.shape, x.dtype, x.nbytes
        self.memory = ctypes.c_void_p()
        batch._call("orthant_cuda_allocate", ctypes.c_size_t(max(self._size, 8)), ctypes.byref(self.memory))
        self.set(x)

    def __del__(self) -> None:
        if getattr(self, "memory", None):
            self._batch._library.orthant_cuda_release(self.memory)

    def set(self, x: Any) -> None:
        x = np.ascontiguousarray(x, dtype=self.dtype)
        if x.shape != self.shape:
            raise DeviceError(f"device: expected shape {self.shape}, got {x.shape}")
        self._batch._call("orthant_cuda_upload", self.memory, x.ctypes.data_as(ctypes.c_void_p),
                          ctypes.c_size_t(self._size))

    def get(self) -> Any:
        x = np.empty(self.shape, self.dtype)
        self._batch._call("orthant_cuda_download", x.ctypes.data_as(ctypes.c_void_p), self.memory,
                          ctypes.c_size_t(self._size))
        return x
