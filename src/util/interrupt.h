// ^C and SIGTERM: long work ends its children, leaves nothing half-written, and the command exits 130.
#pragma once

namespace namesake {

// The first signal asks for an end; the second ends the process at once.
void catch_interrupts();
bool interrupted();

}  // namespace namesake
