# cmake --install: headers, library, find_package(namesake-attention) and pkg-config. A static library needs the CUDA runtime it was
# built with; the package looks for it where the consumer's CUDA is, then where ours was.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/namesake-attention)

install(TARGETS namesake-attention EXPORT namesake-attention
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/namesake DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT namesake-attention NAMESPACE namesake:: FILE targets.cmake DESTINATION ${package})

get_target_property(library_type namesake-attention TYPE)
set(needs_cudart OFF)
if(NAMESAKE_ATTENTION_GPU AND library_type STREQUAL STATIC_LIBRARY)
  set(needs_cudart ON)
  get_filename_component(cudart_folder ${NAMESAKE_CUDART} DIRECTORY)
endif()
configure_package_config_file(cmake/config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/namesake-attention-config.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/namesake-attention-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/namesake-attention-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/namesake-attention-config-version.cmake
  DESTINATION ${package})

set(pkgconfig_libs "-lpthread -lstdc++ -lm")
if(needs_cudart)
  set(pkgconfig_libs "-L\${cudartdir} -lcudart_static -ldl -lrt ${pkgconfig_libs}")
endif()
if(library_type STREQUAL STATIC_LIBRARY)
  set(pkgconfig_public "-L\${libdir} -lnamesake-attention ${pkgconfig_libs}")
else()
  set(pkgconfig_public "-L\${libdir} -lnamesake-attention")
endif()
# From lib/pkgconfig up to the prefix, so that the folder may be moved.
file(RELATIVE_PATH pkgconfig_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/namesake-attention.pc.in ${CMAKE_CURRENT_BINARY_DIR}/namesake-attention.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/namesake-attention.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
