//! The sandbox's helper program, which the toolcrib program carries.

fn main() {
    toolcrib_inside::enter();
}
