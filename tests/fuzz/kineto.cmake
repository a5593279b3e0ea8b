ergon_fuzzer(kineto ${CMAKE_CURRENT_LIST_DIR}/fuzz_kineto.cpp trace)
target_include_directories(fuzz_kineto PRIVATE ${PROJECT_SOURCE_DIR}/src/trace)
