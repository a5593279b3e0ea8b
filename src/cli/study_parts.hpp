// Pieces of the answer of `study`.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// The contract's fields.
Value study_data(const StudyView& view);

/// Columns of the tables where there is no terminal.
/// "1380 / 877 MHz, 300 W".
std::string setting_text(const study::Setting& setting);
/// A value of the axis on which the optimum was interpolated: "875 MHz"; and two: "850 to 900 MHz".
std::string axis_text(const study::Workload& workload, double value);
std::string axis_range(const study::Workload& workload, double low, double high);
/// The setting of all baselines, of each GPU where they differ; empty where one is missing or they
/// differ on one GPU.
std::string common_baseline(const StudyView& view);
/// What Interval::from says, for sentences.
std::string interval_origin_text(std::string_view from);
std::string level_text(const study::FactorTable& f, std::size_t level);

Table workloads_table(const StudyView& view);
/// nullopt where nothing lies between two neighbours.
std::optional<Table> interpolated_table(const StudyView& view);
Table points_table(const StudyView& view, const study::Workload& w);
Table factor_table(const study::FactorTable& f);
/// How much one level saves more than another, and the ratio of energies where it has intervals.
std::vector<Table> differences_tables(const StudyView& view, const study::FactorTable& f);
Table findings_table(const StudyView& view);

}  // namespace ergon::cli
