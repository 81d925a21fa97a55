import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  JOB_METRICS,
  OPERATOR_METRICS,
  QUERY_METRICS,
  SLOT_METRICS,
  TASK_METRICS,
} from '../../src/cluster/rest/prometheus/metric-names.ts'
import { EmbeddedLog } from '../../src/connectors/log/embedded-log.ts'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../src/connectors/memory/source.ts'
import { MetricGroup } from '../../src/core/metrics.ts'
import { Pattern } from '../../src/dataflow/cep/pattern.ts'
import { CEP } from '../../src/dataflow/cep/pattern-stream.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { monotonousTimestamps } from '../../src/dataflow/watermark-strategy.ts'
import alsServing from '../../src/jobs/als-serving/job.ts'
import { tumblingEventTimeWindows } from '../../src/operators/windows/assigner.ts'
import { QueryMetrics } from '../../src/serving/server/metrics.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import { KIND } from '../../src/wire/frame.ts'
import { until } from '../run/until.ts'

/** Names in the first columns of the page's tables of metrics. */
function documented(): Set<string> {
  const page = new URL('../../docs/reference/metrics.md', import.meta.url)
  const rows = readFileSync(page, 'utf8').matchAll(/^\| `([A-Za-z.]+)` \| (counter|gauge|hist)/gm)
  return new Set([...rows].map((row) => row[1]!))
}

/** The metric of a full name: without its scope and without the number of a histogram. */
const metricOf = (name: string): string =>
  name
    .replace(/^.*?(numRequests|numErrors)\..*$/, (_, metric: string) =>
      metric === 'numRequests' ? 'numRequests.KIND' : 'numErrors.CODE',
    )
    .replace(/^.*\.(?!KIND|CODE)/, '')
    .replace(/_(count|sum|p50|p99|max)$/, '')

/** Metrics of row tables, of typed state and of an aligned source, which the slots report. */
const OF_SLOTS = ['rowTableBytes', 'typedStateBytes', 'watermarkAlignmentDrift']

/** What a job with a served model and windows reports while it runs. */
async function reportedByJob(folder: string): Promise<string[]> {
  const directory = join(folder, 'log')
  await using log = await EmbeddedLog.open(directory)
  await log.createTopic('model')
  const env = new StreamExecutionEnvironment()
  const alignedTimes = monotonousTimestamps<number>({
    timestampOf: (n) => n,
    alignment: { group: 'numbers', maxDriftMs: 1 },
  })
  await alsServing.build(env, { logDirectory: directory, topic: 'model', dimension: 2 })
  env
    .fromElements([1, 2, 3], alignedTimes)
    .keyBy((n) => n)
    .window(tumblingEventTimeWindows(2))
    .reduce((a, b) => a + b)
    .onError('skip')
    .sinkTo(new MemorySink())
  env
    .fromElements([1])
    .joinTable(
      env.table(new MemorySource([[1]]), { keyOf: (n) => n }),
      (n) => n,
      (n) => n,
    )
    .sinkTo(new MemorySink())
  env
    .fromElements([1], alignedTimes)
    .joinTable(
      env.table(new MemorySource([[1]]), { keyOf: (n) => n, watermarks: alignedTimes }),
      (n) => n,
      (n) => n,
      { wait: 'event-time' },
    )
    .sinkTo(new MemorySink())
  CEP.pattern(
    env.fromElements([1], monotonousTimestamps()).keyBy((n) => n),
    Pattern.of<number>().begin('one'),
  )
    .select(() => 1)
    .sinkTo(new MemorySink())
  await using cluster = new MiniCluster({
    configuration: {
      'execution.checkpointing.dir': join(folder, 'checkpoints'),
      'execution.state-recovery.accept-lost-transactions': 'true',
    },
  })
  const job = cluster.startLocal(env.graph('metrics'))
  await job.waitFor('RUNNING')
  // A slot that is busy misses the first question, so its names come with a later one.
  return until('the slots report their metrics', async () => {
    const names = Object.keys(await job.metrics())
    const metrics = new Set(names.map(metricOf))
    return OF_SLOTS.every((metric) => metrics.has(metric)) && names
  })
}

/** What operators of jobs that learn register. */
function registeredByLearning(): string[] {
  const folder = new URL('../../src/', import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /^(jobs\/learning\/.*|models\/topic\/linear-serving-.*)\.ts$/.test(name),
  )
  const texts = files.map((name) => readFileSync(new URL(name, folder), 'utf8'))
  return [
    ...texts.join('').matchAll(/(?:counter|gauge|Refusals)\((?:context, )?'([A-Za-z]+)'/g),
  ].map((found) => found[1]!)
}

function reportedByQueryThread(): string[] {
  const group = new MetricGroup()
  const metrics = new QueryMetrics(group)
  metrics.asked(KIND.rows, 1)
  metrics.failed(1)
  return Object.keys(group.snapshot())
}

/** Name for Prometheus and section of each metric, `<section> <metric>`, in the page's tables. */
function documentedNames(): Map<string, string> {
  const page = readFileSync(new URL('../../docs/reference/metrics.md', import.meta.url), 'utf8')
  const sections = page.split(/^## /m).slice(1)
  const names = sections.flatMap((section) =>
    [...section.matchAll(/^\| `([A-Za-z.]+)` \| .* \| `(\w+)` \|$/gm)].map(
      (row) => [`${section.split('\n')[0]} ${row[1]}`, row[2]!] as const,
    ),
  )
  return new Map(names)
}

describe('docs/reference/metrics.md', () => {
  it('gives for each metric its name for Prometheus', () => {
    const scopes = {
      Job: JOB_METRICS,
      Slot: SLOT_METRICS,
      'Subtask of a chain': TASK_METRICS,
      Operator: OPERATOR_METRICS,
      'Query thread': QUERY_METRICS,
    }
    const mapped = Object.entries(scopes).flatMap(([section, metrics]) =>
      Object.entries(metrics).map(([metric, { name }]) => [`${section} ${metric}`, name] as const),
    )
    expect([...documentedNames()].sort()).toEqual(mapped.sort())
  })

  it('lists the metrics that jobs and query threads report, and no others', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-metrics-'))
    try {
      const reported = [
        ...(await reportedByJob(folder)),
        ...reportedByQueryThread(),
        ...registeredByLearning(),
      ]
      expect([...new Set(reported.map(metricOf))].sort()).toEqual([...documented()].sort())
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
