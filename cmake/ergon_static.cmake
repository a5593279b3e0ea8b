# ergon_static(VARIABLE NAME): the library NAME, static where the system has it that way. Loading shared libraries is
# most of the time of a short command.
function(ergon_static variable name)
  find_library(ERGON_LIBRARY_${name} NAMES lib${name}.a ${name} REQUIRED)
  set(${variable} ${ERGON_LIBRARY_${name}} PARENT_SCOPE)
endfunction()
