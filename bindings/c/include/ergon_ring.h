/* The memory between a measured program and `ergon measure`: a ring of fixed records in a file that
 * both map. Many writers, one reader, no locks; a writer that dies harms no record but its own.
 *
 * A slot's `turn` is 2 * lap while it is free for that lap (so that a file of zeros is an empty
 * ring) and 2 * lap + 1 while it holds a record; lap = position / slots. */
#ifndef ERGON_RING_H
#define ERGON_RING_H

#include <stdint.h>

#define ERGON_RING_MAGIC 0x31474e4952475245u /* "ERGRING1", little-endian */
#define ERGON_RING_NAME 96                   /* bytes of a name with its closing zero */

enum { ERGON_RECORD_BEGIN = 1, ERGON_RECORD_END = 2 };

/* 128 bytes. */
struct ergon_ring_record {
  uint64_t turn;
  int64_t time_ns;  /* CLOCK_MONOTONIC */
  uint64_t region;  /* process, library and number */
  uint32_t kind;    /* ERGON_RECORD_... */
  uint32_t reserved;
  char name[ERGON_RING_NAME]; /* of a begin */
};

struct ergon_ring_header {
  uint64_t magic;
  uint32_t slots;        /* a power of two */
  uint32_t record_bytes; /* sizeof(struct ergon_ring_record) */
  uint8_t pad0[48];
  uint64_t head; /* next position to write */
  uint8_t pad1[56];
  uint64_t lost; /* records that found no free slot */
  uint8_t pad2[56];
};

#endif
