/**
 * The process that runs a job. It writes itself into its claim of a generation, so that a second start
 * of the job learns whether it still runs. JSON in one line:
 *
 *   {"version":1,"jobName":TEXT,"pid":NUMBER,"processStart":TEXT,"host":TEXT,"boot":TEXT,"pidNamespace":TEXT,"sinceMs":NUMBER}
 *
 * Claims of earlier releases are empty. A claim that cannot be read names no one: what protects the checkpoints is
 * that the claim exists.
 */
export interface JobOwner {
  readonly jobName: string
  readonly pid: number
  /** Start of the process in clock ticks since boot (Linux), else empty. */
  readonly processStart: string
  /** Where the id of the process means something. */
  readonly host: string
  readonly boot: string
  readonly pidNamespace: string
  /** When it claimed the job, ms since 1970. */
  readonly sinceMs: number
}

/** What the claimant of a job knows of its owner: `elsewhere` is in another container or machine. */
export type OwnerState = 'running' | 'stopped' | 'ended' | 'elsewhere'

/** What a start of a job does about the owner that its folder names. */
export type ClaimDecision =
  | { readonly kind: 'claim' }
  /** The owner may still run; it ends when it notices the newer claim. */
  | { readonly kind: 'take-over'; readonly why: 'asked' | 'stopped' | 'elsewhere' }
  | { readonly kind: 'refuse' }

const VERSION = 1

/** The bytes of a claim. */
export function encodeOwner(owner: JobOwner): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify({ version: VERSION, ...owner })}\n`)
}

/** The owner that a claim names; undefined where it names no one. */
export function decodeOwner(bytes: Uint8Array): JobOwner | undefined {
  try {
    const parsed = JSON.parse(new TextDecoder().decode(bytes)) as { version?: unknown } & JobOwner
    const { version, pid, sinceMs, jobName, processStart, host, boot, pidNamespace } = parsed
    const texts = [jobName, processStart, host, boot, pidNamespace]
    const isWhole =
      version === VERSION &&
      Number.isInteger(pid) &&
      Number.isInteger(sinceMs) &&
      texts.every((text) => typeof text === 'string')
    return isWhole ? { jobName, pid, processStart, host, boot, pidNamespace, sinceMs } : undefined
  } catch {
    return undefined
  }
}

/** Whether two owners are one process. */
export function isSameProcess(a: JobOwner, b: JobOwner): boolean {
  return (
    a.pid === b.pid &&
    a.processStart === b.processStart &&
    a.host === b.host &&
    a.boot === b.boot &&
    a.pidNamespace === b.pidNamespace
  )
}

/**
 * Decides whether a start of a job may claim it. An owner that runs keeps the job, unless the start is asked to take
 * it over. One that is stopped (SIGSTOP) or elsewhere cannot answer: it is followed, as a dead one is, and fenced.
 */
export function decideClaim({
  state,
  isTakeOver,
}: {
  /** Of the owner; undefined where the folder names none, or this process. */
  readonly state: OwnerState | undefined
  /** Whether the start takes the job over from a living owner. */
  readonly isTakeOver: boolean
}): ClaimDecision {
  if (state === undefined || state === 'ended') return { kind: 'claim' }
  if (state !== 'running') return { kind: 'take-over', why: state }
  return isTakeOver ? { kind: 'take-over', why: 'asked' } : { kind: 'refuse' }
}
