import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { seededRandom } from '../../src/core/random.ts'
import type { LinearDelta } from '../../src/models/linear/delta.ts'
import { SvmLearningFixture } from './online-svm-fixture.ts'

const EXAMPLES = 400
/** A weight of float32 after some hundred steps. */
const ROUNDING = 1e-4

/** A weight, the sum of its squared gradients, and the largest value of its feature: negative where it was published. */
interface Weight {
  readonly value: number
  readonly squares: number
  readonly scale: number
}

type Weights = ReadonlyMap<number, Weight>

/** The weight after a step. A published one without a memory counts as one of 10,000 examples, from its first value on. */
function stepped({ value, squares, scale }: Weight, x: number, delta: LinearDelta): Weight {
  if (scale === 0 && value !== 0) return { value, squares: 10_000 * x * x, scale: -Math.abs(x) }
  const [known, size] = [Math.abs(scale), Math.abs(x)]
  const growth = Math.max(1, size / known)
  const largest = Math.max(size, known)
  const isPublished = scale < 0
  const gradient = delta.derivative * x
  const sum = (isPublished ? squares * growth ** 2 : squares) + gradient ** 2
  const before = isPublished || known === 0 ? value : value / growth
  const after = before - (delta.rate * gradient) / (largest * Math.sqrt(sum))
  return { value: after, squares: sum, scale: isPublished ? -largest : largest }
}

/** The weights as published, and after each delta. */
function statesOf(base: Float64Array, deltas: readonly LinearDelta[]): readonly Weights[] {
  const published = [...base].map((value, id) => [id, { value, squares: 0, scale: 0 }] as const)
  let weights: Weights = new Map(published)
  const states = [weights]
  for (const delta of deltas) {
    const next = new Map(weights)
    for (const [k, id] of delta.ids.entries()) {
      const old = next.get(id) ?? { value: 0, squares: 0, scale: 0 }
      if (delta.values[k] !== 0) next.set(id, stepped(old, delta.values[k]!, delta))
    }
    weights = next
    states.push(weights)
  }
  return states
}

/** The decision value that an example had, from its derivative of the logistic loss. */
function decisionOf({ derivative }: LinearDelta): number {
  const slope = Math.abs(derivative)
  return -Math.sign(derivative) * Math.log(1 / slope - 1)
}

/** The least and the most decision value from some states: each block may be read from another one. */
function decisions(states: readonly Weights[], { ids, values }: LinearDelta): [number, number] {
  let [least, most] = [0, 0]
  for (const [k, id] of ids.entries()) {
    const terms = states.map((weights) => (weights.get(id)?.value ?? 0) * values[k]!)
    least += Math.min(...terms)
    most += Math.max(...terms)
  }
  return [least - ROUNDING, most + ROUNDING]
}

/** The examples whose decision value says that more than so many steps before them were missing in their weights. */
function tooOld(base: Float64Array, deltas: readonly LinearDelta[], missing: number): number[] {
  const states = statesOf(base, deltas)
  return deltas.flatMap((delta, n) => {
    const [least, most] = decisions(states.slice(Math.max(0, n - missing), n + 1), delta)
    const decision = decisionOf(delta)
    return decision < least || decision > most ? [n] : []
  })
}

it.each([
  // Two slots take examples by turns.
  [1, 3],
  // With one partition, the steps have the order of the predictions.
  [8, 1],
])(
  'with %i examples under way, each is predicted from all steps but those of the others that are (%i partitions)',
  async (mostUnderWay, partitions) => {
    const root = mkdtempSync(join(tmpdir(), 'weir-under-way-'))
    onTestFinished(() => rmSync(root, { recursive: true }))
    await using fixture = await SvmLearningFixture.start({
      ...{ root, place: { logDirectory: join(root, 'log') }, random: seededRandom(3) },
      ...{ checkpointInterval: '1 s', mostUnderWay, partitions },
    })
    // All at once: the source has many in memory before the first step is folded.
    await fixture.observe(EXAMPLES)
    await fixture.untilLearned(EXAMPLES)
    const deltas = await fixture.allDeltas()
    expect(deltas).toHaveLength(EXAMPLES)
    expect(tooOld(fixture.base, deltas, mostUnderWay - 1)).toEqual([])
  },
)
