import { describe, expect, it } from 'vitest'
import { chainGraph } from '../../src/dataflow/plan/chain-graph.ts'
import { graphFingerprint } from '../../src/dataflow/plan/graph-fingerprint.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import type { Sink } from '../../src/operators/port/sink.ts'

const nowhere = { guarantee: 'none', createWriter: () => ({}) } as unknown as Sink<unknown>

function wordCount(parallelism = 2): StreamExecutionEnvironment {
  const env = new StreamExecutionEnvironment({ parallelism })
  env
    .fromElements(['a b', 'b c'])
    .flatMap((line) => line.split(' '))
    .keyBy((word) => word)
    .process(() => ({ processElement: (word, _, out) => out.collect(word) }))
    .name('Count')
    .uid('count')
    .sinkTo(nowhere)
  return env
}

describe('StreamExecutionEnvironment', () => {
  it('builds nodes in topological order, with a partitioning that depends on the parallelism', () => {
    const graph = wordCount().graph('word-count')
    expect(graph.nodes.map((node) => [node.name, node.parallelism])).toEqual([
      ['Elements', 1],
      ['FlatMap', 2],
      ['Count', 2],
      ['Sink', 2],
    ])
    expect(graph.edges.map((edge) => edge.partitioning.kind)).toEqual([
      'rebalance',
      'hash',
      'forward',
    ])
  })

  it('gives the same fingerprint for the same build and another for another parallelism', () => {
    expect(graphFingerprint(wordCount().graph())).toBe(graphFingerprint(wordCount().graph()))
    expect(graphFingerprint(wordCount(3).graph())).not.toBe(graphFingerprint(wordCount().graph()))
  })

  it('chains the sink to its input and nothing across a shuffle', () => {
    const { chains } = chainGraph(wordCount().graph())
    expect(chains.map((chain) => chain.members.map((node) => node.name))).toEqual([
      ['Elements'],
      ['FlatMap'],
      ['Count', 'Sink'],
    ])
  })
})
