import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import type { TopicProducer } from '../../../src/connectors/topics/store.ts'
import { inProcess } from '../../cli/command-here.ts'
import { needs } from '../../run/needs.ts'
import { until } from '../../run/until.ts'
import { freePorts } from '../../services/free-port.ts'
import { hasPromtool } from '../../services/promtool.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'
import { Alerting } from './alerting.ts'

const USERS = 20
const ITEMS = 10
const FACTORS = 8
/** One item of each user. */
const PAIRS = Array.from({ length: USERS }, (_, n) => [`${n + 1}`, `${(n % ITEMS) + 1}`] as const)

describe(
  'the alerts of a real Prometheus on a learning job and its gateway',
  needs(hasPromtool, 'no promtool here'),
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-model-alerts-'))
    const data = ['--data-dir', join(folder, 'data')]
    const topics = new LogTopics(join(folder, 'data', 'log'))
    let producer: TopicProducer
    let ports: { rest: number; query: number; gateway: number }
    let serving: CommandProcess
    let learning: CommandProcess
    /** What the published version predicts for the pairs. */
    let published: readonly number[]
    let alerting: Alerting
    const running: CommandProcess[] = []

    async function startJob(words: readonly string[]): Promise<CommandProcess> {
      const job = weir([
        ...[...words, '--json', '--port', String(ports.query), ...data],
        ...['-D', `rest.port=${ports.rest}`, '-D', 'execution.checkpointing.interval=1s'],
      ])
      running.push(job)
      await job.printed(/"event":"started"|"started","port"/)
      return job
    }

    async function publishVersion(): Promise<void> {
      const size = ['--users', String(USERS), '--items', String(ITEMS)]
      const shape = [...size, '--factors', String(FACTORS)]
      const model = await inProcess(['generate', 'als-model', ...shape, ...data])
      expect(model.code, model.stderr).toBe(0)
    }

    /**
     * Sends ratings of one item by each user, ten by a user one after the other: what the published version predicts,
     * and `difference(n)` more. `at`: their event time, ms.
     */
    async function rate(difference: (n: number) => number, at: number): Promise<void> {
      for (let n = 0; n < USERS * ITEMS; n++) {
        const [user, item] = PAIRS[Math.floor(n / ITEMS)]!
        const rating = published[Math.floor(n / ITEMS)]! + difference(n)
        const line = `${user},${item},${rating},${at / 1000}`
        producer.sendRecord(Buffer.from(user), Buffer.from(line), at, -1, [])
      }
      await producer.sync()
    }

    beforeAll(async () => {
      for (const topic of ['observations', 'als-model']) {
        const created = await inProcess(['topic', 'create', topic, ...data])
        expect(created.code, created.stderr).toBe(0)
      }
      const [rest, query, gateway, prometheus] = (await freePorts(4)) as [
        number,
        number,
        number,
        number,
      ]
      ports = { rest, query, gateway }
      serving = await startJob(['run', 'als-serving', '--dimension', String(FACTORS)])
      const served = weir([
        ...['gateway', '--json', '--port', String(query), '--listen', `127.0.0.1:${gateway}`],
        ...['--threads', '1'],
      ])
      running.push(served)
      await served.printed(/"started","port"/)
      alerting = await Alerting.start({ folder, port: prometheus, targets: [rest, gateway] })
      running.push(alerting.server)
      producer = await topics.producer('observations')
    })

    afterAll(async () => {
      await producer?.close()
      await topics[Symbol.asyncDispose]()
      for (const command of running) if (!command.hasEnded) command.signal('SIGINT')
      await Promise.all(running.map((command) => command.ended))
      rmSync(folder, { recursive: true, force: true })
    })

    it('fires for a model without a live version, and ends with the first', async () => {
      await alerting.fires('WeirNoLiveVersion')
      await publishVersion()
      await alerting.ends('WeirNoLiveVersion')
      const answer = await fetch(`http://127.0.0.1:${ports.gateway}/v1/predict`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ pairs: PAIRS }),
      })
      const { predictions } = (await answer.json()) as { predictions: { score: number }[] }
      published = predictions.map(({ score }) => score)
    })

    it('fires for ratings that are learned later and later, and ends with present ones', async () => {
      serving.signal('SIGINT')
      await serving.ended
      // The row of a user follows the last rating, which is wrong where ratings change all the time.
      const follows = ['--rule', 'gram', '--noise', '0.01', '--user-forgetting', '0.01']
      // It would stop learning before the alerts of the next test fire.
      const from = ['--learn-from', 'start', '--never-stop']
      learning = await startJob(['learn', 'als', ...from, ...follows])
      const beganMs = Date.now()
      await until('learning falls behind', async () => {
        // Each second the ratings are half a second older.
        await rate(() => 0, beganMs - 20_000 + (Date.now() - beganMs) / 2)
        return (await alerting.firing()).includes('WeirLearningBehind')
      })
      await until('learning is up to date', async () => {
        await rate(() => 0, Date.now())
        return !(await alerting.firing()).includes('WeirLearningBehind')
      })
    })

    it('fires for ratings of which learning makes predictions worse, and for the change of the error, and ends', async () => {
      const fired = new Set<string>()
      await until('both have fired', async () => {
        await rate((n) => (n % 2 === 0 ? -2 : 2), Date.now())
        for (const name of await alerting.firing()) fired.add(name)
        return fired.has('WeirErrorDrift') && fired.has('WeirDriftAlarms')
      })
      await until('learning makes predictions better', async () => {
        await rate(() => 2, Date.now())
        return !(await alerting.firing()).includes('WeirErrorDrift')
      })
      await alerting.ends('WeirDriftAlarms')
    })

    it('fires where learning has stopped, and ends with the command that resumes it', async () => {
      learning.signal('SIGINT')
      await learning.ended
      await publishVersion()
      await startJob(['learn', 'als', '--rule', 'sgd', '--learning-rate', '1'])
      const force = ['--force', 'a test']
      const promoted = await inProcess(['model', 'promote', '2', ...force, ...data])
      expect(promoted.code, promoted.stderr).toBe(0)
      // The job may stop on version 1 before it serves the promoted one, on which it learns until it stops again.
      await until('learning is stopped, and the command resumes it', async () => {
        await rate((n) => (n % 2 === 0 ? -2 : 2), Date.now())
        if (!(await alerting.firing()).includes('WeirLearningStopped')) return false
        const resumed = await inProcess(['learn', 'resume', '--model', 'als-model', ...data])
        expect(resumed.code, resumed.stderr).toBe(0)
        return resumed.stdout.includes('goes on, from the published rows')
      })
      await alerting.ends('WeirLearningStopped')
    })
  },
)
