// fmt, compiled once.
//
// Its headers alone would do, and then every file of ours compiles the formatting of every number
// anew: half of a first build's time. Its library would do, but not every system packages a static
// one, and the tool is one file to carry. What the library holds is a header of definitions; it
// comes with the others, and gives plain functions where FMT_HEADER_ONLY is not defined. Its
// templates have to be named here. cmake/fmt.cmake finds out whether that is all that is needed.
#include <fmt/format-inl.h>

#include <locale>

FMT_BEGIN_NAMESPACE
namespace detail {

template FMT_API auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API locale_ref::locale_ref(const std::locale&);
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char*, const char*);
#if FMT_VERSION < 110000
template FMT_API void vformat_to(buffer<char>&, basic_string_view<char>,
                                 basic_format_args<buffer_context<char>>, locale_ref);
#endif

}  // namespace detail
FMT_END_NAMESPACE
