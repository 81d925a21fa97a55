import { WeirError } from '../../core/errors.ts'
import { ALS_MODEL } from '../../jobs/model-topic/als-serving-function.ts'
import { alsKey, idOfKey, KEY_SUFFIXES, MEAN_KEYS } from '../../models/als/row-key.ts'
import type { ModelReader } from '../../wire/model-reader.ts'
import type { QueryableStateInfo } from '../../wire/routing-table.ts'
import type { RecommendationsRequest, RecommendationsView } from '../port/job-data.ts'

/** The items with the highest predictions for a user. Throws UNKNOWN_VERSION, UNSUPPORTED. */
export async function recommend(
  reader: ModelReader,
  states: readonly QueryableStateInfo[],
  { user, k, version }: RecommendationsRequest,
): Promise<RecommendationsView> {
  const state = ALS_MODEL
  if (states.every(({ name }) => name !== state)) {
    throw new WeirError(
      'UNSUPPORTED',
      `the job has no state ${state}; recommendations need a job that serves an ALS model`,
    )
  }
  const key = alsKey(user, 'U')
  const wanted = version === undefined ? {} : { version }
  const [row] = await reader.rows(state, [key], wanted)
  const isUserKnown = row!.ok
  if (!row!.ok && row!.error.code !== 'UNKNOWN_KEY') throw row!.error
  const answer = await reader.topK(state, isUserKnown ? key : MEAN_KEYS.U, {
    k,
    suffix: KEY_SUFFIXES.I,
    // A row that is removed meanwhile is answered with the mean row, too.
    cold: MEAN_KEYS.U,
    ...(row!.ok ? { version: row!.envelope.modelVersion } : wanted),
  })
  if (!answer.ok) throw answer.error
  const items = answer.value.map((found) => ({ item: idOfKey(found.key), score: found.score }))
  const { envelope } = answer
  return { user, isUserKnown, modelVersion: envelope.modelVersion, items, envelope }
}
