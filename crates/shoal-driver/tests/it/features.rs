//! Kernels that use CPU features the system must be asked for.

use crate::objects::{compile, info, options, pointers};
use shoal_abi::{CpuNeeds, KernelDescription, TargetNeeds};
use shoal_driver::{
    Buffer, LaunchError,
    cpu::{Code, CpuDevice, LoadedKernel, host_features},
};
use std::sync::Arc;

/// Multiplies two 16x64 tiles of ones in each program, on whatever thread that runs.
const TILES: &str = r#"
#include <immintrin.h>
#include <string.h>
ENTRY(k) {
    int32_t *out = ARG(int32_t *, 0);
    EACH(p) {
        unsigned char config[64] = {1};
        for (int tile = 0; tile < 3; tile++) { config[16 + 2 * tile] = 64; config[48 + tile] = 16; }
        int8_t *ones = (int8_t *)ctx->scratch; int32_t *sums = (int32_t *)(ctx->scratch + 1024);
        memset(ones, 1, 1024);
        _tile_loadconfig(config);
        _tile_zero(0);
        _tile_loadd(1, ones, 64);
        _tile_loadd(2, ones, 64);
        _tile_dpbssd(0, 1, 2);
        _tile_stored(0, sums, 64);
        _tile_release();
        out[p] = sums[17];
    }
}"#;

#[test]
fn amx_is_granted_where_there_is_one_and_refused_elsewhere() {
    let object = compile(TILES, &["-mamx-tile", "-mamx-int8"]);
    let needs = CpuNeeds { uses_amx: true, scratch_bytes: 2048, features: Vec::new() };
    let info = KernelDescription { needs: TargetNeeds::Cpu(needs), ..info(1) };
    let kernel = LoadedKernel::new(Arc::new(Code::load(&object).unwrap()), info).unwrap();
    let device = CpuDevice::new(3).unwrap();
    let out = Buffer::zeroed(100 * 4).unwrap();
    // SAFETY: one element per program; the kernel is launched only where tiles can be used.
    let result = unsafe { device.launch(&kernel, [100, 1, 1], &pointers(&[out.as_ptr()]), &options()) };
    if host_features().amx_usable() {
        result.unwrap();
        assert!(out.as_slice::<i32>().iter().all(|&sum| sum == 64));
    } else {
        assert_eq!(result, Err(LaunchError::Feature { kernel: "k".into(), feature: "AMX" }));
    }
}
