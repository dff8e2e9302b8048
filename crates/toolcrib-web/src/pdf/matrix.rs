//! Transformations of the plane.

use super::object::PdfObject;

/// A transformation, as PDF writes it: `a b c d e f`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlaneMatrix(pub(crate) [f64; 6]);

impl PlaneMatrix {
    pub(crate) const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    /// Reads a transformation from the last six operands.
    pub(crate) fn read(operands: &[PdfObject]) -> Option<Self> {
        let operands = operands.get(operands.len().checked_sub(6)?..)?;
        let mut numbers = [0.0; 6];
        for (number, operand) in numbers.iter_mut().zip(operands) {
            *number = operand.as_number()?;
        }
        Some(Self(numbers))
    }

    pub(crate) fn shift(x: f64, y: f64) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// Returns the transformation that does this one first and then the other.
    pub(crate) fn then(self, other: Self) -> Self {
        let (first, second) = (self.0, other.0);
        let row = |x: f64, y: f64| (x * second[0] + y * second[2], x * second[1] + y * second[3]);
        let (across, along) = (row(first[0], first[1]), row(first[2], first[3]));
        let origin = row(first[4], first[5]);
        Self([across.0, across.1, along.0, along.1, origin.0 + second[4], origin.1 + second[5]])
    }
}
