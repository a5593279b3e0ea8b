// Pieces of the answer of `study`.
#pragma once
#include "ergon/report/page.hpp"
#include "ergon/study.hpp"

namespace ergon::cli {

/// What the answer is made from.
struct StudyView {
  const study::Dataset& data;
  const study::Study& study;
  const study::Options& options;
  std::size_t top = 40;      ///< rows of each table
  bool with_points = false;  ///< every point of every workload, for people
};
Answer study_answer(const StudyView& view, bool with_page);
/// Curves, bars, heat maps and tables of the HTML page.
void fill_study_page(const StudyView& view, Answer& answer);

/// "1380 MHz, memory 877 MHz", as findings say it.
std::string setting_text(const study::Setting& setting);

/// 0.1234 as "12.3".
std::string percent_tenths(double share);
Table factor_table(const study::FactorTable& f);
Table findings_table(const StudyView& view);

}  // namespace ergon::cli
