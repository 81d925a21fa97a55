import { VARIANCE_STATES } from '../../../models/topic/variance-rows.ts'
import { decodeSeen, SEEN_DELTAS } from '../als/deltas-operator.ts'
import { DELTAS_UID, LEARNER_UID, RATINGS_UID } from '../als/job.ts'
import type { LearnedModel } from './learned-model.ts'

/** What write-backs must know of the `online-als` job. */
export const ALS_LEARNED_MODEL: LearnedModel = {
  owner: LEARNER_UID,
  states: [
    { state: 'user-rows', evidence: 'user-evidence', memory: VARIANCE_STATES.U },
    { state: 'item-rows', evidence: 'item-evidence', memory: VARIANCE_STATES.I },
  ],
  observationsGate: RATINGS_UID,
  deltasGate: DELTAS_UID,
  seenState: SEEN_DELTAS,
  decodeSeen,
  topicKey: (key) => key,
}
