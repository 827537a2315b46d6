//! The CUDA driver: without one, everything says so; with one, PTX written by hand runs.

use shoal_abi::{KernelDescription, NvptxArch, NvptxNeeds, ParamLayout, TableUse, TargetNeeds, Waits};
use shoal_driver::ArgBlock;
use shoal_driver::cuda::{
    CudaBuffer, CudaDevice, CudaError, CudaKernel, Event, EventKind, Graph, LaunchShape, LaunchTables, Partition,
    PinnedBuffer, Stream, StreamRef, WaitWord, assemble,
};

/// `out[i] = x[i] + add` for the program's 32 elements.
const ADD: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 x, .param .u64 out, .param .u32 add)
{
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [out];
    ld.param.u32 %r1, [add];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r2, 32, %r3;
    mul.wide.u32 %d3, %r4, 4;
    add.u64 %d4, %d1, %d3;
    add.u64 %d5, %d2, %d3;
    ld.global.u32 %r5, [%d4];
    add.u32 %r6, %r5, %r1;
    st.global.u32 [%d5], %r6;
    ret;
}
";

fn description(shared_bytes: u32) -> KernelDescription {
    let param = |size| ParamLayout { size, align: size };
    KernelDescription {
        name: "add".into(),
        params: vec![param(8), param(8), param(4)],
        waits: Waits::Never,
        can_fail: false,
        needs: TargetNeeds::Nvptx(NvptxNeeds {
            arch: NvptxArch::Sm80,
            threads: 32,
            shared_bytes,
            table: TableUse::None,
            checks: false,
            tensor_maps: Vec::new(),
        }),
    }
}

/// The first GPU; `None`, and one line that says so, where there is none.
fn gpu() -> Option<CudaDevice> {
    match CudaDevice::new(0) {
        Ok(device) => Some(device),
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

fn args(x: u64, out: u64, add: u32) -> ArgBlock {
    let mut writer = ArgBlock::writer();
    writer.push_u64(x).push_u64(out).push_u32(add);
    writer.finish()
}

#[test]
fn without_a_driver_everything_says_so() {
    let Err(why) = CudaDevice::count() else { return };
    let CudaError::NoDriver { .. } = &why else { return };
    let said = why.to_string();
    assert!(said.starts_with("there is no CUDA driver here: ") && said.contains("run on the CPU"), "{said}");
    assert_eq!(CudaDevice::new(0).unwrap_err(), why);
    assert!(CudaDevice::ordinal_of(64).is_err());
}

#[test]
fn a_kernel_runs_from_ptx_and_from_machine_code() {
    let Some(device) = gpu() else { return };
    let stream = StreamRef::default_of(device);
    let cubin = assemble(device, "add", ADD.as_bytes()).unwrap();
    for code in [ADD.as_bytes(), &cubin] {
        let kernel = CudaKernel::load(device, code, description(0)).unwrap();
        assert!(kernel.resources().registers > 0 && kernel.resources().local_bytes == 0);
        assert!(kernel.resident_programs().unwrap() > 0);
        let values: Vec<u32> = (0..128).collect();
        let x = CudaBuffer::from_slice(stream, &values).unwrap();
        let out = CudaBuffer::<u32>::poisoned(stream, 128).unwrap();
        for shape in [LaunchShape::default(), LaunchShape { cooperative: true, ..LaunchShape::default() }] {
            // SAFETY: the arguments are the kernel's, and the buffers have 128 elements for four programs of 32.
            unsafe {
                kernel.launch_shaped(
                    [4, 1, 1],
                    &args(x.address(), out.address(), 5),
                    LaunchTables::default(),
                    (stream, shape),
                )
            }
            .unwrap();
        }
        let mut found = vec![0; 128];
        out.copy_to(stream, &mut found).unwrap();
        assert!(found.iter().zip(0..).all(|(&found, i)| found == i + 5));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(device) = gpu() else { return };
    let stream = StreamRef::default_of(device);
    let wrong = assemble(device, "add", ADD.replace("add.u32 %r6", "addd.u32 %r6").as_bytes()).unwrap_err();
    assert!(matches!(&wrong, CudaError::Assemble { log, .. } if log.contains("addd")), "{wrong}");
    let too_much = CudaKernel::load(device, ADD.as_bytes(), description(1 << 20)).unwrap_err();
    assert!(matches!(too_much, CudaError::OutOfResources { required, .. } if required == 1 << 20), "{too_much}");
    let kernel = CudaKernel::load(device, ADD.as_bytes(), description(0)).unwrap();
    // SAFETY: nothing is launched.
    let launch = |grid, args: &ArgBlock| unsafe { kernel.launch(grid, args, LaunchTables::default(), stream) };
    assert!(matches!(launch([1, 70_000, 1], &args(0, 0, 0)), Err(CudaError::Grid { .. })));
    assert!(matches!(launch([1, 1, 1], &ArgBlock::new()), Err(CudaError::Arguments { .. })));
    assert_eq!(launch([0, 1, 1], &args(0, 0, 0)), Ok(()));
    assert!(matches!(CudaDevice::new(999), Err(CudaError::NoDevice { ordinal: 999, .. })));
}

#[test]
fn streams_events_graphs_and_words() {
    let Some(device) = gpu() else { return };
    let stream = Stream::new(device).unwrap();
    let kernel = CudaKernel::load(device, ADD.as_bytes(), description(0)).unwrap();
    let x = CudaBuffer::<u32>::zeroed(*stream, 32).unwrap();
    let word = PinnedBuffer::zeroed(device, 64).unwrap();
    let (before, after) =
        (Event::new(device, EventKind::Timing).unwrap(), Event::new(device, EventKind::Timing).unwrap());
    let block = args(x.address(), x.address(), 1);
    let graph = Graph::record::<CudaError>(*stream, || {
        // SAFETY: the arguments are the kernel's.
        unsafe { kernel.launch([1, 1, 1], &block, LaunchTables::default(), *stream) }?;
        // SAFETY: as above.
        unsafe { kernel.launch([1, 1, 1], &block, LaunchTables::default(), *stream) }
    })
    .unwrap();
    before.record(*stream).unwrap();
    for _ in 0..3 {
        // SAFETY: the buffer and the kernel live.
        unsafe { graph.launch(*stream) }.unwrap();
    }
    after.record(*stream).unwrap();
    // SAFETY: the word lies in pinned memory, and is written before it is waited for.
    unsafe {
        stream.write_u32(word.device_address(), 7).unwrap();
        stream.wait_u32(word.device_address(), 7, WaitWord::AtLeast).unwrap();
    }
    stream.synchronize_within(Some(std::time::Duration::from_secs(10)), None).unwrap();
    // SAFETY: the stream has ended.
    assert_eq!(unsafe { word.as_slice() }[0], 7);
    let mut found = [0; 32];
    x.copy_to(*stream, &mut found).unwrap();
    assert_eq!(found, [6; 32]);
    assert!(after.since(&before).unwrap() > std::time::Duration::ZERO);
}

#[test]
fn streams_that_are_dropped_are_taken_again() {
    let Some(device) = gpu() else { return };
    let stream = Stream::independent(device).unwrap();
    let address = stream.address();
    drop(stream);
    let again = Stream::independent(device).unwrap();
    assert_eq!(again.address(), address, "the driver gives its queues to new streams in turn");
    assert_ne!(Stream::independent(device).unwrap().address(), address);
}

#[test]
fn parts_of_a_device_run_kernels() {
    let Some(device) = gpu() else { return };
    let parts = match Partition::split(device, 4) {
        Ok(parts) => parts,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let kernel = CudaKernel::load(device, ADD.as_bytes(), description(0)).unwrap();
    let default = StreamRef::default_of(device);
    let x = CudaBuffer::<u32>::zeroed(default, 128).unwrap();
    default.synchronize().unwrap();
    for (at, part) in parts.iter().enumerate() {
        assert!(part.multiprocessors() > 0);
        let from = x.address() + 128 * at as u64;
        // SAFETY: each part works on its own 32 elements.
        unsafe { kernel.launch([1, 1, 1], &args(from, from, at as u32), LaunchTables::default(), part.stream()) }
            .unwrap();
    }
    for part in &parts {
        part.stream().synchronize_within(Some(std::time::Duration::from_secs(10)), None).unwrap();
    }
    let mut found = vec![0; 128];
    x.copy_to(default, &mut found).unwrap();
    assert!(found.iter().enumerate().all(|(at, &value)| value == at as u32 / 32));
}
