//! Who met whom, and messages along the ties.

use ndarray::{Array1, Array2};
use opkernels::{GatherExt, Result, Scatter, ScatterExt};

/// A graph whose every tie is listed in both directions.
pub(crate) struct Graph {
    pub(crate) members: usize,
    pub(crate) from: Array1<usize>,
    pub(crate) to: Array1<usize>,
}

impl Graph {
    pub(crate) fn new(members: usize, ties: &[(usize, usize)]) -> Self {
        let there = ties.iter().copied();
        let back = there.clone().map(|(member, other)| (other, member));
        let (from, to): (Vec<usize>, Vec<usize>) = there.chain(back).unzip();
        Graph { members, from: from.into(), to: to.into() }
    }

    /// What every member hears: the sum or mean, over ties, of the rows that
    /// are sent along them.
    pub(crate) fn receive(&self, sent: &Array2<f64>, how: Scatter) -> Result<Array2<f64>> {
        let mut received = Array2::zeros((self.members, sent.ncols()));
        received.scatter_inplace(&self.to, sent, how.use_init_val(false))?;
        Ok(received)
    }

    /// How many others each member met.
    pub(crate) fn degrees(&self) -> Result<Array1<u32>> {
        let mut degrees = Array1::zeros(self.members);
        degrees.scatter_inplace(&self.to, &1, Scatter::sum(0))?;
        Ok(degrees)
    }

    /// How much each member leans to each of the leaders, who stand firm: all
    /// others take the mean of those they met, again and again. Returns the
    /// leanings and how often it took until they hardly changed.
    pub(crate) fn leanings(&self, leaders: [usize; 2]) -> Result<(Array2<f64>, usize)> {
        const SETTLED: f64 = 1e-9;
        let mut leanings = Array2::from_elem((self.members, 2), 0.5);
        let firm = Array2::eye(2);
        for round in 1.. {
            let sent = leanings.gather(&self.from, 0)?;
            let mut next = self.receive(&sent, Scatter::mean(0))?;
            next.scatter_inplace(&leaders, &firm, 0)?;
            let changed = (&next - &leanings).fold(0.0, |most: f64, by| most.max(by.abs()));
            leanings = next;
            if changed < SETTLED {
                return Ok((leanings, round));
            }
        }
        unreachable!("means of means settle")
    }

    /// Places for a drawing: all push each other away, ties pull.
    pub(crate) fn places(&self) -> Result<Array2<f64>> {
        const ROUNDS: usize = 600;
        let count = self.members as f64;
        let mut places = Array2::from_shape_fn((self.members, 2), |(member, axis)| {
            let angle = member as f64 * 2.399_963;
            let radius = (member as f64 / count).sqrt();
            if axis == 0 { radius * angle.cos() } else { radius * angle.sin() }
        });
        let near = 1.0 / count.sqrt();
        for round in 0..ROUNDS {
            // A tie pulls its receiver towards its sender with the square of its
            // length.
            let mut pull = places.gather(&self.from, 0)? - places.gather(&self.to, 0)?;
            for mut row in pull.outer_iter_mut() {
                let length = row.dot(&row).sqrt();
                row *= length / near;
            }
            let mut force = self.receive(&pull, Scatter::sum(0))?;
            for (member, mut row) in force.outer_iter_mut().enumerate() {
                let own = places.row(member);
                for other in places.outer_iter() {
                    let apart = &own - &other;
                    let square = apart.dot(&apart);
                    if square > 0.0 {
                        row.scaled_add(near * near / square * 1.6, &apart);
                    }
                }
                row.scaled_add(-0.25, &own);
            }
            let reach = 0.1 * (1.0 - round as f64 / ROUNDS as f64);
            for (mut place, push) in places.outer_iter_mut().zip(force.outer_iter()) {
                let length = push.dot(&push).sqrt();
                if length > 0.0 {
                    place.scaled_add(length.min(reach) / length, &push);
                }
            }
        }
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    #[test]
    fn leanings_along_a_path_fall_evenly() {
        let path = Graph::new(4, &[(0, 1), (1, 2), (2, 3)]);
        let (leanings, _) = path.leanings([0, 3]).unwrap();
        let expected = array![[1., 0.], [2. / 3., 1. / 3.], [1. / 3., 2. / 3.], [0., 1.]];
        assert_abs_diff_eq!(leanings, expected, epsilon = 1e-6);
        assert_eq!(path.degrees().unwrap(), array![1, 2, 2, 1]);
    }
}
