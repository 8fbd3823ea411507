//! The club as SVG.

use std::fmt::Write;

use ndarray::Array2;

use crate::graph::Graph;
use crate::{Club, LEADERS};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 660.0;
const TOP: f64 = 90.0;

fn colour(club: Club) -> &'static str {
    match club {
        Club::Instructor => "#2f6fb5",
        Club::Officers => "#d9822b",
    }
}

/// Fill: the club that was predicted, the stronger the surer. Ring: the club
/// that the member joined.
pub(crate) fn svg(
    graph: &Graph,
    places: &Array2<f64>,
    leanings: &Array2<f64>,
    joined: &[Club],
    title: &str,
) -> String {
    let places = spread(places);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"Helvetica, Arial, sans-serif\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"30\" y=\"38\" font-size=\"22\" fill=\"#222\">{title}</text>\n"
    );
    legend(&mut svg);
    for (&from, &to) in graph.from.iter().zip(&graph.to).filter(|(from, to)| from < to) {
        let ([x1, y1], [x2, y2]) = (places[from], places[to]);
        let _ = writeln!(
            svg,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#c4c8cf\" \
             stroke-width=\"1.3\"/>"
        );
    }
    for (member, &[x, y]) in places.iter().enumerate() {
        let predicted = Club::of(leanings[[member, 0]]);
        let sure = (leanings[[member, 0]] - leanings[[member, 1]]).abs();
        let radius = if LEADERS.contains(&member) { 19 } else { 14 };
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"white\"/>\
             <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{}\" fill-opacity=\"{:.2}\" \
             stroke=\"{}\" stroke-width=\"3.5\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"13\" text-anchor=\"middle\" fill=\"{}\">{}</text>",
            colour(predicted),
            0.25 + 0.75 * sure,
            colour(joined[member]),
            y + 4.5,
            if sure > 0.45 { "white" } else { "#222" },
            member + 1,
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn legend(svg: &mut String) {
    let lines = [
        (30.0, Club::Instructor, "1: the instructor, and who joined his club"),
        (420.0, Club::Officers, "34: the president, and who joined the officers' club"),
    ];
    for (x, club, text) in lines {
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.0}\" cy=\"64\" r=\"7\" fill=\"{}\"/>\
             <text x=\"{:.0}\" y=\"69\" font-size=\"14\" fill=\"#444\">{text}</text>",
            x + 7.0,
            colour(club),
            x + 22.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"30\" y=\"{}\" font-size=\"13\" fill=\"#777\">fill: predicted from the ties to the two \
         leaders, the stronger the surer. ring: the club that the member joined.</text>",
        HEIGHT - 16.0
    );
}

/// The places scaled to the drawing.
fn spread(places: &Array2<f64>) -> Vec<[f64; 2]> {
    const EDGE: f64 = 45.0;
    let sizes = [(EDGE, WIDTH - EDGE), (TOP + EDGE, HEIGHT - 30.0 - EDGE)];
    let scaled = |axis: usize| -> Vec<f64> {
        let column = places.column(axis);
        let low = column.fold(f64::INFINITY, |least, &at| least.min(at));
        let high = column.fold(f64::NEG_INFINITY, |most, &at| most.max(at));
        let (from, to) = sizes[axis];
        column.iter().map(|at| from + (at - low) / (high - low) * (to - from)).collect()
    };
    scaled(0).into_iter().zip(scaled(1)).map(|(x, y)| [x, y]).collect()
}
