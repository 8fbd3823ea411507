//! Options of the form `--name NUMBER`.

/// An option that takes a number.
#[derive(Debug)]
pub struct Number {
    /// `--name` on the command line.
    pub name: &'static str,
    /// The value where the option is not given.
    pub default: usize,
    /// What `--help` says about it.
    pub about: &'static str,
}

/// The values of a program's options.
#[derive(Debug)]
pub struct Arguments {
    numbers: &'static [Number],
    values: Vec<usize>,
}

impl Arguments {
    /// Reads the command line; prints the help and returns `None` where that
    /// is asked for.
    pub fn parse(
        about: &str,
        numbers: &'static [Number],
        mut words: impl Iterator<Item = String>,
    ) -> Result<Option<Self>, String> {
        let mut values: Vec<usize> = numbers.iter().map(|number| number.default).collect();
        while let Some(word) = words.next() {
            if word == "--help" || word == "-h" {
                println!("{about}\n");
                for Number { name, default, about } in numbers {
                    println!("  --{name:<8} {about} (default: {default})");
                }
                return Ok(None);
            }
            let place = numbers
                .iter()
                .position(|number| word.strip_prefix("--") == Some(number.name))
                .ok_or_else(|| format!("unknown option {word}"))?;
            let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
            values[place] = value.parse().map_err(|error| format!("{word} {value}: {error}"))?;
            if values[place] == 0 {
                return Err(format!("{word} must be at least 1"));
            }
        }
        Ok(Some(Arguments { numbers, values }))
    }

    /// The value of the option `name`.
    ///
    /// # Panics
    /// If the program has no option of that name.
    pub fn get(&self, name: &str) -> usize {
        let place = self.numbers.iter().position(|number| number.name == name);
        self.values[place.expect("an option that the program declares")]
    }
}
