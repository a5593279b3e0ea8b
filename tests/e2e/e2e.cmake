# The product as a whole on the simulated GPU: real seconds, so not under sanitizers (label slow).
if(ERGON_DEV)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  add_test(NAME e2e.kill_sweep
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/e2e/kill_sweep.py $<TARGET_FILE_DIR:ergon> --count 12 --jobs 4)
  add_test(NAME e2e.sweep COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/e2e/sweep.py $<TARGET_FILE_DIR:ergon>)
  add_test(NAME e2e.doctor COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/e2e/doctor.py $<TARGET_FILE_DIR:ergon>)
  set_tests_properties(e2e.kill_sweep e2e.sweep e2e.doctor PROPERTIES LABELS "e2e;slow" TIMEOUT 900)
endif()
