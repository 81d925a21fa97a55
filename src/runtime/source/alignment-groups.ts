import { MAX_TIMESTAMP } from '../../core/time.ts'
import type { StreamNode } from '../../dataflow/stream-graph.ts'
import type { WatermarkAlignment } from '../../dataflow/watermark-strategy.ts'
import type { AllowedWatermark, SourceWatermarkReport } from './alignment.ts'

/** Sends an event to all subtasks of a source. */
export type SendAllowed = (uid: string, allowed: AllowedWatermark) => void

/** A source of a group. */
interface AlignedSource {
  readonly uid: string
  readonly alignment: WatermarkAlignment
}

/**
 * The groups of sources that wait for each other, on the main thread: the smallest watermark that the subtasks of
 * a group have reported, plus the drift of a source, is how far this source may go.
 */
export class AlignmentGroups {
  private readonly sources: readonly AlignedSource[]
  private send: SendAllowed = () => {}
  /** By group, the last report of each subtask. */
  private readonly reported = new Map<string, Map<string, number>>()
  /** By group, the smallest watermark that its sources know. */
  private readonly known = new Map<string, number>()

  constructor(nodes: readonly StreamNode[]) {
    this.sources = nodes.flatMap(({ uid, body }) => {
      const alignment = body.kind === 'source' ? body.watermarks.alignment : undefined
      return alignment === undefined ? [] : [{ uid, alignment }]
    })
  }

  /** An attempt begins: what was reported before counts no more. */
  start(send: SendAllowed): void {
    this.send = send
    this.reported.clear()
    this.known.clear()
  }

  /** A subtask sent an event; true when it was the watermark of a source of a group. */
  onEvent(uid: string, subtask: number, event: unknown): boolean {
    const source = this.sources.find((candidate) => candidate.uid === uid)
    if (source === undefined || !isReport(event)) return false
    const { group } = source.alignment
    const reports = this.reported.get(group) ?? new Map<string, number>()
    reports.set(`${uid}#${subtask}`, event.sourceWatermark)
    this.reported.set(group, reports)
    this.announce(group, Math.min(...reports.values()))
    return true
  }

  private announce(group: string, least: number): void {
    if (this.known.get(group) === least) return
    this.known.set(group, least)
    for (const { uid, alignment } of this.sources) {
      if (alignment.group !== group) continue
      const allowedWatermark = Math.min(MAX_TIMESTAMP, least + alignment.maxDriftMs)
      this.send(uid, { allowedWatermark })
    }
  }
}

function isReport(event: unknown): event is SourceWatermarkReport {
  return typeof event === 'object' && event !== null && 'sourceWatermark' in event
}
