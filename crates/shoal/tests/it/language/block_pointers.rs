//! Reference 1.4: block pointers, which the front end turns into pointers and masks.

use shoal::args;

use super::harness::{case, floats};

const AT: &str = "    at = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]\n";

#[test]
fn load_advance_and_store() {
    let x = floats(16 * 32, 1);
    let body = format!(
        "{AT}
    p = tl.make_block_ptr(base=x, shape=(16, 32), strides=(32, 1), offsets=(r, c), block_shape=(4, 8), order=(1, 0))
    tl.store(out + at, tl.load(p))
    p = tl.advance(p, (2, 8))
    tl.store(out + 32 + at, tl.load(p))
    p = p.advance([2, -16])
    q = tl.make_block_ptr(out + 64, (4, 8), (8, 1), (0, 0), (4, 8), (1, 0))
    tl.store(q, tl.load(p))
"
    );
    let block = |r: usize, c: usize| (0..32).map(move |at| (r + at / 8) * 32 + c + at % 8);
    let places = block(4, 16).chain(block(6, 24)).chain(block(8, 8));
    let expected: Vec<f32> = places.map(|at| x[at]).collect();
    case("x, r, c, out", &body).gives(args!(&x, 4, 16), &expected);
}

#[test]
fn boundary_checks_per_dimension() {
    let x = floats(6 * 8, 2);
    let load = |options: &str| {
        format!(
            "{AT}
    p = tl.make_block_ptr(x, (n, 5), (8, 1), (4, 0), (4, 8), (1, 0))
    tl.store(out + at, tl.load(p{options}))
"
        )
    };
    let expected = |beyond: f32, columns: usize| {
        let element = |at: usize| if at / 8 < 2 && at % 8 < columns { x[32 + at] } else { beyond };
        (0..32).map(element).collect::<Vec<f32>>()
    };
    case("x, n, out", &load(", boundary_check=(0, 1), padding_option='zero'")).gives(args!(&x, 6), &expected(0.0, 5));
    case("x, n, out", &load(", boundary_check=(1, 0), padding_option='nan'"))
        .gives(args!(&x, 6), &expected(f32::NAN, 5));
    case("x, n, out", &load(", boundary_check=(0,), padding_option='zero'")).gives(args!(&x, 6), &expected(0.0, 8));
    let body = "
    p = tl.make_block_ptr(out, (3, 8), (8, 1), (1, 4), (4, 8), (1, 0))
    tl.store(p, tl.full([4, 8], 7.0, tl.float32), boundary_check=(0, 1))
";
    let stored: Vec<f32> =
        (0..32).map(|at| if (1..3).contains(&(at / 8)) && at % 8 >= 4 { 7.0 } else { f32::NAN }).collect();
    case("out", body).gives(args!(), &stored);
}

#[test]
fn transposed_and_carried_by_loops() {
    let x = floats(64, 3);
    let body = "
    p = tl.make_block_ptr(x, (8, 8), (1, 8), (0, 0), (8, 2), (0, 1))
    total = tl.zeros([8, 2], tl.float32)
    for _ in range(0, 8, 2):
        total += tl.load(p)
        p = tl.advance(p, (0, 2))
    at = tl.arange(0, 8)[:, None] * 2 + tl.arange(0, 2)[None, :]
    tl.store(out + at, total)
";
    let element = |at: usize| (0..4).fold(0.0, |sum, step| sum + x[at / 2 + (at % 2 + 2 * step) * 8]);
    case("x, out", body).gives(args!(&x), &(0..16).map(element).collect::<Vec<f32>>());
}

#[test]
fn what_they_point_to() {
    let body = "
    p = tl.make_block_ptr(out, (4, 8), (8, 1), (0, 0), (4, 8), (1, 0))
    tl.static_assert(p.dtype.is_ptr() and p.dtype.element_ty == tl.float32)
    tl.static_assert(p.type.element_ty == out.dtype.element_ty)
    tl.store(p, tl.full([4, 8], 7, tl.int32).to(p.dtype.element_ty) / 2)
";
    case("out", body).gives(args!(), &[3.5f32; 32]);
}

#[test]
fn wrong_block_pointers() {
    let x = [0.0f32; 64];
    let wrong = |statement: &str, words: &[&str]| {
        let body = format!("    p = tl.make_block_ptr(x, (8, 8), (8, 1), (0, 0), (4, 8), (1, 0))\n    y = {statement}");
        case("x, out", &body).refused(args!(&x[..]), words);
    };
    wrong("tl.load(p, mask=True)", &["mask"]);
    wrong("tl.load(p, boundary_check=(2,))", &["2"]);
    wrong("tl.advance(p, (1,))", &["2"]);
    wrong("tl.make_block_ptr(x, (8, 8), (8, 1), (0, 0), (4, 8), (1, 1))", &["order"]);
    wrong("tl.make_block_ptr(x, (8, 8), (8,), (0, 0), (4, 8), (1, 0))", &["2"]);
    wrong("tl.load(x, boundary_check=(0,))", &["boundary_check"]);
    wrong("p.dtyp", &["has no attribute `dtyp`", "did you mean `dtype`?"]);
}
