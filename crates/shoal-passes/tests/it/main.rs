//! Tests of the passes: by file, by random programs, and by the accuracy of expanded functions.

mod accuracy;
mod contiguity;
mod descriptors;
mod evaluate;
mod filetests;
mod laid_out;
mod random;
mod text;
