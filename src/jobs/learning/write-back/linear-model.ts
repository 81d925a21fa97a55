import { decodeSeen, SEEN_LINEAR_DELTAS } from '../linear/deltas-operator.ts'
import { SVM_DELTAS_UID, SVM_MODEL_UID, SVM_OBSERVATIONS_UID } from '../linear/job.ts'
import type { LearnedModel } from './learned-model.ts'

/** What write-backs must know of the `online-svm` job. */
export const LINEAR_LEARNED_MODEL: LearnedModel = {
  owner: SVM_MODEL_UID,
  states: [{ state: 'weights', memory: 'weight-memory' }],
  observationsGate: SVM_OBSERVATIONS_UID,
  deltasGate: SVM_DELTAS_UID,
  seenState: SEEN_LINEAR_DELTAS,
  decodeSeen: (entry) => [decodeSeen(entry)],
  topicKey: (block) => `${block}-W`,
}
