//! A small language model's step (`model/decoder.py` made it, and its answer),
//! in which all five operators stand.

use ndarray::{Axis, concatenate};
use tract_onnx::tract_hir::internal::*;

use crate::node::{Engine, runnable};
use crate::node_tests::{Test, parse};

const DECODER: &[u8] = include_bytes!("../model/decoder.onnx");
const ANSWER: &str = include_str!("../model/decoder.txt");

/// By how much scores may differ: sums of products are added in another order
/// than in the reference.
const TOLERANCE: f32 = 1e-4;

/// The decoder, with what goes into it and what should come out.
#[derive(Debug)]
pub struct Decoder {
    test: Test,
}

impl Decoder {
    /// The batch of texts, so many times over.
    pub fn new(times: usize) -> TractResult<Self> {
        let mut test = parse(ANSWER)?.pop().context("the decoder has an answer")?;
        let [words, open, ended, blocked, last] = &mut test.node.inputs[..] else {
            bail!("the decoder has five inputs");
        };
        let (texts, places) = (words.shape()[0], ended.shape()[0]);
        for tensor in [words, ended, last, &mut test.outputs[0]] {
            *tensor = repeated::<i64>(tensor, times)?;
        }
        for tensor in [open, blocked, &mut test.outputs[1]] {
            *tensor = repeated::<f32>(tensor, times)?;
        }
        // A place past the end of a text names the text, which is another one
        // in each repetition.
        let mut ended = test.node.inputs[2].to_plain_array_view_mut::<i64>()?;
        for (row, mut place) in ended.outer_iter_mut().enumerate() {
            place[0] += (row / places * texts) as i64;
        }
        Ok(Decoder { test })
    }

    pub fn texts(&self) -> usize {
        self.test.node.inputs[0].shape()[0]
    }

    pub fn runnable(&self, engine: Engine) -> TractResult<Arc<TypedRunnableModel>> {
        let mut model = tract_onnx::onnx().model_for_read(&mut &DECODER[..])?;
        for (k, input) in self.test.node.inputs.iter().enumerate() {
            let fact = InferenceFact::dt_shape(input.datum_type(), input.shape());
            model.set_input_fact(k, fact)?;
        }
        runnable(model, engine)
    }

    pub fn inputs(&self) -> TVec<TValue> {
        self.test.node.values()
    }

    /// Whether the next words are those of the reference, and their scores as
    /// good as.
    pub fn check(&self, engine: Engine) -> TractResult<()> {
        let outputs = self.runnable(engine)?.run(self.inputs())?;
        let [next, scores] = &outputs[..] else { bail!("{} outputs", outputs.len()) };
        ensure!(**next == self.test.outputs[0], "other words than the reference's: {next:?}");
        scores.close_enough(&self.test.outputs[1], Approximation::Custom(TOLERANCE, TOLERANCE, 0.0))
    }
}

fn repeated<T: Datum>(tensor: &Tensor, times: usize) -> TractResult<Tensor> {
    let view = tensor.to_plain_array_view::<T>()?;
    Ok(concatenate(Axis(0), &vec![view; times])?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Kernel;

    #[test]
    fn the_decoder_decodes() {
        for times in [1, 3] {
            let decoder = Decoder::new(times).unwrap();
            decoder.check(Engine::Opkernels).unwrap();
            decoder.check(Engine::Tract).unwrap();
        }
    }

    #[test]
    fn six_nodes_run_by_opkernels() {
        let plan = Decoder::new(1).unwrap().runnable(Engine::Opkernels).unwrap();
        let kernels = plan.model().nodes().iter().filter(|node| node.op_is::<Kernel>()).count();
        assert_eq!(kernels, 6);
    }
}
