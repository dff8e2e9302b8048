//! Tools from other authors: proposed, reviewed, loaded while Toolcrib runs, and confined.
