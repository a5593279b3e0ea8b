// The static parts of the page.
#pragma once
#include <string>

#include "ergon/report.hpp"

namespace ergon::report {

/// Headline, lines, warnings, the row of figures.
std::string html_answer(const Answer& answer, const Envelope& envelope);
/// The places of frontier and timeline (hidden until the script fills them), and energy by
/// component.
std::string html_charts(const Value& page);
/// The table of kernels.
std::string html_kernels(const Value& page);
/// The tables of the answer.
std::string html_tables(const Answer& answer);
std::string html_coverage(const Value& page);
std::string html_provenance(const Envelope& envelope);
/// Page data of an answer that has none.
Value empty_page();

}  // namespace ergon::report
