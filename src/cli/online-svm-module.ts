const ENDING = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

/** Module of the `online-svm` job, for the threads that load it. */
export const ONLINE_SVM_MODULE = new URL(`../jobs/online-svm.${ENDING}`, import.meta.url)
