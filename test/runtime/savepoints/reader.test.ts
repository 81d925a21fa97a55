import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { int53Serializer } from '../../../src/core/serializer.ts'
import type { KeyedStateReaderFunction } from '../../../src/runtime/savepoints/keyed-reader.ts'
import { SavepointReader } from '../../../src/runtime/savepoints/reader.ts'
import { listState, valueState } from '../../../src/state/port/descriptors.ts'
import type { MapState, ValueState } from '../../../src/state/port/handles.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import { checkpointFolder } from '../job-fixture.ts'
import {
  ALL,
  all,
  COUNT,
  LENGTHS,
  RECENT,
  RULES,
  savepointOf,
  startCounting,
} from './counting-job.ts'

const WORDS = ['to', 'be', 'or', 'not', 'to', 'be', 'to']

function readCounts(): KeyedStateReaderFunction<string, string> {
  let count: ValueState<number>
  let lengths: MapState<number, string>
  return {
    open(context) {
      count = context.getState(COUNT)
      lengths = context.getMapState(LENGTHS)
    },
    readKey(key, context, out) {
      const timers = context.registeredEventTimeTimers().join(' ')
      out.collect(`${key} ${count.value()} ${lengths.get(key.length)} at ${timers}`)
    },
  }
}

describe('SavepointReader', () => {
  const folder = checkpointFolder()
  let reader: SavepointReader
  let path: string

  beforeAll(async () => {
    path = await savepointOf({ words: WORDS, checkpoints: folder.path })
    reader = await SavepointReader.read(path)
  })
  afterAll(async () => {
    await reader.close()
    folder[Symbol.dispose]()
  })

  it('reads the values, maps and timers of every key of an operator', async () => {
    const rows = await all(reader.readKeyedState('counts', readCounts))
    expect(rows.sort()).toEqual([
      'be 2 be at 1000000 2000000',
      'not 1 not at 1000000',
      'or 1 or at 1000000',
      'to 3 to at 1000000 2000000 3000000',
    ])
  })

  it('reads the lists, union lists and broadcast maps of an operator', () => {
    expect(reader.readListState('lists', RECENT).sort()).toEqual([...WORDS].sort())
    expect(reader.readUnionState('lists', ALL).sort()).toEqual([...WORDS].sort())
    expect(reader.readBroadcastState('rules', RULES)).toEqual([
      ['to', 2],
      ['be', 2],
      ['or', 2],
      ['not', 3],
    ])
  })

  it('lists the operators with their keyed states', () => {
    const counts = reader.operators.find(({ uid }) => uid === 'counts')
    expect(counts).toMatchObject({ parallelism: 2, maxParallelism: 16 })
    expect(counts!.states.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'count value',
      'lengths map',
    ])
  })

  it('reads the checkpoint of a running job, given the root of its storage', async () => {
    using checkpoints = checkpointFolder()
    await using cluster = new MiniCluster()
    const { job, values } = startCounting(cluster, { words: WORDS, checkpoints: checkpoints.path })
    await job.waitFor('RUNNING')
    await until('all values are emitted', () => values().length >= 3 * WORDS.length)
    const id = await job.triggerCheckpoint()
    await using checkpoint = await SavepointReader.read(`${job.jobId}/chk-${id}`, {
      storage: checkpoints.path,
    })
    expect(await all(checkpoint.readKeyedState('counts', readCounts))).toHaveLength(4)
  })

  it('names what the savepoint has when it has not what is asked for', async () => {
    const declaring = (descriptor: typeof COUNT) =>
      all(
        reader.readKeyedState('counts', () => ({
          open: (context) => void context.getState(descriptor),
          readKey() {},
        })),
      )
    await expect(all(reader.readKeyedState('count', readCounts))).rejects.toThrow(
      /no operator "count"; it has counts, /,
    )
    await expect(declaring(valueState('total'))).rejects.toThrow(
      'no state "total" in the savepoint; it has count, lengths',
    )
    await expect(
      declaring(valueState('count', { serializer: int53Serializer })),
    ).rejects.toMatchObject({ code: 'STATE_CONFLICT' })
    expect(() => reader.readListState('lists', listState('newest'))).toThrow(
      'no state "function/newest"',
    )
  })

  it('refuses an async readKey, whose results would be missing', async () => {
    const readKey = async (): Promise<void> => {}
    const reading = all(
      reader.readKeyedState('counts', () => ({
        open: (context) => void context.getState(COUNT),
        readKey,
      })),
    )
    await expect(reading).rejects.toThrow('readKey returned a promise')
  })

  it('says that a folder holds no savepoint', async () => {
    await expect(SavepointReader.read(folder.path)).rejects.toMatchObject({
      code: 'CHECKPOINT_NOT_FOUND',
    })
  })
})
