// SPDX-License-Identifier: Apache-2.0
// bench/cuda/library.hpp: liborthant_cuda by its C interface, opened by name, for the benchmarks.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "orthant/device/cuda.h"

namespace orthant {

class CudaLibrary {
 public:
  explicit CudaLibrary(const char* path) : library_(dlopen(path, RTLD_NOW)) {
    if (library_ == nullptr) die(dlerror());
    find("orthant_cuda_error", error);
    find("orthant_cuda_devices", devices);
    find("orthant_cuda_create", create);
    find("orthant_cuda_destroy", destroy);
    find("orthant_cuda_allocate", allocate);
    find("orthant_cuda_release", release);
    find("orthant_cuda_upload", upload);
    find("orthant_cuda_download", download);
    find("orthant_cuda_sum", sum);
    find("orthant_cuda_step", step);
    find("orthant_cuda_pull_back", pull_back);
    find("orthant_cuda_spheres_create", spheres_create);
    find("orthant_cuda_spheres_destroy", spheres_destroy);
    find("orthant_cuda_spheres_step", spheres_step);
    find("orthant_cuda_rods_create", rods_create);
    find("orthant_cuda_rods_destroy", rods_destroy);
    find("orthant_cuda_rods_step", rods_step);
  }
  [[noreturn]] static void die(const char* what) {
    std::fprintf(stderr, "error: %s\n", what);
    std::exit(1);
  }
  void require(int bad) const {
    if (bad != 0) die(error());
  }

  decltype(&orthant_cuda_error) error;
  decltype(&orthant_cuda_devices) devices;
  decltype(&orthant_cuda_create) create;
  decltype(&orthant_cuda_destroy) destroy;
  decltype(&orthant_cuda_allocate) allocate;
  decltype(&orthant_cuda_release) release;
  decltype(&orthant_cuda_upload) upload;
  decltype(&orthant_cuda_download) download;
  decltype(&orthant_cuda_sum) sum;
  decltype(&orthant_cuda_step) step;
  decltype(&orthant_cuda_pull_back) pull_back;
  decltype(&orthant_cuda_spheres_create) spheres_create;
  decltype(&orthant_cuda_spheres_destroy) spheres_destroy;
  decltype(&orthant_cuda_spheres_step) spheres_step;
  decltype(&orthant_cuda_rods_create) rods_create;
  decltype(&orthant_cuda_rods_destroy) rods_destroy;
  decltype(&orthant_cuda_rods_step) rods_step;

 private:
  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) die(name);
  }
  void* library_;
};

}  // namespace orthant
