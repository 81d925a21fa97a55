import { WeirError } from '../../core/errors.ts'
import { bytesOfLatin1, latin1Of } from '../../core/text/latin1.ts'
import type { StateStore, StoreChange } from './state-store.ts'

/**
 * A map on the heap behind the store port; keys are sorted when a scan needs them. For tests: the state
 * backend `heap` keeps everything in memory and opens no store.
 */
export class HeapStateStore implements StateStore {
  private readonly values = new Map<string, Uint8Array>()
  private sortedKeys: string[] | undefined
  private closed = false

  get(key: Uint8Array): Uint8Array | undefined {
    this.requireOpen()
    return this.values.get(latin1Of(key))?.slice()
  }

  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[] {
    return keys.map((key) => this.get(key))
  }

  apply(changes: readonly StoreChange[]): void {
    this.requireOpen()
    for (const { key, value } of changes) {
      const text = latin1Of(key)
      if (value === undefined) {
        if (this.values.delete(text)) this.sortedKeys = undefined
      } else {
        if (!this.values.has(text)) this.sortedKeys = undefined
        this.values.set(text, value.slice())
      }
    }
  }

  scan(from: Uint8Array, to: Uint8Array): IterableIterator<readonly [Uint8Array, Uint8Array]> {
    this.requireOpen()
    this.sortedKeys ??= [...this.values.keys()].sort(byCodeUnit)
    const start = lowerBound(this.sortedKeys, latin1Of(from))
    const end = lowerBound(this.sortedKeys, latin1Of(to))
    // Values are never changed in place, so holding them fixes the view.
    const entries = this.sortedKeys
      .slice(start, Math.max(start, end))
      .map((key) => [key, this.values.get(key)!] as const)
    return this.rows(entries)
  }

  close(): void {
    this.closed = true
    this.values.clear()
    this.sortedKeys = undefined
  }

  private *rows(
    entries: readonly (readonly [string, Uint8Array])[],
  ): IterableIterator<readonly [Uint8Array, Uint8Array]> {
    for (const [key, value] of entries) {
      this.requireOpen()
      yield [bytesOfLatin1(key), value.slice()]
    }
  }

  private requireOpen(): void {
    if (this.closed) throw new WeirError('ILLEGAL_STATE', 'the heap store is closed')
  }
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function lowerBound(sorted: readonly string[], key: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}
