# cmake --install: the tool, its kernels, and what its own option table makes.
include(GNUInstallDirs)

set(generated ${CMAKE_BINARY_DIR}/generated)
add_custom_command(OUTPUT ${generated}/namesake.1 ${generated}/namesake.bash ${generated}/_namesake ${generated}/namesake.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
  COMMAND $<TARGET_FILE:namesake> manual > ${generated}/namesake.1
  COMMAND $<TARGET_FILE:namesake> completion bash > ${generated}/namesake.bash
  COMMAND $<TARGET_FILE:namesake> completion zsh > ${generated}/_namesake
  COMMAND $<TARGET_FILE:namesake> completion fish > ${generated}/namesake.fish
  DEPENDS namesake VERBATIM)
add_custom_target(namesake_manual ALL DEPENDS ${generated}/namesake.1)

install(TARGETS namesake RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY kernels/ DESTINATION ${CMAKE_INSTALL_DATADIR}/namesake/kernels
  FILES_MATCHING PATTERN "*.cu" PATTERN "*.toml" PATTERN "*.ptx")
install(FILES ${generated}/namesake.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${generated}/namesake.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME namesake)
install(FILES ${generated}/_namesake DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${generated}/namesake.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
