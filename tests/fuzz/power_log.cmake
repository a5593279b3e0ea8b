ergon_fuzzer(power_log ${CMAKE_CURRENT_LIST_DIR}/fuzz_power_log.cpp meter)
