import { expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { keyGroupOf } from '../../../src/core/key-group.ts'
import { int53Serializer, type Serializer, stringSerializer } from '../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'

it('a job reports which key groups the records of a keyed operator belong to', async () => {
  const env = new StreamExecutionEnvironment()
  const numbers = new GeneratorSource<number>({ generate: (i) => i, ratePerSecond: 2000 })
  env
    .fromSource(numbers, undefined, 'numbers', {
      serializer: int53Serializer as Serializer<number>,
    })
    .uid('numbers')
    .keyBy(() => 'hot', stringSerializer)
    .process<never>(() => ({ processElement() {} }))
    .uid('keyed')
  await using cluster = new MiniCluster({})
  const job = cluster.startLocal(env.graph('skewed'))
  await job.waitFor('RUNNING')
  const records = await until('records are counted', async () => {
    const found = await job.keyGroupRecords('keyed')
    return Object.keys(found).length > 0 ? found : undefined
  })
  const hot = keyGroupOf(new TextEncoder().encode('hot'), 128)
  expect(Object.keys(records)).toEqual([String(hot)])
  expect(await job.keyGroupRecords('numbers')).toEqual({})
})
