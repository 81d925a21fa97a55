const ENDING = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

/** Module of the `als-serving` job, for the threads that load it. */
export const ALS_SERVING_MODULE = new URL(`../jobs/als-serving.${ENDING}`, import.meta.url)
