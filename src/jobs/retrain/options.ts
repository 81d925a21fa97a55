import { TOPICS_PLACE, type TopicsPlace } from '../../connectors/topics/place.ts'
import type { Clock } from '../../core/clock.ts'
import {
  aFunction,
  flag,
  listOf,
  name,
  objectWith,
  required,
  wholeNumber,
} from '../../core/options/kinds.ts'
import { CLOCK } from '../../core/options/ports.ts'
import { nested, type OptionShape } from '../../core/options/shape.ts'
import { GOLDEN_SET } from '../../kinds/port/golden-set.ts'
import { type AnyModel, KIND_OPTIONS, type RetrainedModel } from '../../kinds/registered.ts'
import { HISTORY, type HistoryFiles } from '../../models/observations/history.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'
import type { ModelRegistry } from '../../models/versions/model-registry.ts'
import type { ModelReader } from '../../wire/model-reader.ts'
import type { PromotionChecks, PromotionLimits } from '../promotion/checks.ts'
import type { TrainingProcess } from './process.ts'

/** Options of `retrain`. */
export type RetrainOptions = RetrainedModel & RetrainBaseOptions

/** Options of `retrain` for every kind of model. */
export interface RetrainBaseOptions {
  /** Place of the model topic and the topic of observations. */
  readonly place: TopicsPlace
  readonly registry: ModelRegistry
  /** Name of the model and of the topic of its rows. */
  readonly model: string
  /** Topic of observations. */
  readonly observations: string
  /** The serving job, for the warm start and the checks; without it, both are left out. */
  readonly reader?: ModelReader
  /** Starts from the current rows of the live version; a linear model needs no start. @default true */
  readonly warmStart?: boolean
  readonly limits?: PromotionLimits
  /** Folder for files that are deleted at the end. */
  readonly temporary: string
  /** Starts the process that trains. */
  readonly start: () => TrainingProcess
  readonly newId: () => string
  readonly clock: Clock
  /** Ranges to train on. @default all of the topic */
  readonly ranges?: readonly DataRange[]
  /** Files of observations that are older than those of the topic, and read before them. @default none */
  readonly history?: HistoryFiles
  /** Trains only on this number of the newest offsets. @default all */
  readonly newest?: number
  /** Trains also where the topic no longer has what a job has learned on the live version. @default false */
  readonly forgetLearned?: boolean
  /** Longest row key of the candidate in bytes. @default 64 */
  readonly maxKeyBytes?: number
  readonly onStep?: (step: string) => void
}

/** The options of `retrain` for a model of any kind. */
export type AnyRetrainOptions = RetrainBaseOptions & AnyModel

/** The options of `retrain`. Those of the training are checked where it trains. */
export const RETRAIN: OptionShape<AnyRetrainOptions> = {
  place: required(nested(TOPICS_PLACE)),
  registry: required(objectWith('a ModelRegistry', 'read', 'execute')),
  model: required(name),
  observations: required(name),
  reader: objectWith('a client or another reader', 'predict'),
  warmStart: flag,
  limits: nested<PromotionLimits>({
    data: objectWith('limits of data'),
    quality: objectWith('limits of quality'),
    serving: objectWith('limits of serving'),
  }),
  temporary: required(name),
  start: required(aFunction()),
  newId: required(aFunction()),
  clock: required(CLOCK),
  ranges: listOf(objectWith<DataRange>('a range of a topic')),
  history: nested(HISTORY),
  newest: wholeNumber({ min: 1, orInfinity: true }),
  forgetLearned: flag,
  maxKeyBytes: wholeNumber({ min: 1, max: 1024 }),
  onStep: aFunction(),
  ...KIND_OPTIONS,
  golden: GOLDEN_SET,
}

/** Outcome of a retraining. */
export type RetrainOutcome =
  | { readonly kind: 'nothing-to-train-on' }
  /** A version of the same inputs exists; nothing was done. */
  | { readonly kind: 'exists'; readonly version: RegisteredVersion }
  /** Trained and registered; not checked, because golden set or serving job are missing. */
  | { readonly kind: 'candidate'; readonly version: RegisteredVersion }
  /** Trained and checked; the promotion was refused. */
  | {
      readonly kind: 'refused'
      readonly version: RegisteredVersion
      readonly reason: string
      readonly checks: PromotionChecks
    }
  | {
      readonly kind: 'promoted'
      readonly version: RegisteredVersion
      readonly checks: PromotionChecks
      /** Observations between the last replay and the switch; a learning job continues with them. */
      readonly gap: number
    }
