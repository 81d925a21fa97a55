import type { Installation } from '../installation.ts'
import type { Rows } from '../service.ts'
import type { Progress, ReportedError } from './progress.ts'
import type { Publication } from './publication.ts'

/** What is to be recomputed. */
export interface WeightsOptions {
  readonly model: string
  readonly observations: string
  readonly publication: Publication
  /** Features of a block. */
  readonly range: number
  /** Offset of the first example that the version learns; all are in one partition. */
  readonly from: number
}

/** The feature of the intercept. */
const INTERCEPT = 2 ** 32 - 1
/** Examples under way at most, from their prediction to the fold of their step (`--under-way`). */
const UNDER_WAY = 64
const RATE = 0.5
/** A sum of float32 numbers in another order of its terms. */
const ROUNDING = 2e-5

/** A weight, the sum of its squared gradients, and the largest value of its feature: negative where it was published. */
interface Weight {
  readonly value: number
  readonly squares: number
  readonly scale: number
}

type Weights = ReadonlyMap<number, Weight>

interface Example {
  readonly label: number
  /** By feature, its value; the intercept has 1. */
  readonly values: ReadonlyMap<number, number>
}

interface Delta extends Example {
  readonly derivative: number
  readonly rate: number
}

/** What changes as the job goes on, and goes back with a savepoint. */
interface Learned {
  /** Offset of the next example. */
  readonly next: number
  /** Examples that were predicted, and the least and the most loss that they can have had together. */
  readonly examples: number
  readonly least: number
  readonly most: number
  /** Deltas of the examples before. */
  readonly folded: number
  /** An abandoned run had read the examples before this offset, and sent so many deltas until then. */
  readonly again: { readonly before: number; readonly folded: number }
}

/**
 * Recomputes what a linear version has learned with hinge loss. All deltas are in one order, that of their partition; how
 * many of them the weights of a prediction had is not written down. So an example has a step where one of the states before it has a
 * margin below 1, none where one has not, and its loss is between those of the last of these states.
 */
export class LearnedWeights implements Progress {
  private readonly options: WeightsOptions
  private learned: Learned

  constructor(options: WeightsOptions, learned?: Learned) {
    this.options = options
    const none = { examples: 0, least: 0, most: 0, folded: 0, again: { before: 0, folded: 0 } }
    this.learned = learned ?? { ...none, next: options.from }
  }

  copy(): LearnedWeights {
    return new LearnedWeights(this.options, this.learned)
  }

  goBackTo(earlier: LearnedWeights): void {
    const { next: before, folded } = this.learned
    this.learned = { ...earlier.learned, again: { before, folded } }
  }

  async goOn(at: Installation, served: Rows): Promise<readonly string[]> {
    const deltas = await this.deltas(at)
    const states = this.statesAfter([...deltas.values()])
    const lines = await at.records(this.options.observations)
    const problems: string[] = []
    const { folded, again, next } = this.learned
    let { examples, least, most } = this.learned
    let before = folded
    // The first examples of a run may also lack steps that the run before sent and did not fold.
    const oldest = (): number =>
      Math.max(0, before - folded < UNDER_WAY ? folded - UNDER_WAY : before - UNDER_WAY + 1)
    for (const { offset, value } of lines.slice(next)) {
      const example = exampleOf(value.toString())
      const delta = deltas.get(offset)
      // A run that learns again what an abandoned one has learned folds also the deltas of that one.
      const isAgain = offset < again.before
      const end = Math.max(before, again.folded) + 1
      const [low, high] = margins(states.slice(isAgain ? folded : oldest(), end), example)
      const isExplained = delta === undefined ? high >= 1 : low < 1 || isAgain
      const step = delta === undefined ? 'no step' : 'a step'
      if (!isExplained) problems.push(`example ${offset} has ${step}: ${low} to ${high}`)
      if (delta !== undefined && !isAgain) {
        problems.push(...deltaProblems(delta, example).map((one) => `example ${offset}: ${one}`))
      }
      if (delta !== undefined) before++
      examples++
      if (delta === undefined && !isAgain) continue
      least += Math.max(0, 1 - high)
      most += Math.max(0, 1 - low)
    }
    const { length } = lines
    this.learned = { next: length, examples, least, most, folded: before, again }
    return [...problems, ...this.wrongRows(states.at(-1)!, served)]
  }

  check({ count, loss }: ReportedError): readonly string[] {
    const { examples, least, most } = this.learned
    const problems: string[] = []
    if (count !== examples) problems.push(`${count} examples are reported, not ${examples}`)
    const total = loss * count
    const slack = ROUNDING * Math.max(1, total)
    if (total < least - slack || total > most + slack) {
      problems.push(`the loss is ${loss}, not between ${least / count} and ${most / count}`)
    }
    return problems
  }

  /** Deltas of the version, by the offset of their example: one that is not above those before it came again. */
  private async deltas(at: Installation): Promise<ReadonlyMap<number, Delta>> {
    const found = new Map<number, Delta>()
    let highest = -1
    for (const { value } of await at.records(`${this.options.model}-deltas`)) {
      const offset = value.readDoubleLE(12)
      if (value.readUInt32LE(4) !== this.options.publication.version || offset <= highest) continue
      highest = offset
      const count = (value.length - 28) / 8
      const values = Array.from({ length: count }, (_, k) => {
        const id = value.readUInt32LE(28 + 4 * (count + k))
        return [id, value.readFloatLE(28 + 4 * k)] as const
      })
      const [derivative, rate] = [value.readFloatLE(20), value.readFloatLE(24)]
      found.set(offset, { label: -derivative, values: new Map(values), derivative, rate })
    }
    return found
  }

  /** The weights as published, and after each delta. */
  private statesAfter(deltas: readonly Delta[]): readonly Weights[] {
    let weights = this.published()
    const states = [weights]
    for (const { derivative, rate, values } of deltas) {
      const next = new Map(weights)
      for (const [id, value] of values) {
        const old = weights.get(id) ?? { value: 0, squares: 0, scale: 0 }
        next.set(id, stepped(old, { gradient: derivative * value, value, rate }))
      }
      weights = next
      states.push(weights)
    }
    return states
  }

  private published(): Weights {
    const { publication, range } = this.options
    const weights = new Map<number, Weight>()
    for (const [key, row] of publication.rows) {
      const memory = publication.memories.get(key)
      const block = Number(key.split('-')[0])
      for (const [n, value] of row.entries()) {
        const [squares, scale] = [memory?.[n] ?? 0, memory?.[row.length + n] ?? 0]
        if (value !== 0 || squares !== 0 || scale !== 0) {
          weights.set(block * range + n, { value, squares, scale })
        }
      }
    }
    return weights
  }

  private wrongRows(weights: Weights, served: Rows): string[] {
    const { range } = this.options
    const problems: string[] = []
    const known = new Set<number>()
    for (const [block, row] of served) {
      for (const [n, value] of row.entries()) {
        const feature = Number(block) * range + n
        known.add(feature)
        const own = weights.get(feature)?.value ?? 0
        const isRight = Math.abs(value - own) <= ROUNDING * Math.max(1, Math.abs(own))
        if (!isRight) problems.push(`weight ${feature} is ${value}, not ${own}`)
      }
    }
    const missing = [...weights.keys()].filter((feature) => !known.has(feature))
    return [...problems, ...missing.map((feature) => `weight ${feature} is not served`)]
  }
}

/** A step of a weight: its rate falls with the gradients that it has had, and does not depend on the scale of its feature. */
function stepped(
  { value: weight, squares, scale }: Weight,
  { gradient, value, rate }: { gradient: number; value: number; rate: number },
): Weight {
  const size = Math.abs(value)
  const known = Math.abs(scale)
  if (size === 0) return { value: weight, squares, scale }
  const isPublished = scale < 0
  const growth = Math.max(1, size / known)
  const largest = Math.max(size, known)
  // Where the feature was smaller so far, a learned weight shrinks; a published one was not made with this scale.
  const shrunk = isPublished || known === 0 ? weight : weight / growth
  const sum = (isPublished ? squares * growth ** 2 : squares) + gradient ** 2
  return {
    value: shrunk - (rate * gradient) / (largest * Math.sqrt(sum)),
    squares: sum,
    scale: isPublished ? -largest : largest,
  }
}

/** The least and the largest margin of an example: features and intercept may be of different states. */
function margins(states: readonly Weights[], { label, values }: Example): [number, number] {
  const parts = (isOfPart: (id: number) => boolean): number[] =>
    states.map((weights) => {
      let sum = 0
      for (const [id, value] of values) {
        if (isOfPart(id)) sum += (weights.get(id)?.value ?? 0) * value
      }
      return label * sum
    })
  const features = parts((id) => id !== INTERCEPT)
  const intercepts = parts((id) => id === INTERCEPT)
  return [
    Math.min(...features) + Math.min(...intercepts) - ROUNDING,
    Math.max(...features) + Math.max(...intercepts) + ROUNDING,
  ]
}

function deltaProblems(delta: Delta, { label, values }: Example): string[] {
  const problems: string[] = []
  if (delta.derivative !== -label) problems.push(`the derivative is ${delta.derivative}`)
  const rate = RATE / Math.sqrt(values.size)
  if (Math.abs(delta.rate - rate) > 1e-6) problems.push(`the rate is ${delta.rate}, not ${rate}`)
  const isSame =
    delta.values.size === values.size &&
    [...values].every(([id, value]) => delta.values.get(id) === Math.fround(value))
  if (!isSame) problems.push('the delta has other features')
  return problems
}

function exampleOf(line: string): Example {
  const [label, ...features] = line.split(' ')
  const values = features.map((feature) => feature.split(':').map(Number) as [number, number])
  return { label: Number(label), values: new Map([...values, [INTERCEPT, 1]]) }
}
