// Figures in sentences.
#pragma once
#include <string>

namespace ergon::meter {

std::string seconds_text(double seconds);   ///< "300 ms", "2.5 s"
std::string percent_text(double share);     ///< "42 %"
std::string times_text(std::size_t count);  ///< "once", "3 times"

}  // namespace ergon::meter
