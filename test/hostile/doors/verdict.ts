import type { Measurement, Waits } from './waits.ts'

const MIB = 1024 * 1024
/** Longest wait of the good client, beyond what the witness waits, ms. */
export const MOST_WORST_MS = 100
/** Longest turn of the event loop that answers, ms of processor time. */
export const MOST_TURN_MS = 100
/** The good client's p99 may be this many times its own without the attack. */
export const MOST_TIMES = 3
/** A p99 below this, ms, is never too late: other processes of the machine make as much. */
export const NOISE_MS = 5
/** Memory for bytes that are received, of each port. */
export const BUDGET_BYTES = 256 * MIB
/** Memory of bodies that wait for room: of each of 256 its connection and its streams hold four chunks of 64 KiB. */
export const WAITING_BYTES = 64 * MIB
/** Memory beyond the budget during an attack, and beyond the start after it. */
export const MOST_BYTES = 96 * MIB
/** The same with TLS, as `docs/guide/security.md` says: glibc keeps holes between what lives. */
export const MOST_TLS_BYTES = 160 * MIB
/**
 * Time from the first byte of a request to its end, ms: 10 s, the look of each second, 2 s in which the query port lets a
 * peer read why, and what a busy server is late.
 */
export const LONGEST_REQUEST_MS = 14_000

/** Times as late as the good client the attackers may be. */
const SEEN_LATE_TIMES = 5
/** Requests below which there is no 99th percentile. */
export const LEAST_SAMPLES = 100
/** Time below which an attack was not seen: the attackers get what servers and clients leave of the processors, ms. */
export const LEAST_FULL_MS = 1_000
/** Part of the time without a processor from which waits say nothing: a request then waits for one again and again. */
export const MOST_WAITED_SHARE = 0.05

/** Most bytes that a door may keep. */
export function mostKeptBytes({ isTls }: { readonly isTls: boolean }): number {
  return isTls ? MOST_TLS_BYTES : MOST_BYTES
}

/** What an attack on a door did. */
export interface DoorMeasured {
  readonly solo: Measurement
  readonly attack: Measurement
  /** Longest turn of the event loop during the attack, ms of processor time. */
  readonly turnMs: number
  /** How long the thread of that loop waited for a processor. */
  readonly waited: Waits
  /** Part of the time in which it waited for one. */
  readonly waitedShare: number
  /** How long the attack had all its connections begun, ms. */
  readonly fullMs: number
  /** How late the attackers saw the end of a connection at worst, ms. */
  readonly attackersLateMs: number
  /** Most bytes of the young generation, whose size V8 chooses by the memory of the machine: 134 MB where that is 24 GB. */
  readonly youngBytes: number
  /** Most bytes of memory above the start. */
  readonly peakBytes: number
  /** Bytes of memory above the start, at most 30 s after the attack. */
  readonly keptBytes: number
  readonly isTls: boolean
  /** Longest life of a connection whose request is not whole, ms; undefined for an attack that holds none. */
  readonly longestMs: number | undefined
}

/**
 * What the machine is late by itself: how much more than without the attack the witness waited, or how long the server had
 * no processor.
 */
function lateBy(figure: keyof Waits, { solo, attack, waited }: DoorMeasured): number {
  return Math.max(0, attack.witness[figure] - solo.witness[figure], waited[figure])
}

/** What is said of an attack. */
export interface Judgement {
  /** Why it harms the good client or the server, whatever else the machine did. */
  readonly harms: readonly string[]
  /** Times that are too long, and longer than what the machine is late by itself. */
  readonly late: readonly string[]
  /** What cannot be said: times that are too long, of which the machine explains what is too much, or an attack that did not run. */
  readonly unjudged: readonly string[]
}

/** A time, its limit, and what the machine adds to it. */
interface TimeLimit {
  readonly what: string
  readonly valueMs: number
  readonly mostMs: number
  readonly lateMs: number
}

/**
 * Whether an attack harms the good client or the server. `noiseMs`: what a machine that runs other programs adds to waits,
 * beside what the witness shows. An attacker has the lowest priority, and sees the end of its connection later.
 */
export function judge(measured: DoorMeasured, noiseMs = 0): Judgement {
  const late: string[] = []
  const unjudged = unseen(measured)
  const share = measured.waitedShare
  const machine =
    share > MOST_WAITED_SHARE ? `had no processor for ${percent(share)} of the time` : ''
  for (const { what, valueMs, mostMs, lateMs } of timesOf(measured, noiseMs)) {
    if (valueMs <= mostMs) continue
    const text = `${what} ${ms(valueMs)}, at most ${ms(mostMs)}`
    if (machine !== '') unjudged.push(`${text}; the server ${machine}`)
    else if (valueMs - lateMs > mostMs) late.push(text)
    else unjudged.push(`${text}; the machine was late by ${ms(lateMs)}`)
  }
  return { harms: harmsOf(measured, noiseMs), late, unjudged }
}

/** Problems that no other program of the machine explains. */
function harmsOf(measured: DoorMeasured, noiseMs: number): readonly string[] {
  const { attack, turnMs, peakBytes, keptBytes, youngBytes } = measured
  const mostBytes = mostKeptBytes(measured)
  const [lost] = attack.lost
  const problems: string[] = []
  const problem = (isOne: boolean, text: string): void => {
    if (isOne) problems.push(text)
  }
  problem(lost !== undefined, `the good client lost ${attack.lost.length} answers: ${lost}`)
  problem(
    turnMs > MOST_TURN_MS + noiseMs,
    `a turn of the event loop took ${ms(turnMs)}, at most ${ms(MOST_TURN_MS)}`,
  )
  problem(
    peakBytes > BUDGET_BYTES + WAITING_BYTES + mostBytes + youngBytes,
    `memory grew by ${mib(peakBytes)}`,
  )
  problem(keptBytes > mostBytes, `${mib(keptBytes)} stay`)
  return problems
}

function timesOf(measured: DoorMeasured, noiseMs: number): readonly TimeLimit[] {
  const { solo, attack, longestMs = 0, attackersLateMs } = measured
  const ownMs = solo.good.p99Ms
  return [
    {
      what: 'the good client waited',
      valueMs: attack.good.worstMs,
      mostMs: MOST_WORST_MS + noiseMs,
      lateMs: lateBy('worstMs', measured),
    },
    {
      what: `p99 of ${samplesOf(attack)} answers, ${ms(ownMs)} without the attack:`,
      valueMs: attack.good.p99Ms,
      mostMs: Math.max(NOISE_MS, MOST_TIMES * ownMs) + noiseMs,
      lateMs: lateBy('p99Ms', measured),
    },
    {
      what: 'a request that was not whole lived',
      valueMs: longestMs,
      mostMs: LONGEST_REQUEST_MS + SEEN_LATE_TIMES * noiseMs,
      lateMs: attackersLateMs,
    },
  ]
}

/** Why an attack was not seen. */
function unseen({ solo, attack, fullMs }: DoorMeasured): string[] {
  const fewest = Math.min(samplesOf(solo), samplesOf(attack))
  return [
    ...(fullMs < LEAST_FULL_MS ? [`the attack ran for ${ms(fullMs)} only`] : []),
    ...(fewest < LEAST_SAMPLES ? [`${fewest} answers have no 99th percentile`] : []),
  ]
}

/** Requests behind the figures of a measurement. */
export const samplesOf = ({ answered, lost }: Measurement): number => answered + lost.length

/** The worst figures of some cases. */
export interface WorstFigures {
  /** Longest wait of a good client, ms. */
  readonly waitMs: number
  /** The same without what the machine was late by itself. */
  readonly ownWaitMs: number
  /** p99 of a good client, in times of its own without the attack, or of 5 ms where that is more. */
  readonly p99Times: number
  readonly turnMs: number
  readonly peakBytes: number
  readonly keptBytes: number
}

/** The worst of all cases, figure by figure. */
export function worstOf(cases: readonly DoorMeasured[]): WorstFigures {
  const most = (figure: (one: DoorMeasured) => number): number => Math.max(0, ...cases.map(figure))
  return {
    waitMs: most(({ attack }) => attack.good.worstMs),
    ownWaitMs: most((one) => one.attack.good.worstMs - lateBy('worstMs', one)),
    p99Times: most((one) => {
      const ownMs = one.attack.good.p99Ms - lateBy('p99Ms', one)
      return ownMs / Math.max(NOISE_MS, one.solo.good.p99Ms)
    }),
    turnMs: most(({ turnMs }) => turnMs),
    peakBytes: most(({ peakBytes }) => peakBytes),
    keptBytes: most(({ keptBytes }) => keptBytes),
  }
}

const percent = (share: number): string => `${Math.round(share * 100)} %`
const ms = (value: number): string => `${value.toFixed(1)} ms`
const mib = (bytes: number): string => `${Math.round(bytes / MIB)} MiB`
