const ENDING = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

/** Module of the `svm-serving` job, for the threads that load it. */
export const SVM_SERVING_MODULE = new URL(`../jobs/svm-serving.${ENDING}`, import.meta.url)
