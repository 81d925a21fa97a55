import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import type { TopicProducer } from '../../../src/connectors/topics/store.ts'
import { needs } from '../../run/needs.ts'
import { until } from '../../run/until.ts'
import { freePorts } from '../../services/free-port.ts'
import { hasPromtool } from '../../services/promtool.ts'
import { type CommandProcess, REPOSITORY, weir } from '../cli/command-process.ts'
import { Alerting } from './alerting.ts'

const source = (path: string): string => pathToFileURL(join(REPOSITORY, 'src', path)).href

/** A job, `NAME`, whose function throws while the file `broken` is there, and is slow while the file `slow` is. */
const JOB = `import { existsSync } from 'node:fs'
import { defineJob, LogSource, noWatermarks } from '${source('index.ts')}'
let attempts = 0
export default defineJob({
  name: 'NAME',
  options: { folder: { type: 'string', help: 'folder' }, log: { type: 'string', help: 'log' } },
  build: (env, { folder, log }) => {
    const hurt = () => ({
      open: () => void attempts++,
      processElement(value, _, out) {
        if (existsSync(folder + '/broken')) throw new Error('broken at attempt ' + attempts + ' of ' + process.hrtime.bigint())
        if (existsSync(folder + '/slow')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
        out.collect(value)
      },
    })
    env
      .fromSource(new LogSource({ directory: log, topic: 'NAME', deserialize: () => 1 }), noWatermarks(), 'clicks')
      .uid('clicks')
      .keyBy((value) => value)
      .process(hurt)
      .uid('hurt')
      .filter(() => false)
      .print()
  },
})
`
/** More than the 10,000 records that may wait. */
const RECORDS = 20_000

describe(
  'the alerts of a real Prometheus on a real job',
  needs(hasPromtool, 'no promtool here'),
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-job-alerts-'))
    const topics = new LogTopics(join(folder, 'log'))
    const producers = new Map<string, TopicProducer>()
    let alerting: Alerting
    const running: CommandProcess[] = []

    /** Appends clicks to the topic of a job. */
    async function produce(job: string, count: number): Promise<void> {
      const producer = producers.get(job)!
      for (let i = 0; i < count; i++) {
        if (!producer.ready()) await producer.whenReady()
        producer.sendRecord(null, Buffer.from('click'), Date.now(), -1, [])
      }
      await producer.sync()
    }

    /** Makes what its name says true of a job until what it causes is seen. */
    async function whileThere<T>(job: string, seen: () => Promise<T>): Promise<void> {
      const file = join(folder, job, job)
      writeFileSync(file, '')
      try {
        await seen()
      } finally {
        rmSync(file)
      }
    }

    /** Starts a job with a topic, both of this name. */
    async function start(name: string, rest: number): Promise<void> {
      const own = join(folder, name)
      mkdirSync(own)
      await topics.create(name, { partitions: 1 })
      producers.set(name, await topics.producer(name))
      const module = join(folder, `${name}.ts`)
      writeFileSync(module, JOB.replaceAll('NAME', name))
      const settings = {
        'rest.port': rest,
        'execution.checkpointing.interval': '1s',
        'execution.checkpointing.timeout': '2s',
        'execution.checkpointing.tolerable-failed-checkpoints': '1000',
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.attempts': '1000',
        'restart-strategy.fixed-delay.delay': '3s',
      }
      const job = weir([
        ...['run', module, '--data-dir', join(own, 'data'), '--port', '0', '--slots', '1'],
        ...['--option', `folder=${own}`, '--option', `log=${join(folder, 'log')}`],
        ...Object.entries(settings).flatMap(([key, value]) => ['-D', `${key}=${value}`]),
      ])
      running.push(job)
      await job.printed(/REST interface on/)
    }

    beforeAll(async () => {
      const [broken, slow, prometheus] = (await freePorts(3)) as [number, number, number]
      await Promise.all([start('broken', broken), start('slow', slow)])
      alerting = await Alerting.start({ folder, port: prometheus, targets: [broken, slow] })
      running.push(alerting.server)
      await until('the jobs are scraped', async () => {
        return (await alerting.value('sum(weir_job_status{status="RUNNING"})')) === '2'
      })
    })

    afterAll(async () => {
      for (const producer of producers.values()) await producer.close()
      await topics[Symbol.asyncDispose]()
      for (const command of running) if (!command.hasEnded) command.signal('SIGINT')
      await Promise.all(running.map((command) => command.ended))
      rmSync(folder, { recursive: true, force: true })
    })

    it.concurrent('fires for a job whose function throws and that restarts again and again, and ends when it is fixed', async () => {
      await whileThere('broken', async () => {
        await produce('broken', 1)
        await alerting.fires('WeirJobDown', 'broken')
        await alerting.fires('WeirJobRestarts', 'broken')
      })
      await alerting.ends('WeirJobDown', 'broken')
      await alerting.ends('WeirJobRestarts', 'broken')
    })

    it.concurrent('fires for a slow operator: waiting tasks, growing lag, failed checkpoints; and ends when it is quick', async () => {
      const names = ['WeirBackPressure', 'WeirLagGrowing', 'WeirCheckpointsFailing']
      await whileThere('slow', async () => {
        await produce('slow', RECORDS)
        await until('all three fire', async () => {
          await produce('slow', 100)
          const firing = await alerting.firing('slow')
          return names.every((name) => firing.includes(name))
        })
      })
      await alerting.ends('WeirBackPressure', 'slow')
      await alerting.ends('WeirLagGrowing', 'slow')
      await alerting.ends('WeirCheckpointsFailing', 'slow')
    })
  },
)
