// One event from a begin and an end.
#include "halves.hpp"

namespace ergon::trace::kineto {

void merge(const Half& begin, const Half& end, RawEvent& event) {
  event.clear();
  event.phase = 'X';
  event.category = begin.category != kNoCategory ? begin.category : end.category;
  constexpr std::uint32_t kPlace = bit(Field::kProcess) | bit(Field::kThread);
  event.has = (begin.has & kPlace) | bit(Field::kStart) | bit(Field::kDuration);
  event[Field::kProcess] = begin.process;
  event[Field::kThread] = begin.thread;
  event[Field::kStart] = begin.time;
  event[Field::kDuration] = end.time - begin.time;
  for (const Half* half : {&begin, &end}) {
    for (std::size_t i = kFirstKept; i <= kLastKept; ++i) {
      const auto field = static_cast<Field>(i);
      if ((half->has & bit(field)) == 0) continue;
      event[field] = half->number[i - kFirstKept];
      event.has |= bit(field);
      event.bad = (event.bad & ~bit(field)) | (half->bad & bit(field));
    }
  }
}

}  // namespace ergon::trace::kineto
