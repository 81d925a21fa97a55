import { expect } from 'vitest'
import { keyGroupOf, keyGroupRangeOf, subtaskOfKeyGroup } from '../../src/core/key-group.ts'
import { type Random, seededRandom } from '../../src/core/random.ts'
import { float64Serializer, stringSerializer } from '../../src/core/serializer.ts'
import type { StateSnapshot } from '../../src/state/port/change.ts'
import { listState, mapState, reducingState, valueState } from '../../src/state/port/descriptors.ts'
import type { KeyedStateBackend } from '../../src/state/port/keyed-state-backend.ts'
import type { StateStoreType } from '../../src/state/store/state-store.ts'
import { type Backends, feed, MAX_PARALLELISM, Segment, show, text } from './keyed-state-fixture.ts'

const KEYS = Array.from({ length: 40 }, (_, i) => `key-${i}`)
const NAMESPACES = ['', 'window']

/** All state of one key and namespace in plain values. */
interface Cell {
  value: string | undefined
  list: string[]
  map: Map<string, number>
  sum: number | undefined
  timers: Set<number>
}

type Model = Map<string, Cell>

const emptyModel = (): Model => {
  const model: Model = new Map()
  for (const key of KEYS) {
    for (const namespace of NAMESPACES) {
      const cell = { value: undefined, list: [], map: new Map(), sum: undefined, timers: new Set() }
      model.set(`${key}/${namespace}`, cell as Cell)
    }
  }
  return model
}

/** One subtask: its backend, handles, the segment that collects what leaves memory. */
class Subtask {
  readonly backend: KeyedStateBackend
  readonly value
  readonly list
  readonly map
  readonly sum
  readonly timers
  collecting = new Segment()

  constructor(backend: KeyedStateBackend) {
    this.backend = backend
    backend.setSpillSink(this.collecting)
    this.value = backend.value(valueState('value', { serializer: stringSerializer }))
    this.list = backend.list(listState<string>('list', { serializer: stringSerializer }))
    this.map = backend.map(
      mapState<string, number>('map', {
        keySerializer: stringSerializer,
        serializer: float64Serializer,
      }),
    )
    this.sum = backend.reducing(reducingState<number>('sum', (a, b) => a + b))
    this.timers = backend.timers('timers')
  }

  select(key: string, namespace: string): void {
    const bytes = text(key)
    this.backend.setCurrentKey(bytes, keyGroupOf(bytes, MAX_PARALLELISM))
    this.backend.setCurrentNamespace(text(namespace))
  }

  snapshot(checkpointId: number, full: boolean): { segment: Segment; copy: StateSnapshot } {
    const segment = this.collecting
    this.collecting = new Segment()
    const copy = this.backend.snapshot(checkpointId, segment, full)
    this.backend.setSpillSink(this.collecting)
    return { segment, copy }
  }
}

/**
 * A job of some subtasks under random operations, with checkpoints and restores; fails when state and
 * a model of plain maps differ.
 */
export class KeyedStateSimulation {
  private readonly backends: Backends
  private readonly random: Random
  private readonly storeType: StateStoreType
  private readonly budget: number
  private subtasks: Subtask[] = []
  private model = emptyModel()
  private chain: Segment[] = []
  private completed: { readonly chain: Segment[]; readonly model: Model } | undefined
  private running: StateSnapshot[] = []
  private afterCopy: (() => void) | undefined
  private checkpoints = 0
  /** Restores so far. */
  restores = 0

  constructor(backends: Backends, seed: number, storeType: StateStoreType, budget: number) {
    this.backends = backends
    this.random = seededRandom(seed)
    this.storeType = storeType
    this.budget = budget
  }

  /** Runs that many random steps. */
  async run(steps: number): Promise<void> {
    await this.start(2, undefined)
    for (let step = 0; step < steps; step++) {
      const dice = this.random.below(400)
      if (dice < 8) this.checkpoint(dice === 0)
      else if (dice < 60) this.copySome()
      else if (dice === 60 && this.completed !== undefined) await this.fail()
      else this.operate()
    }
    this.compare()
    // A short run may have had no failure.
    if (this.completed !== undefined) await this.fail()
  }

  private async start(parallelism: number, from: typeof this.completed): Promise<void> {
    const declarations = this.subtasks[0]?.backend.declarations()
    for (const subtask of this.subtasks) subtask.backend.close()
    this.subtasks = []
    for (let index = 0; index < parallelism; index++) {
      const keyGroups = keyGroupRangeOf(index, parallelism, MAX_PARALLELISM)
      const { storeType, budget } = this
      const backend = await this.backends.create({ storeType, budget, keyGroups })
      if (from !== undefined && declarations !== undefined) {
        backend.setSpillSink(new Segment())
        backend.beginRestore(declarations)
        feed(backend, from.chain)
        backend.endRestore(this.checkpoints)
      }
      this.subtasks.push(new Subtask(backend))
    }
  }

  /** A barrier: the cut is the model now, the copy happens between later operations. */
  private checkpoint(full: boolean): void {
    this.checkpoints += 1
    this.finishCopy()
    const model = structuredClone(this.model)
    const parts = this.subtasks.map((subtask) => subtask.snapshot(this.checkpoints, full))
    this.running = parts.map(({ copy }) => copy)
    this.chain = [...(full ? [] : this.chain), ...parts.map(({ segment }) => segment)]
    const chain = this.chain
    const isAborted = this.random.below(3) === 0
    this.afterCopy = () => {
      if (!isAborted) this.completed = { chain, model }
    }
  }

  private copySome(): void {
    const copy = this.running[0]
    // With the standing clock a budget of 0 ms ends at once.
    if (copy?.step(0)) this.running.shift()
    if (this.running.length === 0) this.finishCopy()
  }

  private finishCopy(): void {
    for (const copy of this.running) while (!copy.step(0));
    this.running = []
    this.afterCopy?.()
    this.afterCopy = undefined
  }

  /** All subtasks die, perhaps in the middle of a copy, and start again elsewhere. */
  private async fail(): Promise<void> {
    this.restores += 1
    this.running = []
    this.afterCopy = undefined
    const { chain, model } = this.completed!
    await this.start(1 + this.random.below(3), this.completed)
    this.chain = chain
    this.model = structuredClone(model)
    this.compare()
  }

  private operate(): void {
    const key = KEYS[this.random.below(KEYS.length)]!
    const namespace = NAMESPACES[this.random.below(2)]!
    const cell = this.model.get(`${key}/${namespace}`)!
    const subtask = this.subtaskOf(key)
    subtask.select(key, namespace)
    const n = this.random.below(1000)
    switch (this.random.below(12)) {
      case 0:
        subtask.value.clear()
        cell.value = undefined
        return
      case 1:
      case 2:
        cell.value = 'v'.repeat(this.random.below(60)) + n
        subtask.value.update(cell.value)
        return
      case 3:
        // Some so long that the elements before them soon become a chunk.
        cell.list.push(`${n}`, 'x'.repeat(n % 3 === 0 ? 6_000 : 1))
        subtask.list.addAll(cell.list.slice(-2))
        return
      case 4:
        cell.list = n % 2 === 0 ? [] : [`${n}`]
        subtask.list.update(cell.list)
        return
      case 5:
      case 6:
        cell.map.set(`m${n % 7}`, n)
        subtask.map.put(`m${n % 7}`, n)
        return
      case 7:
        cell.map.delete(`m${n % 7}`)
        subtask.map.remove(`m${n % 7}`)
        return
      case 8:
        if (n % 4 === 0) {
          cell.map.clear()
          subtask.map.clear()
        }
        expect([...subtask.map.entries()]).toEqual(sortedEntries(cell.map))
        return
      case 9:
        cell.sum = (cell.sum ?? 0) + n
        subtask.sum.add(n)
        return
      case 10:
        if (cell.timers.has(n % 20)) subtask.timers.delete(n % 20)
        else subtask.timers.register(n % 20)
        if (!cell.timers.delete(n % 20)) cell.timers.add(n % 20)
        return
      default:
        this.fire(subtask)
    }
  }

  private fire(subtask: Subtask): void {
    const timer = subtask.timers.poll(this.random.below(10))
    if (timer === undefined) return
    const cell = this.model.get(`${show(timer.key)}/${show(timer.namespace)}`)!
    expect(cell.timers.delete(timer.timestamp)).toBe(true)
  }

  private compare(): void {
    for (const [name, cell] of this.model) {
      const [key, namespace] = name.split('/') as [string, string]
      const subtask = this.subtaskOf(key)
      subtask.select(key, namespace)
      const { value, list, map, sum } = subtask
      expect([name, value.value(), list.get(), [...map.entries()], sum.get()]).toEqual([
        name,
        cell.value,
        cell.list,
        sortedEntries(cell.map),
        cell.sum,
      ])
    }
    for (const subtask of this.subtasks) {
      expect(subtask.timers.peek()).toBe(this.earliestTimer(subtask))
    }
  }

  private earliestTimer(subtask: Subtask): number | undefined {
    let earliest: number | undefined
    for (const [name, { timers }] of this.model) {
      if (this.subtaskOf(name.split('/')[0]!) !== subtask) continue
      for (const time of timers) if (earliest === undefined || time < earliest) earliest = time
    }
    return earliest
  }

  private subtaskOf(key: string): Subtask {
    const group = keyGroupOf(text(key), MAX_PARALLELISM)
    return this.subtasks[subtaskOfKeyGroup(group, this.subtasks.length, MAX_PARALLELISM)]!
  }
}

function sortedEntries(map: ReadonlyMap<string, number>): [string, number][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1))
}
