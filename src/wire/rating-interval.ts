import { isWeirError, WeirError } from '../core/errors.ts'
import { normalQuantile } from '../core/numbers/normal-quantile.ts'
import { name, numberIn, objectWith, required, text } from '../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../core/options/shape.ts'
import {
  type Answer,
  type AnswerEnvelope,
  type ModelReader,
  PREDICT,
  type Prediction,
  type PredictOptions,
} from './model-reader.ts'

/** Queryable rows of variances, with the keys and versions of the rows of `MODEL`. */
export const ALS_VARIANCE = 'ALS_VARIANCE'
/** The state whose predictions have intervals. */
const MODEL = 'ALS_MODEL'

/** Where a rating is with a probability. */
export interface RatingInterval {
  /** The probability, 0 < share < 1. */
  readonly share: number
  readonly low: number
  readonly high: number
  /** Standard deviation of the rating around its score. */
  readonly deviation: number
}

/** A prediction with its interval. */
export interface IntervalPrediction extends Prediction {
  readonly interval: RatingInterval
}

/** What is predicted: the rows of a user and of an item in a state. */
export interface AskedInterval {
  readonly state: string
  readonly left: string
  readonly right: string
  /** Probability of the interval, 0 < share < 1. */
  readonly share: number
}

const ASKED: OptionShape<AskedInterval> = {
  state: required(name),
  left: required(text),
  right: required(text),
  share: required(numberIn({ above: 0, below: 1 })),
}
/** What predicts. */
const READER = objectWith<Pick<ModelReader, 'predictWithEnvelope'>>(
  'a client, or another reader of a model',
  'predictWithEnvelope',
)

/**
 * A prediction, and where the rating is with a probability: score and variance are read of the same version. Answers as
 * `predictWithEnvelope`, and with UNSUPPORTED where the version has no variances. Rejects with INVALID_ARGUMENT.
 *
 * ```ts
 * const asked = { state: 'ALS_MODEL', left: '42-U', right: '7-I', share: 0.95 }
 * const answer = await predictInterval(client, asked)
 * if (answer.ok) console.log(answer.value.interval.low)
 * ```
 */
export async function predictInterval(
  reader: Pick<ModelReader, 'predictWithEnvelope'>,
  asked: AskedInterval,
  options: PredictOptions = {},
): Promise<Answer<IntervalPrediction>> {
  checkArgument('predictInterval', 'reader', READER, reader)
  checkOptions('predictInterval', ASKED, asked)
  checkOptions('predictInterval', PREDICT, options)
  return readInterval(reader, asked, options)
}

/** As `predictInterval`, where the reader's own options are right already. Rejects as the reader does. */
export async function readInterval(
  reader: Pick<ModelReader, 'predictWithEnvelope'>,
  { state, left, right, share }: AskedInterval,
  options: PredictOptions,
): Promise<Answer<IntervalPrediction>> {
  if (state !== MODEL) return { ok: false, error: new WeirError('UNSUPPORTED', otherState(state)) }
  const answer = await reader.predictWithEnvelope(state, left, right, options)
  if (!answer.ok) return answer
  const { value, envelope } = answer
  const version = envelope.modelVersion
  const variance = await reader.predictWithEnvelope(ALS_VARIANCE, left, right, {
    ...options,
    version,
  })
  if (!variance.ok) return { ok: false, error: withoutVariances(variance.error, envelope) }
  const interval = intervalOf(value.score, variance.value.score, share)
  return { ok: true, value: { ...value, interval }, envelope }
}

function otherState(state: string): string {
  return `predictions of "${state}" have no interval; ask for those of "${MODEL}"`
}

/** The interval of a rating with this score and variance. */
export function intervalOf(score: number, variance: number, share: number): RatingInterval {
  const deviation = Math.sqrt(variance)
  const reach = normalQuantile((1 + share) / 2) * deviation
  return { share, low: score - reach, high: score + reach, deviation }
}

/** The error of a version without variances, with what to do; any other one as it is. */
function withoutVariances(error: WeirError, { modelVersion }: AnswerEnvelope): WeirError {
  if (!WITHOUT.some((code) => isWeirError(error, code))) return error
  return new WeirError(
    'UNSUPPORTED',
    `version ${modelVersion} has no variances, so its predictions have no interval; publish one with "weir train bmf --ratings FILE --intervals"`,
    { cause: error },
  )
}

/** Of a job of which no version has variances, a version that has none, and a row that none was published for. */
const WITHOUT = ['UNKNOWN_STATE', 'UNKNOWN_VERSION', 'UNKNOWN_KEY'] as const
