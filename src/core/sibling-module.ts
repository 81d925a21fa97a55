/**
 * URL of a module by its path relative to the calling module, without the file ending. A thread or
 * process is started by URL, and the compiler rewrites import specifiers only: in development the
 * modules end in `.ts`, in the built package in `.js`. Pass `import.meta.url` as `from`.
 */
export function siblingModule(path: string, from: string): URL {
  return new URL(`${path}.${from.endsWith('.ts') ? 'ts' : 'js'}`, from)
}

/**
 * Limits (`ResourceLimits`) of the threads that run as long as the process. Where a machine has much memory, V8 lets the young
 * generation of each thread grow to 192 MiB, in steps over hours: that looks like a leak and is never given back.
 * 48 MiB are two semi-spaces of 16 MiB, and as much for large objects.
 */
export const THREAD_LIMITS = { maxYoungGenerationSizeMb: 48 } as const

const YOUNG_GENERATION = '--max-semi-space-size'

/**
 * Node flags of a process that runs as long as its job, from those of its parent. The limit of `THREAD_LIMITS` holds
 * for threads only: the young generation of a main thread grows to 128 MiB, and V8 takes the limit at the start.
 */
export function longRunningFlags(flags: readonly string[]): readonly string[] {
  if (flags.some((flag) => flag.startsWith(YOUNG_GENERATION))) return flags
  return [...flags, `${YOUNG_GENERATION}=16`]
}
