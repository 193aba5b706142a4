// SPDX-License-Identifier: BSD-3-Clause
// hold N: N processes that have the device open, until this one is ended.
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static int hold(int ready, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return 3;
  struct ibv_device** list = ibv_get_device_list(NULL);
  if (list == NULL || list[0] == NULL || ibv_open_device(list[0]) == NULL) return 3;
  if (write(ready, "", 1) != 1) return 3;
  for (;;) pause();
}

int main(int argc, char** argv) {
  const int processes = argc > 1 ? atoi(argv[1]) : 1;
  const pid_t parent = getpid();
  int ready[2];
  if (pipe(ready) != 0) return 3;
  int held = 0;
  for (; held < processes; ++held) {
    const pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      close(ready[0]);
      _exit(hold(ready[1], parent));
    }
  }
  close(ready[1]);
  char byte;
  for (held = 0; held < processes && read(ready[0], &byte, 1) == 1;) ++held;
  printf("%d hold it\n", held);
  fflush(stdout);
  for (;;) pause();
}
