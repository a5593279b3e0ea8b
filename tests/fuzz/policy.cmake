ergon_fuzzer(policy ${CMAKE_CURRENT_LIST_DIR}/fuzz_policy.cpp policy)
