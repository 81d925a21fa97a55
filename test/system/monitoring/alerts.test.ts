import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { needs } from '../../run/needs.ts'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'
import { freePorts } from '../../services/free-port.ts'
import { hasPromtool } from '../../services/promtool.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'
import { Alerting } from './alerting.ts'

const TOKENS_TRIED = 15
/** No record of the model topic has it. */
const NEVER = 1_000_000

describe(
  'the alerts of a real Prometheus on real processes',
  needs(hasPromtool, 'no promtool here'),
  () => {
    let folder: string
    let ports: { rest: number; query: number; gateway: number; prometheus: number }
    let token: string
    let job: CommandProcess
    let alerting: Alerting
    const others: CommandProcess[] = []

    const data = (): string[] => ['--data-dir', join(folder, 'data')]
    const tokens = (): string[] => ['--tokens', join(folder, 'tokens.json')]

    async function startJob(): Promise<void> {
      job = weir([
        ...['run', 'als-serving', '--json', '--port', String(ports.query), ...data(), ...tokens()],
        ...['-D', `rest.port=${ports.rest}`, '-D', 'execution.checkpointing.interval=1h'],
      ])
      await job.printed(/"event":"started"|"started","port"/)
    }

    async function kill(): Promise<void> {
      job.signal('SIGKILL')
      await job.ended
    }

    const fires = (name: string, port?: number): Promise<true> => alerting.fires(name, port)
    const ends = (name: string, port?: number): Promise<true> => alerting.ends(name, port)

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'weir-alerts-'))
      const [rest, query, gateway, prometheus] = (await freePorts(4)) as [
        number,
        number,
        number,
        number,
      ]
      ports = { rest, query, gateway, prometheus }
      const created = await weir([
        'token',
        'create',
        '--role',
        'admin',
        '--file',
        join(folder, 'tokens.json'),
      ]).ended
      token = created.stdout.trim()
      const model = await weir([
        'generate',
        'als-model',
        '--users',
        '20',
        '--items',
        '10',
        ...data(),
      ]).ended
      expect(model.code, model.stderr).toBe(0)
      await startJob()
      const started = weir(
        [
          ...['gateway', '--json', '--port', String(query), '--listen', `127.0.0.1:${gateway}`],
          ...['--threads', '1', ...tokens()],
        ],
        { env: { WEIR_TOKEN: token } },
      )
      others.push(started)
      await started.printed(/"started","port"/)
      const targets = [rest, gateway]
      alerting = await Alerting.start({ folder, port: prometheus, targets, token })
      others.push(alerting.server)
    }, 120_000)

    afterAll(async () => {
      job.signal('SIGINT')
      for (const command of others) command.signal('SIGINT')
      await Promise.all([job, ...others].map((command) => command.ended))
      rmSync(folder, { recursive: true, force: true })
    }, 60_000)

    it('fires for tokens that are tried at each port, and ends', async () => {
      await until('both ports are scraped', async () => {
        return (await alerting.value('count(weir_refused_requests_total)')) === '4'
      })
      const wrong = { headers: { authorization: 'Bearer wrong' } }
      for (let n = 0; n < TOKENS_TRIED; n++) {
        expect((await fetch(`http://127.0.0.1:${ports.rest}/jobs`, wrong)).status).toBe(401)
        const url = `http://127.0.0.1:${ports.gateway}/v1/predict/1/1`
        expect((await fetch(url, wrong)).status).toBe(401)
        const connecting = WeirClient.connect({ port: ports.query, token: 'wrong' })
        await expect(connecting).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
      }
      await fires('WeirTokensRefused', ports.rest)
      await fires('WeirTokensRefused', ports.gateway)
      await fires('WeirQueryTokensRefused')
      await ends('WeirTokensRefused')
      await ends('WeirQueryTokensRefused')
    }, 120_000)

    it('fires for a job that has completed no checkpoint since its start, and ends with the first', async () => {
      await fires('WeirCheckpointOld')
      const rest = ['--jobmanager', `127.0.0.1:${ports.rest}`]
      const env = { WEIR_TOKEN: token }
      const taken = await weir(['savepoint', 'als-serving', ...rest], { env }).ended
      expect(taken.code, taken.stderr).toBe(0)
      await ends('WeirCheckpointOld')
    }, 120_000)

    it('fires at the port and at the gateway of a job that was killed, and ends when it is back', async () => {
      expect(await alerting.firing()).not.toContain('WeirDown')
      await kill()
      await fires('WeirDown', ports.rest)
      await fires('WeirGatewayJobUnreachable', ports.gateway)
      await startJob()
      await ends('WeirDown', ports.rest)
      await ends('WeirGatewayJobUnreachable', ports.gateway)
    }, 120_000)

    it('fires for a process that is started again and again, and ends', async () => {
      const isUp = async (): Promise<boolean> =>
        (await alerting.value(`up{instance="127.0.0.1:${ports.rest}"}`)) === '1'
      for (let start = 0; start < 4; start++) {
        await kill()
        await until('it is seen to be down', async () => !(await isUp()))
        await startJob()
        await until('it is seen to be up', isUp)
      }
      await fires('WeirProcessRestarts', ports.rest)
      await ends('WeirProcessRestarts', ports.rest)
    }, 180_000)

    const predict = (): Promise<Response> =>
      fetch(`http://127.0.0.1:${ports.gateway}/v1/predict/1/1`, {
        headers: { authorization: `Bearer ${token}` },
      })

    it('fires for slow answers while the job stops again and again, and ends', async () => {
      await until('answers are slow', async () => {
        job.signal('SIGSTOP')
        const answers = Array.from({ length: 4 }, predict)
        await pause(400, 'the job answers nothing')
        job.signal('SIGCONT')
        await Promise.all(answers)
        return (await alerting.firing()).includes('WeirGatewayLatency')
      })
      await ends('WeirGatewayLatency')
    }, 180_000)

    it('fires for slow queries while they wait for a position that does not come, and ends', async () => {
      const client = await WeirClient.connect({ port: ports.query, token })
      try {
        await until('queries are slow', async () => {
          const consistency = { level: 'at-least', partition: 0, offset: NEVER } as const
          const options = { consistency, deadlineMs: 200 }
          await client.rows('ALS_MODEL', ['1-U'], options).catch(() => undefined)
          return (await alerting.firing()).includes('WeirQueryLatency')
        })
      } finally {
        await client.close()
      }
      // A percentile is of the last one to two minutes.
      await alerting.ends('WeirQueryLatency', undefined, 180_000)
    }, 300_000)

    it('fires for a gateway whose requests fail, and ends when the job is back', async () => {
      await kill()
      await until('requests fail', async () => {
        expect((await predict()).status).toBeGreaterThanOrEqual(500)
        return (await alerting.firing(ports.gateway)).includes('WeirGatewayErrors')
      })
      await startJob()
      await ends('WeirGatewayErrors', ports.gateway)
    }, 180_000)
  },
)
