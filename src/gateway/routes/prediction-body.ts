import type { Answer, Prediction } from '../../wire/model-reader.ts'
import { scoreText } from './score-number.ts'

/** A pair whose rating is predicted. */
export interface PredictedPair {
  readonly user: string
  readonly item: string
}

/** The JSON of a prediction's answer. */
export function predictionBody(
  { user, item }: PredictedPair,
  { value, envelope }: Extract<Answer<Prediction>, { readonly ok: true }>,
): string {
  const { score, leftCold, rightCold } = value
  const pair = `{"user":${JSON.stringify(user)},"item":${JSON.stringify(item)}`
  const prediction = `"score":${scoreText(score)},"userCold":${leftCold},"itemCold":${rightCold}`
  const { modelVersion, source = 0, partition, offset, checkpointId, ageMs, servedBy } = envelope
  const place = `"source":${source},"partition":${partition},"offset":${offset}`
  const age = Math.round(ageMs * 1000) / 1000
  return `${pair},${prediction},"envelope":{"modelVersion":${modelVersion},${place},"checkpointId":${checkpointId},"ageMs":${age},"servedBy":${JSON.stringify(servedBy)}}}`
}
