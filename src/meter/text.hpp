// Figures in sentences.
#pragma once
#include <string>

namespace ergon::meter {

std::string seconds_text(double seconds);  ///< "300 ms", "2.5 s"
std::string percent_text(double share);    ///< "42 %"
/// Shortest, and whole numbers without an exponent: 1410000000, not 1.41e+09.
void put_number(std::string& out, double value);
std::string times_text(std::size_t count);  ///< "once", "3 times"

}  // namespace ergon::meter
