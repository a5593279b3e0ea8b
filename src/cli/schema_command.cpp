// ergon schema: the JSON Schemas of answers and files.
#include "context.hpp"
#include "registry.hpp"
#include "schemas.hpp"

namespace ergon::cli {
namespace {

Result<int> list_schemas(Context& context) {
  Answer answer{.command = "schema", .headline = "ergon schema NAME prints a JSON Schema"};
  Table table{
      .title = "Schemas",
      .columns = {{.title = "name", .numeric = false}, {.title = "describes", .numeric = false}},
      .rows = {}};
  Value list = Value::array();
  for (const auto& name : schema_names()) {
    const auto document = schema_document(name);
    const Value* title = document ? document->find("title") : nullptr;
    table.rows.push_back({name, title == nullptr ? Value("") : *title});
    list.push(Value::object().set("name", name).set("title", title == nullptr ? Value() : *title));
  }
  answer.tables.push_back(std::move(table));
  answer.data.set("schemas", std::move(list));
  ERGON_TRY_STATUS(context.emit(answer));
  return 0;
}

Result<int> schema(Context& context) {
  if (context.operands().empty()) return list_schemas(context);
  const auto& wanted = context.operands()[0];
  auto document = schema_document(wanted);
  if (!document) {
    const auto near = suggest(wanted, schema_names());
    return fail(Errc::kNotFound, "there is no schema '" + wanted + "'",
                (near ? "did you mean '" + *near + "'? " : "") +
                    std::string("'ergon schema' lists the schemas"));
  }
  const std::string text = io::to_json(*document);
  // With -f json the answer's own members stand beside those of the schema, which JSON Schema
  // allows.
  const Answer answer{
      .command = "schema", .headline = "JSON Schema of " + wanted, .data = *std::move(document)};
  ERGON_TRY_STATUS(context.emit_text(text, answer));
  return 0;
}

}  // namespace

const Command& schema_command() {
  static const Command command = {
      .name = "schema",
      .group = "Help",
      .summary = "the JSON Schemas of answers and files",
      .operands = {{.name = "NAME",
                    .help = "a schema; without it, the list of schemas",
                    .required = false}},
      .examples = {{"ergon schema", "the names"},
                   {"ergon schema plan", "what 'ergon plan -f json' prints"},
                   {"ergon schema packs -o packs.schema.json", "the pack file"}},
      .artefact = "the schema",
      .run = schema,
  };
  return command;
}

}  // namespace ergon::cli
