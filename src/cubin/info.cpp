#include "cubin/info.h"

namespace namesake::cubin {

bool next_info(Cursor& cursor, Info& info) {
  constexpr uint8_t kSized = 4;
  uint8_t format = cursor.read<uint8_t>();
  info.attribute = cursor.read<uint8_t>();
  info.value = cursor.read<uint16_t>();
  info.payload = format == kSized ? cursor.take(info.value) : Bytes{};
  return cursor.ok() && format >= 1 && format <= kSized;
}

// Up to CUDA 12 (ABI 7) the flags' low byte is the architecture; ABI 8 moved it to the second
// byte, and CUDA 13 took the "a" out of the flags into .nv.compat.
Target read_target(const Elf& elf) {
  constexpr uint8_t kSecondAbi = 8;
  constexpr uint32_t kAcceleratedV1 = 0x800, kAcceleratedV2 = 0x8;
  bool second = elf.abi_version >= kSecondAbi;
  Target target;
  target.architecture = static_cast<int>(second ? elf.flags >> 8 & 0xff : elf.flags & 0xff);
  target.specific = elf.flags & (second ? kAcceleratedV2 : kAcceleratedV1);
  for (const Section& section : elf.sections) {
    if (section.name != ".nv.compat") continue;
    constexpr uint8_t kIsaClass = 9;
    Cursor cursor(section.data);
    for (Info info; !cursor.at_end() && next_info(cursor, info);) {
      if (info.attribute == kIsaClass && (info.value & 0xff) == 1) target.specific = true;
    }
    break;
  }
  return target;
}

}  // namespace namesake::cubin
