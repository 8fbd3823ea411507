//! Two layers of graph convolution (Kipf and Welling 2017), their gradients by
//! hand, and Adam.

use fastrand::Rng;
use ndarray::{Array1, Array2, Axis, NdFloat, ScalarOperand, Zip};
use num_traits::FromPrimitive;
use opkernels::{
    GatherElementsExt, GatherExt, Result, ScatterElements, ScatterElementsExt, ScatterExt,
};

use crate::graph::Graph;

/// `f32` to train, `f64` to check gradients.
pub(crate) trait Real: NdFloat + FromPrimitive + ScalarOperand {
    fn of(value: f64) -> Self {
        Self::from_f64(value).expect("a float of at least 32 bits")
    }
}

impl Real for f32 {}
impl Real for f64 {}

/// A graph with what is known about it: features of all nodes, the classes of
/// some.
pub(crate) struct Task<F> {
    pub(crate) graph: Graph<F>,
    pub(crate) features: Array2<F>,
    /// The nodes whose class is told.
    pub(crate) told: Array1<u32>,
    /// The class of every node; training reads those that are told.
    pub(crate) classes: Array1<u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct Network<F> {
    /// The weights of both layers: from features to hidden values, from these
    /// to classes.
    pub(crate) weights: [Array2<F>; 2],
}

/// What a run through the network leaves.
pub(crate) struct Run<F> {
    pub(crate) hidden: Array2<F>,
    /// A column for each class.
    pub(crate) scores: Array2<F>,
    /// The mean over the nodes that are told of minus the logarithm of their
    /// class's probability.
    pub(crate) loss: F,
    /// The gradient of the loss with respect to the scores.
    by_scores: Array2<F>,
}

impl<F: Real> Network<F> {
    pub(crate) fn new(lengths: [usize; 3], random: &mut Rng) -> Self {
        let weights = [0, 1].map(|layer| {
            let (ins, outs) = (lengths[layer], lengths[layer + 1]);
            let reach = (6.0 / (ins + outs) as f64).sqrt();
            Array2::from_shape_simple_fn((ins, outs), || F::of((2.0 * random.f64() - 1.0) * reach))
        });
        Network { weights }
    }

    pub(crate) fn run(&self, task: &Task<F>) -> Result<Run<F>> {
        let [first, second] = &self.weights;
        let mut hidden = task.graph.hear(&task.features.dot(first))?;
        hidden.mapv_inplace(F::tanh);
        let scores = task.graph.hear(&hidden.dot(second))?;
        let (loss, by_scores) = cross_entropy(&scores, &task.told, &task.classes)?;
        Ok(Run { hidden, scores, loss, by_scores })
    }

    /// The gradients of the loss with respect to the weights, layer by layer
    /// from the last.
    pub(crate) fn gradients(&self, task: &Task<F>, run: &Run<F>) -> Result<[Array2<F>; 2]> {
        let sent = task.graph.hear_backward(&run.by_scores)?;
        let by_second = run.hidden.t().dot(&sent);
        let mut by_heard = sent.dot(&self.weights[1].t());
        // The derivative of tanh is 1 - tanh^2.
        Zip::from(&mut by_heard)
            .and(&run.hidden)
            .for_each(|by, &tanh| *by *= F::one() - tanh * tanh);
        let by_first = task.features.t().dot(&task.graph.hear_backward(&by_heard)?);
        Ok([by_first, by_second])
    }
}

/// The loss, and its gradient with respect to the scores.
fn cross_entropy<F: Real>(
    scores: &Array2<F>,
    told: &Array1<u32>,
    classes: &Array1<u32>,
) -> Result<(F, Array2<F>)> {
    let mut logarithms = scores.gather(told, 0)?;
    for mut row in logarithms.rows_mut() {
        let most = row.fold(F::neg_infinity(), |most, &score| most.max(score));
        let sum = row.fold(F::zero(), |sum, &score| sum + (score - most).exp());
        row.mapv_inplace(|score| score - most - sum.ln());
    }
    let class = classes.gather(told, 0)?.insert_axis(Axis(1));
    let share = F::of(1.0 / told.len() as f64);
    let loss = -logarithms.gather_elements(&class, 1)?.sum() * share;
    // The probabilities, less one for the class that is right.
    let mut by_told = logarithms.mapv_into(F::exp);
    let one_less = Array2::from_elem(class.dim(), -F::one());
    by_told.scatter_elements_inplace(&class, &one_less, ScatterElements::sum(1))?;
    by_told *= share;
    let mut by_scores = Array2::zeros(scores.dim());
    by_scores.scatter_inplace(told, &by_told, 0)?;
    Ok((loss, by_scores))
}

/// The class with the highest score of each node.
pub(crate) fn predictions<F: Real>(scores: &Array2<F>) -> Array1<u32> {
    scores.map_axis(Axis(1), |row| {
        let best = row
            .iter()
            .enumerate()
            .fold(0, |best, (k, &score)| if score > row[best] { k } else { best });
        best as u32
    })
}

impl<F: Real> Task<F> {
    /// The share of nodes, but for those that were told, whose class is
    /// predicted.
    pub(crate) fn accuracy(&self, scores: &Array2<F>) -> Result<f64> {
        let predicted = predictions(scores);
        let mut right = Zip::from(&predicted)
            .and(&self.classes)
            .map_collect(|one, other| u32::from(one == other));
        right.scatter_inplace(&self.told, &0, 0)?;
        Ok(f64::from(right.sum()) / (right.len() - self.told.len()) as f64)
    }
}

/// Steps along gradients that are divided by the root of their mean square
/// (Kingma and Ba 2015).
pub(crate) struct Adam<F> {
    rate: f64,
    steps: i32,
    means: [Array2<F>; 2],
    squares: [Array2<F>; 2],
}

impl<F: Real> Adam<F> {
    const DECAYS: [f64; 2] = [0.9, 0.999];

    pub(crate) fn new(rate: f64, network: &Network<F>) -> Self {
        let zeros = || network.weights.each_ref().map(|weights| Array2::zeros(weights.dim()));
        Adam { rate, steps: 0, means: zeros(), squares: zeros() }
    }

    pub(crate) fn step(&mut self, network: &mut Network<F>, gradients: &[Array2<F>; 2]) {
        self.steps += 1;
        let [slow, slower] = Self::DECAYS.map(F::of);
        let [started, since] = Self::DECAYS.map(|decay| F::of(1.0 - decay.powi(self.steps)));
        let (rate, tiny) = (F::of(self.rate), F::of(1e-8));
        for (layer, gradients) in gradients.iter().enumerate() {
            Zip::from(&mut network.weights[layer])
                .and(&mut self.means[layer])
                .and(&mut self.squares[layer])
                .and(gradients)
                .for_each(|weight, mean, square, &gradient| {
                    *mean = *mean * slow + gradient * (F::one() - slow);
                    *square = *square * slower + gradient * gradient * (F::one() - slower);
                    *weight -= rate * (*mean / started) / ((*square / since).sqrt() + tiny);
                });
        }
    }
}

/// The gradients by central differences, one run for each weight and direction.
pub(crate) fn differences(network: &Network<f64>, task: &Task<f64>) -> Result<[Array2<f64>; 2]> {
    const STEP: f64 = 1e-5;
    let mut gradients = network.weights.each_ref().map(|weights| Array2::zeros(weights.dim()));
    let mut moved = network.clone();
    for (layer, gradients) in gradients.iter_mut().enumerate() {
        for (at, gradient) in gradients.indexed_iter_mut() {
            let weight = network.weights[layer][at];
            let mut loss = |weight| {
                moved.weights[layer][at] = weight;
                Ok(moved.run(task)?.loss)
            };
            *gradient = (loss(weight + STEP)? - loss(weight - STEP)?) / (2.0 * STEP);
            moved.weights[layer][at] = weight;
        }
    }
    Ok(gradients)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use ndarray::array;

    /// On a graph with directions, where a gradient that went the wrong way
    /// would show.
    #[test]
    fn gradients_are_those_of_finite_differences() {
        let random = &mut Rng::with_seed(3);
        let ends = [vec![0, 1, 2, 2, 3, 4, 0], vec![1, 2, 0, 3, 4, 0, 4]];
        let task = Task {
            graph: Graph::new(5, ends).unwrap(),
            features: Array2::from_shape_simple_fn((5, 3), || random.f64() - 0.5),
            told: array![4, 0],
            classes: array![0, 1, 2, 0, 2],
        };
        let network = Network::new([3, 4, 3], random);
        let run = network.run(&task).unwrap();
        let gradients = network.gradients(&task, &run).unwrap();
        let differences = differences(&network, &task).unwrap();
        for (gradient, difference) in gradients.iter().zip(&differences) {
            assert!(gradient.iter().any(|by| by.abs() > 1e-3));
            assert_relative_eq!(gradient, difference, epsilon = 1e-9, max_relative = 1e-6);
        }
    }

    #[test]
    fn accuracy_is_that_of_the_others() {
        let task = Task::<f64> {
            graph: Graph::of_ties(4, &[(0, 1)]).unwrap(),
            features: Array2::eye(4),
            told: array![0],
            classes: array![1, 1, 0, 0],
        };
        let scores = array![[0., 1.], [0., 1.], [2., 1.], [0., 1.]];
        assert_eq!(task.accuracy(&scores).unwrap(), 2.0 / 3.0);
    }
}
