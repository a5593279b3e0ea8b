// ergon explain: a short page on a topic.
#include <algorithm>

#include "context.hpp"
#include "registry.hpp"
#include "topics.hpp"

namespace ergon::cli {
namespace {

Result<int> list_topics(Context& context) {
  Answer answer{.command = "explain", .headline = "ergon explain TOPIC shows a page"};
  Table table{
      .title = "Topics",
      .columns = {{.title = "topic", .numeric = false}, {.title = "about", .numeric = false}},
      .rows = {}};
  Value list = Value::array();
  for (const Topic& topic : topics()) {
    table.rows.push_back({topic.name, topic.summary});
    list.push(Value::object().set("topic", topic.name).set("summary", topic.summary));
  }
  answer.tables.push_back(std::move(table));
  answer.data.set("topics", std::move(list));
  ERGON_TRY_STATUS(context.emit(answer));
  return 0;
}

// Whether `word` is one of the words of `list`.
bool among(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

Result<int> explain(Context& context) {
  if (context.operands().empty()) return list_topics(context);
  const auto& wanted = context.operands()[0];
  std::vector<std::string> names;
  for (const Topic& topic : topics()) {
    names.emplace_back(topic.name);
    if (topic.name != wanted && !among(topic.also, wanted)) continue;
    Answer answer{.command = "explain", .headline = std::string(topic.summary)};
    answer.data.set("topic", topic.name).set("summary", topic.summary).set("text", topic.text);
    ERGON_TRY_STATUS(context.emit_text(topic.text, answer));
    return 0;
  }
  const auto near = suggest(wanted, names);
  return fail(Errc::kNotFound, "there is no topic '" + wanted + "'",
              (near ? "did you mean '" + *near + "'? " : "") +
                  std::string("'ergon explain' lists the topics"));
}

std::vector<std::string> topic_names() {
  std::vector<std::string> names;
  for (const Topic& topic : topics()) names.emplace_back(topic.name);
  return names;
}

}  // namespace

const Command& explain_command() {
  static const Command command = {
      .name = "explain",
      .group = "Help",
      .summary = "a short page on a topic",
      .operands = {{.name = "TOPIC",
                    .help = "the page to show; without it, the list of pages",
                    .required = false,
                    .suggestions = topic_names()}},
      .examples = {{"ergon explain", "the topics"},
                   {"ergon explain gap", "how far from optimal a plan can be"},
                   {"ergon explain exit-codes", "what the exit status says"}},
      .artefact = "the page",
      .run = explain,
  };
  return command;
}

}  // namespace ergon::cli
