import { rowsOf, type Scores } from './scores.ts'

/** Answers that a mean goes back. */
const MOST_COUNTED = 1000

/** Running means of the scores of arms: they stand for an arm that is late (Clipper, NSDI 2017, section 5.2.2). */
export class ArmMeans {
  private readonly means = new Map<string, { count: number; readonly mean: Float64Array }>()

  /** An arm of a step has answered. Scores of another width begin again. */
  add(step: string, arm: number, scores: Scores | undefined): void {
    const [row] = scores === undefined ? [] : rowsOf(scores)
    if (row === undefined || !row.every(Number.isFinite)) return
    const key = `${step}/${arm}`
    const known = this.means.get(key)
    if (known?.mean.length !== row.length) {
      this.means.set(key, { count: 1, mean: Float64Array.from(row) })
      return
    }
    known.count = Math.min(known.count + 1, MOST_COUNTED)
    const { count, mean } = known
    for (const [i, value] of row.entries()) mean[i] = mean[i]! + (value - mean[i]!) / count
  }

  /** The mean of an arm; undefined before its first answer. */
  meanOf(step: string, arm: number): Float32Array | undefined {
    const known = this.means.get(`${step}/${arm}`)
    return known === undefined ? undefined : Float32Array.from(known.mean)
  }
}
