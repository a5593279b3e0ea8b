/* Marks go into the ring that ERGON_REGIONS names; without it, nowhere. */
#include "writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ergon_ring.h"

static struct ergon_ring_header *ring;
static struct ergon_ring_record *records;
static uint64_t slots;
static uint64_t process; /* of this process, in the upper bits of a region */
static uint64_t counter;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int ready;

static void name_process(void) { process = (uint64_t)getpid() << 40; }

static void attach(void) {
  const char *path = getenv("ERGON_REGIONS");
  if (path == NULL || path[0] == '\0') return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  struct stat info;
  void *memory = MAP_FAILED;
  if (fstat(file, &info) == 0 && (size_t)info.st_size > sizeof(struct ergon_ring_header))
    memory = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return;
  struct ergon_ring_header *header = memory;
  const uint64_t count = header->slots;
  const int sound = header->magic == ERGON_RING_MAGIC && count > 0 && (count & (count - 1)) == 0 &&
                    header->record_bytes == sizeof(struct ergon_ring_record) &&
                    sizeof *header + count * sizeof(struct ergon_ring_record) <= (uint64_t)info.st_size;
  if (!sound) {
    munmap(memory, (size_t)info.st_size);
    return;
  }
  slots = count;
  records = (struct ergon_ring_record *)(header + 1);
  name_process();
  pthread_atfork(NULL, NULL, name_process);
  ring = header;
}

static int active(void) {
  if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) {
    pthread_once(&once, attach);
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
  }
  return ring != NULL;
}

int ergon_writer_active(void) { return active(); }

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A free slot that is ours, or NULL where the ring is full. */
static struct ergon_ring_record *claim(uint64_t *turn) {
  uint64_t position = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
  for (;;) {
    struct ergon_ring_record *record = &records[position & (slots - 1)];
    const uint64_t free_turn = 2 * (position / slots);
    const uint64_t found = __atomic_load_n(&record->turn, __ATOMIC_ACQUIRE);
    if (found == free_turn) {
      if (__atomic_compare_exchange_n(&ring->head, &position, position + 1, 1, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
        *turn = free_turn + 1;
        return record;
      }
    } else if (found < free_turn) { /* the reader has not come round */
      __atomic_fetch_add(&ring->lost, 1, __ATOMIC_RELAXED);
      return NULL;
    } else {
      position = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    }
  }
}

uint64_t ergon_writer_begin(const char *name, unsigned library) {
  if (!active()) return 0;
  uint64_t turn = 0;
  struct ergon_ring_record *record = claim(&turn);
  if (record == NULL) return 0;
  const uint64_t number = __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED);
  const uint64_t region = process | (uint64_t)(library & 1u) << 39 | (number & ((1ull << 39) - 1));
  size_t length = name == NULL ? 0 : strnlen(name, ERGON_RING_NAME);
  if (length >= ERGON_RING_NAME) {
    length = ERGON_RING_NAME - 1;
    while (length > 0 && ((unsigned char)name[length] & 0xC0) == 0x80) --length;
  }
  if (length > 0) memcpy(record->name, name, length);
  record->name[length] = '\0';
  record->region = region;
  record->kind = ERGON_RECORD_BEGIN;
  record->time_ns = now();
  __atomic_store_n(&record->turn, turn, __ATOMIC_RELEASE);
  return region;
}

void ergon_writer_end(uint64_t region) {
  if (region == 0 || !active()) return;
  const int64_t time_ns = now();
  uint64_t turn = 0;
  struct ergon_ring_record *record = claim(&turn);
  if (record == NULL) return;
  record->region = region;
  record->kind = ERGON_RECORD_END;
  record->name[0] = '\0';
  record->time_ns = time_ns;
  __atomic_store_n(&record->turn, turn, __ATOMIC_RELEASE);
}
