import type { TopicPartition } from './job-data.ts'

/** Records a second; undefined until two answers are known. */
export interface Rate {
  readonly appended: number | undefined
  readonly applied: number | undefined
}

interface Sample {
  /** The answer that the offsets are from. */
  readonly answer: object
  readonly atMs: number
  readonly end: number
  readonly position: number | null
  readonly rate: Rate
}

const UNKNOWN: Rate = { appended: undefined, applied: undefined }

/** Rates of partitions, from the offsets of two answers one after the other. */
export class RateMeter {
  private readonly last = new Map<string, Sample>()
  private readonly nowMs: () => number

  constructor(nowMs: () => number = () => performance.now()) {
    this.nowMs = nowMs
  }

  /** The rates of a partition since the answer before. The same answer gives the same rates. */
  rateOf(
    name: string,
    { end, position }: Pick<TopicPartition, 'end' | 'position'>,
    answer: object,
  ): Rate {
    const last = this.last.get(name)
    if (last?.answer === answer) return last.rate
    const atMs = this.nowMs()
    const seconds = last === undefined ? 0 : (atMs - last.atMs) / 1000
    const rate = seconds <= 0 ? UNKNOWN : ratesOf(last!, { end, position }, seconds)
    this.last.set(name, { answer, atMs, end, position, rate })
    return rate
  }
}

function ratesOf(
  last: Sample,
  { end, position }: Pick<TopicPartition, 'end' | 'position'>,
  seconds: number,
): Rate {
  const isApplied = position !== null && last.position !== null
  return {
    appended: Math.max(0, end - last.end) / seconds,
    // After a restart the position is that of the checkpoint.
    applied: isApplied ? Math.max(0, position - last.position) / seconds : undefined,
  }
}
