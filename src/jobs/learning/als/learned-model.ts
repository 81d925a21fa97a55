import type { LearnedModel } from '../write-back/learned-model.ts'
import { decodeSeen, SEEN_DELTAS } from './deltas-operator.ts'
import { DELTAS_UID, LEARNER_UID, RATINGS_UID } from './job.ts'

/** What write-backs must know of the `online-als` job. */
export const ALS_LEARNED_MODEL: LearnedModel = {
  owner: LEARNER_UID,
  states: [
    { state: 'user-rows', evidence: 'user-evidence' },
    { state: 'item-rows', evidence: 'item-evidence' },
  ],
  observations: { gate: RATINGS_UID, source: 1 },
  deltas: { gate: DELTAS_UID, source: 2, state: SEEN_DELTAS },
  decodeSeen,
  topicKey: (key) => key,
}
