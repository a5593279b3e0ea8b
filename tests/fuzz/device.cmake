ergon_fuzzer(device ${CMAKE_CURRENT_LIST_DIR}/fuzz_device.cpp model)
