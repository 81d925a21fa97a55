import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Clock } from '../../../src/core/clock.ts'
import { SharedThread } from '../../../src/serving/catalog/shared-thread.ts'
import type { LocalSlotAsker } from '../../../src/serving/catalog/slot-asker.ts'
import { ExcludedKeys } from '../../../src/serving/top-k/excluded-keys.ts'
import { LocalTopK } from '../../../src/serving/top-k/top-k.ts'
import type { StateVersion } from '../../../src/state/catalog/key-class.ts'
import { VectorFixture } from '../../state/vector/model.ts'

/** Length of a turn of a pass, ms. */
const TURN_MS = 8

interface Wait {
  readonly ms: number
  isCanceled: boolean
  end(): void
}

/** Top lists of two rows; the test decides when a wait is over. */
class World {
  readonly waits: Wait[] = []
  private nowMs = 1000
  private readonly tops: LocalTopK
  private readonly version: StateVersion

  constructor() {
    const fixture = new VectorFixture()
    fixture.put('a', 1, 0, 0, 0)
    fixture.put('b', 2, 0, 0, 0)
    this.version = { version: 1, readers: [fixture.reader()] } as unknown as StateVersion
    const clock: Clock = {
      nowMs: () => this.nowMs,
      monotonicMs: () => this.nowMs,
      after: (ms, end) => {
        const wait: Wait = { ms, end, isCanceled: false }
        this.waits.push(wait)
        return () => {
          wait.isCanceled = true
        }
      },
    }
    const thread = new SharedThread(clock)
    // It is asked once in each turn of a pass.
    thread.isShared = () => {
      this.nowMs += TURN_MS
      return false
    }
    this.tops = new LocalTopK(undefined as unknown as LocalSlotAsker, clock, thread)
  }

  /** Turns of all passes so far. */
  get turns(): number {
    return (this.nowMs - 1000) / TURN_MS
  }

  /** The best key for a client. */
  async ask(client: number): Promise<string> {
    const query = {
      vector: Float32Array.of(1, 0, 0, 0),
      k: 1,
      suffix: new Uint8Array(0),
      exclude: new ExcludedKeys([]),
    }
    const terms = { deadline: Number.POSITIVE_INFINITY, owner: { gone: undefined, client } }
    const ranked = await this.tops.search(this.version, query, terms as never)
    return ranked.toList()[0]!.key
  }

  /** Asks for clients that were answered before in one pass. */
  async askTogether(clients: number): Promise<void> {
    await Promise.all(Array.from({ length: clients }, (_, client) => this.ask(client)))
  }
}

async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await setImmediate()
}

describe('top lists of clients that ask again as soon as they are answered', () => {
  it('share a pass although one of them comes first', async () => {
    const world = new World()
    await world.askTogether(3)
    expect(world.waits).toEqual([])
    const pass = world.turns
    const first = world.ask(0)
    await someTurns()
    expect(world.waits).toMatchObject([{ ms: (pass * TURN_MS) / 4, isCanceled: false }])
    const others = [world.ask(1), world.ask(2)]
    expect(await Promise.all([first, ...others])).toEqual(['b', 'b', 'b'])
    expect([world.turns, world.waits]).toMatchObject([2 * pass, [{ isCanceled: true }]])
  })

  it('come without the others when the wait is over', async () => {
    const world = new World()
    await world.askTogether(3)
    const first = world.ask(0)
    await someTurns()
    world.waits[0]!.end()
    expect(await first).toBe('b')
    expect(await world.ask(0)).toBe('b')
    expect(world.waits).toHaveLength(1)
  })
})
