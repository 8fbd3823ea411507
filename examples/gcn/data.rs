//! The graphs: the karate club, and one that is made.

use fastrand::Rng;
use ndarray::{Array2, s};
use opkernels::Result;

use crate::club;
use crate::graph::Graph;
use crate::network::{Real, Task};

/// The club, of which it is told where the two leaders went, and nothing else:
/// each member's only feature is who it is.
pub(crate) fn club<F: Real>(joined: &[club::Club], ties: &[(usize, usize)]) -> Result<Task<F>> {
    let ties: Vec<_> = ties.iter().map(|&(one, other)| (one as u32, other as u32)).collect();
    Ok(Task {
        graph: Graph::of_ties(joined.len(), &ties)?,
        features: Array2::eye(joined.len()),
        told: club::LEADERS.iter().map(|&leader| leader as u32).collect(),
        classes: joined.iter().map(|&club| club as u32).collect(),
    })
}

/// Communities of the graph that is made.
pub(crate) const COMMUNITIES: usize = 3;
pub(crate) const FEATURES: usize = 16;

/// Few nodes with many ties, many with few, most ties within communities;
/// features that hardly tell which community a node is in; and one node of a
/// hundred that is told.
pub(crate) fn made<F: Real>(nodes: usize, ties: usize, random: &mut Rng) -> Result<Task<F>> {
    const WITHIN: f64 = 0.9;
    const TOLD: usize = 100;
    const HINT: f64 = 0.75;
    let class = |node: u32| node % COMMUNITIES as u32;
    let mut order: Vec<u32> = (0..nodes as u32).collect();
    random.shuffle(&mut order);
    let all = Popularity::new(order.clone());
    let communities = [0, 1, 2].map(|community| {
        Popularity::new(order.iter().copied().filter(|&node| class(node) == community).collect())
    });
    let ties: Vec<_> = (0..ties)
        .map(|_| {
            let one = all.draw(random);
            let near = &communities[class(one) as usize];
            (one, if random.f64() < WITHIN { near } else { &all }.draw(random))
        })
        .collect();
    let features = Array2::from_shape_fn((nodes, FEATURES), |(node, feature)| {
        let hint = if class(node as u32) as usize == feature { HINT } else { 0.0 };
        F::of(hint + normal(random))
    });
    random.shuffle(&mut order);
    Ok(Task {
        graph: Graph::of_ties(nodes, &ties)?,
        features,
        told: order[..nodes / TOLD].to_vec().into(),
        classes: (0..nodes as u32).map(class).collect(),
    })
}

/// Nodes, of which the k-th is drawn in proportion to `k^(-2/3)`: how many have
/// d ties falls like `d^(-5/2)`.
struct Popularity {
    nodes: Vec<u32>,
    cumulative: Vec<f64>,
}

impl Popularity {
    fn new(nodes: Vec<u32>) -> Self {
        let mut sum = 0.0;
        let share = |place: usize| {
            sum += (place as f64 + 1.0).powf(-2.0 / 3.0);
            sum
        };
        let cumulative = (0..nodes.len()).map(share).collect();
        Popularity { nodes, cumulative }
    }

    fn draw(&self, random: &mut Rng) -> u32 {
        let place = random.f64() * self.cumulative.last().expect("no community is empty");
        let node = self.cumulative.partition_point(|&sum| sum <= place);
        self.nodes[node.min(self.nodes.len() - 1)]
    }
}

/// A normally distributed number, by Box and Muller.
fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

/// The share of nodes whose features alone, by the largest of those that hint,
/// tell their class.
pub(crate) fn told_by_features<F: Real>(task: &Task<F>) -> Result<f64> {
    let hints = task.features.slice(s![.., ..COMMUNITIES]);
    task.accuracy(&hints.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use ndarray::Array1;

    #[test]
    fn degrees_fall_as_a_power() {
        let random = &mut Rng::with_seed(5);
        let popularity = Popularity::new((0..10_000).collect());
        let mut degrees = Array1::<u32>::zeros(10_000);
        for _ in 0..400_000 {
            degrees[popularity.draw(random) as usize] += 1;
        }
        // The 8th node has a quarter of the first one's, the 1000th a
        // hundredth.
        let first = f64::from(degrees[0]);
        let eighth = f64::from(degrees.slice(s![4..12]).sum()) / 8.0;
        let thousandth = f64::from(degrees.slice(s![900..1100]).sum()) / 200.0;
        assert_abs_diff_eq!(first / eighth, 4.0, epsilon = 0.4);
        assert_abs_diff_eq!(first / thousandth, 100.0, epsilon = 10.0);
    }
}
