//! The operators at the sizes that models have.

use fastrand::Rng;
use ndarray::{Array2, ArrayD, s};
use tract_onnx::prelude::*;

use crate::node::{Attribute, Engine, Node, runnable};

/// A node, and what it is for.
#[derive(Debug)]
pub struct Size {
    pub what: &'static str,
    pub node: Node,
}

/// Small whole numbers: their sums are exact, whatever the order.
fn values(random: &mut Rng, shape: &[usize]) -> Tensor {
    ArrayD::from_shape_simple_fn(shape, || f32::from(random.u8(..64))).into()
}

fn indices(random: &mut Rng, shape: &[usize], below: i64) -> Tensor {
    ArrayD::from_shape_simple_fn(shape, || random.i64(0..below)).into()
}

/// The first of a permutation of so many numbers, along each row.
fn distinct(random: &mut Rng, [rows, columns]: [usize; 2], of: usize) -> Tensor {
    let mut orders = Array2::from_shape_fn((rows, of), |(_, column)| column as i64);
    for mut order in orders.rows_mut() {
        random.shuffle(order.as_slice_mut().expect("a row of a standard layout"));
    }
    orders.slice(s![.., ..columns]).to_owned().into()
}

pub fn sizes() -> Vec<Size> {
    let random = &mut Rng::with_seed(1);
    let axis = |axis| vec![("axis".to_string(), Attribute::Number(axis))];
    let add = || ("reduction".to_string(), Attribute::Text("add".into()));
    let batched = vec![("batch_dims".to_string(), Attribute::Number(1))];
    let size = |what, operator: &str, attributes, inputs: Vec<Tensor>| Size {
        what,
        node: Node { operator: operator.into(), attributes, inputs },
    };
    vec![
        size(
            "embedding, 4096 of 32000 rows of 1 KB",
            "Gather",
            axis(0),
            vec![values(random, &[32_000, 256]), indices(random, &[8, 512], 32_000)],
        ),
        size(
            "128 of 512 columns, 4096 rows",
            "Gather",
            axis(1),
            vec![values(random, &[4096, 512]), indices(random, &[128], 512)],
        ),
        size(
            "8 rows of 64 bytes",
            "Gather",
            axis(0),
            vec![values(random, &[100, 16]), indices(random, &[8], 100)],
        ),
        size(
            "1024 rows of 1024 in sorted order",
            "GatherElements",
            axis(1),
            vec![values(random, &[1024, 1024]), distinct(random, [1024, 1024], 1024)],
        ),
        size(
            "the same along the columns",
            "GatherElements",
            axis(0),
            vec![values(random, &[1024, 1024]), indices(random, &[1024, 1024], 1024)],
        ),
        size(
            "16384 pixels of 32 channels",
            "GatherND",
            batched,
            vec![values(random, &[4, 256, 256, 32]), indices(random, &[4, 4096, 2], 256)],
        ),
        size(
            "penalties, 64 x 1024 of 32000 logits",
            "ScatterElements",
            axis(1),
            vec![
                values(random, &[64, 32_000]),
                distinct(random, [64, 1024], 32_000),
                values(random, &[64, 1024]),
            ],
        ),
        size(
            "sums of 1M into 256 x 4096",
            "ScatterElements",
            axis(1).into_iter().chain([add()]).collect(),
            vec![
                values(random, &[256, 4096]),
                indices(random, &[256, 4096], 4096),
                values(random, &[256, 4096]),
            ],
        ),
        size(
            "1024 rows of 2 KB into a cache of 16 MB",
            "ScatterND",
            Vec::new(),
            vec![
                values(random, &[8192, 512]),
                distinct(random, [1, 1024], 8192).into_shape(&[1024, 1]).expect("1024 numbers"),
                values(random, &[1024, 512]),
            ],
        ),
        size(
            "messages: 200k rows of 64 added to 10k",
            "ScatterND",
            vec![add()],
            vec![
                values(random, &[10_000, 64]),
                indices(random, &[200_000, 1], 10_000),
                values(random, &[200_000, 64]),
            ],
        ),
    ]
}

impl Size {
    pub fn runnable(&self, engine: Engine) -> TractResult<Arc<TypedRunnableModel>> {
        runnable(self.node.model()?, engine)
    }

    /// Whether both kernels return the same values.
    pub fn agrees(&self) -> TractResult<bool> {
        let of = |engine| self.runnable(engine)?.run(self.node.values());
        Ok(of(Engine::Tract)? == of(Engine::Opkernels)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kernels_agree() {
        for size in sizes() {
            assert!(size.agrees().unwrap(), "{}", size.what);
        }
    }
}
