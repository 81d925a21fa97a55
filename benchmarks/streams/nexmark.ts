import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { runTool } from '../../test/services/maven-classpath.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { median } from '../load/statistics.ts'
import { FlinkRival, type NexmarkRate, type NexmarkTimes } from './flink.ts'
import { NEXMARK_QUERIES, type NexmarkQuery } from './nexmark-queries.ts'

const TIMES: NexmarkTimes = { warmUp: 6, measured: 8 }
const PROCESS = join(import.meta.dirname, 'nexmark-process.ts')
const QUERIES = Object.keys(NEXMARK_QUERIES) as NexmarkQuery[]

async function weirRate(
  query: NexmarkQuery,
  { warmUp, measured }: NexmarkTimes,
  folder: string,
): Promise<NexmarkRate> {
  const args = [PROCESS, query, String(warmUp), String(measured), folder]
  return JSON.parse(await runTool(process.execPath, 'nodejs', args)) as NexmarkRate
}

function figuresOf(
  query: NexmarkQuery,
  weir: NexmarkRate,
  flink: NexmarkRate | undefined,
): Figure[] {
  const rival = (value: number | undefined): Partial<Figure> =>
    value === undefined ? {} : { rival: value, rivalName: 'Flink 1.20, heap' }
  return [
    {
      name: `nexmark-${query}`,
      value: weir.eventsPerSecond,
      unit: 'events/s',
      targetRatio: 0.6,
      ...rival(flink?.eventsPerSecond),
    },
    {
      name: `nexmark-${query}-cpu`,
      value: weir.cpuSecondsPerMillion,
      unit: 's per million events',
      higher: false,
      ...rival(flink?.cpuSecondsPerMillion),
    },
  ]
}

/** Weir over Flink, the median of the queries. */
function mediansOf(figures: readonly Figure[]): Figure[] {
  const ratios = (isCpu: boolean): number[] =>
    figures.flatMap(({ name, value, rival }) =>
      rival === undefined || name.endsWith('-cpu') !== isCpu ? [] : [value / rival],
    )
  const rates = ratios(false)
  if (rates.length === 0) return []
  const unit = 'times Flink, heap'
  return [
    { name: 'nexmark-median', value: median(rates), unit, target: 1 },
    { name: 'nexmark-worst', value: Math.min(...rates), unit, target: 0.6 },
    { name: 'nexmark-median-cpu', value: median(ratios(true)), unit, target: 1, higher: false },
  ]
}

/** `nexmark`: queries of Nexmark on 2 slots with a checkpoint each second, Flink beside them in turn. */
export const nexmarkBenchmark: Benchmark = {
  name: 'nexmark',
  summary: 'queries of Nexmark on 2 slots, a checkpoint each second; beside Flink 1.20, heap',
  async run({ scale, say, scratch }) {
    const times = { warmUp: TIMES.warmUp * scale, measured: TIMES.measured * scale }
    const flink = await FlinkRival.compile(join(scratch, 'classes')).catch((error: Error) => {
      say(`without Flink: ${error.message}`)
      return undefined
    })
    const figures: Figure[] = []
    for (const query of QUERIES) {
      const folder = (side: string): string => mkdtempSync(join(scratch, `${query}-${side}-`))
      const weir = await weirRate(query, times, folder('weir'))
      const rival = await flink?.run(query, times, folder('flink'))
      say(
        `${query}: ${Math.round(weir.eventsPerSecond)} events/s, Flink ${Math.round(rival?.eventsPerSecond ?? 0)}`,
      )
      figures.push(...figuresOf(query, weir, rival))
    }
    return [...figures, ...mediansOf(figures)]
  },
}
