//! The module worker as a program of its own, for tests of the whole way to a worker and back.

fn main() {
    toolcrib_plugins::module_worker::enter();
}
