import { WeirError } from '../core/errors.ts'
import { bestClass, classesOf, classVectors, type LinearClasses } from '../core/features/classes.ts'
import { featuresOfText, HashedLine } from '../core/features/hashed-line.ts'
import { type FeatureHashing, hashingOf, isSameHashing } from '../core/features/hashing.ts'
import { numberIn } from '../core/options/kinds.ts'
import type { OptionShape } from '../core/options/shape.ts'
import {
  type Answer,
  QUERY,
  type QueryOptions,
  type SparseProduct,
  type SparseVector,
} from './model-reader.ts'
import type { RoutingTable, VersionLabels } from './routing-table.ts'

/** The decision value of one class. */
export interface ClassScore {
  readonly label: number
  readonly score: number
}

/** Prediction of a linear model for an example. */
export interface LinearPrediction {
  /** Sum of weight x value over the features, plus the intercept; of a model of several classes that of `label`. */
  readonly decision: number
  /** The positive label above the threshold, the negative one otherwise; of several classes the one that scores highest. */
  readonly label: number
  /** Of a model of several classes: the decision values of all, in ascending order of their labels. */
  readonly scores?: readonly ClassScore[]
  /** Features that the model has no weight for; they add nothing. */
  readonly unknown: number
  /** Version that answered. */
  readonly modelVersion: number
}

/** Options of a linear prediction. */
export interface LinearPredictOptions extends QueryOptions {
  /** Decision values above it get the positive label. @default 0 */
  readonly threshold?: number
  /** @default that of the version, or 1 if it does not say its own */
  readonly positiveLabel?: number
  /** @default that of the version, or -1 if it does not say its own */
  readonly negativeLabel?: number
}

/** The options of a linear prediction. */
export const LINEAR_PREDICT: OptionShape<LinearPredictOptions> = {
  ...QUERY,
  threshold: numberIn(),
  positiveLabel: numberIn(),
  negativeLabel: numberIn(),
}

/** Makes ids of the names of features; keeps what it has built for the last hash. */
export class NamedFeatures {
  private hashing: FeatureHashing | undefined
  private line: HashedLine | undefined

  /** The features of a text, as the versions of a state hash them. Throws INVALID_ARGUMENT. */
  of(text: string, table: RoutingTable | undefined, state: string): SparseVector {
    const hashing = servedHashing(table, state)
    if (hashing === undefined) {
      throw new WeirError(
        'INVALID_ARGUMENT',
        `the features of ${state} have ids, not names: give { ids, values }, or train it with --hash-bits`,
      )
    }
    if (this.line === undefined || !isSameHashing(this.hashing, hashing)) {
      this.hashing = hashing
      this.line = new HashedLine(hashing)
    }
    return featuresOfText(text, this.line)
  }
}

/** The classes of a version. */
export interface ServedClasses {
  readonly version: number
  readonly classes: LinearClasses
}

/** The classes of a version, by default the live one; undefined for one of two labels. */
export function servedClasses(
  table: RoutingTable | undefined,
  state: string,
  asked?: number,
): ServedClasses | undefined {
  const info = table?.states.find(({ name }) => name === state)
  const version = asked ?? info?.liveVersion ?? 0
  const labels = info?.labels?.find((each) => each.version === version)
  const classes = labels && classesOf({ ...labels })
  return classes && { version, classes }
}

/** Asks for the product of features and weights of a version. */
export type AskProduct = (
  features: SparseVector,
  options: QueryOptions & { readonly version: number },
) => Promise<Answer<SparseProduct>>

/** The prediction of a version of several classes: a product for each. Rejects with the first answer's error, NOT_FINITE. */
export async function classPrediction(
  ask: AskProduct,
  features: SparseVector,
  { version, classes }: ServedClasses,
  options: QueryOptions,
): Promise<LinearPrediction> {
  const { vectors, beyond } = classVectors(features, classes)
  const answers = await Promise.all(vectors.map((one) => ask(one, { ...options, version })))
  const products = answers.map((answer) => {
    if (!answer.ok) throw answer.error
    return answer.value
  })
  const scores = classes.labels.map((label, c) => ({ label, score: products[c]!.sum }))
  const wrong = scores.find(({ score }) => !Number.isFinite(score))
  if (wrong !== undefined) throw notFinite(wrong.score)
  const { label, score } = scores[bestClass(scores.map((each) => each.score))]!
  const unknown = beyond + Math.min(...products.map((each) => each.unknown))
  return { decision: score, label, unknown, modelVersion: version, scores }
}

function notFinite(sum: number): WeirError {
  return new WeirError(
    'NOT_FINITE',
    `the decision value is ${sum}; check the values of the example`,
  )
}

/** An answer to an example. */
interface LinearAnswer {
  readonly state: string
  /** The decision value. */
  readonly sum: number
  readonly unknown: number
  readonly modelVersion: number
}

/** The last routing table of a client. */
interface Routing {
  readonly routing: RoutingTable | undefined
  /** Whether the last answer had another epoch than the table. */
  readonly isStale: boolean
  refresh(): Promise<void>
}

/**
 * The prediction of an answer, with the labels of the version that answered, as far as the job says them. At once, unless the
 * routing table is older than the answer: then it is fetched. Throws NOT_FINITE when the example held NaN or Infinity.
 */
export function linearPrediction(
  routing: Routing,
  answer: LinearAnswer,
  options: LinearPredictOptions,
): LinearPrediction | Promise<LinearPrediction> {
  const { threshold = 0, positiveLabel, negativeLabel } = options
  const { sum } = answer
  if (!Number.isFinite(threshold)) {
    throw new WeirError('INVALID_ARGUMENT', `the threshold is a number, not ${threshold}`)
  }
  if (!Number.isFinite(sum)) throw notFinite(sum)
  const labels = labelsIn(routing.routing, answer)
  const areGiven = positiveLabel !== undefined && negativeLabel !== undefined
  if (labels !== undefined || areGiven || !routing.isStale) return labelled(answer, labels, options)
  return routing.refresh().then(() => labelled(answer, labelsIn(routing.routing, answer), options))
}

/** How the versions of a state hash the names of features, as the routing table says it; undefined if they do not. */
export function servedHashing(
  table: RoutingTable | undefined,
  state: string,
): FeatureHashing | undefined {
  const [labels] = table?.states.find(({ name }) => name === state)?.labels ?? []
  return labels && hashingOf({ ...labels })
}

function labelled(
  { sum: decision, unknown, modelVersion }: LinearAnswer,
  labels: VersionLabels | undefined,
  options: LinearPredictOptions,
): LinearPrediction {
  const { threshold = 0 } = options
  const { positiveLabel = labels?.positive ?? 1, negativeLabel = labels?.negative ?? -1 } = options
  const label = decision > threshold ? positiveLabel : negativeLabel
  return { decision, label, unknown, modelVersion }
}

function labelsIn(
  table: RoutingTable | undefined,
  { state, modelVersion }: LinearAnswer,
): VersionLabels | undefined {
  const info = table?.states.find(({ name }) => name === state)
  return info?.labels?.find(({ version }) => version === modelVersion)
}
