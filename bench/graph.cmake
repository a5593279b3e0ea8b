# Re-timing a graph of many nodes.
add_executable(graph_bench ${CMAKE_CURRENT_LIST_DIR}/graph_bench.cpp)
target_link_libraries(graph_bench PRIVATE ergon_graph ergon_warnings)
