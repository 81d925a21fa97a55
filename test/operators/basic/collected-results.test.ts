import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { noWatermarks } from '../../../src/dataflow/watermark-strategy.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'

const environment = (): StreamExecutionEnvironment =>
  new StreamExecutionEnvironment({
    parallelism: 2,
    executor: new LocalExecutor({ 'restart-strategy.type': 'none' }),
  })

describe('executeAndCollect', () => {
  it('gives all results of a bounded stream, more than wait at a time', async () => {
    const results: number[] = []
    for await (const value of environment().fromSequence(1, 5000).executeAndCollect()) {
      results.push(value)
    }
    expect(results.sort((a, b) => a - b)).toEqual(Array.from({ length: 5000 }, (_, i) => i + 1))
  })

  it('gives the records of a stream by key, too', async () => {
    const keyed = environment()
      .fromSequence(1, 6)
      .keyBy((n) => n % 3)
    const limited = await keyed.executeAndCollect('keyed', 10)
    expect(limited.sort()).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('holds back a stream without end, and cancels it when the reader leaves', async () => {
    let generated = 0
    const source = new GeneratorSource<number>({
      generate: (index) => {
        generated += 1
        return index
      },
    })
    const stream = environment().fromSource(source, noWatermarks())
    const results: number[] = []
    for await (const value of stream.executeAndCollect()) {
      results.push(value)
      if (results.length === 3000) break
    }
    expect(results).toHaveLength(3000)
    const atEnd = generated
    await new Promise((resolve) => setImmediate(resolve))
    expect(generated).toBe(atEnd)
  })

  it('gives as many results as asked for, or all, and then ends the job', async () => {
    let generated = 0
    const generate = (index: number): number => {
      generated += 1
      return index
    }
    const endless = environment().fromSource(new GeneratorSource({ generate }), noWatermarks())
    expect(await endless.executeAndCollect('first', 3)).toEqual([0, 1, 2])
    const atEnd = generated
    await new Promise((resolve) => setImmediate(resolve))
    expect(generated).toBe(atEnd)
    const two = environment().fromElements(['a', 'b'])
    expect(await two.executeAndCollect('two', 5)).toEqual(['a', 'b'])
  })

  it('drops what was not read when the reader closes it, and ends the job', async () => {
    const results = environment().fromSequence(1, 5000).executeAndCollect()
    expect((await results.next()).done).toBe(false)
    await results.close()
    expect(await results.next()).toEqual({ done: true, value: undefined })
  })

  it('throws the failure of the job to the reader, after the results before it', async () => {
    const results = environment()
      .fromElements([1, 2, 3])
      .map((n) => {
        if (n === 3) throw new Error('three')
        return n
      })
      .executeAndCollect()
    await expect(async () => {
      for await (const _ of results);
    }).rejects.toMatchObject({ code: 'JOB_FAILED' })
  })

  it('says what is missing without an executor of the calling thread', () => {
    const stream = new StreamExecutionEnvironment().fromSequence(1, 2)
    expect(() => stream.executeAndCollect()).toThrow('create it with a LocalExecutor')
  })
})
