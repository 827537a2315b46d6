//! The library's distributed kernels, on arrays that `python/shoal/kernels/` has looked at.
//!
//! An array is its address and its number of elements; Python has checked that its elements lie one after another, are
//! of the type that is passed along, and stay while the call lasts.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use pyo3::prelude::*;
use shoal::half::{bf16, f16};
use shoal::world::{Symm, WorldError};
use shoal::{Device, Error, dtype_name};
use shoal_kernels::Library;
use shoal_kernels::distributed::all_gather_matmul::{Factors, all_gather_matmul, all_gather_matmul_pull};
use shoal_kernels::distributed::all_reduce::{
    Bias, one_shot_all_reduce, one_shot_all_reduce_bias, two_shot_all_reduce, two_shot_all_reduce_bias,
    two_shot_all_reduce_in_place,
};
use shoal_kernels::distributed::all_reduce_rms_norm::{
    Rows, one_shot_all_reduce_bias_rms_norm, two_shot_all_reduce_bias_rms_norm,
};
use shoal_kernels::distributed::all_to_all::{Exchange, all_to_all};
use shoal_kernels::distributed::copied_reduce_scatter::CopiedReduceScatter;
use shoal_kernels::distributed::gather_with_progress::{GatherWithProgress, all_gather_with_progress};
use shoal_kernels::distributed::gemm_all_reduce::{Sizes, gemm_one_shot_all_reduce};
use shoal_kernels::distributed::gemm_reduce_scatter::gemm_reduce_scatter;
use shoal_kernels::distributed::puts::{self, ExchangeByPuts};
use shoal_kernels::distributed::reduce_scatter::reduce_scatter;
use shoal_kernels::distributed::{Communicator, Number, all_gather, broadcast};

use crate::errors;
use crate::lock::lock_briefly;
use crate::world::member::Member;
use crate::world::memory::locate;
use crate::world::rank::RankObject;
use crate::world::waiting::wait_for_others;

static LIBRARY: LazyLock<Library> = LazyLock::new(|| Library::on(Device::cpu()));

/// An array: its address, and its number of elements.
type Array = (usize, usize);

/// Rows, columns and inner size of a product.
type Product = (usize, usize, usize);

/// What a rank launches the library's distributed kernels with.
#[pyclass(name = "Communicator", module = "shoal._native", frozen)]
pub(crate) struct CommunicatorObject {
    member: Member,
    communicator: Communicator<'static>,
    gathers: Mutex<HashMap<usize, GatherWithProgress>>,
    copied: Mutex<HashMap<Product, CopiedReduceScatter>>,
}

impl Drop for CommunicatorObject {
    fn drop(&mut self) {
        if !self.member.is_here() {
            // Threads of streams are not in a forked child, and nobody may wait for them there.
            std::mem::forget(std::mem::take(&mut *lock_briefly(&self.gathers)));
            std::mem::forget(std::mem::take(&mut *lock_briefly(&self.copied)));
        }
    }
}

/// Runs an expression with a type that a dtype's name stands for.
macro_rules! with_type {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            "float32" => {
                type $T = f32;
                $body
            }
            "float16" => {
                type $T = f16;
                $body
            }
            "bfloat16" => {
                type $T = bf16;
                $body
            }
            other => Err(Error::from(WorldError::Argument(format!(
                "the library's distributed kernels take float32, float16 and bfloat16, not {other}"
            )))),
        }
    };
}

impl CommunicatorObject {
    fn run<R: Send>(&self, py: Python<'_>, work: impl FnOnce() -> Result<R, Error> + Send) -> PyResult<R> {
        wait_for_others(py, &self.member, work)
    }

    /// An array in this rank's symmetric memory, and with it the same place of all ranks: an error if theirs are elsewhere.
    fn symm<T: Number>(&self, (address, count): Array) -> Result<Symm<T>, Error> {
        let rank = self.member.rank();
        if count == 0 {
            // The address of nothing may be anything.
            return Ok(Symm::view(rank, 0, 0)?);
        }
        match locate(rank, address) {
            Some((peer, offset)) if peer == rank.rank() => {
                self.communicator.agree("symmetric array(offset)", dtype_name(T::DTYPE), &[offset])?;
                Ok(Symm::view(rank, offset, count)?)
            }
            Some(_) | None => {
                let text = format!("the array at {address:#x} is not in the symmetric memory of rank {}", rank.rank());
                Err(WorldError::Argument(text).into())
            }
        }
    }
}

/// The elements of an array that nobody writes meanwhile.
fn elements<'a, T: Number>((address, count): Array) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: see the module: the elements are there, of this type, and stay while the call lasts.
    unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), count) }
}

/// The elements of an array that this call alone uses.
fn elements_mut<'a, T: Number>((address, count): Array) -> &'a mut [T] {
    if count == 0 {
        return &mut [];
    }
    // SAFETY: see the module; Python has checked that the array may be written and overlaps no other of the call.
    unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(address), count) }
}

fn bias<'a, T: Number>(given: Option<Array>, of_columns: bool) -> Bias<'a, T> {
    match given {
        None => Bias::None,
        Some(bias) if of_columns => Bias::Columns(elements(bias)),
        Some(bias) => Bias::Each(elements(bias)),
    }
}

fn sizes((m, n, k): Product) -> Sizes {
    Sizes { m, n, k }
}

#[pymethods]
impl CommunicatorObject {
    /// Collective over the world.
    #[new]
    fn new(py: Python<'_>, rank: &RankObject) -> PyResult<CommunicatorObject> {
        let member = rank.0.clone();
        if member.rank().gpu().is_some() {
            let text = "the library's collectives take arrays of the host: launch kernels of your own in a world of a GPU, \
                        or call the library from Rust";
            return Err(errors::world(py, &WorldError::Argument(text.to_owned())));
        }
        let communicator = wait_for_others(py, &member, || Communicator::new(&LIBRARY, member.rank()))?;
        Ok(CommunicatorObject { member, communicator, gathers: Mutex::default(), copied: Mutex::default() })
    }

    /// Compares a call with those of the other ranks; see `Communicator::agree`.
    fn agree(&self, py: Python<'_>, name: &str, dtype: &str, sizes: Vec<usize>) -> PyResult<()> {
        self.member.taking_part()?;
        py.detach(|| self.communicator.agree(name, dtype, &sizes)).map_err(|error| errors::raise(py, error, None))
    }

    fn one_shot_all_reduce(&self, py: Python<'_>, dtype: &str, x: Array, out: Array) -> PyResult<()> {
        let run =
            || with_type!(dtype, T => one_shot_all_reduce::<T>(&self.communicator, &self.symm(x)?, elements_mut(out)));
        self.run(py, run)
    }

    #[expect(clippy::too_many_arguments, reason = "those of the function in Rust, and their type")]
    fn all_reduce_bias(
        &self,
        py: Python<'_>,
        dtype: &str,
        shots: u32,
        x: Array,
        added: Option<Array>,
        of_columns: bool,
        shared: Array,
        out: Array,
    ) -> PyResult<()> {
        self.run(py, || {
            with_type!(dtype, T => {
                let (comm, x, shared, out) = (&self.communicator, elements(x), self.symm(shared)?, elements_mut(out));
                match (shots, added) {
                    (1, _) => one_shot_all_reduce_bias::<T>(comm, x, bias(added, of_columns), &shared, out),
                    (_, None) => two_shot_all_reduce::<T>(comm, x, &shared, out),
                    (_, Some(_)) => two_shot_all_reduce_bias::<T>(comm, x, bias(added, of_columns), &shared, out),
                }
            })
        })
    }

    fn two_shot_all_reduce_in_place(&self, py: Python<'_>, dtype: &str, x: Array) -> PyResult<()> {
        self.run(py, || with_type!(dtype, T => two_shot_all_reduce_in_place::<T>(&self.communicator, &self.symm(x)?)))
    }

    #[expect(clippy::too_many_arguments, reason = "those of the function in Rust, and their type")]
    fn all_reduce_bias_rms_norm(
        &self,
        py: Python<'_>,
        dtype: &str,
        shots: u32,
        x: Array,
        added: Option<Array>,
        w: Array,
        shared: Array,
        y: Array,
        eps: f64,
    ) -> PyResult<()> {
        self.run(py, || {
            with_type!(dtype, T => {
                let shared = self.symm::<T>(shared)?;
                let (x, w, y, bias) = (elements(x), elements(w), elements_mut(y), added.map(elements));
                let rows = Rows { x, bias, w, shared: &shared, y, eps };
                match shots {
                    1 => one_shot_all_reduce_bias_rms_norm(&self.communicator, rows),
                    _ => two_shot_all_reduce_bias_rms_norm(&self.communicator, rows),
                }
            })
        })
    }

    /// `push`, `ring`, `2d`, `put` or `put_ring` into symmetric memory, `pull` out of it.
    fn all_gather(&self, py: Python<'_>, dtype: &str, form: &str, x: Array, out: Array) -> PyResult<()> {
        let comm = &self.communicator;
        self.run(py, || {
            with_type!(dtype, T => match form {
                "push" => all_gather::all_gather_push::<T>(comm, elements(x), &self.symm(out)?),
                "pull" => all_gather::all_gather_pull::<T>(comm, &self.symm(x)?, elements_mut(out)),
                "ring" => all_gather::all_gather_ring::<T>(comm, elements(x), &self.symm(out)?),
                "put" => puts::all_gather_put::<T>(comm, elements(x), &self.symm(out)?),
                "put_ring" => puts::all_gather_put_ring::<T>(comm, elements(x), &self.symm(out)?),
                _ => {
                    let columns = all_gather::mesh_columns(comm.size());
                    all_gather::all_gather_2d::<T>(comm, columns, elements(x), &self.symm(out)?)
                }
            })
        })
    }

    fn reduce_scatter(&self, py: Python<'_>, dtype: &str, x: Array, out: Array) -> PyResult<()> {
        self.run(
            py,
            || with_type!(dtype, T => reduce_scatter::<T>(&self.communicator, &self.symm(x)?, elements_mut(out))),
        )
    }

    fn reduce_scatter_put(&self, py: Python<'_>, dtype: &str, x: Array, inbox: Array, out: Array) -> PyResult<()> {
        self.run(py, || {
            with_type!(dtype, T => {
                puts::reduce_scatter_put::<T>(&self.communicator, elements(x), &self.symm(inbox)?, elements_mut(out))
            })
        })
    }

    fn all_reduce_put(&self, py: Python<'_>, dtype: &str, x: Array, inbox: Array, out: Array) -> PyResult<()> {
        self.run(py, || {
            with_type!(dtype, T => {
                puts::all_reduce_put::<T>(&self.communicator, elements(x), &self.symm(inbox)?, &self.symm(out)?)
            })
        })
    }

    fn broadcast_put(&self, py: Python<'_>, dtype: &str, x: Array, root: usize) -> PyResult<()> {
        self.run(py, || with_type!(dtype, T => puts::broadcast_put::<T>(&self.communicator, &self.symm(x)?, root)))
    }

    fn all_to_all_put(
        &self,
        py: Python<'_>,
        dtype: &str,
        x: Array,
        splits: Vec<usize>,
        dim: usize,
        out: Array,
    ) -> PyResult<Vec<usize>> {
        self.run(py, || {
            with_type!(dtype, T => {
                let out = self.symm::<T>(out)?;
                let with = ExchangeByPuts { x: elements(x), splits: &splits, dim, out: &out };
                puts::all_to_all_put(&self.communicator, with)
            })
        })
    }

    #[expect(clippy::too_many_arguments, reason = "those of the function in Rust, and their type")]
    fn all_to_all(
        &self,
        py: Python<'_>,
        dtype: &str,
        x: Array,
        splits: Vec<usize>,
        shared_splits: Array,
        dim: usize,
        out: Array,
    ) -> PyResult<Vec<usize>> {
        self.run(py, || {
            with_type!(dtype, T => {
                let (x, shared_splits) = (self.symm::<T>(x)?, self.symm::<i64>(shared_splits)?);
                let out = elements_mut(out);
                let with = Exchange { x: &x, splits: &splits, shared_splits: &shared_splits, dim, out };
                all_to_all(&self.communicator, with)
            })
        })
    }

    fn broadcast(&self, py: Python<'_>, dtype: &str, x: Array, root: usize) -> PyResult<()> {
        self.run(py, || with_type!(dtype, T => broadcast::broadcast::<T>(&self.communicator, &self.symm(x)?, root)))
    }

    fn ring_put(&self, py: Python<'_>, dtype: &str, x: Array, out: Array) -> PyResult<()> {
        self.run(
            py,
            || with_type!(dtype, T => broadcast::ring_put::<T>(&self.communicator, elements(x), &self.symm(out)?)),
        )
    }

    /// A product that is summed over all ranks: `all_reduce` or `reduce_scatter`.
    #[expect(clippy::too_many_arguments, reason = "those of the function in Rust, and their type")]
    fn gemm(
        &self,
        py: Python<'_>,
        dtype: &str,
        form: &str,
        product: Product,
        a: Array,
        b: Array,
        partial: Array,
        out: Array,
    ) -> PyResult<()> {
        self.run(py, || {
            with_type!(dtype, T => {
                let (factors, partial) = ((elements::<T>(a), elements(b)), self.symm(partial)?);
                let run = match form {
                    "all_reduce" => gemm_one_shot_all_reduce::<T>,
                    _ => gemm_reduce_scatter::<T>,
                };
                run(&self.communicator, sizes(product), factors, &partial, elements_mut(out))
            })
        })
    }

    /// The same with copies beside the product, in memory that is kept for products of these sizes.
    fn gemm_reduce_scatter_copied(
        &self,
        py: Python<'_>,
        dtype: &str,
        product: Product,
        a: Array,
        b: Array,
        out: Array,
    ) -> PyResult<()> {
        self.run(py, || {
            let known = lock_briefly(&self.copied).remove(&product);
            let mut copied = match known {
                Some(copied) => copied,
                None => {
                    let name = "memory for gemm_reduce_scatter_ce_persistent(m, n, k)";
                    self.communicator.agree(name, dtype, &<[usize; 3]>::from(product))?;
                    CopiedReduceScatter::new(self.member.rank(), sizes(product))?
                }
            };
            let factors = (a, b);
            let done = with_type!(dtype, T => {
                let factors = (elements::<T>(factors.0), elements(factors.1));
                copied.run(&self.communicator, factors, elements_mut(out))
            });
            lock_briefly(&self.copied).insert(product, copied);
            done
        })
    }

    #[expect(clippy::too_many_arguments, reason = "those of the function in Rust, and their type")]
    fn all_gather_matmul(
        &self,
        py: Python<'_>,
        dtype: &str,
        splits: Option<usize>,
        product: Product,
        x: Array,
        gathered: Array,
        b: Array,
        c: Array,
    ) -> PyResult<()> {
        if splits.is_none() && self.communicator.reaches_all() && self.communicator.rank().gpu().is_none() {
            return self.run(py, || {
                with_type!(dtype, T => {
                    let (x, gathered) = (self.symm::<T>(x)?, self.symm(gathered)?);
                    let factors = (&x, elements(b));
                    all_gather_matmul_pull(&self.communicator, sizes(product), factors, elements_mut(c), Some(&gathered))
                })
            });
        }
        self.gathering(py, splits.unwrap_or(1), |gather| {
            with_type!(dtype, T => {
                let (x, gathered) = (self.symm::<T>(x)?, self.symm(gathered)?);
                let with = Factors { x: &x, gathered: &gathered, b: elements(b), c: elements_mut(c) };
                all_gather_matmul(&self.communicator, gather, sizes(product), with)
            })
        })
    }

    fn all_gather_matmul_pull(
        &self,
        py: Python<'_>,
        dtype: &str,
        product: Product,
        x: Array,
        b: Array,
        c: Array,
    ) -> PyResult<()> {
        self.run(py, || {
            with_type!(dtype, T => {
                let x = self.symm::<T>(x)?;
                all_gather_matmul_pull(&self.communicator, sizes(product), (&x, elements(b)), elements_mut(c), None)
            })
        })
    }

    fn all_gather_with_progress(
        &self,
        py: Python<'_>,
        dtype: &str,
        splits: usize,
        x: Array,
        out: Array,
    ) -> PyResult<()> {
        self.gathering(
            py,
            splits,
            |gather| with_type!(dtype, T => all_gather_with_progress::<T>(&self.communicator, gather, &self.symm(x)?, &self.symm(out)?)),
        )
    }
}

impl CommunicatorObject {
    /// Runs something with the stream and the words of a gathering in so many pieces.
    fn gathering(
        &self,
        py: Python<'_>,
        splits: usize,
        work: impl FnOnce(&GatherWithProgress) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        self.run(py, || {
            let known = lock_briefly(&self.gathers).remove(&splits);
            let gather = match known {
                Some(gather) => gather,
                None => GatherWithProgress::new(self.member.rank(), splits)?,
            };
            let done = work(&gather);
            lock_briefly(&self.gathers).insert(splits, gather);
            done
        })
    }
}
