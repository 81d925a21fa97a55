const ENDING = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

/** Module of the `online-als` job, for the threads that load it. */
export const ONLINE_ALS_MODULE = new URL(`../jobs/online-als.${ENDING}`, import.meta.url)
