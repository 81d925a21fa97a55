import { describe, expect, it } from 'vitest'
import { chainGraph } from '../../../src/dataflow/plan/chain-graph.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import type { Sink } from '../../../src/operators/port/sink.ts'

const nowhere = { guarantee: 'none', createWriter: () => ({}) } as unknown as Sink<unknown>

function chainsOf(build: (env: StreamExecutionEnvironment) => void, parallelism = 1) {
  const env = new StreamExecutionEnvironment({ parallelism })
  build(env)
  const graph = env.graph()
  const { chains, chainOf } = chainGraph(graph)
  for (const node of graph.nodes) expect(chainOf.get(node.id)!.members).toContain(node)
  return chains
}

const names = (chains: ReturnType<typeof chainsOf>): string[][] =>
  chains.map((chain) => chain.members.map((node) => node.name))

describe('chainGraph', () => {
  it('joins forward neighbours of equal parallelism, including branches', () => {
    const chains = chainsOf((env) => {
      const numbers = env.fromElements([1]).map((n) => n + 1)
      numbers.filter((n) => n > 1).sinkTo(nowhere)
      numbers.sinkTo(nowhere).name('Other')
    })
    expect(names(chains)).toEqual([['Elements', 'Map', 'Filter', 'Sink', 'Other']])
    expect(chains[0]!.innerEdges).toHaveLength(4)
    expect(chains[0]!.inEdges).toEqual([])
    expect(chains[0]!.outEdges).toEqual([])
  })

  it('joins a side output', () => {
    const tag = new OutputTag<number>('side')
    const chains = chainsOf((env) => {
      env
        .fromElements([1])
        .process<number>(() => ({ processElement: (n, context) => context.output(tag, n) }))
        .getSideOutput(tag)
        .sinkTo(nowhere)
    })
    expect(names(chains)).toEqual([['Elements', 'Process', 'Sink']])
    expect(chains[0]!.innerEdges.map((edge) => edge.sideOutputTag)).toEqual([undefined, 'side'])
  })

  it('begins a new chain after a shuffle, a change of parallelism, a union, and disableChaining', () => {
    const chains = chainsOf((env) => {
      const a = env.fromElements([1])
      const b = a.rebalance().map((n) => n)
      const c = b
        .map((n) => n)
        .name('Wide')
        .setParallelism(2)
      const d = a
        .union(c)
        .map((n) => n)
        .name('Both')
      d.map((n) => n)
        .name('Apart')
        .disableChaining()
        .sinkTo(nowhere)
    })
    expect(names(chains)).toEqual([['Elements'], ['Map'], ['Wide'], ['Both'], ['Apart', 'Sink']])
    expect(chains[3]!.inEdges.map((edge) => edge.partitioning.kind)).toEqual([
      'forward',
      'rebalance',
    ])
  })

  it('uses channels into a two-input operator, even from the same chain', () => {
    const chains = chainsOf((env) => {
      const a = env.fromElements([1])
      a.connect(a.map(String))
        .process<number>(() => ({ processElement1() {}, processElement2() {} }))
        .sinkTo(nowhere)
    })
    expect(names(chains)).toEqual([
      ['Elements', 'Map'],
      ['CoProcess', 'Sink'],
    ])
    expect(chains[1]!.inEdges.map((edge) => edge.input)).toEqual([0, 1])
    expect(chains[0]!.outEdges).toEqual(chains[1]!.inEdges)
  })
})
