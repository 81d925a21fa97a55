import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { JobHarness } from '../../../src/testing/job-harness.ts'

interface Change {
  readonly id: number
  readonly name: string | null
}

function tableJob(scope: 'keyed' | 'global'): StreamGraph {
  const env = new StreamExecutionEnvironment()
  const changes = new GeneratorSource<Change>({ generate: (id) => ({ id, name: '' }) })
  const table = env
    .table(changes, {
      keyOf: ({ id }) => id,
      rowOf: ({ name }) => name,
      queryableName: 'customers',
      scope,
    })
    .uid('customers')
  env
    .fromSource(new GeneratorSource<number>({ generate: (n) => n }), undefined, 'Orders')
    .uid('orders')
    .joinTable(
      table,
      (n) => n,
      (n, name) => `${n} ${name}`,
    )
    .uid('joined')
    .sinkTo(new MemorySink<string>())
    .uid('sink')
  return env.graph('customers')
}

describe.each(['keyed', 'global'] as const)('the queryable rows of a %s table', (scope) => {
  it('are the latest of each key, also after a restore, and gone after a tombstone', async () => {
    const graph = tableJob(scope)
    const source = graph.nodes.find(({ body, uid }) => body.kind === 'source' && uid !== 'orders')!
    const feed = async (harness: JobHarness, changes: readonly Change[]): Promise<void> => {
      for (const value of changes) await harness.feed({ value, source: source.uid })
    }
    const before = await JobHarness.open(graph)
    await feed(before, [
      { id: 1, name: 'ann' },
      { id: 2, name: 'bob' },
      { id: 1, name: 'ana' },
      { id: 3, name: 'cem' },
      { id: 3, name: null },
    ])
    const restore = await before.checkpoint(1)
    await before.close()
    const harness = await JobHarness.open(tableJob(scope), { restore })
    await feed(harness, [{ id: 2, name: null }])
    const row = (id: number): unknown => harness.states.queryable('customers', id)
    expect([row(1), row(2), row(3)]).toEqual(['ana', undefined, undefined])
    await harness.feed({ value: 1, source: 'orders' })
    expect(
      harness
        .results()
        .get('sink')!
        .map(({ value }) => value),
    ).toEqual(['1 ana'])
    await harness.close()
  })

  it('have a uid that follows from that of the table, so that no job must name them', () => {
    const [first, second] = [tableJob(scope), tableJob(scope)].map(
      ({ nodes }) => nodes.find(({ name }) => name === 'Queryable: customers')!,
    )
    expect(first!.uid).toBe(second!.uid)
    expect(first).toMatchObject({ isPart: true, isSink: true, isStore: true })
  })
})
