/*
 * What learning keeps beside each weight of a block, [2 range]. Of the adaptive gradient (`foldLinearStep`) it is all sums of
 * squared gradients, then all largest values seen, negative where the weight was published. Of FTRL-proximal (`ftrlFold`) it is
 * all -n, which are below 0, then all z. A weight that was not learned has 0 and 0.
 */

/** Floats that learning keeps beside each weight. */
export const LINEAR_MEMORY = 2

/** Examples that a published weight without a memory stands for: its text or topic does not say how many. */
export const UNKNOWN_EXAMPLES = 10_000

/** Keeps the sum of squares finite in float32. */
export const MOST_SQUARES = 1e38

/**
 * Lets weights that were set go on from their new values: z of FTRL-proximal says another one, and is dropped. The squares
 * stay. False where there was nothing to drop.
 */
export function dropSums(memory: Float32Array, indices: Uint16Array): boolean {
  let isDropped = false
  for (const i of indices) {
    if (memory[i]! >= 0) continue
    memory[i] = -memory[i]!
    memory[memory.length / LINEAR_MEMORY + i] = 0
    isDropped = true
  }
  return isDropped
}
