/* libergon_nvtx.so: ranges of NVTX 3 become regions, in programs that know nothing of us.
 *
 * The NVTX headers compiled into a program load the library that NVTX_INJECTION64_PATH names and
 * call InitializeInjectionNvtx2 with a function that hands out tables of callback slots. We fill
 * the slots of ranges. Push and pop belong to a thread and a domain; start and end to nobody. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "writer.h"

#define EXPORT __attribute__((visibility("default")))

/* What the interface of NVTX 3 fixes; only what is used here. */
typedef void (*slot_function)(void);
typedef slot_function **slot_table; /* the slot's address, or NULL */
struct callback_tables {
  size_t bytes;
  int (*module_table)(int module, slot_table *table, unsigned *size);
};
typedef const void *(*export_table_function)(uint32_t id);
enum { kCallbackTables = 1, kModuleCore = 1, kModuleCore2 = 5 };
enum core_slot {
  kRangeStartEx = 4,
  kRangeStartA,
  kRangeStartW,
  kRangeEnd,
  kRangePushEx,
  kRangePushA,
  kRangePushW,
  kRangePop
};
enum core2_slot {
  kDomainRangeStartEx = 2,
  kDomainRangeEnd,
  kDomainRangePushEx,
  kDomainRangePop,
  kDomainRegisterStringA = 10,
  kDomainRegisterStringW,
  kDomainCreateA,
  kDomainCreateW
};
enum { kMessageAscii = 1, kMessageUnicode = 2, kMessageRegistered = 3 };
struct attributes {
  uint16_t version;
  uint16_t bytes;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type;
  int32_t reserved;
  uint64_t payload;
  int32_t message_type;
  const void *message;
};

/* Domains and registered strings: their text. They live as long as the process. */
struct text {
  char text[96];
};
enum { kDeepest = 128 };
struct level {
  const struct text *domain;
  uint64_t region;
};
static __thread struct level stack[kDeepest];
static __thread unsigned depth;

static void put_ascii(char *out, size_t size, const char *in) {
  size_t n = 0;
  for (; in != NULL && in[n] != '\0' && n + 1 < size; ++n) out[n] = in[n];
  out[n] = '\0';
}

static void put_wide(char *out, size_t size, const wchar_t *in) {
  size_t n = 0;
  for (; in != NULL && *in != L'\0' && n + 5 < size; ++in) {
    const uint32_t c = (uint32_t)*in;
    if (c < 0x80) {
      out[n++] = (char)c;
    } else if (c < 0x800) {
      out[n++] = (char)(0xC0 | c >> 6);
      out[n++] = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      out[n++] = (char)(0xE0 | c >> 12);
      out[n++] = (char)(0x80 | (c >> 6 & 0x3F));
      out[n++] = (char)(0x80 | (c & 0x3F));
    } else {
      out[n++] = (char)(0xF0 | (c >> 18 & 0x07));
      out[n++] = (char)(0x80 | (c >> 12 & 0x3F));
      out[n++] = (char)(0x80 | (c >> 6 & 0x3F));
      out[n++] = (char)(0x80 | (c & 0x3F));
    }
  }
  out[n] = '\0';
}

/* "domain: message", or the message alone in the default domain. */
static uint64_t begin(const struct text *domain, const char *message) {
  if (domain == NULL || domain->text[0] == '\0') return ergon_writer_begin(message, 1);
  char name[192];
  const size_t n = strlen(domain->text);
  memcpy(name, domain->text, n);
  memcpy(name + n, ": ", 2);
  put_ascii(name + n + 2, sizeof name - n - 2, message);
  return ergon_writer_begin(name, 1);
}

static uint64_t begin_with(const struct text *domain, const struct attributes *a) {
  if (!ergon_writer_active()) return 0;
  char wide[96];
  const int has_message =
      a != NULL && a->bytes >= offsetof(struct attributes, message) + sizeof a->message &&
      a->message != NULL;
  if (has_message && a->message_type == kMessageAscii) return begin(domain, a->message);
  if (has_message && a->message_type == kMessageRegistered)
    return begin(domain, ((const struct text *)a->message)->text);
  if (has_message && a->message_type == kMessageUnicode) {
    put_wide(wide, sizeof wide, a->message);
    return begin(domain, wide);
  }
  return begin(domain, "(no message)");
}

static int push(const struct text *domain, uint64_t region) {
  if (depth < kDeepest) stack[depth] = (struct level){domain, region};
  return (int)depth++;
}

static int pop(const struct text *domain) {
  if (depth == 0) return -2; /* NVTX_NO_PUSH_POP_TRACKING and below say "no level" */
  unsigned at = depth < kDeepest ? depth : kDeepest;
  if (depth > kDeepest) { /* too deep to have been kept */
    return (int)--depth;
  }
  while (at > 0 && stack[at - 1].domain != domain) --at;
  if (at == 0) return -2;
  ergon_writer_end(stack[at - 1].region);
  memmove(&stack[at - 1], &stack[at], (depth - at) * sizeof stack[0]);
  return (int)--depth;
}

static uint64_t range_start_ex(const struct attributes *a) { return begin_with(NULL, a); }
static uint64_t range_start_a(const char *message) { return begin(NULL, message); }
static uint64_t range_start_w(const wchar_t *message) {
  char text[96];
  put_wide(text, sizeof text, message);
  return begin(NULL, text);
}
static void range_end(uint64_t region) { ergon_writer_end(region); }
static int range_push_ex(const struct attributes *a) { return push(NULL, begin_with(NULL, a)); }
static int range_push_a(const char *message) { return push(NULL, range_start_a(message)); }
static int range_push_w(const wchar_t *message) { return push(NULL, range_start_w(message)); }
static int range_pop(void) { return pop(NULL); }

static uint64_t domain_range_start_ex(const struct text *domain, const struct attributes *a) {
  return begin_with(domain, a);
}
static void domain_range_end(const struct text *domain, uint64_t region) {
  (void)domain;
  ergon_writer_end(region);
}
static int domain_range_push_ex(const struct text *domain, const struct attributes *a) {
  return push(domain, begin_with(domain, a));
}
static int domain_range_pop(const struct text *domain) { return pop(domain); }

static struct text *keep_ascii(const char *in) {
  struct text *kept = calloc(1, sizeof *kept);
  if (kept != NULL) put_ascii(kept->text, sizeof kept->text, in);
  return kept;
}
static struct text *keep_wide(const wchar_t *in) {
  struct text *kept = calloc(1, sizeof *kept);
  if (kept != NULL) put_wide(kept->text, sizeof kept->text, in);
  return kept;
}
static struct text *register_string_a(const struct text *domain, const char *in) {
  (void)domain;
  return keep_ascii(in);
}
static struct text *register_string_w(const struct text *domain, const wchar_t *in) {
  (void)domain;
  return keep_wide(in);
}

static void fill(slot_table table, unsigned size, unsigned id, slot_function function) {
  if (id < size && table[id] != NULL) *table[id] = function;
}

EXPORT int InitializeInjectionNvtx2(export_table_function export_table);
EXPORT int InitializeInjectionNvtx2(export_table_function export_table) {
  const struct callback_tables *tables = export_table(kCallbackTables);
  if (tables == NULL || tables->bytes < sizeof *tables) return 0;
  slot_table table = NULL;
  unsigned size = 0;
#define FILL(id, function) fill(table, size, id, (slot_function)(function))
  if (tables->module_table(kModuleCore, &table, &size) != 0 && table != NULL) {
    FILL(kRangeStartEx, range_start_ex);
    FILL(kRangeStartA, range_start_a);
    FILL(kRangeStartW, range_start_w);
    FILL(kRangeEnd, range_end);
    FILL(kRangePushEx, range_push_ex);
    FILL(kRangePushA, range_push_a);
    FILL(kRangePushW, range_push_w);
    FILL(kRangePop, range_pop);
  }
  table = NULL;
  size = 0;
  if (tables->module_table(kModuleCore2, &table, &size) != 0 && table != NULL) {
    FILL(kDomainRangeStartEx, domain_range_start_ex);
    FILL(kDomainRangeEnd, domain_range_end);
    FILL(kDomainRangePushEx, domain_range_push_ex);
    FILL(kDomainRangePop, domain_range_pop);
    FILL(kDomainRegisterStringA, register_string_a);
    FILL(kDomainRegisterStringW, register_string_w);
    FILL(kDomainCreateA, keep_ascii);
    FILL(kDomainCreateW, keep_wide);
  }
#undef FILL
  return 1;
}
