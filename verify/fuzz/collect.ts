/*
 * Loaded before a fuzzed process: SIGUSR2 collects its garbage, so that the campaign judges what is left.
 */
process.on('SIGUSR2', () => void globalThis.gc?.())

export {}
