import type { ValueCopier } from '../serializer.ts'
import { plainBytes } from './plain-bytes.ts'
import { NOT_PLAIN } from './value-bytes.ts'

/**
 * Gives back plain data itself instead of a copy, for programs that change no object which state or another function
 * may hold. It refuses what `PlainCopier` refuses.
 */
export class PlainSharer implements ValueCopier<unknown> {
  readonly shares = true
  bytes = 0

  copy(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return undefined
    const bytes = plainBytes(value)
    if (bytes === NOT_PLAIN) return undefined
    this.bytes = bytes
    return value
  }

  measure(value: unknown): number {
    return Math.max(0, plainBytes(value))
  }
}
