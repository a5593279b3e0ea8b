// How the readers share their work: each turns one kind of file into samples.
#pragma once
#include <optional>

#include "cells.hpp"
#include "columns.hpp"

namespace ergon::study {

/// What a reader gets: one file, what the user said of it, and where the samples go.
struct Reading {
  const Source& source;
  std::size_t file = 0;
  const Mapping& mapping;
  std::span<const Filter> filters;
  Dataset& data;

  void note(std::string code, std::string message, std::uint64_t count = 1) const;
  void skip(const std::string& reason, std::uint64_t count) const;
  void finding(std::string kind, std::string subject, std::string evidence) const;
};

/// A table with names over its columns.
Status read_long_table(const Reading& reading, RawTable table);
/// Columns of several kernels ("gemm_time_ms", "conv_time_ms") become rows of them.
void unfold_parts(const Reading& reading, RawTable& table);
/// One row a workload, one column a clock or a limit.
bool is_matrix(const RawTable& table);
Status read_matrix(const Reading& reading, const RawTable& table);
/// A line with a name, then rows of numbers without names over them.
bool is_blocks(std::string_view text);
Status read_blocks(const Reading& reading);
/// Rows of numbers without any name.
Status read_numbers(const Reading& reading, const RawTable& table);
/// Objects and arrays of objects.
Status read_json(const Reading& reading);

/// A run file of `ergon measure` or `ergon sweep`; read from its path.
Status read_run_file(const Reading& reading);

/// Whether a table holds readings over time and no results.
bool is_power_log(const Source& source, const RawTable& table);
/// The busy part of a power log is one measurement; its name may say which.
Status read_power_log(const Reading& reading);
/// What is no table of results may be a log of another kind (nvidia-smi dmon, -q, ...): then it is
/// read as one, or refused with the command that reads it, in `done`. false: it is none.
bool read_as_log(const Reading& reading, Status& done);
/// Logs of runs that a table lists say more of those runs, and are no measurements of their own.
void attach_logs(Dataset& data, std::span<const Source> sources);

/// Rows with missing figures filled in from the others, units settled by E = P t.
void settle_units(const Reading& reading, std::size_t first_sample, bool time_unit_known,
                  bool energy_unit_known);

std::string counted_text(std::uint64_t n, std::string_view what);
std::string figure_text(double value, int significant = 4);

}  // namespace ergon::study
