import type { Answer, Prediction } from '../../wire/model-reader.ts'
import type { IntervalPrediction } from '../../wire/rating-interval.ts'
import { scoreText } from './score-number.ts'

/** A pair whose rating is predicted. */
export interface PredictedPair {
  readonly user: string
  readonly item: string
}

/** The JSON of a prediction's answer. */
export function predictionBody(
  { user, item }: PredictedPair,
  {
    value,
    envelope,
  }: Extract<Answer<Prediction & Partial<IntervalPrediction>>, { readonly ok: true }>,
): string {
  const { score, leftCold, rightCold, interval } = value
  const pair = `{"user":${JSON.stringify(user)},"item":${JSON.stringify(item)}`
  const prediction = `"score":${scoreText(score)},"userCold":${leftCold},"itemCold":${rightCold}`
  const range = interval === undefined ? '' : `"interval":${JSON.stringify(interval)},`
  const { modelVersion, source = 0, partition, offset, checkpointId, ageMs, servedBy } = envelope
  const place = `"source":${source},"partition":${partition},"offset":${offset}`
  const age = Math.round(ageMs * 1000) / 1000
  return `${pair},${prediction},${range}"envelope":{"modelVersion":${modelVersion},${place},"checkpointId":${checkpointId},"ageMs":${age},"servedBy":${JSON.stringify(servedBy)}}}`
}
