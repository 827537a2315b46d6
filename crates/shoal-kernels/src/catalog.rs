//! All kernels of the library, with sizes to show and to test them at.

use shoal::{DType, Error};

use crate::attention::{Attention, Mask};
use crate::dropout::Dropout;
use crate::grouped_gemm::GroupedGemm;
use crate::layer_norm::{Backward, Forward};
use crate::matmul::Matmul;
use crate::rms_norm::RmsNorm;
use crate::softmax::Softmax;
use crate::vector_add::VectorAdd;
use crate::workload::Workload;

/// Makes random data of a size and a type.
type Build = fn(&[usize], DType) -> Result<Box<dyn Workload>, Error>;

/// A kernel of the library.
#[derive(Debug)]
pub struct Item {
    /// Its name.
    pub name: &'static str,
    /// What it computes.
    pub doc: &'static str,
    /// What its sizes mean.
    pub dims: &'static [&'static str],
    /// The element types it is tested with.
    pub dtypes: &'static [DType],
    /// A size that takes a noticeable time.
    pub show: &'static [usize],
    /// Small and odd sizes that tests go through.
    pub tests: &'static [&'static [usize]],
    build: Build,
}

const FLOATS: &[DType] = &[DType::F32, DType::F16, DType::BF16];

impl Item {
    /// Random data of a size. Sizes may be repeated for kernels that take several products.
    ///
    /// # Errors
    /// When the number of sizes is wrong or there is not enough memory.
    pub fn workload(&self, sizes: &[usize], dtype: DType) -> Result<Box<dyn Workload>, Error> {
        let fits = sizes.len() == self.dims.len() || (self.name == "grouped_gemm" && sizes.len().is_multiple_of(3));
        if !fits || sizes.is_empty() || sizes.contains(&0) {
            let dims = self.dims.join(" × ");
            return Err(Error::Text(format!("{} takes the sizes {dims}, each at least 1, not {sizes:?}", self.name)));
        }
        (self.build)(sizes, dtype)
    }
}

/// All kernels.
#[must_use]
pub fn catalog() -> &'static [Item] {
    CATALOG
}

/// The kernel of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Item> {
    CATALOG.iter().find(|item| item.name == name)
}

static CATALOG: &[Item] = &[
    Item {
        name: "vector_add",
        doc: "out = x + y",
        dims: &["n"],
        dtypes: &[DType::F32, DType::F16, DType::BF16, DType::F64, DType::I32],
        show: &[1 << 22],
        tests: &[&[1], &[7], &[1000], &[40_000]],
        build: |s, t| Ok(Box::new(VectorAdd::new(s[0], t)?)),
    },
    Item {
        name: "softmax",
        doc: "softmax over rows",
        dims: &["rows", "cols"],
        dtypes: FLOATS,
        show: &[2048, 1024],
        tests: &[&[1, 1], &[3, 100], &[33, 781]],
        build: |s, t| Ok(Box::new(Softmax::new(s[0], s[1], t)?)),
    },
    Item {
        name: "matmul",
        doc: "c = a @ b",
        dims: &["m", "n", "k"],
        dtypes: FLOATS,
        show: &[512, 512, 512],
        tests: &[&[1, 1, 1], &[16, 32, 64], &[37, 65, 91], &[130, 150, 70]],
        build: |s, t| Ok(Box::new(Matmul::new(s[0], s[1], s[2], t)?)),
    },
    Item {
        name: "dropout",
        doc: "random zeros without a stored mask",
        dims: &["n"],
        dtypes: FLOATS,
        show: &[1 << 20],
        tests: &[&[1], &[1000], &[5000]],
        build: |s, t| Ok(Box::new(Dropout::new(s[0], t)?)),
    },
    Item {
        name: "layer_norm",
        doc: "layer norm, forward",
        dims: &["rows", "cols"],
        dtypes: FLOATS,
        show: &[1024, 1024],
        tests: &[&[1, 2], &[5, 100], &[7, 5000]],
        build: |s, t| Ok(Box::new(Forward::new(s[0], s[1], t)?)),
    },
    Item {
        name: "layer_norm_backward",
        doc: "layer norm, backward, with locks",
        dims: &["rows", "cols"],
        dtypes: FLOATS,
        show: &[512, 1024],
        tests: &[&[1, 2], &[20, 100], &[67, 300]],
        build: |s, t| Ok(Box::new(Backward::new(s[0], s[1], t)?)),
    },
    Item {
        name: "rms_norm",
        doc: "RMS norm",
        dims: &["rows", "cols"],
        dtypes: FLOATS,
        show: &[1024, 1024],
        tests: &[&[1, 2], &[5, 100], &[9, 777]],
        build: |s, t| Ok(Box::new(RmsNorm::new(s[0], s[1], t)?)),
    },
    Item {
        name: "attention",
        doc: "flash attention, every key",
        dims: &["heads", "length", "dim"],
        dtypes: FLOATS,
        show: &[8, 512, 64],
        tests: &[&[1, 1, 16], &[2, 64, 32], &[2, 77, 16], &[1, 130, 64]],
        build: |s, t| Ok(Box::new(Attention::new(s[0], s[1], s[2], Mask::Full, t)?)),
    },
    Item {
        name: "attention_causal",
        doc: "flash attention, earlier keys",
        dims: &["heads", "length", "dim"],
        dtypes: FLOATS,
        show: &[8, 512, 64],
        tests: &[&[1, 1, 16], &[2, 64, 32], &[2, 77, 16], &[1, 130, 64]],
        build: |s, t| Ok(Box::new(Attention::new(s[0], s[1], s[2], Mask::Causal, t)?)),
    },
    Item {
        name: "grouped_gemm",
        doc: "many products in one launch",
        dims: &["m", "n", "k"],
        dtypes: FLOATS,
        show: &[256, 256, 256, 100, 300, 200, 512, 64, 128],
        tests: &[&[1, 1, 1], &[17, 33, 65, 64, 64, 64, 1, 70, 3]],
        build: |s, t| {
            let sizes: Vec<_> = s.chunks(3).map(|c| (c[0], c[1], c[2])).collect();
            Ok(Box::new(GroupedGemm::new(&sizes, t)?))
        },
    },
];
