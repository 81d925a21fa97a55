import type { ExampleProfile } from '../../models/registry/checks/linear.ts'
import {
  hasReadable,
  type ObservationPosition,
  type TrainedVersions,
  type TrainingReader,
  trainedObservations,
} from '../../models/versions/trained-ranges.ts'
import type { SparseTable } from '../../training/data/sparse-table.ts'
import { count, largestCount } from '../port/counts.ts'

/** A labelled example with its position in the topic. */
export interface PlacedExample extends ObservationPosition {
  readonly label: number
  /** Feature ids, ascending, and their values. */
  readonly ids: Uint32Array
  readonly values: Float32Array
}

/** Inputs of `examplesProfile`. */
export interface ExamplesProfileOptions extends TrainingReader<PlacedExample>, TrainedVersions {
  readonly golden: SparseTable
  /** The positive label; every other label is the negative one. */
  readonly positive: number
}

/**
 * Profile of the examples of a version's training, from one pass over them; undefined for a version whose
 * data cannot be read again. Memory: a counter for each different example and feature.
 */
export async function examplesProfile(
  options: ExamplesProfileOptions,
): Promise<ExampleProfile | undefined> {
  if (!hasReadable(options.version, options)) return undefined
  const profile = new ProfileBuilder(options)
  for await (const [example, isOld] of trainedObservations(options, options)) {
    profile.add(example, isOld)
  }
  return profile.build()
}

/** Counts of some examples. */
class ExampleCounts {
  size = 0
  positives = 0
  /** By identity of the example. */
  readonly equal = new Map<number, number>()
  readonly withFeature = new Map<number, number>()
  /** By feature, the sum of the absolute values; and over all features. */
  readonly values = new Map<number, number>()
  allValues = 0

  add({ ids, values }: PlacedExample, identity: number, isPositive: boolean): void {
    this.size++
    if (isPositive) this.positives++
    count(this.equal, identity)
    for (const [k, id] of ids.entries()) {
      const value = Math.abs(values[k] as number)
      count(this.withFeature, id)
      count(this.values, id, value)
      this.allValues += value
    }
  }
}

class ProfileBuilder {
  private readonly golden: SparseTable
  private readonly positive: number
  private readonly old = new ExampleCounts()
  private readonly fresh = new ExampleCounts()

  constructor({ golden, positive }: ExamplesProfileOptions) {
    this.golden = golden
    this.positive = positive
  }

  add(example: PlacedExample, isOld: boolean): void {
    const counts = isOld ? this.old : this.fresh
    const isPositive = example.label === this.positive
    counts.add(example, identityOf(isPositive, example.ids, example.values), isPositive)
  }

  build(): ExampleProfile {
    const { old, fresh } = this
    const all = new Map(old.equal)
    for (const [identity, times] of fresh.equal) {
      all.set(identity, (all.get(identity) ?? 0) + times)
    }
    return {
      distinct: all.size,
      exampleShare: largestCount(all) / (old.size + fresh.size),
      exampleShareBefore: largestCount(old.equal) / old.size,
      leakedShare: this.leakedShare(),
      newObservations: fresh.size,
      labelShift: Math.abs(fresh.positives / fresh.size - old.positives / old.size),
      featureShift: largestShift(
        { counts: old.withFeature, all: old.size },
        { counts: fresh.withFeature, all: fresh.size },
      ),
      valueShift: largestShift(
        { counts: old.values, all: old.allValues },
        { counts: fresh.values, all: fresh.allValues },
      ),
    }
  }

  private leakedShare(): number {
    const { golden, old, fresh, positive } = this
    const known = new Map(old.size === 0 ? fresh.equal : old.equal)
    let seen = 0
    for (let row = 0; row < golden.rows; row++) {
      const from = golden.offsets[row] as number
      const to = golden.offsets[row + 1] as number
      const ids = golden.indexes.subarray(from, to)
      const values = golden.values.subarray(from, to)
      const identity = identityOf(golden.labels[row] === positive, ids, values)
      if (old.equal.has(identity) || fresh.equal.has(identity)) seen++
      if (old.size > 0) count(known, identity)
    }
    return Math.max(0, seen / golden.rows - repeatedShare(known))
  }
}

/**
 * Examples of few features repeat honestly. The share of further examples that were seen before is 1 minus
 * the share of those that occur once (Good, "The population frequencies of species and the estimation
 * of population parameters", Biometrika 1953). New observations are not counted where there are others:
 * copies of the golden set would make repetitions look honest.
 */
function repeatedShare(counts: ReadonlyMap<number, number>): number {
  let [once, all] = [0, 0]
  for (const times of counts.values()) {
    if (times === 1) once++
    all += times
  }
  return 1 - once / all
}

/** Counts by feature, and what they are shares of. */
interface FeatureShares {
  readonly counts: ReadonlyMap<number, number>
  readonly all: number
}

/** Largest change of the share of one feature; NaN where one side is empty. */
function largestShift(before: FeatureShares, after: FeatureShares): number {
  if (before.all === 0 || after.all === 0) return Number.NaN
  let shift = 0
  for (const id of new Set([...before.counts.keys(), ...after.counts.keys()])) {
    const was = (before.counts.get(id) ?? 0) / before.all
    shift = Math.max(shift, Math.abs((after.counts.get(id) ?? 0) / after.all - was))
  }
  return shift
}

const float = new Float32Array(1)
const bits = new Uint32Array(float.buffer)

/** A hash of 53 bits over label, features and values: equal examples have equal ones. */
function identityOf(isPositive: boolean, ids: Uint32Array, values: Float32Array): number {
  let high = isPositive ? 0x9e3779b9 : 0x85ebca6b
  let low = ids.length
  for (let k = 0; k < ids.length; k++) {
    float[0] = values[k] as number
    high = mixed(mixed(high, ids[k] as number), bits[0] as number)
    low = mixed(mixed(low, bits[0] as number), ids[k] as number)
  }
  return (high >>> 0) * 2 ** 21 + (low >>> 11)
}

/** One round of MurmurHash3's 32-bit mix. */
function mixed(hash: number, word: number): number {
  let k = Math.imul(word, 0xcc9e2d51)
  k = Math.imul((k << 15) | (k >>> 17), 0x1b873593)
  const h = hash ^ k
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0
}
