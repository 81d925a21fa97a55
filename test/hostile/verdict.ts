/** A good client's p99 may be this many times the larger one of its two figures without the attack. */
export const MOST_TIMES = 3
/** Memory that may stay after an attack: caches of the allocator and of compiled code. */
export const KEPT_BYTES = 96 * 1024 * 1024

/** A figure of the good client: medians over the rounds of the 99th percentile, in ms. */
export interface P99 {
  /** While the attackers' process is idle, before and after each attack. */
  readonly soloMs: number
  /** While threads that touch no server compute as much as the attackers and the server did. */
  readonly controlMs: number
  readonly attackMs: number
  /**
   * While another server is attacked in the same way: what the attack costs a client of a server that it does not
   * touch. It says why an attack fails, and no limit depends on it. Undefined where it is not measured.
   */
  readonly elsewhereMs?: number | undefined
  /** The largest `attackMs` that passes. */
  readonly mostMs: number
}

/** What is measured for one attack. */
export interface Measured {
  /** Of a prediction. */
  readonly prediction: P99
  /** Of a read of a value, which the slots answer. */
  readonly value: P99
  /** Checkpoints that were completed, and that were due and completed without the attack, in all rounds. */
  readonly checkpoints: { readonly completed: number; readonly due: number }
  /** Bytes of memory above the start, at most ten seconds after the attack. */
  readonly keptBytes: number
}

/**
 * The largest p99 beside an attack that passes. Attackers are processes of the same machine: the control is
 * what their work costs whatever the server does, so that the larger of both figures is the baseline
 * (docs/decisions/fairness.md#how-it-is-measured). `noiseMs` is never too late.
 */
export function mostMs(
  { soloMs, controlMs }: Pick<P99, 'soloMs' | 'controlMs'>,
  noiseMs: number,
): number {
  return Math.max(noiseMs, MOST_TIMES * Math.max(soloMs, controlMs))
}

/** Why an attack harms the good client or the server; empty when it does not. */
export function problemsOf({ prediction, value, checkpoints, keptBytes }: Measured): string[] {
  const problems: string[] = []
  const check = (what: string, p99: P99): void => {
    if (p99.attackMs <= p99.mostMs) return
    problems.push(
      `p99 of ${what} ${p99.attackMs.toFixed(1)} ms, at most ${p99.mostMs.toFixed(1)} ms ` +
        `(${p99.soloMs.toFixed(1)} ms without the attack, ${p99.controlMs.toFixed(1)} ms beside the ` +
        `same work elsewhere${elsewhereOf(p99)})`,
    )
  }
  check('a prediction', prediction)
  check('a value', value)
  if (checkpoints.completed * 4 < checkpoints.due) {
    problems.push(`${checkpoints.completed} checkpoints of ${checkpoints.due}`)
  }
  if (keptBytes > KEPT_BYTES) problems.push(`${(keptBytes / 2 ** 20).toFixed(0)} MiB stay`)
  return problems
}

/** Whether a figure is so far below its limit that more rounds would not change what it says. */
export function isClear({ attackMs, mostMs: most }: P99): boolean {
  return attackMs <= most / 2
}

function elsewhereOf({ elsewhereMs }: P99): string {
  return elsewhereMs === undefined
    ? ''
    : `, ${elsewhereMs.toFixed(1)} ms beside the same attack on another server`
}

/** The middle value, the upper one of two. */
export function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}

/** The middle value, the lower one of two: an even number of figures makes no limit looser. */
export function lowerMedianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[(values.length - 1) >> 1]!
}
