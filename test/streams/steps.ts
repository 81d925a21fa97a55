import type { Random } from '../../src/core/random.ts'
import type { Reading } from './random-functions.ts'

/** A record, or a watermark. */
export type Step = Reading | number

/** Records of some keys, up to 60 behind the newest one, between watermarks 10 behind it. */
export function randomSteps(random: Random, count: number): Step[] {
  const steps: Step[] = []
  let newest = random.below(4) === 0 ? -50 : 100
  for (let i = 0; i < count; i++) {
    newest += random.below(6) === 0 ? random.below(40) : random.below(5)
    const behind = random.below(random.below(2) === 0 ? 60 : 10)
    const value = random.below(100)
    const time = newest - behind
    // -1 stands for no time.
    steps.push({ key: `key-${random.below(3)}`, time: time === -1 ? -2 : time, value })
    if (random.below(4) === 0) steps.push(newest - 10)
  }
  return steps
}

/** Some parts of the steps in their order, each with its parallelism: a run restores each from the one before. */
export function randomParts<T>(random: Random, steps: readonly T[]): readonly Part<T>[] {
  const count = 1 + random.below(4)
  return Array.from({ length: count }, (_, i) => ({
    steps: steps.slice((i * steps.length) / count, ((i + 1) * steps.length) / count),
    parallelism: 1 + random.below(2),
  }))
}

/** Steps between two restores. */
export interface Part<T> {
  readonly steps: readonly T[]
  readonly parallelism: number
}
