//! Indices that are negative, or that are not there: what comes out, or whether
//! an error says so.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ndarray::{ArrayD, array};
use tract_onnx::prelude::*;

use crate::node::{Attribute, Engine, Node, runnable};

/// A node by indices that are legal in ONNX, and then has an output, or that
/// are not.
#[derive(Debug)]
pub struct Case {
    pub node: Node,
    pub what: &'static str,
    legal: Option<Tensor>,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Right,
    Wrong,
    Refused,
    NotRefused,
    Panicked,
}

pub fn cases() -> Vec<Case> {
    let data = tensor(array![[0f32, 1., 2.], [3., 4., 5.]].into_dyn());
    let case = |operator: &str, axis: Option<i64>, what, indices: ArrayD<i64>, legal| {
        let attributes = axis.map(|axis| ("axis".into(), Attribute::Number(axis)));
        let attributes = attributes.into_iter().collect();
        let inputs = vec![data.clone(), tensor(indices)];
        Case { node: Node { operator: operator.into(), attributes, inputs }, what, legal }
    };
    let with_updates = |mut case: Case, updates: ArrayD<f32>, reduction: &str| {
        let reduction = ("reduction".into(), Attribute::Text(reduction.into()));
        case.node.attributes.push(reduction);
        case.node.inputs.push(tensor(updates));
        case
    };
    let (far, last) = (array![[1i64 << 32, 1]].into_dyn(), array![[-1i64, 0]].into_dyn());
    let row = || array![[1f32, 1., 1.]].into_dyn();
    vec![
        case("Gather", Some(1), "index 3 of 3", array![3].into_dyn(), None),
        case("GatherElements", Some(0), "index 2 of 2", array![[2, 0, 0]].into_dyn(), None),
        case("GatherElements", Some(0), "index -3 of 2", array![[-3, 0, 0]].into_dyn(), None),
        case("GatherND", None, "index -1", last, Some(tensor(array![3f32].into_dyn()))),
        case("GatherND", None, "index 2^32 of 2", far, None),
        with_updates(
            case("ScatterElements", Some(0), "index 2 of 2", array![[2, 0, 0]].into_dyn(), None),
            row(),
            "none",
        ),
        with_updates(
            case(
                "ScatterND",
                None,
                "index -1",
                array![[-1]].into_dyn(),
                Some(tensor(array![[0f32, 1., 2.], [1., 1., 1.]].into_dyn())),
            ),
            row(),
            "none",
        ),
        with_updates(
            case("ScatterND", None, "index 2 of 2, add", array![[2]].into_dyn(), None),
            row(),
            "add",
        ),
    ]
}

fn tensor<T: Datum>(array: ArrayD<T>) -> Tensor {
    array.into()
}

impl Case {
    pub fn outcome(&self, engine: Engine) -> TractResult<Outcome> {
        let plan = runnable(self.node.model()?, engine)?;
        let run = catch_unwind(AssertUnwindSafe(|| plan.run(self.node.values())));
        Ok(match (run, &self.legal) {
            (Err(_), _) => Outcome::Panicked,
            (Ok(Err(_)), _) => Outcome::Refused,
            (Ok(Ok(outputs)), Some(wanted)) if *outputs[0] == *wanted => Outcome::Right,
            (Ok(Ok(_)), Some(_)) => Outcome::Wrong,
            (Ok(Ok(_)), None) => Outcome::NotRefused,
        })
    }

    pub fn is_right(&self, outcome: Outcome) -> bool {
        outcome == if self.legal.is_some() { Outcome::Right } else { Outcome::Refused }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Right => f.pad("right"),
            Outcome::Refused => f.pad("error"),
            Outcome::Panicked => f.pad("PANIC"),
            Outcome::Wrong => f.pad("WRONG"),
            Outcome::NotRefused => f.pad("WRONG: no error"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opkernels_is_right_about_all() {
        for case in cases() {
            let outcome = case.outcome(Engine::Opkernels).unwrap();
            assert!(case.is_right(outcome), "{} {}: {outcome}", case.node.operator, case.what);
        }
    }
}
