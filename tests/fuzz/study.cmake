ergon_fuzzer(study ${CMAKE_CURRENT_LIST_DIR}/fuzz_study.cpp study)
