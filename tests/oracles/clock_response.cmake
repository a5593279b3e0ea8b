# Predicted against published clock responses; run by clock_response.oracle.
if(ERGON_DEV)
  add_executable(ergon_clock_response_oracle ${CMAKE_CURRENT_LIST_DIR}/clock_response_oracle.cpp)
  target_link_libraries(ergon_clock_response_oracle PRIVATE ergon_model ergon_warnings)
endif()
