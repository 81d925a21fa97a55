import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootstrapWith } from '../../../src/runtime/savepoints/bootstrap.ts'
import { SavepointReader } from '../../../src/runtime/savepoints/reader.ts'
import { SavepointWriter } from '../../../src/runtime/savepoints/writer.ts'
import { checkpointFolder } from '../job-fixture.ts'
import { all, keepWords, savepointOf } from './counting-job.ts'

const refusal = (sentence: string) =>
  expect.objectContaining({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining(sentence),
  })

class Counting {
  open(): void {}
  readKey(): void {}
}

describe('a program in plain JavaScript that reads a savepoint', () => {
  const folder = checkpointFolder()
  let reader: SavepointReader

  beforeAll(async () => {
    reader = await SavepointReader.read(
      await savepointOf({ words: ['to', 'be'], checkpoints: folder.path }),
    )
  })
  afterAll(async () => {
    await reader.close()
    folder[Symbol.dispose]()
  })

  it.each<[string, unknown, string]>([
    ['no factory', undefined, 'readKeyedState(...) got undefined, but takes a function that makes'],
    ['the object itself', new Counting(), 'got an instance of Counting, but takes a function'],
    ['a class', Counting, 'got the class Counting, but takes a function that makes an object: '],
    ['a factory of nothing', () => {}, 'got a function that makes undefined, but takes'],
    ['a function without readKey', () => ({ open() {} }), 'an object with open and readKey'],
  ])('learns what readKeyedState takes, given %s', async (_, create, sentence) => {
    await expect(all(reader.readKeyedState('counts', create as never))).rejects.toEqual(
      refusal(sentence),
    )
  })

  it('learns that a state has a descriptor', async () => {
    const none = undefined as never
    expect(() => reader.readListState('lists', none)).toThrow(refusal('readListState(...) got'))
    expect(() => reader.readUnionState('lists', none)).toThrow(refusal('readUnionState(...) got'))
    expect(() => reader.readBroadcastState('rules', none)).toThrow(refusal("mapState('name')"))
    const reading = reader.readKeyedState('counts', () => ({
      open: (context) => void context.getState('count' as never),
      readKey() {},
    }))
    await expect(all(reading)).rejects.toEqual(refusal('got the string "count", but takes the'))
  })

  it('learns that a savepoint has a path', async () => {
    const sentence = 'got undefined, but takes the path or URL of a savepoint'
    await expect(SavepointReader.read(undefined as never)).rejects.toEqual(refusal(sentence))
  })
})

describe('a program in plain JavaScript that writes a savepoint', () => {
  it('learns what a savepoint is made of', async () => {
    const writer = SavepointWriter.newSavepoint(16)
    const rows = bootstrapWith(['a'])
    expect(() => writer.withOperator('a', undefined as never)).toThrow(
      refusal('withOperator("a", ...) got undefined, but takes new state: bootstrapWith'),
    )
    expect(() => writer.withOperator('a', rows as never)).toThrow(refusal('but takes new state'))
    expect(() => SavepointWriter.fromExistingSavepoint(undefined as never)).toThrow(
      refusal('fromExistingSavepoint(...) got undefined, but takes the path or URL'),
    )
    await expect(writer.write(undefined as never)).rejects.toEqual(refusal('write(...) got'))
  })

  it('learns that the function of state comes from a factory', async () => {
    const rows = bootstrapWith(['a'])
    const sentence = 'transform(...) got an object with initializeState, processElement'
    expect(() => rows.transform(keepWords() as never)).toThrow(refusal(sentence))
    const keyed = rows.keyBy((word) => word)
    expect(() => keyed.transform(undefined as never)).toThrow(refusal('transform(...) got'))
    expect(() => rows.broadcast().transform({} as never)).toThrow(refusal('transform(...) got'))
    expect(() => rows.keyBy(undefined as never)).toThrow(refusal('keyBy(...) got undefined'))
    for (const made of [
      keyed.transform(() => ({}) as never),
      rows.transform(() => ({}) as never),
    ]) {
      await expect(made.run('a', 16)).rejects.toEqual(refusal('an object with processElement'))
    }
  })
})
