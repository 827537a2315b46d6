//! Every kernel of the library as code for NVIDIA GPUs: the right instructions are there, and nothing lies in local memory.
//! No GPU is needed for this; where there is `ptxas`, it assembles them all, and keeps every number in a register.

use shoal::cuda::{assemble_with_ptxas, find_ptxas};
use shoal::{NvptxArch, Stage, Target};
use shoal_kernels::Source;
use shoal_kernels::distributed::gemm_all_reduce::GEMM_WARPS;

/// A kernel with a specialisation, and what its PTX must hold.
pub(crate) struct Case {
    source: Source,
    kernel: &'static str,
    signature: &'static str,
    /// As many as the library launches it with.
    warps: u32,
    /// Instructions on every architecture.
    has: &'static [&'static str],
    /// Instructions of sm_80, and of sm_90a.
    has_80: &'static [&'static str],
    has_90a: &'static [&'static str],
}

/// A kernel with the same instructions on every architecture.
const fn everywhere(
    source: Source,
    kernel: &'static str,
    signature: &'static str,
    has: &'static [&'static str],
) -> Case {
    Case { source, kernel, signature, warps: 4, has, has_80: &[], has_90a: &[] }
}

/// A product whose operands or results are other ranks'.
const fn product(kernel: &'static str, signature: &'static str) -> Case {
    Case {
        source: Source::GemmRanks,
        kernel,
        signature,
        warps: GEMM_WARPS as u32,
        has: &[],
        has_80: &["mma.sync.aligned.m16n8k16.row.col.f32.bf16"],
        has_90a: &["wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"],
    }
}

const MATMUL: &str = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1, \
                      BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, GROUP_M=8, EVEN=True";
const ATTENTION: &str = "*bf16:16, *bf16:16, *bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16, fp32, CAUSAL=True, \
                         HEAD_DIM=64, BLOCK_M=64, BLOCK_N=64, EVEN=True";

/// Blocks move as wide words, and ranks meet.
const MEETING: &[&str] = &["ld.global.v4.b32", "st.global.v4.b32", "sys.global"];
/// Numbers arrive in words that say so themselves.
const WORDS: &[&str] = &["st.relaxed.sys.global", "ld.relaxed.sys.global"];
const PUTS: &[&str] = &["st.global", "sys.global"];
const GEMM_ALL_REDUCE: &str = "*bf16:16, *bf16:16, *fp32:16, *bf16:16, *i32:16, i32:16, i32:16, i32:16, WORLD=4, \
                               BLOCK_M=128, BLOCK_N=128, BLOCK_K=64";
const GEMM_SCATTER: &str = "*bf16:16, *bf16:16, *fp32:16, *bf16:16, *i32:16, i32:16, i32:16, i32:16, i32:16, WORLD=4, \
                            BLOCK_M=128, BLOCK_N=128, BLOCK_K=64";
const GEMM_ANNOUNCED: &str = "*bf16:16, *bf16:16, *fp32:16, *fp32:16, *i32:16, *u32:16, i32:16, i32:16, i32:16, i32:16, \
                              i32:16, WORLD=4, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64";
const GATHER_MATMUL: &str = "*bf16:16, *bf16:16, *bf16:16, *bf16:16, *u32:16, i32:16, i32:16, i32:16, i32, i32:16, None, \
                             i32, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64";
const PULL_MATMUL: &str = "*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64";

static CASES: &[Case] = &[
    everywhere(
        Source::VectorAdd,
        "vector_add",
        "*fp32:16, *fp32:16, *fp32:16, i32:16, BLOCK=1024",
        &["ld.global.v4.b32", "st.global.v4.b32", "add.f32"],
    ),
    everywhere(
        Source::Softmax,
        "softmax",
        "*fp16:16, *fp16:16, i32:16, i32:16, i32, i32:16, BLOCK=1024",
        &["ld.global.v4.b32", "ex2.approx.ftz.f32", "shfl.sync.bfly.b32", "max.f32", "bar.sync"],
    ),
    everywhere(
        Source::LayerNorm,
        "layer_norm_forward",
        "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, i32:16, fp32, BLOCK=1024",
        &["ld.global.v4.b32", "st.global.v4.b32", "sqrt.approx.f32"],
    ),
    everywhere(
        Source::LayerNorm,
        "layer_norm_backward_rows",
        "*fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, *i32:16, *i32:16, \
                    i32:16, i32:16, GROUPS=64, BLOCK=1024",
        &["atom.acquire.gpu.global.cas.b32", "atom.release.gpu.global.exch.b32"],
    ),
    everywhere(
        Source::LayerNorm,
        "layer_norm_backward_sum",
        "*fp32:16, *fp32:16, *fp16:16, *fp16:16, i32, i32:16, BLOCK_G=32, BLOCK=128",
        &["ld.global.v4.b32", "bar.sync", "st.shared"],
    ),
    everywhere(
        Source::RmsNorm,
        "rms_norm",
        "*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, fp32, BLOCK=4096",
        &["ld.global.v4.b32", "st.global.v4.b32", "cvt.rn.bf16"],
    ),
    everywhere(
        Source::Dropout,
        "dropout",
        "*fp32:16, *fp32:16, i32:16, fp32, i32, BLOCK=1024",
        &["ld.global.v4.b32", "mul.hi.u32"],
    ),
    Case {
        source: Source::Matmul,
        kernel: "matmul",
        signature: MATMUL,
        warps: 4,
        has: &["cp.async.cg.shared.global", "cp.async.wait_group 1;", "st.global.v4.b32"],
        has_80: &["mma.sync.aligned.m16n8k16", "ldmatrix.sync.aligned.m8n8.x4.shared", "x4.trans.shared"],
        has_90a: &["wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", "wgmma.wait_group.sync.aligned 1;"],
    },
    Case {
        source: Source::Attention,
        kernel: "attention",
        signature: ATTENTION,
        warps: 4,
        has: &["cp.async.cg.shared.global", "ex2.approx.ftz.f32"],
        has_80: &["mma.sync.aligned.m16n8k16.row.col.f32.bf16"],
        has_90a: &["wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"],
    },
    Case {
        source: Source::GroupedGemm,
        kernel: "grouped_gemm",
        signature: "*fp16:16, *fp16:16, *fp16:16, *i64:16, i32, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32",
        warps: 4,
        has: &["ld.global.b64"],
        has_80: &["mma.sync.aligned.m16n8k16.row.col.f32.f16"],
        has_90a: &["wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"],
    },
    everywhere(Source::AllGather, "all_gather_push", "*bf16:16, *bf16:16, *i32:16, i32:16, BLOCK=1024", MEETING),
    everywhere(Source::AllGather, "all_gather_pull", "*bf16:16, *bf16:16, *i32:16, i32:16, BLOCK=1024", MEETING),
    everywhere(Source::AllGather, "all_gather_ring", "*bf16:16, *bf16:16, *i32:16, i32:16, BLOCK=1024", MEETING),
    everywhere(Source::AllGather, "all_gather_2d", "*bf16:16, *bf16:16, *i32:16, i32:16, i32, BLOCK=1024", MEETING),
    everywhere(
        Source::AllReduce,
        "one_shot_all_reduce",
        "*bf16:16, *bf16:16, *i32:16, i32:16, WORLD=4, BLOCK=1024",
        MEETING,
    ),
    everywhere(
        Source::AllReduce,
        "one_shot_all_reduce_words",
        "*bf16:16, *bf16:16, *u64:16, *i64:16, i32:16, WORLD=4, ROUNDS=1",
        WORDS,
    ),
    everywhere(Source::AllReduce, "two_shot_all_reduce_words", "*bf16:16, *u64:16, *i64:16, i32:16, WORLD=4", WORDS),
    everywhere(
        Source::AllReduce,
        "one_shot_all_reduce_bias",
        "*bf16:16, *bf16:16, *bf16:16, *bf16:16, *i32:16, i32:16, i32:16, WORLD=4, BLOCK=1024",
        MEETING,
    ),
    everywhere(
        Source::AllReduce,
        "two_shot_all_reduce_in_place",
        "*bf16:16, *i32:16, i32:16, WORLD=4, BLOCK=1024",
        MEETING,
    ),
    everywhere(
        Source::AllReduce,
        "two_shot_all_reduce",
        "*bf16:16, *bf16:16, *bf16:16, *i32:16, i32:16, WORLD=4, BLOCK=1024",
        MEETING,
    ),
    everywhere(
        Source::AllReduce,
        "two_shot_all_reduce_bias",
        "*bf16:16, *bf16:16, *bf16:16, *bf16:16, *i32:16, i32:16, i32:16, WORLD=4, BLOCK=1024",
        MEETING,
    ),
    everywhere(
        Source::AllReduceRmsNorm,
        "one_shot_all_reduce_bias_rms_norm",
        "*bf16:16, *bf16:16, *bf16:16, *bf16:16, *bf16:16, *i32:16, i32, i32:16, fp32, WORLD=4, BLOCK=4096",
        MEETING,
    ),
    everywhere(
        Source::AllReduceRmsNorm,
        "two_shot_all_reduce_bias_rms_norm",
        "*bf16:16, *bf16:16, *bf16:16, *bf16:16, *bf16:16, *i32:16, i32, i32:16, i32:16, fp32, WORLD=4, BLOCK=4096, \
         PART=1024",
        MEETING,
    ),
    everywhere(
        Source::AllToAll,
        "all_to_all",
        "*bf16:16, *i64:16, *bf16:16, *i64:16, *i32:16, i32:16, i32, BLOCK=1024",
        MEETING,
    ),
    everywhere(Source::Broadcast, "broadcast", "*bf16:16, *i32:16, i32, i32:16, BLOCK=1024", MEETING),
    everywhere(Source::Broadcast, "ring_put", "*bf16:16, *bf16:16, *i32:16, i32:16, BLOCK=1024", &["st.global.v4.b32"]),
    everywhere(Source::Broadcast, "barriers", "*i32:16, i32", &["sys.global"]),
    everywhere(
        Source::ReduceScatter,
        "reduce_scatter",
        "*bf16:16, *bf16:16, *i32:16, i32:16, i32:16, WORLD=4, BLOCK=1024",
        MEETING,
    ),
    product("gemm_one_shot_all_reduce", GEMM_ALL_REDUCE),
    product("gemm_reduce_scatter", GEMM_SCATTER),
    product("gemm_announced", GEMM_ANNOUNCED),
    product("all_gather_matmul", GATHER_MATMUL),
    product("all_gather_matmul_pull", PULL_MATMUL),
    everywhere(
        Source::GemmRanks,
        "add_parts",
        "*fp32:16, *bf16:16, i32:16, WORLD=4, BLOCK=1024",
        &["ld.global.v4.b32"],
    ),
    everywhere(Source::GemmRanks, "read_clock", "*u64:16", &["globaltimer"]),
    everywhere(Source::Puts, "all_gather_put", "*bf16:16, *bf16:16, *u64:16, u64, i32:16", PUTS),
    everywhere(Source::Puts, "all_gather_put_ring", "*bf16:16, *bf16:16, *u64:16, u64, i32:16", PUTS),
    everywhere(Source::Puts, "broadcast_put", "*bf16:16, *u64:16, u64, i32, i32:16", PUTS),
    everywhere(
        Source::Puts,
        "reduce_scatter_put",
        "*bf16:16, *bf16:16, *bf16:16, *u64:16, u64, i32:16, i32:16, WORLD=4, BLOCK=1024",
        PUTS,
    ),
    everywhere(
        Source::Puts,
        "all_reduce_put",
        "*bf16:16, *bf16:16, *bf16:16, *u64:16, u64, i32:16, i32:16, WORLD=4, BLOCK=1024",
        PUTS,
    ),
    everywhere(
        Source::Puts,
        "all_to_all_put",
        "*bf16:16, *i64:16, *i64:16, *bf16:16, *i64:16, *u64:16, u64, i32:16, i32",
        PUTS,
    ),
];

/// Names of memory for numbers that have no register.
const LOCAL_MEMORY: [&str; 2] = [".local", "__local_depot"];

/// What `ptxas -v` says of a kernel without such memory.
const IN_REGISTERS: &str = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";

/// The case of this kernel.
pub(crate) fn case(kernel: &str) -> &'static Case {
    CASES.iter().find(|case| case.kernel == kernel).expect("a kernel of the library")
}

pub(crate) fn ptx(case: &Case, arch: NvptxArch) -> String {
    let kernel = case.source.module().unwrap().kernel(case.kernel).unwrap();
    let specs = kernel.read_signature(case.signature).unwrap_or_else(|why| panic!("{}: {why}", case.kernel));
    let mut options = kernel.options().clone();
    options.gpu.num_warps = case.warps;
    let text = kernel.with(options).emit(&specs, Stage::Asm, &Target::Nvptx(arch));
    let text = text.unwrap_or_else(|why| panic!("{} for {}: {why}", case.kernel, arch.name()));
    String::from_utf8(text).unwrap()
}

/// The kernels of a file: functions that none of the library calls.
fn kernels(source: Source) -> Vec<String> {
    let texts: Vec<String> = Source::ALL.iter().map(|source| source.text().to_owned()).collect();
    let defined = source.text().lines().filter_map(|line| Some(line.strip_prefix("def ")?.split_once('(')?.0));
    let is_called = |name: &str| {
        let call = format!("{name}(");
        let ends_word =
            |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || c == '_') || before.ends_with("def ");
        texts.iter().any(|text| text.match_indices(&call).any(|(at, _)| !ends_word(&text[..at])))
    };
    defined.filter(|name| !is_called(name)).map(str::to_owned).collect()
}

#[test]
fn every_kernel_is_here() {
    let all: Vec<String> = Source::ALL.into_iter().flat_map(kernels).collect();
    let missing: Vec<&String> = all.iter().filter(|name| CASES.iter().all(|case| case.kernel != **name)).collect();
    assert!(missing.is_empty(), "{missing:?} of {all:?}");
    assert!(all.len() > 30, "{all:?}");
}

#[test]
fn kernels_have_the_instructions_they_should_have() {
    let mut wrong = Vec::new();
    for case in CASES {
        for (arch, own) in [(NvptxArch::Sm80, case.has_80), (NvptxArch::Sm90a, case.has_90a)] {
            let text = ptx(case, arch);
            let of = format!("{} for {}", case.kernel, arch.name());
            let missing = case.has.iter().chain(own).filter(|wanted| !text.contains(**wanted));
            wrong.extend(missing.map(|wanted| format!("{of}: no `{wanted}`")));
            let unwanted = LOCAL_MEMORY.into_iter().chain([", debug"]).filter(|unwanted| text.contains(unwanted));
            wrong.extend(unwanted.map(|unwanted| format!("{of}: `{unwanted}`")));
            if find_ptxas().is_some() {
                match assemble_with_ptxas(case.kernel, arch, text.as_bytes()) {
                    Ok((_, said)) if said.contains(IN_REGISTERS) => {}
                    Ok((_, said)) => wrong.push(format!("{of}: {said}")),
                    Err(why) => wrong.push(format!("{of}: {why}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
