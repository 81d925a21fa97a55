import type { Cancel, Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { waitEndNotice, waitNotice } from '../../core/lifetime/wait.ts'
import type { StreamGraph } from '../../dataflow/stream-graph.ts'
import { makesWatermarks, type WatermarkStrategy } from '../../dataflow/watermark-strategy.ts'
import type { Source } from '../../operators/port/source.ts'

/** From a source subtask to the job: which of its partitions hold its watermark back by their silence. */
export interface SourceSilence {
  readonly silentPartitions: readonly number[]
  /** When the last of them had a record, or was found; ms since 1970. */
  readonly sinceMs: number
  /** Whether other partitions of the subtask have records. */
  readonly hasActive: boolean
}

/** By source, the other sources whose streams meet its own in an operator: event time there is that of the slowest. */
export type JoinedSources = ReadonlyMap<string, readonly string[]>

/** Time without a record after which a partition is silent, ms. */
export const SILENT_AFTER_MS = 60_000

/** Time in which the subtasks of a source report what is said together, ms. */
const SETTLE_MS = 1_000

/** Whether a source reports which of its partitions are silent: it has watermarks and no end. */
export function tellsSilence(
  { boundedness }: Pick<Source<unknown>, 'boundedness'>,
  watermarks: WatermarkStrategy<unknown>,
): boolean {
  return boundedness === 'unbounded' && makesWatermarks(watermarks)
}

/** The sources of a graph whose streams meet in an operator. */
export function joinedSources({ nodes, edges }: StreamGraph): JoinedSources {
  const sourcesOf = new Map<number, Set<string>>()
  for (const { id, uid, body } of nodes) {
    const before = edges
      .filter(({ to }) => to === id)
      .flatMap(({ from }) => [...sourcesOf.get(from)!])
    sourcesOf.set(id, new Set(body.kind === 'source' ? [uid] : before))
  }
  const joined = new Map<string, Set<string>>()
  for (const met of sourcesOf.values()) {
    for (const one of met) {
      joined.set(one, new Set([...(joined.get(one) ?? []), ...met].filter((uid) => uid !== one)))
    }
  }
  return new Map([...joined].map(([uid, others]) => [uid, [...others].sort()]))
}

/**
 * The partitions of the sources that hold event time back, on the main thread: where some partitions have records and
 * others have none, of one source or of two that meet, there are no results, which nothing else shows.
 */
export class HeldBackSources {
  private readonly clock: Clock
  private readonly joined: JoinedSources
  private readonly say: (notice: WeirError) => void
  /** By source, what each subtask reported last. */
  private reported = new Map<string, Map<number, SourceSilence>>()
  /** By source, the sentence that was said; a source that is not held back has none. */
  private readonly said = new Map<string, string>()
  private cancelDecision: Cancel | undefined

  /** `say` is called when a source is held back, when other partitions hold it back, and when none does any more. */
  constructor(clock: Clock, joined: JoinedSources, say: (notice: WeirError) => void) {
    this.clock = clock
    this.joined = joined
    this.say = say
  }

  /** An attempt begins: what was reported before counts no more. */
  start(): void {
    this.cancelDecision?.()
    this.cancelDecision = undefined
    this.reported.clear()
    this.said.clear()
  }

  /** A subtask sent an event; true when it was about silent partitions. */
  onEvent(uid: string, subtask: number, event: unknown): boolean {
    if (!isSilence(event)) return false
    const subtasks = this.reported.get(uid) ?? new Map<number, SourceSilence>()
    subtasks.set(subtask, event)
    this.reported.set(uid, subtasks)
    this.cancelDecision ??= this.clock.after(SETTLE_MS, () => {
      this.cancelDecision = undefined
      for (const [source, reports] of this.reported) this.decide(source, [...reports.values()])
    })
    return true
  }

  private decide(uid: string, reports: readonly SourceSilence[]): void {
    const silent = reports.flatMap(({ silentPartitions }) => silentPartitions)
    const isActive = reports.some(({ hasActive }) => hasActive)
    const active = isActive ? undefined : this.activeBeside(uid)
    const before = this.said.get(uid)
    if (silent.length === 0 || (!isActive && active === undefined)) {
      if (before === undefined) return
      this.said.delete(uid)
      this.notify(uid, `event time of source ${uid} goes on`, undefined)
      return
    }
    const partitions = silent.toSorted((a, b) => a - b)
    const which = partitions.length === 1 ? 'partition' : 'partitions'
    const have = partitions.length === 1 ? 'has' : 'have'
    const beside = active === undefined ? '' : `, while source ${active} has records,`
    const why = `${which} ${listOf(partitions)} of ${uid} ${have} had no record for ${SILENT_AFTER_MS / 1000} s${beside} and no idle timeout is set`
    if (why === before) return
    this.said.set(uid, why)
    const since = Math.min(
      ...reports
        .filter(({ silentPartitions }) => silentPartitions.length > 0)
        .map((r) => r.sinceMs),
    )
    this.notify(uid, why, since)
  }

  /** A source with records whose stream meets that of another source; undefined if there is none. */
  private activeBeside(uid: string): string | undefined {
    const others = this.joined.get(uid) ?? []
    return others.find((other) =>
      [...(this.reported.get(other)?.values() ?? [])].some(({ hasActive }) => hasActive),
    )
  }

  private notify(uid: string, text: string, sinceMs: number | undefined): void {
    const waitsFor = 'records of silent partitions'
    const { code, details, message } =
      sinceMs === undefined
        ? waitEndNotice('WATERMARK_HELD_BACK', text, waitsFor)
        : waitNotice(
            'WATERMARK_HELD_BACK',
            `no output: ${text}; set idleAfterMs of the watermarks of this source, or send records to each partition`,
            { waitsFor, why: `no output: ${text}`, sinceMs },
          )
    this.say(new WeirError(code, message, { details: { ...details, operator: uid } }))
  }
}

function isSilence(event: unknown): event is SourceSilence {
  return typeof event === 'object' && event !== null && 'silentPartitions' in event
}

/** Numbers in words: `1`, `1 and 2`, `0, 1, 2 and 7 others`. */
function listOf(numbers: readonly number[]): string {
  const MOST = 5
  if (numbers.length === 1) return String(numbers[0])
  if (numbers.length > MOST) {
    return `${numbers.slice(0, MOST).join(', ')} and ${numbers.length - MOST} others`
  }
  return `${numbers.slice(0, -1).join(', ')} and ${numbers.at(-1)}`
}
