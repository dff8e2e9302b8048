//! The helpers of the sandbox as a program of their own, which the large one carries within it.

fn main() {
    toolcrib_inside::enter();
}
