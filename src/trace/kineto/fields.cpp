// Look-ups in the vocabulary; slow, because the shapes of events remember what they find.
#include "fields.hpp"

#include <algorithm>
#include <utility>

namespace ergon::trace::kineto {

namespace {

constexpr std::array kEventFields = {
    std::pair{std::string_view("name"), Field::kName},
    std::pair{std::string_view("ph"), Field::kPhase},
    std::pair{std::string_view("cat"), Field::kCategory},
    std::pair{std::string_view("pid"), Field::kProcess},
    std::pair{std::string_view("tid"), Field::kThread},
    std::pair{std::string_view("ts"), Field::kStart},
    std::pair{std::string_view("dur"), Field::kDuration},
    std::pair{std::string_view("id"), Field::kFlowId},
};

constexpr std::array kArgumentFields = {
    std::pair{std::string_view("External id"), Field::kExternalId},
    std::pair{std::string_view("external id"), Field::kExternalId},
    std::pair{std::string_view("correlation"), Field::kCorrelation},
    std::pair{std::string_view("device"), Field::kDevice},
    std::pair{std::string_view("context"), Field::kContext},
    std::pair{std::string_view("stream"), Field::kStream},
    std::pair{std::string_view("Sequence number"), Field::kSequence},
    std::pair{std::string_view("Fwd thread id"), Field::kForwardThread},
    std::pair{std::string_view("Seq"), Field::kCollectiveSeq},
    std::pair{std::string_view("name"), Field::kMetaName},
};

template <class Table>
Field find(const Table& table, std::string_view key) {
  const auto it = std::ranges::find(table, key, [](const auto& entry) { return entry.first; });
  return it == table.end() ? Field::kIgnored : it->second;
}

}  // namespace

CategoryId category_of(std::string_view word) {
  const auto it = std::ranges::find(kCategories, word, &Category::word);
  return it == kCategories.end() ? kUnknownCategory
                                 : static_cast<CategoryId>(it - kCategories.begin());
}

Field event_field(std::string_view key) { return find(kEventFields, key); }

Field argument_field(std::string_view key) {
  if (const Field f = find(kArgumentFields, key); f != Field::kIgnored) return f;
  for (std::size_t i = 0; i < kDetails.size(); ++i) {
    if (key == kDetails[i].key || (!kDetails[i].older.empty() && key == kDetails[i].older)) {
      return detail_field(i);
    }
  }
  return Field::kIgnored;
}

}  // namespace ergon::trace::kineto
