import { describe, expect, it, onTestFinished } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { SparseOutcome } from '../../../src/serving/port/query-backend.ts'
import type { LocalModelReader } from '../../../src/serving/reader/model-reader.ts'
import { HotWeights } from '../../../src/serving/sparse/hot-weights.ts'
import { HotWeightsOfVersions } from '../../../src/serving/sparse/hot-weights-of-versions.ts'
import type { Consistency } from '../../../src/wire/model-reader.ts'
import { BLOCK, ModelWorld } from '../../contracts/model-reader-world.ts'

const ORIGIN = { slot: 1, partition: 3, offset: 7 }

function vector(ids: readonly number[]) {
  return {
    ids: Uint32Array.from(ids),
    values: new Float32Array(ids.length).fill(1),
    count: ids.length,
  }
}

describe('copies of weights', () => {
  it('are added up, and what has none is left for its block', () => {
    const hot = new HotWeights(64)
    hot.offer(5, 2.5, ORIGIN)
    hot.offer(9, 0, ORIGIN)
    const outcome = new SparseOutcome()
    outcome.withPosition = true
    outcome.open()
    const rest = hot.take(vector([4, 5, 9, 1000]), outcome)
    expect([...rest.ids.subarray(0, rest.count)]).toEqual([4, 1000])
    expect(outcome).toMatchObject({ sum: 2.5, unknown: 1, partition: 3, offset: 7, slot: 1 })
  })

  it('are those of the features that are needed most, whatever else comes by', () => {
    const hot = new HotWeights(256)
    const random = seededRandom(1)
    const frequent = Array.from({ length: 50 }, (_, n) => n * 1000)
    for (let round = 0; round < 200; round++) {
      const rest = hot.take(vector(frequent), new SparseOutcome())
      for (let k = 0; k < rest.count; k++) hot.offer(rest.ids[k]!, 1, ORIGIN)
      for (let n = 0; n < 50; n++) hot.offer(1 + random.below(2 ** 31), 1, ORIGIN)
    }
    expect(hot.take(vector(frequent), new SparseOutcome()).count).toBeLessThan(3)
  })

  it('are refused in a number that is none', () => {
    expect(() => new HotWeightsOfVersions(-1)).toThrow('hotWeights')
  })
})

const BLOCKS = 200
/** A feature of every second block. */
const IDS = Uint32Array.from({ length: BLOCKS / 2 }, (_, n) => 2 * n * BLOCK + (n % BLOCK))
const VALUES = Float32Array.from(IDS, (_, n) => 1 + (n % 3))

/** A model with more blocks than memory, whose reader has answered the example some times. */
async function warmed(): Promise<{
  readonly world: ModelWorld
  readonly reader: LocalModelReader
}> {
  const world = new ModelWorld(true)
  onTestFinished(() => world.close())
  for (let block = 0; block < BLOCKS; block++) world.put(String(block), weightsOf(block))
  world.progress(BLOCKS, Date.now())
  const reader = world.reader()
  for (let round = 0; round < 4; round++) await answerOf(reader)
  return { world, reader }
}

function weightsOf(block: number): number[] {
  return Array.from({ length: BLOCK }, (_, i) => (block * BLOCK + i) % 17)
}

async function answerOf(reader: LocalModelReader, consistency: Consistency = { level: 'live' }) {
  const answer = await reader.sparseDot('WEIGHTS', { ids: IDS, values: VALUES }, { consistency })
  if (!answer.ok) throw answer.error
  return answer
}

function sumOf(weight: (id: number) => number): number {
  return IDS.reduce((sum, id, n) => sum + weight(id) * VALUES[n]!, 0)
}

describe('a sparse product over spilled blocks', () => {
  it('asks no slot for features that it has copies of', async () => {
    const { world, reader } = await warmed()
    const before = world.asked.length
    const { value, envelope } = await answerOf(reader)
    expect(value.sum).toBeCloseTo(sumOf((id) => id % 17))
    expect(value.unknown).toBe(IDS.filter((id) => id % 17 === 0).length)
    expect(world.asked.length).toBe(before)
    // The latest write that it read: of the last even block.
    expect(envelope).toMatchObject({ partition: 0, offset: BLOCKS - 2, modelVersion: 1 })
  })

  it('sees a block that was written meanwhile, and its position', async () => {
    const { world, reader } = await warmed()
    world.put('4', new Array<number>(BLOCK).fill(1000))
    const { value, envelope } = await answerOf(reader)
    expect(value.sum).toBeCloseTo(sumOf((id) => (Math.floor(id / BLOCK) === 4 ? 1000 : id % 17)))
    expect(envelope.offset).toBe(BLOCKS)
  })

  it('sees that a block was deleted', async () => {
    const { world, reader } = await warmed()
    world.remove('4')
    const { value } = await answerOf(reader)
    expect(value.sum).toBeCloseTo(sumOf((id) => (Math.floor(id / BLOCK) === 4 ? 0 : id % 17)))
  })

  it('copies nothing that changed while the slots were asked', async () => {
    const { world } = await warmed()
    const reader = world.reader()
    const { ask } = world
    world.ask = async (slot, request) => {
      const reply = await ask.call(world, slot, request)
      world.put('4', new Array<number>(BLOCK).fill(1000))
      return reply
    }
    await answerOf(reader)
    world.ask = ask
    const { value } = await answerOf(reader)
    expect(value.sum).toBeCloseTo(sumOf((id) => (Math.floor(id / BLOCK) === 4 ? 1000 : id % 17)))
  })

  it('reads a checkpoint from the blocks', async () => {
    const { world, reader } = await warmed()
    world.completeCheckpoint()
    await answerOf(reader)
    world.put('4', new Array<number>(BLOCK).fill(1000))
    await answerOf(reader)
    const { value } = await answerOf(reader, { level: 'checkpoint' })
    expect(value.sum).toBeCloseTo(sumOf((id) => id % 17))
  })
})
