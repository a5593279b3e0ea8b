# `ergon measure` on simulated GPUs: faults, and the truth test (a sample here, 200 seeds a device by `make truth-test`).
if(ERGON_DEV)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  add_executable(ergon_truth_check ${CMAKE_CURRENT_LIST_DIR}/truth_check.cpp)
  target_link_libraries(ergon_truth_check PRIVATE ergon_run ergon_warnings)
  add_test(NAME e2e.truth
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/truth.py $<TARGET_FILE_DIR:ergon> --seeds 8 --jobs 12)
  add_test(NAME e2e.measure
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/measure.py $<TARGET_FILE_DIR:ergon>)
  set_tests_properties(e2e.truth e2e.measure PROPERTIES LABELS "e2e;slow" TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
