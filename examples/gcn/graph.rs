//! A graph, and messages along its edges in both directions.

use ndarray::{Array2, Axis, Ix1};
use opkernels::{AsIndices, GatherExt, IndexPlan, Result, Scatter, ScatterExt};

use crate::network::Real;

/// Edges, each from a node to a node.
pub(crate) struct Graph<F> {
    /// The nodes that edges lead from, and to.
    ends: [Vec<u32>; 2],
    /// The same, checked once for all steps.
    from: IndexPlan,
    to: IndexPlan,
    /// One over the root of how many edges lead to each node, and itself, as a
    /// column.
    scale: Array2<F>,
}

impl<F: Real> Graph<F> {
    pub(crate) fn new(nodes: usize, ends: [Vec<u32>; 2]) -> Result<Self> {
        let [from, to] = &ends;
        let (from, to) = (IndexPlan::new(from, nodes)?, IndexPlan::new(to, nodes)?);
        let scale = to.counts()?.mapv(|edges| F::of(1.0 / (f64::from(edges) + 1.0).sqrt()));
        let scale = scale.insert_axis(Axis(1));
        Ok(Graph { ends, from, to, scale })
    }

    /// Each tie in both directions.
    pub(crate) fn of_ties(nodes: usize, ties: &[(u32, u32)]) -> Result<Self> {
        let there = ties.iter().copied();
        let back = there.clone().map(|(one, other)| (other, one));
        let (from, to): (Vec<_>, Vec<_>) = there.chain(back).unzip();
        Self::new(nodes, [from, to])
    }

    pub(crate) fn nodes(&self) -> usize {
        self.scale.nrows()
    }

    pub(crate) fn edges(&self) -> usize {
        self.to.shape()[0]
    }

    /// What all nodes hear from their neighbours and from themselves, each edge
    /// weighted by the roots of its ends' degrees: `D^-1/2 (A + I) D^-1/2
    /// sent`.
    pub(crate) fn hear(&self, sent: &Array2<F>) -> Result<Array2<F>> {
        self.pass(sent, &self.from, &self.to)
    }

    /// The same by indices that each call checks anew.
    pub(crate) fn hear_unplanned(&self, sent: &Array2<F>) -> Result<Array2<F>> {
        let [from, to] = &self.ends;
        self.pass(sent, from, to)
    }

    /// The gradient with respect to what was sent, from that with respect to
    /// what was heard. A gather's gradient is a scatter by the same indices and
    /// the other way round, so messages go back from receivers to senders.
    pub(crate) fn hear_backward(&self, gradient: &Array2<F>) -> Result<Array2<F>> {
        self.pass(gradient, &self.to, &self.from)
    }

    fn pass<I: AsIndices<Dim = Ix1>>(
        &self,
        sent: &Array2<F>,
        from: &I,
        to: &I,
    ) -> Result<Array2<F>> {
        let mut heard = sent * &self.scale;
        let messages = heard.gather(from, 0)?;
        heard.scatter_inplace(to, &messages, Scatter::sum(0))?;
        heard *= &self.scale;
        Ok(heard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    #[test]
    fn messages_are_a_product_with_the_normalised_adjacency() {
        // 0 -> 1, 2 -> 1, 1 -> 2.
        let graph = Graph::<f64>::new(3, [vec![0, 2, 1], vec![1, 1, 2]]).unwrap();
        let (two, three) = (2f64.sqrt(), 3f64.sqrt());
        let weights = array![
            [1.0, 0.0, 0.0],
            [1.0 / three, 1.0 / 3.0, 1.0 / (two * three)],
            [0.0, 1.0 / (two * three), 0.5]
        ];
        let sent = array![[1.0, 2.0], [-3.0, 0.5], [0.25, 7.0]];
        let (heard, back) = (graph.hear(&sent).unwrap(), graph.hear_backward(&sent).unwrap());
        assert_abs_diff_eq!(heard, weights.dot(&sent), epsilon = 1e-14);
        assert_abs_diff_eq!(back, weights.t().dot(&sent), epsilon = 1e-14);
    }
}
