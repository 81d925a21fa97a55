import type { Clock } from '../../core/clock.ts'
import type { RowTableReader } from '../../state/rows/reader.ts'
import { TopKShadow } from './shadow.ts'

/** Codes of a table are dropped when no query has used them for this long. */
const IDLE_MS = 60_000

interface Held {
  readonly shadow: TopKShadow
  usedAt: number
}

/** The codes of a thread's tables, within a byte limit. Codes used longest ago are dropped first. */
export class TopKShadows {
  private readonly clock: Clock
  private readonly limitBytes: number
  private readonly held = new Map<RowTableReader, Held>()

  constructor(clock: Clock, limitBytes: number) {
    this.clock = clock
    this.limitBytes = limitBytes
  }

  /** Bytes of all codes. */
  get bytes(): number {
    let bytes = 0
    for (const { shadow } of this.held.values()) bytes += shadow.bytes
    return bytes
  }

  /** The codes of a table, empty at first; undefined where there is no room. */
  of(reader: RowTableReader): TopKShadow | undefined {
    const now = this.clock.monotonicMs()
    for (const [other, { usedAt }] of this.held) {
      if (now - usedAt > IDLE_MS) this.held.delete(other)
    }
    const known = this.held.get(reader)
    if (known !== undefined) {
      known.usedAt = now
      return known.shadow
    }
    const shadow = new TopKShadow(reader)
    this.held.set(reader, { shadow, usedAt: now })
    if (this.hasRoom(shadow)) return shadow
    this.held.delete(reader)
    return undefined
  }

  /** Whether codes of one more segment of a table fit. Drops the codes used longest ago to make room. */
  hasRoom(shadow: TopKShadow): boolean {
    let bytes = this.bytes + shadow.bytesOfNext
    while (bytes > this.limitBytes) {
      const oldest = this.oldestBut(shadow)
      if (oldest === undefined) return false
      bytes -= oldest.bytes
      this.held.delete(oldest.reader)
    }
    return true
  }

  /** The codes used longest ago, unless they are the given ones. */
  private oldestBut(shadow: TopKShadow): TopKShadow | undefined {
    let oldest = this.held.get(shadow.reader)
    for (const one of this.held.values()) {
      if (oldest === undefined || one.usedAt < oldest.usedAt) oldest = one
    }
    return oldest?.shadow === shadow ? undefined : oldest?.shadow
  }
}
