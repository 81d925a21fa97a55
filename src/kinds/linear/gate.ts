import { createHash } from 'node:crypto'
import { classesOf, type LinearClasses } from '../../core/features/classes.ts'
import type { DataLimits } from '../../models/registry/checks/data.ts'
import {
  type ClassifierFacts,
  classifierMeasures,
  type ExampleProfile,
  exampleMeasures,
} from '../../models/registry/checks/linear.ts'
import type { CheckMeasure } from '../../models/registry/checks/measure.ts'
import type { QualityLimits } from '../../models/registry/checks/quality.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'
import type { SparseTable } from '../../training/data/sparse-table.ts'
import { type LinearLossName, linearLoss } from '../../training/linear/loss.ts'
import { type AskProduct, classPrediction } from '../../wire/linear-prediction.ts'
import type { QueryOptions, SparseVector } from '../../wire/model-reader.ts'
import { withBiasFeature } from '../../wire/sparse-vector.ts'
import { count, largestCount } from '../port/counts.ts'
import {
  type GateOptions,
  type GoldenComparison,
  type ModelGate,
  versionBefore,
} from '../port/gate.ts'
import type { GoldenExamples } from '../port/golden-set.ts'
import {
  allCompared,
  type ComparedErrors,
  type GoldenSummary,
  type MeasuredErrors,
  sampled,
} from '../port/measured-errors.ts'
import { examplesProfile, type PlacedExample } from './examples-profile.ts'

/** Number of examples whose predictions show whether a version is loaded. */
const PROBES = 16
/** Predictions in flight at the same time. */
const OUTSTANDING = 1024

/**
 * The gate of linear models: the loss that the candidate was trained with on golden examples, their
 * labels, and the balance of labels and features in the observations.
 */
export class LinearGate implements ModelGate {
  readonly id: string
  readonly error: string
  readonly size: number
  readonly probes: readonly number[]
  private readonly options: GateOptions<GoldenExamples, PlacedExample>
  private readonly examples: SparseTable
  private readonly positive: number
  private readonly loss: (margin: number) => number
  /** By version, what it predicts for each example: 1 for the positive label, else 0; of several classes the label. */
  private readonly predicted = new Map<number, Float64Array>()
  private readonly hasClasses: boolean

  constructor(options: GateOptions<GoldenExamples, PlacedExample>) {
    const { version, golden } = options
    const loss = lossOf(version)
    this.options = options
    this.examples = golden.examples
    this.id = goldenExamplesId(golden.examples, version)
    this.error = loss === 'logistic' ? 'log loss' : `${loss} loss`.replace('-hinge', ' hinge')
    this.size = golden.examples.rows
    this.probes = Array.from({ length: Math.min(PROBES, this.size) }, (_, n) =>
      Math.floor((n * this.size) / Math.min(PROBES, this.size)),
    )
    this.positive = positiveLabel(version, golden.examples)
    this.loss = linearLoss(loss, 1).primal
    this.hasClasses = classesOf(version.lineage.hyperparameters) !== undefined
  }

  async answers(example: number, query: QueryOptions): Promise<boolean> {
    const { reader, state } = this.options
    const answer = await reader.sparseDot(
      state,
      withBiasFeature(exampleAt(this.examples, example)),
      query,
    )
    return answer.ok && Number.isFinite(answer.value.sum)
  }

  async measure(number: number): Promise<MeasuredErrors> {
    const { size, examples } = this
    const errors = new Float32Array(size)
    const predicted = new Float64Array(size)
    const classes = this.classesOf(number)
    let unknown = 0
    for (let from = 0; from < size; from += OUTSTANDING) {
      const places = Array.from({ length: Math.min(OUTSTANDING, size - from) }, (_, i) => from + i)
      const answers = places.map((place) => this.answerOf(place, number, classes))
      for (const [i, answer] of (await Promise.all(answers)).entries()) {
        errors[from + i] = answer.error
        predicted[from + i] = answer.guess
        unknown += answer.unknown
      }
    }
    this.predicted.set(number, predicted)
    const mean = errors.reduce((total, each) => total + each, 0) / size
    const knownShare = 1 - unknown / Math.max(1, examples.indexes.length)
    const summary: GoldenSummary = { count: size, mean, knownShare }
    return { number, summary, errors: sampled(errors) }
  }

  /** The classes of a version; undefined for one of two labels. */
  private classesOf(number: number): LinearClasses | undefined {
    const { version, versions = [] } = this.options
    const found = [version, ...versions].find((each) => each.number === number)
    return classesOf(found?.lineage.hyperparameters ?? {})
  }

  /** The answer of a version to an example: its error is the mean over its classes. */
  private async answerOf(
    place: number,
    version: number,
    classes: LinearClasses | undefined,
  ): Promise<GoldenAnswer> {
    const { reader, state } = this.options
    const label = this.examples.labels[place]!
    const ask: AskProduct = (features, pinned) => reader.sparseDot(state, features, pinned)
    if (classes === undefined) {
      const answer = await ask(withBiasFeature(exampleAt(this.examples, place)), { version })
      if (!answer.ok) throw answer.error
      const { sum, unknown } = answer.value
      const sign = label === this.positive ? 1 : -1
      return { error: this.loss(sign * sum), guess: sum > 0 ? 1 : 0, unknown }
    }
    const example = exampleAt(this.examples, place)
    const found = await classPrediction(ask, example, { version, classes }, {})
    const losses = found.scores!.map((each) =>
      this.loss(each.label === label ? each.score : -each.score),
    )
    const error = losses.reduce((sum, loss) => sum + loss, 0) / losses.length
    return { error, guess: found.label, unknown: found.unknown }
  }

  async compared(): Promise<ComparedErrors> {
    return allCompared(this.size)
  }

  /** Missing facts about the training data fail the check. */
  async data(
    candidate: MeasuredErrors | undefined,
    limits?: DataLimits,
  ): Promise<readonly CheckMeasure[]> {
    const { metrics } = this.options.version.lineage
    const { relativeGap, tolerance } = metrics
    const facts = {
      observations: metrics['observations'] ?? 0,
      unparsable: metrics['unparsable'] ?? 0,
      unknownShare: 1 - (candidate?.summary?.knownShare ?? Number.NaN),
      gap:
        relativeGap === undefined || tolerance === undefined
          ? undefined
          : { reached: relativeGap, tolerance },
    }
    return exampleMeasures({ ...facts, profile: await this.profile() }, limits)
  }

  private async profile(): Promise<ExampleProfile | undefined> {
    const { observations: read, history, version, golden } = this.options
    if (read === undefined) return undefined
    const before = versionBefore(this.options)
    const training = { read, history, version, before }
    return await examplesProfile({ ...training, golden: golden.examples, positive: this.positive })
  }

  async quality(
    found: GoldenComparison | undefined,
    limits?: QualityLimits,
  ): Promise<readonly CheckMeasure[]> {
    const { live, version } = this.options
    const best = found?.best
    const facts: ClassifierFacts = {
      examples: found?.candidate.summary?.count ?? 0,
      loss: this.error,
      candidateLoss: found?.candidate.summary?.mean ?? Number.NaN,
      liveLoss: live === 0 ? undefined : (found?.live?.summary?.mean ?? Number.NaN),
      errorRate: this.shareOfDifferent(this.predicted.get(version.number), this.truth()),
      rareShare: 1 - mostFrequentShare(this.truth()),
      agreement:
        live === 0
          ? undefined
          : 1 - this.shareOfDifferent(this.predicted.get(version.number), this.predicted.get(live)),
      best:
        best === undefined
          ? undefined
          : { number: best.number, mean: best.mean, differenceLow: best.difference.low },
    }
    return classifierMeasures(facts, limits)
  }

  /** The right predictions, as `predicted` has them. */
  private truth(): Float64Array {
    const codeOf = (label: number): number => (label === this.positive ? 1 : 0)
    return Float64Array.from(this.examples.labels, this.hasClasses ? (label) => label : codeOf)
  }

  /** Share of the examples with different labels; NaN if one of them is unknown. */
  private shareOfDifferent(
    left: Float64Array | undefined,
    right: Float64Array | undefined,
  ): number {
    if (left === undefined || right === undefined) return Number.NaN
    let different = 0
    for (const [i, label] of left.entries()) if (label !== right[i]) different++
    return different / left.length
  }
}

/** What a version predicts for a golden example. */
interface GoldenAnswer {
  readonly error: number
  readonly guess: number
  readonly unknown: number
}

/** The features of an example. */
function exampleAt({ offsets, indexes, values }: SparseTable, row: number): SparseVector {
  const [from, to] = [offsets[row] as number, offsets[row + 1] as number]
  return { ids: indexes.subarray(from, to), values: values.subarray(from, to) }
}

/** The loss that a version was trained with; `hinge` if it is unknown. */
function lossOf({ lineage }: RegisteredVersion): LinearLossName {
  const { loss } = lineage.hyperparameters
  return loss === 'logistic' || loss === 'squared-hinge' ? loss : 'hinge'
}

/** The positive label of a version: the larger one of its training; else of the golden examples. */
function positiveLabel({ lineage }: RegisteredVersion, { labels }: SparseTable): number {
  const { positiveLabel: known } = lineage.hyperparameters
  if (typeof known === 'number') return known
  return labels.reduce((largest, label) => Math.max(largest, label), Number.NEGATIVE_INFINITY)
}

/** Share of the most frequent label. */
function mostFrequentShare(labels: Float64Array): number {
  const counts = new Map<number, number>()
  for (const label of labels) count(counts, label)
  return largestCount(counts) / labels.length
}

/** Identity of golden examples, and of the loss that a version is measured with on them. */
export function goldenExamplesId(examples: SparseTable, version: RegisteredVersion): string {
  const hash = createHash('sha256').update(lossOf(version))
  for (const column of [examples.labels, examples.offsets, examples.indexes, examples.values]) {
    hash.update(new Uint8Array(column.buffer, column.byteOffset, column.byteLength))
  }
  return hash.digest('hex').slice(0, 32)
}
