// One offline page: everything that is text stands in it as static HTML; the bundle of web/ adds
// what moves.
#include "ergon/report.hpp"
#include "html_parts.hpp"
#include "text.hpp"
#ifdef ERGON_WITH_WEB
#include "embedded_web.hpp"
#endif

namespace ergon::report {

#ifdef ERGON_WITH_WEB
namespace {

// The page can reach nothing: no network, no other file. Scripts and styles are those that stand in
// it.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; "
    "form-action 'none'";

std::string_view embedded_text(std::string_view name) {
  for (const auto& file : embedded::web()) {
    if (file.name == name) return file.text;
  }
  return {};
}

std::string head(const Answer& answer) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\" data-command=\"" + html_text(answer.command) +
      "\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"" +
      std::string(kPolicy) +
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" "
      "content=\"no-referrer\">\n"
      "<title>ergon " +
      html_text(answer.command) + ": " + html_text(answer.headline) + "</title>\n<style>";
  out += embedded_text("page.css");
  return out + "</style>\n</head>\n";
}

std::string script_data(std::string_view id, const Value& value) {
  return "<script type=\"application/json\" id=\"" + std::string(id) + "\">" +
         io::to_json(value, 0, true) + "</script>\n";
}

}  // namespace

bool html_available() { return true; }

Result<std::string> to_html(const Answer& answer, const Envelope& envelope) {
  std::string out = head(answer);
  out += "<body>\n<header><div class=\"wrap\"><div class=\"mark\">ergon<span>" +
         html_text(answer.command) +
         "</span></div><div id=\"actions\"></div></div></header>\n<main class=\"wrap\">\n";
  out += html_answer(answer, envelope);
  out += html_charts(answer.page);
  out += html_kernels(answer.page);
  out += html_tables(answer);
  out += html_coverage(answer.page);
  out += html_provenance(envelope);
  out += "</main>\n";
  Value page = answer.page;
  if (page.as_object() == nullptr || page.find("schema") == nullptr) page = empty_page();
  out += script_data("ergon-page", page);
  out += script_data("ergon-answer", document(answer, envelope));
  out += "<script>";
  out += embedded_text("page.js");
  out += "</script>\n</body>\n</html>\n";
  return out;
}

#else

bool html_available() { return false; }

Result<std::string> to_html(const Answer& /*answer*/, const Envelope& /*envelope*/) {
  return fail(Errc::kUnsupported,
              "this build has no HTML export: Node was missing when it was built",
              "build it again with Node 18 or later, or use --export md:FILE");
}

#endif

}  // namespace ergon::report
