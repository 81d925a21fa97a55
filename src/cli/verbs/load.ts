import type { LevelResult } from '../../testing/load/measurement/measure-level.ts'
import { type LevelPlan, measureLevels } from '../../testing/load/measurement/measure-levels.ts'
import { throughputOf } from '../../testing/load/measurement/stability.ts'
import type { Load } from '../../testing/load/port/load.ts'
import { csvLines } from '../../testing/load/report/csv.ts'
import { type LevelReport, reportOf } from '../../testing/load/report/level-report.ts'
import { LoadTable } from '../../testing/load/report/table.ts'
import { hostHeaderOf } from '../../testing/load/targets/http.ts'
import type { TargetSettings } from '../../testing/load/targets/open-target.ts'
import { GeneratorThreads } from '../../testing/load/threads/generator-threads.ts'
import { type Command, type CommandIo, Flags, unlessInterrupted } from '../command/command.ts'
import { outputFileOf } from '../files/output-file.ts'
import { writeTextLines } from '../files/text-lines-file.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { output } from '../flag-kinds/places.ts'
import { QUERY_OPTIONS } from '../flags/query.ts'
import { KEY_OPTIONS, loadKeysOf } from '../load/keys.ts'
import { LEVEL_OPTIONS, levelPlanOf, measureOptionsOf } from '../load/levels.ts'
import { batchOf, TARGET_OPTIONS, targetOf } from '../load/target.ts'
import { counted } from '../text/counted.ts'

/** `weir load`: measures throughput and latencies of a server under load. */
export const loadCommand: Command = {
  name: 'load',
  summary: 'Put load on a job or a gateway, and measure throughput and latencies',
  stopsItself: true,
  options: {
    ...TARGET_OPTIONS,
    ...KEY_OPTIONS,
    ...LEVEL_OPTIONS,
    threads: {
      type: 'string',
      value: wholeNumber({ min: 1, max: 64 }),
      default: '1',
      help: 'Threads that send requests',
    },
    csv: {
      type: 'string',
      short: 'f',
      value: output(),
      help: 'Write the levels to a CSV file, too',
    },
    ...QUERY_OPTIONS,
  },
  details: `The flags are those of Triton's perf_analyzer where it has them. At a rate, with intervals and with a
trace, latencies count from the time at which a request was due. Without flags about keys, the first
keys of the served state are asked for. Ctrl-C prints what was measured.

Examples:
  weir load --concurrency-range 1:16:5
  weir load --users 943 --items 1682 --request-rate-range 20000 --request-distribution poisson
  weir load --request-rate-range 1000:100000:1000 --binary-search -l 2 --percentile 99
  weir load -i http -u http://127.0.0.1:8080 --concurrency-range 64 -f load.csv`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const target = targetOf(flags)
    const batch = batchOf(flags)
    const csv = outputFileOf(flags, 'csv')
    const threads = flags.number('threads')
    const options = measureOptionsOf(flags, abortOf(io))
    const { keys, traceMs } = await unlessInterrupted(loadKeysOf(flags, target), io)
    const plan = await levelPlanOf(flags, traceMs, flags.number('seed'))
    await using generator = await unlessInterrupted(
      GeneratorThreads.start({ target, keys, batch }, threads),
      io,
    )
    io.err(`load: asking ${addressOf(target)} from ${counted(threads, 'thread')}; Ctrl-C ends it`)
    const printer = new LevelPrinter(io, flags.boolean('json'), batch)
    const onWindow: typeof options.onWindow = (load, window, number) =>
      io.rewriteLine?.(`${loadText(load)}: window ${number}, ${rate(throughputOf(window))}`)
    const onLevel = (level: LevelResult): void => {
      io.rewriteLine?.('')
      printer.print(reportOf(level, { batch, judged: options.judged }))
    }
    const { best } = await measureLevels(generator, plan, { ...options, onWindow, onLevel })
    if (options.latencyThresholdMs !== undefined) printer.printBest(best, plan)
    if (csv !== undefined) await writeTextLines(csv, csvLines(printer.reports))
    return options.interrupted.aborted ? 130 : 0
  },
}

function addressOf(target: TargetSettings): string {
  if (target.protocol === 'weir') return `${target.connection.host}:${target.connection.port}`
  const scheme = target.tls === undefined ? 'http' : 'https'
  return `${scheme}://${hostHeaderOf(target)}${target.basePath}`
}

function abortOf(io: CommandIo): AbortSignal {
  const controller = new AbortController()
  void io.interrupted.then(() => controller.abort())
  return controller.signal
}

/** Prints each level when it is measured. */
class LevelPrinter {
  readonly reports: LevelReport[] = []
  private readonly io: CommandIo
  private readonly asJson: boolean
  private readonly batch: number

  constructor(io: CommandIo, asJson: boolean, batch: number) {
    this.io = io
    this.asJson = asJson
    this.batch = batch
  }

  print(report: LevelReport): void {
    this.reports.push(report)
    if (this.asJson) {
      this.io.out(JSON.stringify({ event: 'level', ...report }))
      return
    }
    const table = new LoadTable(report.load, Object.keys(report.latencyMs), this.batch)
    if (this.reports.length === 1) this.io.out(table.heading())
    for (const line of table.linesOf(report)) this.io.out(line)
  }

  printBest(best: number | undefined, { loadOf }: LevelPlan): void {
    if (this.asJson) this.io.out(JSON.stringify({ event: 'best', level: best ?? null }))
    else if (best === undefined) this.io.out('no level meets the latency threshold')
    else
      this.io.out(`the highest level that meets the latency threshold: ${loadText(loadOf(best))}`)
  }
}

function loadText(load: Load): string {
  if (load.kind === 'concurrency') return `concurrency ${load.callers}`
  return load.kind === 'rate' ? `rate ${rate(load.perSecond)}` : load.kind
}

const rate = (perSecond: number): string =>
  `${perSecond.toLocaleString('en-US', { maximumFractionDigits: 1 })} requests/s`
