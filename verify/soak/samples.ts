/** Memory of one thread's heap, bytes. */
export interface ThreadMemory {
  readonly thread: number
  readonly heapUsed: number
  readonly external: number
  readonly arrayBuffers: number
}

/** Memory of the heaps of all threads of a process, bytes. */
export interface MemorySample extends Omit<ThreadMemory, 'thread'> {
  readonly threads: number
}

/** What is measured of the job, at one time. Bytes and counts. */
export interface Sample extends MemorySample {
  readonly resident: number
  readonly descriptors: number
  readonly logBytes: number
  readonly logFiles: number
  readonly registryBytes: number
  readonly registryFiles: number
  readonly checkpointBytes: number
  readonly checkpointFiles: number
}

/** The names of what is measured. */
export type Measure = keyof Sample

/** Allowed growth of one measure: `noise` once, and `perMinute` for as long as the job runs. */
export interface Bound {
  readonly noise: number
  readonly perMinute: number
}

/** Growth of one measure over the judged part of a run. */
export interface Trend {
  /** Median of the slopes of all pairs of samples (Theil and Sen), per minute. */
  readonly perMinute: number
  /** Growth over the judged part: by the slope or between its first and last third, whichever is more. */
  readonly growth: number
  /** The largest growth that is allowed. */
  readonly allowed: number
  readonly last: number
}

const MS_PER_MINUTE = 60_000

/** A value at a time, ms. */
export interface TimedValue {
  readonly atMs: number
  readonly value: number
}

/**
 * The slope of values over time, per minute: the median of the slopes of all pairs, which single peaks
 * do not move (Theil and Sen). 0 for fewer than two values.
 */
export function slopeOf(values: readonly TimedValue[]): number {
  const slopes: number[] = []
  for (const [i, a] of values.entries()) {
    for (const b of values.slice(i + 1)) {
      if (b.atMs > a.atMs) slopes.push(((b.value - a.value) / (b.atMs - a.atMs)) * MS_PER_MINUTE)
    }
  }
  slopes.sort((a, b) => a - b)
  const middle = slopes.length >> 1
  if (slopes.length === 0) return 0
  return slopes.length % 2 === 1 ? slopes[middle]! : (slopes[middle - 1]! + slopes[middle]!) / 2
}

/**
 * The trend of a measure. The slope alone would miss a step: most pairs of samples are on the same side of
 * it. The thirds alone would miss a third of a slow growth.
 */
export function trendOf(values: readonly TimedValue[], { noise, perMinute }: Bound): Trend {
  const minutes = ((values.at(-1)?.atMs ?? 0) - (values[0]?.atMs ?? 0)) / MS_PER_MINUTE
  const slope = slopeOf(values)
  const third = Math.ceil(values.length / 3)
  const rise = medianOf(values.slice(-third)) - medianOf(values.slice(0, third))
  return {
    perMinute: slope,
    growth: Math.max(slope * minutes, rise),
    allowed: noise + perMinute * minutes,
    last: values.at(-1)?.value ?? 0,
  }
}

function medianOf(values: readonly TimedValue[]): number {
  const sorted = values.map(({ value }) => value).sort((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? 0
}

/**
 * The part of a run that is judged: its second half. `isFull` says from which sample on a measure with a
 * limit may not grow any more; where it gets full later and leaves a quarter of the run, the part begins there.
 */
export function judgedPart<T>(
  samples: readonly T[],
  isFull: (sample: T) => boolean = () => true,
): readonly T[] {
  const half = samples.length >> 1
  const fullAt = samples.findIndex(isFull)
  const leavesEnough = fullAt >= 0 && fullAt <= samples.length * 0.75
  return samples.slice(leavesEnough ? Math.max(half, fullAt) : half)
}
