if(ERGON_DEV)
  add_executable(ergon_graph_oracle ${CMAKE_CURRENT_LIST_DIR}/graph_oracle.cpp ${CMAKE_CURRENT_LIST_DIR}/graph_golden.cpp
    ${CMAKE_CURRENT_LIST_DIR}/graph_response.cpp)
  target_link_libraries(ergon_graph_oracle PRIVATE ergon_graph ergon_io ergon_warnings fmt)
endif()
