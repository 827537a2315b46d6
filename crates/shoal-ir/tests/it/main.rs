//! Tests of the tile IR through its public face.

mod text;
