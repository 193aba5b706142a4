// SPDX-License-Identifier: BSD-3-Clause
// Messages of 8 bytes to 4 MiB between all ranks of an MPI program, every byte checked: to the next
// rank and back to back, from any to all, and summed.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSmallest = 8, kLargest = 4 << 20, kRounds = 3 };

static int rank, ranks;

static void fail(const char* what, size_t size, size_t at) {
  fprintf(stderr, "rank %d: %s of %zu bytes: wrong at %zu\n", rank, what, size, at);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

// Differs from place to place, sender to sender and round to round.
static uint8_t byte_at(size_t i, int sender, int round) {
  const uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15u + (uint64_t)sender * 0x85ebca6bu +
                         (uint64_t)round * 0xc2b2ae35u;
  return (uint8_t)(mixed >> 32);
}

static void fill(uint8_t* to, size_t size, int sender, int round) {
  for (size_t i = 0; i < size; ++i) to[i] = byte_at(i, sender, round);
}

static void verify(const char* what, const uint8_t* bytes, size_t size, int sender, int round) {
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i] != byte_at(i, sender, round)) fail(what, size, i);
  }
}

static void to_the_next(uint8_t* out, uint8_t* in, size_t size) {
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  for (int round = 0; round < kRounds; ++round) {
    fill(out, size, rank, round);
    memset(in, 0xee, size);
    MPI_Sendrecv(out, (int)size, MPI_BYTE, next, round, in, (int)size, MPI_BYTE, before, round,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    verify("a message", in, size, before, round);
  }
}

static void from_each_to_all(uint8_t* bytes, size_t size) {
  for (int root = 0; root < ranks; ++root) {
    if (rank == root) {
      fill(bytes, size, root, 7);
    } else {
      memset(bytes, 0xee, size);
    }
    MPI_Bcast(bytes, (int)size, MPI_BYTE, root, MPI_COMM_WORLD);
    verify("a broadcast", bytes, size, root, 7);
  }
}

static void sum(size_t size) {
  const size_t n = size / sizeof(uint64_t);
  uint64_t* values = malloc(size);
  for (size_t i = 0; i < n; ++i) values[i] = i * (uint64_t)(rank + 1);
  MPI_Allreduce(MPI_IN_PLACE, values, (int)n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  const uint64_t factor = (uint64_t)ranks * (uint64_t)(ranks + 1) / 2;
  for (size_t i = 0; i < n; ++i) {
    if (values[i] != i * factor) fail("a sum", size, i);
  }
  free(values);
}

// What one rank reads and writes of another's memory.
static void windows(uint8_t* out, uint8_t* in, size_t size) {
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  MPI_Win window;
  MPI_Win_create(in, (MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  fill(out, size, rank, 9);
  MPI_Win_fence(0, window);
  MPI_Put(out, (int)size, MPI_BYTE, next, 0, (int)size, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  verify("a put", in, size, before, 9);
  MPI_Win_fence(0, window);
  memset(out, 0xee, size);
  MPI_Get(out, (int)size, MPI_BYTE, next, 0, (int)size, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  verify("a get", out, size, rank, 9);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  uint8_t* out = malloc(kLargest);
  uint8_t* in = malloc(kLargest);
  for (size_t size = kSmallest; size <= kLargest; size *= 8) {
    to_the_next(out, in, size);
    from_each_to_all(out, size);
    sum(size);
    windows(out, in, size);
    if (rank == 0) printf("%zu bytes: right\n", size);
    fflush(stdout);
    if (size < kLargest && size * 8 > kLargest) size = kLargest / 8;
  }
  MPI_Finalize();
  free(out);
  free(in);
  if (rank == 0) printf("%d ranks: every byte right\n", ranks);
  return 0;
}
