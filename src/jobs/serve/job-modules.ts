import { siblingModule } from '../../core/sibling-module.ts'

/** Module of the `als-serving` job, which the slot threads load. */
export const ALS_SERVING_MODULE = siblingModule('../../jobs/als-serving/job', import.meta.url)

/** Module of the `svm-serving` job. */
export const SVM_SERVING_MODULE = siblingModule('../../models/topic/svm-serving', import.meta.url)

/** Module of the `online-als` job. */
export const ONLINE_ALS_MODULE = siblingModule('../../jobs/learning/als/job', import.meta.url)

/** Module of the `online-svm` job. */
export const ONLINE_SVM_MODULE = siblingModule('../../jobs/learning/linear/job', import.meta.url)

/** Module of the `histories` job. */
export const HISTORIES_MODULE = siblingModule('../../jobs/histories/job', import.meta.url)
