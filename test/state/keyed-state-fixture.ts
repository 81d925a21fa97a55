import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cancel, Clock } from '../../src/core/clock.ts'
import { type KeyGroupRange, keyGroupOf } from '../../src/core/key-group.ts'
import { MetricGroup } from '../../src/core/metrics.ts'
import { openKeyedState } from '../../src/state/open-keyed-state.ts'
import type { ChangeSink, StateSnapshot } from '../../src/state/port/change.ts'
import type { KeyedStateBackend } from '../../src/state/port/keyed-state-backend.ts'
import type { SlotMemory } from '../../src/state/slot-memory.ts'
import type { StateStoreType } from '../../src/state/store/state-store.ts'

export const MAX_PARALLELISM = 16
export const ALL_GROUPS: KeyGroupRange = { first: 0, last: MAX_PARALLELISM - 1 }

export const text = (value: string): Uint8Array => new TextEncoder().encode(value)
export const show = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** A clock that stands still until a test moves it. */
export class StandingClock implements Clock {
  now = 1_000_000
  nowMs(): number {
    return this.now
  }
  monotonicMs(): number {
    return this.now
  }
  after(): Cancel {
    return () => {}
  }
}

/** Backends, each with its own folder; `delete` removes the folders. */
export class Backends {
  private readonly root = mkdtempSync(join(tmpdir(), 'weir-keyed-'))
  private readonly open: KeyedStateBackend[] = []
  private count = 0
  /** What was declared as queryable and which row tables opened, in order. */
  readonly events: string[] = []
  readonly metrics = new MetricGroup()

  async create(
    options: {
      readonly storeType?: StateStoreType
      readonly keyGroups?: KeyGroupRange
      readonly budget?: number
      readonly reusesObjects?: boolean
      readonly clock?: Clock
      readonly slotMemory?: SlotMemory
    } = {},
  ): Promise<KeyedStateBackend> {
    const backend = await openKeyedState({
      operatorUid: 'operator',
      slot: 0,
      keyGroups: options.keyGroups ?? ALL_GROUPS,
      maxParallelism: MAX_PARALLELISM,
      storeType: options.storeType ?? 'heap',
      storeDirectory: join(this.root, `state-${this.count++}`),
      memoryBudgetBytes: options.budget ?? 64 * 1024 * 1024,
      reusesObjects: options.reusesObjects ?? false,
      slotMemory: options.slotMemory,
      clock: options.clock ?? new StandingClock(),
      listener: {
        tableOpened: ({ state, version }) => this.events.push(`${state}@${version} opened`),
        tableDropped: () => {},
        queryableDeclared: ({ name }) => this.events.push(`${name} declared`),
      },
      metrics: this.metrics,
    })
    this.open.push(backend)
    return backend
  }

  release(): void {
    for (const backend of this.open.splice(0)) backend.close()
    this.events.length = 0
  }

  delete(): void {
    // An engine that is still closing deletes its folder itself.
    rmSync(this.root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}

/** Selects a text key. */
export function select(backend: KeyedStateBackend, key: string): void {
  const bytes = text(key)
  backend.setCurrentKey(bytes, keyGroupOf(bytes, MAX_PARALLELISM))
}

/** One entry that a sink received. */
export interface Change {
  readonly keyGroup: number
  readonly state: string
  readonly key: Uint8Array
  readonly value: Uint8Array | undefined
}

/** A sink that keeps copies, in order. */
export class Segment implements ChangeSink {
  readonly changes: Change[] = []
  append(keyGroup: number, state: string, key: Uint8Array, value: Uint8Array | undefined): void {
    this.changes.push({ keyGroup, state, key: key.slice(), value: value?.slice() })
  }
}

/** Runs a snapshot to its end. */
export function finish(snapshot: StateSnapshot): void {
  while (!snapshot.step(1));
}

/** Restores segments, given oldest first, the way a restore reads them: newest change first. */
export function restoreFrom(
  backend: KeyedStateBackend,
  source: KeyedStateBackend,
  segments: readonly Segment[],
): void {
  backend.beginRestore(source.declarations())
  feed(backend, segments)
  backend.endRestore(1)
}

/** Restores the changes of segments, oldest first, into a backend. */
export function feed(backend: KeyedStateBackend, segments: readonly Segment[]): void {
  for (const segment of [...segments].reverse()) {
    for (const { keyGroup, state, key, value } of [...segment.changes].reverse()) {
      backend.restore(keyGroup, state, key, value)
    }
  }
}
