import { requireArgument } from '../../core/errors.ts'
import { MAX_FEATURE } from '../../core/feature.ts'
import { count, numberIn, required, wholeNumber } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { Random } from '../../core/random.ts'

/**
 * A generated linear model and examples of it, like URL Reputation: an example has about a hundred of many
 * features; a few features are in almost every example and most in very few (Zipf). The truth is a sparse
 * weight vector. Labels are the signs of its decisions, some of them inverted. Weights depend only on seed
 * and feature, and examples on their random numbers, so only a table of steps is in memory.
 */
export interface GeneratedLinearOptions {
  /** Feature ids run from 0 to `features` - 1. */
  readonly features: number
  /** @default 1 */
  readonly seed?: number
  /** Share of the features that have a weight. @default 1 */
  readonly density?: number
}

/** Shape of generated examples. */
export interface GeneratedExamplesOptions extends GeneratedLinearOptions {
  /** Non-zeros of an example, the same for all. @default 117 */
  readonly nonZeros?: number
  /** Exponent of the features' Zipf law; 0 draws all with equal probability. @default 1.05 */
  readonly exponent?: number
  /** Share of the labels that are wrong. @default 0.01 */
  readonly noise?: number
  /** Share of values that are 1, the others being small numbers. @default 0.8 */
  readonly binaryShare?: number
}

const WEIGHTS: OptionShape<GeneratedLinearOptions> = {
  features: required(wholeNumber({ min: 1, max: MAX_FEATURE + 1 })),
  seed: numberIn(),
  density: numberIn({ above: 0, max: 1 }),
}
const EXAMPLES: OptionShape<GeneratedExamplesOptions> = {
  ...WEIGHTS,
  nonZeros: count,
  exponent: numberIn({ min: 0, below: 4 }),
  noise: numberIn({ min: 0, max: 1 }),
  binaryShare: numberIn({ min: 0, max: 1 }),
}

const BYTE_SUM_MEAN = 510
const BYTE_SUM_SIGMA = 147.8

/** One 32-bit mixing step (the finisher of murmur3). */
function mix(h: number): number {
  let x = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return (x ^ (x >>> 16)) >>> 0
}

/** The weights of a generated model, computed on demand. */
export class GeneratedWeights {
  readonly features: number
  private readonly salt: number
  /** A feature has a weight if its second number is below it. */
  private readonly limit: number

  constructor(options: GeneratedLinearOptions) {
    checkOptions('new GeneratedWeights', WEIGHTS, options)
    const { features, seed = 1, density = 1 } = options
    this.features = features
    this.salt = mix(seed ^ 0x2c1b3c6d)
    this.limit = density * 2 ** 32
  }

  /** Weight of a feature: near-normal, 0 where it has none; a float32. */
  weight(feature: number): number {
    const bits = mix(this.salt + Math.imul(feature, 0x9e3779b1))
    if (this.limit < 2 ** 32 && mix(bits ^ 0x297a2d39) >= this.limit) return 0
    const sum = (bits & 255) + ((bits >>> 8) & 255) + ((bits >>> 16) & 255) + (bits >>> 24)
    return Math.fround((sum - BYTE_SUM_MEAN) / BYTE_SUM_SIGMA)
  }

  /** Writes the weights from feature `first` on; 0 after the last feature. */
  fill(first: number, target: Float32Array): void {
    for (let i = 0; i < target.length; i++) {
      target[i] = first + i < this.features ? this.weight(first + i) : 0
    }
  }
}

/** Steps of the table of `ZipfRanks`: near exponent 1, ranks grow by a thousandth between two. */
const RANK_STEPS = 2 ** 14

/** Draws ranks 0 to count - 1 with probability close to (rank + 1)^-exponent, in constant time. */
class ZipfRanks {
  private readonly last: number
  /** Inverse of the integral of x^-exponent over [0.5, count + 0.5), minus 0.5, at every step of it. */
  private readonly inverse = new Float64Array(RANK_STEPS + 1)

  constructor(count: number, exponent: number) {
    this.last = count - 1
    const power = 1 - exponent
    const integral = (x: number): number => (power === 0 ? Math.log(x) : x ** power / power)
    const from = integral(0.5)
    const total = integral(count + 0.5) - from
    for (let step = 0; step <= RANK_STEPS; step++) {
      const area = from + (step / RANK_STEPS) * total
      const x = power === 0 ? Math.exp(area) : (area * power) ** (1 / power)
      this.inverse[step] = Math.max(0.5, x) - 0.5
    }
  }

  draw(random: Random): number {
    const { inverse } = this
    const area = random.next() * RANK_STEPS
    const step = Math.floor(area)
    const below = inverse[step]!
    const rank = below + (area - step) * (inverse[step + 1]! - below)
    return Math.min(this.last, Math.floor(rank))
  }
}

/** One generated example, in buffers that the next one fills again. */
export interface GeneratedExample {
  /** 1 or -1. */
  readonly label: number
  /** Ascending. */
  readonly ids: Uint32Array
  readonly values: Float32Array
}

/** Makes examples of a generated model. */
export class LinearExamples {
  readonly truth: GeneratedWeights
  private readonly ranks: ZipfRanks
  private readonly noise: number
  private readonly binaryShare: number
  private readonly step: number
  private readonly ids: Uint32Array
  private readonly values: Float32Array
  private readonly chosen: IdSet

  /** Throws INVALID_ARGUMENT. */
  constructor(options: GeneratedExamplesOptions) {
    checkOptions('new LinearExamples', EXAMPLES, options)
    const { nonZeros = 117, exponent = 1.05, noise = 0.01, binaryShare = 0.8, ...weights } = options
    this.truth = new GeneratedWeights(weights)
    requireArgument(
      nonZeros * 2 <= options.features,
      `nonZeros is at most half the features, not ${nonZeros}`,
    )
    this.ranks = new ZipfRanks(options.features, exponent)
    this.noise = noise
    this.binaryShare = binaryShare
    this.step = coprimeStep(options.features)
    this.ids = new Uint32Array(nonZeros)
    this.values = new Float32Array(nonZeros)
    this.chosen = new IdSet(nonZeros)
  }

  /** The feature with a rank of popularity: neighbours in rank have ids far apart. */
  featureOfRank(rank: number): number {
    const { features } = this.truth
    // Factors below 2^32 and 2^21 keep the products exact.
    const low = rank & 0x7ff
    const high = (rank - low) / 0x800
    return remainder(remainder(high * this.step, features) * 0x800 + low * this.step, features)
  }

  /** The next example. */
  next(random: Random): GeneratedExample {
    const { ids, values, chosen } = this
    chosen.clear()
    let k = 0
    while (k < ids.length) {
      const id = this.featureOfRank(this.ranks.draw(random))
      if (chosen.add(id)) ids[k++] = id
    }
    ids.sort()
    let decision = 0
    for (let i = 0; i < ids.length; i++) {
      values[i] = random.next() < this.binaryShare ? 1 : (1 + random.below(999)) / 1000
      decision += this.truth.weight(ids[i]!) * values[i]!
    }
    const isTurned = random.next() < this.noise
    return { label: decision > 0 !== isTurned ? 1 : -1, ids, values }
  }
}

/** dividend mod divisor for whole numbers; several times faster than % above 2^31. */
function remainder(dividend: number, divisor: number): number {
  const rest = dividend - Math.floor(dividend / divisor) * divisor
  if (rest < 0) return rest + divisor
  return rest >= divisor ? rest - divisor : rest
}

/** A small set of ids that is emptied in constant time: open addressing, at most half full. */
class IdSet {
  private readonly ids: Uint32Array
  private readonly rounds: Uint32Array
  private readonly mask: number
  private round = 1

  constructor(capacity: number) {
    const size = 2 ** Math.ceil(Math.log2(2 * capacity))
    this.ids = new Uint32Array(size)
    this.rounds = new Uint32Array(size)
    this.mask = size - 1
  }

  clear(): void {
    this.round++
    if (this.round < 2 ** 32) return
    this.rounds.fill(0)
    this.round = 1
  }

  /** Adds an id; false if the set has it already. */
  add(id: number): boolean {
    let at = (Math.imul(id, 0x9e3779b1) >>> 7) & this.mask
    while (this.rounds[at] === this.round) {
      if (this.ids[at] === id) return false
      at = (at + 1) & this.mask
    }
    this.rounds[at] = this.round
    this.ids[at] = id
    return true
  }
}

/** A step near the golden section of `count` that has no divisor in common with it. */
function coprimeStep(count: number): number {
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))
  let step = Math.max(1, Math.floor(count * 0.6180339887))
  while (divisor(count, step) !== 1) step++
  return step
}
