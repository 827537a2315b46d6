//! Code for NVIDIA GPUs as PTX: what the library relies on. No GPU is needed for this.

use shoal::{NvptxArch, Stage, Target};
use shoal_kernels::Source;

use crate::library_code::{case, ptx};

#[test]
fn programs_of_ranks_meet_without_asking_all_threads() {
    let kernel = Source::Broadcast.module().unwrap().kernel("barriers").unwrap();
    let specs = kernel.read_signature("*i32:16, i32").unwrap();
    let text = kernel.emit(&specs, Stage::Asm, &Target::Nvptx(NvptxArch::Sm90a)).unwrap();
    let text = String::from_utf8(text).unwrap();
    // Before the signals, after the wait, and at the end; each lane decides for itself whether it signals.
    let barriers = text.matches("bar.sync").count() + text.matches("bar.red").count();
    assert_eq!(barriers, 3, "{text}");
    for unwanted in ["shfl.sync", "st.shared"] {
        assert!(!text.contains(unwanted), "`{unwanted}` in\n{text}");
    }
    // Where the others' heaps are is read once, not in each round.
    let (ahead, rounds) = text.split_once("bar.sync").unwrap();
    for at in ["+120]", "+128]"] {
        let read = |text: &str| text.lines().any(|line| line.contains("ld.global") && line.contains(at));
        assert!(read(ahead) && !read(rounds), "{at} in\n{text}");
    }
    // How long a wait may take, and where to report, is read by those who have waited for a while or report.
    let asked = text.lines().find_map(|line| line.trim().strip_suffix(", [barriers_param_2];")).unwrap();
    let table = asked.split_whitespace().last().unwrap();
    let late: Vec<&str> = text.split("$L__BB").filter(|block| block.contains(&format!("[{table}+24]"))).collect();
    assert!(!late.is_empty() && late.iter().all(|block| block.contains("%globaltimer")), "{text}");
    for block in text.split("$L__BB").filter(|block| block.contains(&format!("[{table}+32]"))) {
        assert!(block.contains("%globaltimer") || block.contains("atom.relaxed.sys.global.add"), "{block} in\n{text}");
    }
}

#[test]
fn whole_tiles_are_read_and_stored_without_predicates() {
    let kernel = Source::AllReduce.module().unwrap().kernel("one_shot_all_reduce").unwrap();
    let text = |whole: &str| {
        let signature = format!(
            "*bf16:16, *bf16:16, *i32:16, i32:16, WORLD=4, BLOCK=4096, EARLY=False, AHEAD=False, i32, WHOLE={whole}"
        );
        let specs = kernel.read_signature(&signature).unwrap();
        String::from_utf8(kernel.emit(&specs, Stage::Asm, &Target::Nvptx(NvptxArch::Sm90a)).unwrap()).unwrap()
    };
    let predicated = |text: &str| {
        let wide = |line: &&str| line.contains("ld.global.v4.b32") || line.contains("st.global.v4.b32");
        text.lines().filter(wide).filter(|line| line.trim_start().starts_with('@')).count()
    };
    let (whole, any) = (text("True"), text("False"));
    assert!(whole.contains("ld.global.v4.b32") && whole.contains("st.global.v4.b32"), "{whole}");
    assert_eq!(predicated(&whole), 0, "{whole}");
    assert!(predicated(&any) > 0, "{any}");
}

#[test]
fn all_reduces_begin_before_the_launch_ahead_has_ended_and_wait_for_it() {
    let module = Source::AllReduce.module().unwrap();
    for (name, signature) in [
        ("one_shot_all_reduce", "*bf16:16, *bf16:16, *i32:16, i32:16, WORLD=4, BLOCK=1024"),
        ("two_shot_all_reduce_in_place", "*bf16:16, *i32:16, i32:16, WORLD=4, BLOCK=1024"),
        ("one_shot_all_reduce_words", "*bf16:16, *bf16:16, *u64:16, *i64:16, i32:16, WORLD=4, ROUNDS=1"),
        ("one_shot_all_reduce_words", "*bf16:16, *bf16:16, *u64:16, *i64:16, i32:16, WORLD=4, ROUNDS=1, STAY=True"),
        ("two_shot_all_reduce_words", "*bf16:16, *u64:16, *i64:16, i32:16, WORLD=4"),
    ] {
        let kernel = module.kernel(name).unwrap();
        let specs = kernel.read_signature(signature).unwrap();
        let text = |arch| String::from_utf8(kernel.emit(&specs, Stage::Asm, &Target::Nvptx(arch)).unwrap()).unwrap();
        let hopper = text(NvptxArch::Sm90a);
        let (ahead, behind) = hopper.split_once("griddepcontrol.wait;").unwrap();
        // Before, they ask where the others are, and report it if that cannot be.
        for memory in ["ld.global.v", "ld.global.b32", "ld.relaxed", "ld.acquire", "st.global", ".cas."] {
            assert!(!ahead.contains(memory), "{name}: `{memory}` before the wait in\n{hopper}");
        }
        // All ranks have been heard of.
        let (met, _) = behind.split_once("griddepcontrol.launch_dependents;").unwrap();
        assert!(met.contains("ld.acquire.sys") || met.contains("ld.relaxed.sys"), "{name}:\n{hopper}");
        // What the launch ahead did is there for all ranks when this one begins.
        assert!(!met.contains("atom.release.sys"), "{name}:\n{hopper}");
        assert!(!text(NvptxArch::Sm80).contains("griddepcontrol"), "{name}");
    }
}

#[test]
fn signals_behind_reads_alone_release_nothing() {
    // Releases: none where ranks only read, one where they write first, or where the others look at what they wrote.
    for (name, releases) in [
        ("one_shot_all_reduce", 0),
        ("all_gather_pull", 0),
        ("reduce_scatter", 0),
        ("all_to_all", 0),
        ("broadcast", 0),
        ("one_shot_all_reduce_bias", 1),
        ("one_shot_all_reduce_bias_rms_norm", 1),
        ("gemm_one_shot_all_reduce", 1),
        ("gemm_reduce_scatter", 1),
        ("two_shot_all_reduce_in_place", 1),
        ("all_gather_push", 1),
        ("ring_put", 1),
        ("two_shot_all_reduce", 2),
        ("two_shot_all_reduce_bias", 2),
        ("two_shot_all_reduce_bias_rms_norm", 2),
    ] {
        let text = ptx(case(name), NvptxArch::Sm90a);
        assert_eq!(text.matches("atom.release.sys.global.cas").count(), releases, "{name}:\n{text}");
    }
    // All threads have stored what they read before one of them signals.
    let text = ptx(case("one_shot_all_reduce"), NvptxArch::Sm90a);
    let (_, behind_stores) = text.rsplit_once("st.global.v4").unwrap();
    let (before, _) = behind_stores.split_once("atom.relaxed.sys.global.cas").unwrap();
    assert!(before.contains("bar.sync"), "{text}");
}

#[test]
fn elements_are_asked_for_before_the_ranks_meet_and_a_tile_ahead() {
    let kernel = Source::AllReduce.module().unwrap().kernel("one_shot_all_reduce").unwrap();
    let text = |ahead: &str| {
        let signature =
            format!("*bf16:16, *bf16:16, *i32:16, i32:16, WORLD=8, BLOCK=1024, EARLY=False, AHEAD={ahead}, i32");
        let specs = kernel.read_signature(&signature).unwrap();
        String::from_utf8(kernel.emit(&specs, Stage::Asm, &Target::Nvptx(NvptxArch::Sm90a)).unwrap()).unwrap()
    };
    let asked = text("True");
    let (before, behind) = asked.split_once("atom.relaxed.sys.global.cas").unwrap();
    assert_eq!(before.matches("prefetch.global.L2").count(), 1, "{asked}");
    // Once by each thread, which nobody waits for.
    let (_, trip) = behind.split_once("prefetch.global.L2").unwrap();
    let (trip, rest) = trip.split_once("st.global.v4.b32").unwrap();
    assert!(trip.contains("ld.global.v4.b32") && !trip.contains("bar.sync"), "{asked}");
    assert!(!trip.contains("prefetch") && !rest.contains("prefetch"), "{asked}");
    assert!(!text("False").contains("prefetch"));
}

#[test]
fn numbers_of_8_bits_are_multiplied_as_they_are() {
    let source = "
import shoal
import shoal.language as tl

@shoal.jit
def product(a, b, c, K, LIMIT: tl.constexpr):
    i, k = tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros((128, 128), dtype=tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :])
        y = tl.load(b + i[None, :] * K + (start + k)[:, None])
        acc = tl.dot(x, y, acc, max_num_imprecise_acc=LIMIT)
    tl.store(c + i[:, None] * 128 + i[None, :], acc)
";
    let kernel = shoal::Module::from_source("product.py", source).unwrap().kernel("product").unwrap();
    let text = |ty: &str, limit: &str| {
        let specs = kernel.read_signature(&format!("*{ty}:16, *{ty}:16, *fp32:16, i32:16, {limit}")).unwrap();
        String::from_utf8(kernel.emit(&specs, Stage::Asm, &Target::Nvptx(NvptxArch::Sm90a)).unwrap()).unwrap()
    };
    for (ty, name) in [("fp8e4nv", "e4m3"), ("fp8e5", "e5m2")] {
        let found = text(ty, "None");
        for wanted in [&format!("m64n128k32.f32.{name}.{name}"), "wgmma.wait_group.sync.aligned 1;"] {
            assert!(found.contains(wanted), "{wanted} in\n{found}");
        }
    }
    // Units add such products up with fewer bits: a kernel that does not want that gets products of 16 bits.
    assert!(text("fp8e4nv", "32").contains("m64n128k16.f32.f16.f16"));
}

#[test]
fn what_a_loop_multiplies_by_stays_in_shared_memory() {
    let text = ptx(case("attention"), NvptxArch::Sm90a);
    let products: Vec<&str> = text.lines().filter(|line| line.starts_with("wgmma.mma_async")).collect();
    // The scores: both operands by their descriptors, and the sums begin at nothing.
    assert!(products[0].contains("none, 1, 1, 0, 0;"), "{}", products[0]);
    // The values: weights come from registers, and the next trip waits for them.
    let last = text.rfind("wgmma.commit_group").unwrap();
    let until_branch = &text[last..last + text[last..].find("bra").unwrap()];
    assert!(!until_branch.contains("wgmma.wait_group"), "{until_branch}");
}

#[test]
fn the_text_opens_with_what_a_launch_must_know() {
    let text = ptx(case("vector_add"), NvptxArch::Sm80);
    let first = text.lines().next().and_then(|line| line.strip_prefix("// ")).unwrap();
    assert_eq!(
        first,
        "shoal-kernel 1 name=vector_add params=8/8,8/8,8/8,4/4 waits=never fails=no nvptx arch=sm_80 threads=128 shared=0 \
         ranks=no checks=no"
    );
    assert!(text.contains(".reqntid 128"), "{text}");
}

#[test]
fn elements_are_printed_by_their_threads() {
    let source = "
import shoal
import shoal.language as tl

@shoal.jit
def prints(x, N: tl.constexpr):
    tl.device_print('100% of x', tl.load(x + tl.arange(0, N)))
";
    let kernel = shoal::Module::from_source("prints.py", source).unwrap().kernel("prints").unwrap();
    let specs = kernel.read_signature("*fp32, N=32").unwrap();
    let text = kernel.emit(&specs, Stage::Asm, &Target::Nvptx(NvptxArch::Sm80)).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("vprintf"), "{text}");
}

#[test]
fn ranks_are_reached_at_system_scope() {
    let source = "
import shoal
import shoal.language as tl
import triton_dist.language as dl

@shoal.jit
def ring(x, flags, N: tl.constexpr):
    rank = dl.rank()
    other = (rank + 1) % dl.num_ranks()
    at = tl.arange(0, N)
    tl.store(dl.symm_at(x, other) + N + at, tl.load(x + at))
    dl.notify(flags, other, signal=1, sig_op='set', comm_scope='intra_node')
    token = dl.wait(flags, 1, 'sys', 'acquire', waitValue=1)
    x = dl.consume_token(x, token)
    tl.store(x + at, tl.load(x + N + at))
";
    let kernel = shoal::Module::from_source("ring.py", source).unwrap().kernel("ring").unwrap();
    let specs = kernel.read_signature("*fp32:16, *i64:16, N=1024").unwrap();
    let text = kernel.emit(&specs, Stage::Asm, &Target::Nvptx(NvptxArch::Sm80)).unwrap();
    let text = String::from_utf8(text).unwrap();
    for wanted in ["st.release.sys.global.b64", "ld.acquire.sys.global.b64", "exit;", "ranks=yes", "ring_param_2"] {
        assert!(text.contains(wanted), "{wanted} in\n{text}");
    }
}

#[test]
fn weak_loads_are_done_one_by_one_and_are_not_volatile() {
    let source = "
import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import ld, st, tid

@shoal.jit
def twice(x, out):
    at = x + tid(0)
    inline = tl.inline_asm_elementwise('ld.global.b32 $0, [$1];', '=r,l', [at], dtype=tl.int32, is_pure=False, pack=1)
    st(out + tid(0), ld(at, '', 'weak') + ld(at, '', 'weak') + inline, '', 'weak')

@shoal.jit
def volatile(x, out):
    tl.store(out, tl.load(x, volatile=True))
";
    let module = shoal::Module::from_source("weak.py", source).unwrap();
    let text = |name: &str| {
        let kernel = module.kernel(name).unwrap();
        let specs = kernel.read_signature("*i32:16, *i32:16").unwrap();
        String::from_utf8(kernel.emit(&specs, Stage::Asm, &Target::Nvptx(NvptxArch::Sm80)).unwrap()).unwrap()
    };
    let twice = text("twice");
    assert_eq!(twice.matches("ld.global.b32").count(), 3, "{twice}");
    assert!(!twice.contains("ld.volatile"), "{twice}");
    assert!(text("volatile").contains("ld.volatile.global"));
}

#[test]
fn what_is_acquired_and_not_read_is_a_fence() {
    let source = "
import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import ld, st, tid

@shoal.jit
def looks(x, out):
    ld(x + tid(0), scope='gpu', semantic='acquire')
    st(out + tid(0), ld(x + 256 + tid(0), scope='sys', semantic='acquire'))
";
    let kernel = shoal::Module::from_source("looks.py", source).unwrap().kernel("looks").unwrap();
    let specs = kernel.read_signature("*i32:16, *i32:16").unwrap();
    let text = kernel.emit(&specs, Stage::Asm, &Target::Nvptx(NvptxArch::Sm90a)).unwrap();
    let text = String::from_utf8(text).unwrap();
    let loads = |form: &str| text.lines().filter(|line| line.contains(form)).count();
    assert_eq!((loads("ld.global.acquire.gpu"), loads("ld.global.acquire.sys")), (0, 1), "{text}");
    assert_eq!((loads("fence.acq_rel.gpu"), loads("fence.acq_rel.sys")), (1, 0), "{text}");
}

#[test]
fn exponentials_are_corrected_by_multiply_adds_alone() {
    let source = "
import shoal
import shoal.language as tl

@shoal.jit
def exponential(x, out):
    at = tl.arange(0, 32)
    tl.store(out + at, tl.exp(tl.load(x + at)))
";
    let kernel = shoal::Module::from_source("exponential.py", source).unwrap().kernel("exponential").unwrap();
    let specs = kernel.read_signature("*fp32:16, *fp32:16").unwrap();
    let text = kernel.emit(&specs, Stage::Asm, &Target::Nvptx(NvptxArch::Sm90a)).unwrap();
    let text = String::from_utf8(text).unwrap();
    let count = |name: &str| text.lines().filter(|line| line.trim_start().starts_with(name)).count();
    assert_eq!([count("mul.rn.f32"), count("fma.rn.f32"), count("ex2.approx.ftz.f32")], [1, 3, 1], "{text}");
}

#[test]
fn functions_of_mathematics_need_no_library() {
    let source = "
import shoal
import shoal.language as tl

@shoal.jit
def remainders(x, N: tl.constexpr):
    at = x + tl.arange(0, N)
    tl.store(at, tl.load(at) % 2.5)

@shoal.jit
def tangents(x, N: tl.constexpr):
    at = x + tl.arange(0, N)
    tl.store(at, tl.extra.libdevice.tan(tl.load(at)))
";
    let module = shoal::Module::from_source("mathematics.py", source).unwrap();
    for kernel in ["remainders", "tangents"] {
        let kernel = module.kernel(kernel).unwrap();
        let specs = kernel.read_signature("*fp32, N=32").unwrap();
        let ptx = kernel.emit(&specs, Stage::Asm, &Target::Nvptx(NvptxArch::Sm90a)).unwrap();
        let ptx = String::from_utf8(ptx).unwrap();
        assert!(!ptx.contains(".extern .func"), "{ptx}");
    }
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let source = "
import shoal
import shoal.language as tl

@shoal.jit
def copied(x, N: tl.constexpr):
    at = x + tl.arange(0, N)
    tl.store(at + N, tl.load(at))
";
    let kernel = shoal::Module::from_source("refused.py", source).unwrap().kernel("copied").unwrap();
    let specs = kernel.read_signature("*fp32, N=1048576").unwrap();
    let refused = kernel.emit(&specs, Stage::Asm, &Target::Nvptx(NvptxArch::Sm90a)).unwrap_err().to_string();
    assert!(refused.contains("too large for 4 warps"), "{refused}");
}

/// A product whose operands and result go through descriptors, which the kernel makes or is given.
const BLOCKS: &str = "
import shoal
import shoal.language as tl

@shoal.jit
def made(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    pm, pn = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(left.load([pm * BM, k]), right.load([k, pn * BN]), acc)
    out.store([pm * BM, pn * BN], acc.to(tl.float16))

@shoal.jit
def persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    columns = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, tl.num_programs(0), warp_specialize=WS):
        pm, pn = tile // columns, tile % columns
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(left.load([pm * BM, k]), right.load([k, pn * BN]), acc)
        out.store([pm * BM, pn * BN], acc.to(tl.float16))

@shoal.jit
def row_sums(x, out, M, N: tl.constexpr, BM: tl.constexpr):
    rows = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, N])
    first = tl.program_id(0) * BM
    tl.store(out + first + tl.arange(0, BM), tl.sum(rows.load([first, 0]), axis=1))
";

fn blocks(kernel: &str, signature: &str, arch: NvptxArch) -> String {
    let kernel = shoal::Module::from_source("blocks.py", BLOCKS).unwrap().kernel(kernel).unwrap();
    let specs = kernel.read_signature(signature).unwrap();
    String::from_utf8(kernel.emit(&specs, Stage::Asm, &Target::Nvptx(arch)).unwrap_or_else(|why| panic!("{why}")))
        .unwrap()
}

#[test]
fn the_copy_engine_moves_blocks_of_tensors() {
    let signature = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, BM=128, BN=128, BK=64";
    let text = blocks("made", signature, NvptxArch::Sm90a);
    for wanted in [
        "maps=b16:u0:a3/a5:a5:128/64:128:zero,b16:u1:a5/a4:a4:64/64:128:zero,b16:u2:a3/a4:a4:128/64:128:zero",
        ".param .align 64 .b8 made_param_6[128]",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
        "mbarrier.try_wait.parity.shared::cta.b64",
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16",
        "wgmma.wait_group.sync.aligned 1;",
        "stmatrix.sync.aligned",
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group",
        "cp.async.bulk.wait_group.read 0;",
    ] {
        assert!(text.contains(wanted), "{wanted} in\n{text}");
    }
    for unwanted in [".local", "cp.async.cg", "ld.global", "st.global", "setmaxnreg"] {
        assert!(!text.contains(unwanted), "{unwanted} in\n{text}");
    }
    // What is not aligned as the engine wants it goes through pointers, and so does everything on older GPUs.
    let unaligned = signature.replace("i32:16, i32:16, i32:16", "i32, i32, i32");
    let older = blocks("made", signature, NvptxArch::Sm80);
    for text in [blocks("made", &unaligned, NvptxArch::Sm90a), older] {
        assert!(!text.contains("cp.async.bulk") && !text.contains("maps=") && text.contains("st.global"), "{text}");
    }
    let sums = blocks("row_sums", "*fp32:16, *fp32:16, i32, N=64, BM=32", NvptxArch::Sm90a);
    assert!(sums.contains("cp.async.bulk.tensor.2d.shared::cluster") && sums.contains("ld.shared.v4.b32"), "{sums}");
    assert!(sums.contains("maps=b32:u0:a2/64:64:32/32:128:zero"), "{sums}");
}

#[test]
fn warps_of_their_own_feed_loops_that_ask_for_it() {
    let signature = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, BM=128, BN=256, BK=64";
    let kernel = shoal::Module::from_source("blocks.py", BLOCKS).unwrap().kernel("persistent").unwrap();
    let text = |more: &str| {
        let specs = kernel.read_signature(&format!("{signature}, {more}")).unwrap();
        let mut options = kernel.options().clone();
        (options.gpu.num_warps, options.gpu.num_stages) = (8, 3);
        let kernel = kernel.clone().with(options);
        String::from_utf8(kernel.emit(&specs, Stage::Asm, &Target::Nvptx(NvptxArch::Sm90a)).unwrap()).unwrap()
    };
    let specialised = text("WS=True");
    for wanted in [
        "threads=384",
        ".reqntid 384",
        ".minnctapersm 1",
        "setmaxnreg.dec.sync.aligned.u32 40;",
        "setmaxnreg.inc.sync.aligned.u32 232;",
        "mbarrier.arrive.shared::cta.b64",
        "bar.sync 1, 256;",
    ] {
        assert!(specialised.contains(wanted), "{wanted} in\n{specialised}");
    }
    assert!(!specialised.contains(".local"), "{specialised}");
    let plain = text("WS=False");
    assert!(plain.contains("threads=256") && !plain.contains("setmaxnreg"), "{plain}");
}

/// Loops over a row of elements, with and without blocks that overlap those of other trips.
const TRIPS: &str = "
import shoal
import shoal.language as tl

@shoal.jit
def doubled(x, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * STEP):
        at = start + tl.arange(0, BLOCK)
        tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
";

#[test]
fn threads_that_keep_their_places_do_not_wait_for_each_other() {
    let kernel = shoal::Module::from_source("trips.py", TRIPS).unwrap().kernel("doubled").unwrap();
    let text = |signature: &str| {
        let specs = kernel.read_signature(signature).unwrap();
        String::from_utf8(kernel.emit(&specs, Stage::Asm, &Target::Nvptx(NvptxArch::Sm90a)).unwrap()).unwrap()
    };
    let apart = text("*bf16:16, i32:16, STEP=1024, BLOCK=1024");
    assert!(!apart.contains("bar.sync"), "{apart}");
    // Halves of words become floats by a shift or a mask.
    assert!(!apart.contains("cvt.u32.u16"), "{apart}");
    let overlapping = text("*bf16:16, i32:16, STEP=512, BLOCK=1024");
    assert!(overlapping.contains("bar.sync"), "{overlapping}");
}
