import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootstrapWith } from '../../../src/runtime/savepoints/bootstrap.ts'
import { SavepointReader } from '../../../src/runtime/savepoints/reader.ts'
import { SavepointWriter } from '../../../src/runtime/savepoints/writer.ts'
import type { ValueState } from '../../../src/state/port/handles.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import { checkpointFolder } from '../job-fixture.ts'
import {
  ALL,
  all,
  COUNT,
  type CountingRun,
  countWords,
  keepRules,
  keepWords,
  RECENT,
  RULES,
  savepointOf,
  startCounting,
} from './counting-job.ts'

const WORDS = ['to', 'be', 'or', 'not', 'to', 'be', 'to']

async function* counts(reader: SavepointReader): AsyncGenerator<readonly [string, number]> {
  yield* reader.readKeyedState<string, readonly [string, number]>('counts', () => {
    let count: ValueState<number>
    return {
      open(context) {
        count = context.getState(COUNT)
      },
      readKey: (key, _context, out) => out.collect([key, count.value()!]),
    }
  })
}

/** What the job emits for further words after a restore. */
async function goOn(run: CountingRun): Promise<string[]> {
  await using cluster = new MiniCluster()
  const { job, values } = startCounting(cluster, run)
  await job.waitFor('RUNNING')
  const expected = 3 * (run.words.length - WORDS.length)
  await until('all values are emitted', () => values().length >= expected)
  return [...values()].sort()
}

describe('SavepointWriter', () => {
  const folder = checkpointFolder()
  const at = (name: string): string => join(folder.path, name)
  let old: string
  let unchanged: string[]

  beforeAll(async () => {
    old = await savepointOf({ words: WORDS, checkpoints: folder.path })
    unchanged = await goOn({ words: [...WORDS, 'to'], checkpoints: folder.path, from: old })
  })
  afterAll(() => folder[Symbol.dispose]())

  it('changes one operator and keeps the others, and a job goes on from it', async () => {
    await using reader = await SavepointReader.read(old)
    const tenTimes = bootstrapWith(counts(reader))
      .keyBy(([word]) => word)
      .transform(() => {
        let count: ValueState<number>
        return {
          open(context) {
            count = context.getState(COUNT)
          },
          processElement: ([, value]) => count.update(10 * value),
        }
      })
    const path = await SavepointWriter.fromExistingSavepoint(old)
      .removeOperator('counts')
      .withOperator('counts', tenTimes)
      .write(at('changed'))
    expect(unchanged.filter((line) => line.startsWith('to'))).toEqual(['to 4'])
    for (const parallelism of [1, 3]) {
      const words = [...WORDS, 'to']
      const after = await goOn({ words, checkpoints: folder.path, from: path, parallelism })
      expect(after.filter((line) => line.startsWith('to'))).toEqual(['to 31'])
      expect(after).toContain('rule 2')
    }
  })

  it('makes all kinds of state from data, with the functions of the job', async () => {
    const path = await SavepointWriter.newSavepoint(16)
      .withOperator(
        'counts',
        bootstrapWith(WORDS)
          .keyBy((word) => word)
          .transform(countWords),
      )
      .withOperator('lists', bootstrapWith(WORDS).transform(keepWords))
      .withOperator('rules', bootstrapWith(WORDS).broadcast(RULES).transform(keepRules))
      .write(at('new'))
    await using reader = await SavepointReader.read(path)
    expect((await all(counts(reader))).sort()).toEqual([
      ['be', 2],
      ['not', 1],
      ['or', 1],
      ['to', 3],
    ])
    expect(reader.readListState('lists', RECENT)).toEqual(WORDS)
    expect(reader.readUnionState('lists', ALL)).toEqual(WORDS)
    const [first] = reader.readBroadcastState('rules', RULES)
    expect(first).toEqual(['to', 2])
    await using cluster = new MiniCluster()
    const run = { words: ['to'], checkpoints: folder.path, from: path, parallelism: 1 }
    const { job, values } = startCounting(cluster, run)
    await job.waitFor('RUNNING')
    await until('all values are emitted', () => values().length >= 3)
    expect([...values()].sort()).toEqual(['kept 8', 'rule 2', 'to 4'])
  })

  it('gives the state of an operator to another uid', async () => {
    const path = await SavepointWriter.fromExistingSavepoint(old)
      .changeOperatorIdentifier('counts', 'totals')
      .write(at('renamed'))
    const words = [...WORDS, 'to']
    const after = await goOn({
      words,
      checkpoints: folder.path,
      from: path,
      countsUid: 'totals',
    })
    expect(after.filter((line) => line.startsWith('to'))).toEqual(['to 4'])
  })

  it('leaves the old savepoint as it is', async () => {
    await SavepointWriter.fromExistingSavepoint(old).removeOperator('counts').write(at('less'))
    await using less = await SavepointReader.read(at('less'))
    await using reader = await SavepointReader.read(old)
    expect(less.operators.map(({ uid }) => uid)).not.toContain('counts')
    expect(await all(counts(reader))).toHaveLength(4)
  })

  it('refuses changes of operators that are not there or are there already', async () => {
    const none = bootstrapWith<string>([]).transform(keepWords)
    const writer = () => SavepointWriter.fromExistingSavepoint(old)
    await expect(writer().removeOperator('nothing').write(at('a'))).rejects.toThrow(
      'no operator "nothing"; it has counts, ',
    )
    await expect(writer().withOperator('counts', none).write(at('a'))).rejects.toThrow(
      'call removeOperator("counts") before',
    )
    await expect(
      writer().changeOperatorIdentifier('rules', 'lists').write(at('a')),
    ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('does not write over a savepoint', async () => {
    await expect(SavepointWriter.fromExistingSavepoint(old).write(old)).rejects.toThrow(
      'holds a savepoint already',
    )
  })

  it('fails with what the function throws, and leaves no savepoint', async () => {
    const failing = bootstrapWith([1])
      .keyBy((n) => n)
      .transform(() => ({
        processElement() {
          throw new Error('no rate for 1')
        },
      }))
    const writing = SavepointWriter.newSavepoint(16).withOperator('a', failing).write(at('failed'))
    await expect(writing).rejects.toThrow('no rate for 1')
    await expect(SavepointReader.read(at('failed'))).rejects.toMatchObject({
      code: 'CHECKPOINT_NOT_FOUND',
    })
  })
})
