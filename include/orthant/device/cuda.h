/* SPDX-License-Identifier: Apache-2.0
 * device/cuda.h: the C interface of liborthant_cuda. Nothing in the core includes or links it: it is
 * loaded at run time, and where it or a device is missing, a message says so.
 * All functions return 0, or another number with orthant_cuda_error() saying why. Pointers are
 * memory of the device unless said otherwise; work goes to one stream and each call waits for it. */
#ifndef ORTHANT_DEVICE_CUDA_H
#define ORTHANT_DEVICE_CUDA_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct orthant_cuda_batch orthant_cuda_batch;

/* The last error of this thread, in words; never null. */
const char* orthant_cuda_error(void);
/* Number of devices; name of device 0 and its free and total memory [bytes]. */
int orthant_cuda_devices(int* count, char* name, size_t name_size, size_t* free_bytes,
                         size_t* total_bytes);
/* `program`: the bytes of BatchProgram (host). `bytes_needed` (host, may be null) is written before
 * anything is taken. */
int orthant_cuda_create(const unsigned char* program, size_t size, size_t worlds, int gradient,
                        size_t* bytes_needed, orthant_cuda_batch** out);
void orthant_cuda_destroy(orthant_cuda_batch* batch);

/* Memory of the device, for callers without a framework that has some. */
int orthant_cuda_allocate(size_t bytes, void** out);
void orthant_cuda_release(void* memory);
int orthant_cuda_upload(void* to, const void* host, size_t bytes);
int orthant_cuda_download(void* host, const void* from, size_t bytes);

/* Sum of `count` numbers of the device, with the bits of device_sum() on the host. */
int orthant_cuda_sum(const double* x, size_t count, double* out);

/* As BatchProgram::step() and pull_back(). parameter_rows: 1 or the number of worlds. u may be
 * null. milliseconds (host, may be null): of the kernel alone. */
int orthant_cuda_step(orthant_cuda_batch* batch, double* q, double* v, double* warm,
                      const double* u, const double* parameters, size_t parameter_rows,
                      double* report, float* milliseconds);
int orthant_cuda_pull_back(orthant_cuda_batch* batch, const double* q, const double* v,
                           const double* warm, const double* u, const double* parameters,
                           size_t parameter_rows, const double* by_q_next, const double* by_v_next,
                           double* by_q, double* by_v, double* by_u, double* by_parameters,
                           const unsigned char* wanted, double* certificate, float* milliseconds);

/* One world of very many spheres. `program`: the bytes of SphereProgram (host). q, v: 7 and 6 numbers
 * per sphere, in and out. `forget`: start from no impulses. `report` (host): contacts, late,
 * one by one, not finite, residual, deepest, as SphereReport. milliseconds (host, may be null): of the step. */
typedef struct orthant_cuda_spheres orthant_cuda_spheres;
int orthant_cuda_spheres_create(const unsigned char* program, size_t size,
                                orthant_cuda_spheres** out);
void orthant_cuda_spheres_destroy(orthant_cuda_spheres* spheres);
int orthant_cuda_spheres_step(orthant_cuda_spheres* spheres, double* q, double* v, int forget,
                              double* report, float* milliseconds);

/* One world of very many rods. `program`: the bytes of RodProgram (host). q, length: 3 and 1 numbers
 * per rod, in and out; `count` may change from call to call, which starts from no impulses, as
 * `forget` does. `report` (host): outcome, first, rows, solves, iterations, residual, deepest, as
 * RodReport. milliseconds (host, may be null): of the step. */
typedef struct orthant_cuda_rods orthant_cuda_rods;
int orthant_cuda_rods_create(const unsigned char* program, size_t size, orthant_cuda_rods** out);
void orthant_cuda_rods_destroy(orthant_cuda_rods* rods);
int orthant_cuda_rods_step(orthant_cuda_rods* rods, size_t count, double* q, double* length,
                           int forget, double* report, float* milliseconds);

#ifdef __cplusplus
}
#endif
#endif
