ergon_fuzzer(packs ${CMAKE_CURRENT_LIST_DIR}/fuzz_packs.cpp plan)
ergon_fuzzer(measured ${CMAKE_CURRENT_LIST_DIR}/fuzz_measured.cpp plan)
