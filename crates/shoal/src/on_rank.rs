//! Launching as a rank of a world.

use std::sync::{Arc, Mutex, PoisonError};

use shoal_abi::{TableUse, Waits};
use shoal_driver::cpu::LaunchOptions;
use shoal_driver::cuda::CudaKernel;
use shoal_driver::{GiveUp, Interrupt, LaunchError, RankView};
use shoal_world::{EngineKind, GpuRank, Rank, Vigil};

use crate::cuda_launch::CudaLaunch;
use crate::device::CudaQueue;
use crate::{Device, Error};

/// The rank that launches.
pub(crate) struct OnRank {
    rank: Rank,
}

impl OnRank {
    pub(crate) fn new(rank: &Rank) -> Result<OnRank, Error> {
        let on_rank = OnRank { rank: rank.clone() };
        on_rank.view()?;
        Ok(on_rank)
    }

    /// The others, the teams and the mesh, as the rank sees them now.
    fn view(&self) -> Result<Arc<RankView>, Error> {
        let rank = &self.rank;
        rank.launch_view(|| {
            let base = |peer| rank.base(peer).map(|base| base.as_ptr().expose_provenance());
            let view = match (rank.gpu(), rank.transport()) {
                (Some(gpu), _) => gpu.view(),
                (None, None) => {
                    let heaps = (0..rank.size()).map(base).collect::<Result<Vec<_>, _>>()?;
                    RankView::new(rank.rank(), heaps, rank.segment_bytes())
                }
                (None, Some(transport)) => {
                    let heaps = (0..rank.size()).map(|peer| base(peer).ok()).collect();
                    RankView::with_transport(rank.rank(), heaps, rank.segment_bytes(), transport)
                }
            };
            let view = view.with_topology(rank.topology()).with_sync_words(rank.sync_words());
            Ok(view.with_write_records(rank.write_records()))
        })
    }

    /// Launches with these options and what a launch of a rank needs besides.
    pub(crate) fn launch(
        &self,
        device: &Device,
        options: LaunchOptions,
        launch: impl FnOnce(&LaunchOptions) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if matches!(device, Device::Interpreter) && self.rank.engine() != EngineKind::Threads {
            let engine = self.rank.engine();
            let text = format!(
                "the interpreter takes part in worlds of threads, and this one is of {engine}; launch this kernel on the CPU"
            );
            return Err(Error::Interpreter(text));
        }
        if let Some(text) = self.elsewhere(device) {
            return Err(Error::Text(text));
        }
        self.rank.check()?;
        let result = launch(&LaunchOptions {
            member: self.rank.launch_member(),
            ranks: Some(self.view()?),
            interrupt: Some(self.interrupt(options.interrupt.clone())),
            give_up: Some(self.give_up()),
            timeout: options.timeout.or_else(|| self.bound()),
            ..options
        });
        match result {
            Err(Error::Launch(stuck @ LaunchError::Stuck { .. })) => Err(self.rank.wait_in_vain(&stuck).into()),
            // A peer that failed ends the launch; what it failed of is the better answer.
            Err(Error::Launch(interrupted @ LaunchError::Interrupted { .. })) => {
                self.rank.check()?;
                Err(interrupted.into())
            }
            result => result,
        }
    }

    /// Why the rank's memory cannot be reached from there, if it cannot.
    fn elsewhere(&self, device: &Device) -> Option<String> {
        match (device, self.rank.gpu()) {
            (Device::Cuda(_), None) => Some(
                "the symmetric memory of this world is the host's: launch on the CPU, or make a world of a GPU".into(),
            ),
            (Device::Cpu(_) | Device::Interpreter, Some(gpu)) => Some(format!(
                "the symmetric memory of this world is that of GPU {}: launch the kernel there",
                gpu.device().ordinal()
            )),
            (Device::Cuda(_), Some(_)) | (Device::Cpu(_) | Device::Interpreter, None) => None,
        }
    }

    /// Does what loaded code needs before its first launch by this rank, and may wait for all that runs on the GPU: where
    /// something there waits for that launch, this comes before it.
    pub(crate) fn prepare(&self, code: &CudaKernel) -> Result<(), Error> {
        let nvshmem = self.rank.gpu().and_then(GpuRank::nvshmem);
        match nvshmem.filter(|_| code.table_use() == TableUse::Ranks) {
            Some(nvshmem) => Ok(nvshmem.prepare(code)?),
            None => Ok(()),
        }
    }

    /// Launches on the GPU that the rank's memory is in. A launch on the GPU's memory alone returns at once; what goes
    /// wrong then is told by the next launch or the next barrier.
    pub(crate) fn launch_cuda(
        &self,
        launch: CudaLaunch<'_>,
        options: &LaunchOptions,
        enqueue: impl FnOnce(&CudaLaunch<'_>, &LaunchOptions) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(gpu) = self.rank.gpu() else {
            let device = Device::Cuda(CudaQueue::new(launch.stream, None));
            return Err(Error::Text(self.elsewhere(&device).unwrap_or_default()));
        };
        self.rank.check()?;
        let code = launch.code;
        let waits = code.description().waits == Waits::MayWait;
        if waits {
            check_residency(code, launch.grid, gpu)?;
        }
        if (waits || gpu.nvshmem().is_some()) && !gpu.has_launched(code.id()) {
            self.prepare(code)?;
            if waits {
                self.rank.meet_before_first_launch()?;
            }
            gpu.note_launch(code.id());
        }
        let stream = launch.stream;
        let limit = options.timeout.unwrap_or_else(|| gpu.wait_limit());
        let table = gpu.table().telling(&code.description().name, &self.view()?, limit)?;
        let options = LaunchOptions {
            interrupt: Some(self.interrupt(options.interrupt.clone())),
            timeout: None,
            ..options.clone()
        };
        let done = enqueue(&CudaLaunch { table: Some((gpu.table(), table)), ..launch }, &options);
        gpu.follow(stream)?;
        // A kernel that gave up says more than whatever came of it.
        if gpu.table().has_report() {
            gpu.stream().synchronize()?;
        }
        match gpu.table().take_report() {
            Some(stuck @ LaunchError::Stuck { .. }) => Err(self.rank.wait_in_vain(&stuck).into()),
            Some(failed) => Err(failed.into()),
            // A peer that failed ends the launch; what it failed of is the better answer.
            None => match done {
                Err(Error::Launch(interrupted @ LaunchError::Interrupted { .. })) => {
                    self.rank.check()?;
                    Err(interrupted.into())
                }
                done => done,
            },
        }
    }

    /// How long the launch may wait without moving. Where all ranks are in this process, waits in vain are noticed by
    /// the group; elsewhere, a wait is as long as any other for a peer.
    fn bound(&self) -> Option<std::time::Duration> {
        match self.rank.engine() {
            EngineKind::Threads | EngineKind::Cuda => None,
            _ => Some(self.rank.options().timeout),
        }
    }

    /// Programs wait in vain once the world has failed, or those are gone who could end their waits.
    fn give_up(&self) -> GiveUp {
        let vigil = Mutex::new(Vigil::new(&self.rank));
        GiveUp::new(move |standing| vigil.lock().unwrap_or_else(PoisonError::into_inner).is_in_vain(standing))
    }

    /// Whoever launched may stop the launch, and so does a world that has failed.
    fn interrupt(&self, host: Option<Interrupt>) -> Interrupt {
        let rank = self.rank.clone();
        Interrupt::new(move || rank.has_failed() || host.as_ref().is_some_and(Interrupt::is_requested))
    }
}

/// Refuses a launch whose programs cannot all run at the same time as those of the other ranks: they would wait for
/// programs that never start.
fn check_residency(code: &CudaKernel, grid: [u32; 3], gpu: &GpuRank) -> Result<(), Error> {
    let programs: u128 = grid.iter().map(|&extent| u128::from(extent)).product();
    let resident = code.resident_programs()?;
    let room = u128::from(resident) * u128::from(gpu.multiprocessors());
    if programs * gpu.sharers() as u128 <= room {
        return Ok(());
    }
    let (name, ranks, parts) = (&code.description().name, gpu.sharers(), gpu.multiprocessors());
    Err(Error::Text(format!(
        "kernel `{name}` waits for other programs, and {programs} programs on each of {ranks} ranks do not fit on GPU {}: it \
         runs {resident} of them on each of its {parts} multiprocessors at once; launch at most {} on each rank",
        gpu.device().ordinal(),
        room / gpu.sharers() as u128
    )))
}
