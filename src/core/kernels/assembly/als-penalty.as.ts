/** The penalty of one row of alternating least squares: a weight for the square of each unknown. */

/** Writes the weights of d unknowns, zero up to `width`; with biases the last one has its own. */
export function setPenalties(penalties: usize, d: u32, width: u32, biased: bool, factor: f32, bias: f32): void {
  memory.fill(penalties, 0, (width as usize) << 2)
  for (let i: u32 = 0; i < d; i++) store<f32>(penalties + (i << 2), factor)
  if (biased) store<f32>(penalties + ((d - 1) << 2), bias)
}

/** The penalty of the last row that was solved. */
let lastPenalty: f64 = 0
export function alsPenalty(): f64 {
  return lastPenalty
}

/** Keeps the sum of penalty x^2 for `alsPenalty`. */
export function keepPenalty(x: usize, penalties: usize, width: u32): void {
  lastPenalty = 0
  for (let i: u32 = 0; i < width; i++) {
    const value = load<f32>(x + (i << 2)) as f64
    lastPenalty += value * value * (load<f32>(penalties + (i << 2)) as f64)
  }
}
