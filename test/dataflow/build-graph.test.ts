import { describe, expect, it } from 'vitest'
import { stringSerializer } from '../../src/core/serializer.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { buildJob, defineJob } from '../../src/dataflow/job/definition.ts'
import { graphFingerprint } from '../../src/dataflow/plan/graph-fingerprint.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../src/dataflow/stream-graph.ts'
import type { Sink } from '../../src/operators/port/sink.ts'

const nowhere = { guarantee: 'none', createWriter: () => ({}) } as unknown as Sink<unknown>

function graphOf(build: (stream: DataStream<string>) => void): StreamGraph {
  const env = new StreamExecutionEnvironment()
  build(env.fromElements(['a']))
  return env.graph()
}

const uids = (graph: StreamGraph): string[] => graph.nodes.map((node) => node.uid)

describe('generated uids', () => {
  it('are the same in every build, and differ between equal neighbours', () => {
    const build = (stream: DataStream<string>): void => {
      stream.map((x) => x).sinkTo(nowhere)
      stream.map((x) => x).sinkTo(nowhere)
    }
    const first = uids(graphOf(build))
    expect(first).toEqual(uids(graphOf(build)))
    expect(new Set(first).size).toBe(5)
    expect(first[1]).toMatch(/^map-[0-9a-f]{8}$/)
  })

  it('do not change when an unrelated branch is added', () => {
    const alone = graphOf((stream) => void stream.map((x) => x).sinkTo(nowhere))
    const beside = graphOf((stream) => {
      stream.filter(() => true).sinkTo(nowhere)
      stream.map((x) => x).sinkTo(nowhere)
    })
    const uidOf = (graph: StreamGraph): string => graph.nodes.find((n) => n.name === 'Map')!.uid
    expect(uidOf(beside)).toBe(uidOf(alone))
  })

  it('do not replace uids of the user', () => {
    const graph = graphOf(
      (stream) =>
        void stream
          .map((x) => x)
          .uid('mine')
          .sinkTo(nowhere),
    )
    expect(graph.nodes.map((node) => [node.uidGenerated, node.uid])[1]).toEqual([false, 'mine'])
  })
})

describe('graphFingerprint', () => {
  const base = graphFingerprint(graphOf((stream) => void stream.keyBy((x) => x).sinkTo(nowhere)))

  it('changes with serializers, key serializers, uids and edges', () => {
    const others = [
      graphOf(
        (stream) =>
          void stream
            .returns(stringSerializer)
            .keyBy((x) => x)
            .sinkTo(nowhere),
      ),
      graphOf((stream) => void stream.keyBy((x) => x, stringSerializer).sinkTo(nowhere)),
      graphOf(
        (stream) =>
          void stream
            .keyBy((x) => x)
            .sinkTo(nowhere)
            .uid('out'),
      ),
      graphOf((stream) => void stream.rebalance().sinkTo(nowhere)),
      graphOf(
        (stream) =>
          void stream
            .keyBy((x) => x)
            .sinkTo(nowhere)
            .setParallelism(2),
      ),
    ].map(graphFingerprint)
    expect(new Set([base, ...others]).size).toBe(6)
  })
})

describe('serializers of edges', () => {
  it('follow returns(...), and pass through filter and union of streams that agree', () => {
    const env = new StreamExecutionEnvironment()
    const a = env.fromElements(['a']).returns(stringSerializer)
    const b = env.fromElements(['b']).returns(stringSerializer)
    a.union(b)
      .filter(() => true)
      .map((text) => text.length)
      .sinkTo(nowhere)
    expect(env.graph().edges.map((edge) => edge.serializer.id)).toEqual([
      'string/1',
      'string/1',
      'string/1',
      'msgpack/1',
    ])
  })
})

describe('keyed connections', () => {
  it('hash both inputs with one key serializer', () => {
    const env = new StreamExecutionEnvironment()
    const names = env.fromElements(['a'])
    const counts = env.fromElements([1])
    names
      .connect(counts)
      .keyBy(
        (name) => name,
        (count) => String(count),
      )
      .process<string>(() => ({ processElement1() {}, processElement2() {} }))
      .sinkTo(nowhere)
    const edges = env.graph().edges.filter((edge) => edge.to === 2)
    expect(edges.map(({ input, partitioning }) => [input, partitioning.kind])).toEqual([
      [0, 'hash'],
      [1, 'hash'],
    ])
  })
})

describe('buildJob', () => {
  it('builds the graph of a definition with its options, and reports warnings', async () => {
    const job = defineJob<{ words: string[] }>({
      name: 'words',
      build: (env, { words }) => void env.fromElements(words).map((word) => word.length),
    })
    const warnings: string[] = []
    const graph = await buildJob(
      job,
      { words: ['a'] },
      { parallelism: 3, warn: (sentence) => warnings.push(sentence) },
    )
    expect(graph.jobName).toBe('words')
    expect(graph.nodes.map((node) => node.parallelism)).toEqual([1, 3])
    expect(warnings).toEqual([
      expect.stringMatching(/^no operator reads the stream of operator "Map"/),
    ])
  })
})
