import type { LearnedModel } from '../write-back/learned-model.ts'
import { decodeSeen, SEEN_LINEAR_DELTAS } from './deltas-operator.ts'
import { SVM_DELTAS_UID, SVM_MODEL_UID, SVM_OBSERVATIONS_UID } from './job.ts'

/** What write-backs must know of the `online-svm` job. */
export const LINEAR_LEARNED_MODEL: LearnedModel = {
  owner: SVM_MODEL_UID,
  states: [{ state: 'weights' }],
  observations: { gate: SVM_OBSERVATIONS_UID, source: 2 },
  deltas: { gate: SVM_DELTAS_UID, source: 1, state: SEEN_LINEAR_DELTAS },
  decodeSeen: (entry) => [decodeSeen(entry)],
  topicKey: (block) => `${block}-W`,
}
