// The finder of anomalies: rows (findings_rows.cpp), points (findings_points.cpp), and the rest.
#pragma once
#include <string>

#include "judging.hpp"

namespace ergon::study {

constexpr double kRising = 0.05;  ///< time at a higher clock over that at a lower one

class Finder {
 public:
  Finder(const Dataset& data, const Options& options, Study& study)
      : data_(data), options_(options), study_(study) {}

  void run();

 private:
  void add(std::string kind, std::string subject, std::string evidence) {
    study_.findings.push_back({std::move(kind), std::move(subject), std::move(evidence)});
  }

  void claim(const Claim& c);
  // Rows: figures against each other, against their labels and against the board.
  void products(const Workload& w);
  /// Where units are not known energy is power times time up to one factor.
  [[nodiscard]] double usual_product(const Workload& w) const;
  void clocks(const Workload& w);
  void idle(const Workload& w);
  void cold_start(const Workload& w);
  void limits(const Workload& w);
  // Points against each other.
  void rising_time(const Workload& w);
  /// Limits that don't bind give one point several times.
  void duplicates(const Workload& w);
  /// Repeats against each other, and a point against those around it.
  void contradictions(const Workload& w);
  void baseline(const Workload& w);
  void edge(const Workload& w);
  void temperature(const Workload& w);
  /// One line a kind and subject; reading and judging may name the same.
  void merge();

  const Dataset& data_;
  const Options& options_;
  Study& study_;
};

}  // namespace ergon::study
