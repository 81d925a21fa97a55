import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { inProcess } from '../../cli/command-here.ts'
import { needs } from '../../run/needs.ts'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'
import { freePorts } from '../../services/free-port.ts'
import { hasPromtool } from '../../services/promtool.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'
import { Alerting } from './alerting.ts'

const TOKENS_TRIED = 15
/** For each slow query: with fewer than a hundred, the 99th percentile is that of the slow ones. */
const QUICK_QUERIES = 150
/** Queries at a time, so that none waits long for another. */
const AT_A_TIME = 10
/** No record of the model topic has it. */
const NEVER = 1_000_000

describe(
  'the alerts of a real Prometheus on real processes',
  needs(hasPromtool, 'no promtool here'),
  () => {
    let folder: string
    let ports: { rest: number; query: number; gateway: number; manager: number }
    let token: string
    let job: CommandProcess
    let manager: CommandProcess
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

    async function startManager(): Promise<void> {
      const place = ['--data-dir', join(folder, 'manager'), '-D', `rest.port=${ports.manager}`]
      manager = weir(['jobmanager', '--json', ...place, ...tokens()])
      await manager.printed(/"event":"started"/)
    }

    async function kill(process: CommandProcess): Promise<void> {
      process.signal('SIGKILL')
      await process.ended
    }

    const fires = (name: string, port?: number): Promise<true> => alerting.fires(name, port)
    const ends = (name: string, port?: number): Promise<true> => alerting.ends(name, port)

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'weir-alerts-'))
      const [rest, query, gateway, managerPort, prometheus] = await freePorts(5)
      ports = { rest: rest!, query: query!, gateway: gateway!, manager: managerPort! }
      const created = await inProcess([
        ...['token', 'create', '--role', 'admin', '--file', join(folder, 'tokens.json')],
      ])
      token = created.stdout.trim()
      const model = await inProcess([
        ...['generate', 'als-model', '--users', '20', '--items', '10', ...data()],
      ])
      expect(model.code, model.stderr).toBe(0)
      const gatewayProcess = async (): Promise<void> => {
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
      }
      await Promise.all([gatewayProcess(), startManager()])
      const targets = [rest!, gateway!, managerPort!]
      alerting = await Alerting.start({ folder, port: prometheus!, targets, token })
      others.push(alerting.server)
      await until('all ports are scraped', async () => {
        return (await alerting.value('count(weir_refused_requests_total)')) === '6'
      })
    })

    afterAll(async () => {
      const all = [job, manager, ...others]
      for (const command of all) command.signal('SIGINT')
      await Promise.all(all.map((command) => command.ended))
      rmSync(folder, { recursive: true, force: true })
    })

    const predict = (): Promise<Response> =>
      fetch(`http://127.0.0.1:${ports.gateway}/v1/predict/1/1`, {
        headers: { authorization: `Bearer ${token}` },
      })

    // They change nothing of each other, and each waits for most of its time.
    describe('beside each other', () => {
      it.concurrent('fires for tokens that are tried at each port, and ends', async () => {
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
      })

      it.concurrent('fires for a job that has completed no checkpoint since its start, and ends with the first', async () => {
        await fires('WeirCheckpointOld')
        const rest = ['--jobmanager', `127.0.0.1:${ports.rest}`]
        const env = { WEIR_TOKEN: token }
        const taken = await weir(['savepoint', 'als-serving', ...rest], { env }).ended
        expect(taken.code, taken.stderr).toBe(0)
        await ends('WeirCheckpointOld')
      })

      it.concurrent('fires for a process that is started again and again, and ends', async () => {
        const startTime = (): Promise<string> =>
          alerting.value(`process_start_time_seconds{instance="127.0.0.1:${ports.manager}"}`)
        await until('it was started too often', async () => {
          const before = await startTime()
          await kill(manager)
          await startManager()
          const isSeen = async (): Promise<boolean> => !['', before].includes(await startTime())
          await until('its start is seen', isSeen, { everyMs: 50 })
          return (await alerting.firing(ports.manager)).includes('WeirProcessRestarts')
        })
        await ends('WeirProcessRestarts', ports.manager)
      })

      it.concurrent('fires for slow queries while they wait for a position that does not come, and ends', async () => {
        const client = await WeirClient.connect({ port: ports.query, token })
        const row = ['1-U'] as const
        let slow = 0
        try {
          await until('queries are slow', async () => {
            const consistency = { level: 'at-least', partition: 0, offset: NEVER } as const
            const options = { consistency, deadlineMs: 200 }
            await client.rows('ALS_MODEL', row, options).catch(() => undefined)
            slow += 1
            return (await alerting.firing(ports.rest)).includes('WeirQueryLatency')
          })
          for (let n = 0; n < slow * QUICK_QUERIES; n += AT_A_TIME) {
            const asked = Array.from({ length: AT_A_TIME }, () => client.rows('ALS_MODEL', row))
            await Promise.all(asked)
          }
          // At once; on a machine so busy that these were slow, too, when the last one to two minutes have passed.
          await alerting.ends('WeirQueryLatency', ports.rest, 180_000)
        } finally {
          await client.close()
        }
      })
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
    })

    it('fires for a job that was killed, at its port and at a gateway whose requests fail, and ends when it is back', async () => {
      // A busy machine may have answered a look too late.
      await ends('WeirDown', ports.rest)
      await kill(job)
      const requestsFail = async (): Promise<boolean> => {
        expect((await predict()).status).toBeGreaterThanOrEqual(500)
        return (await alerting.firing(ports.gateway)).includes('WeirGatewayErrors')
      }
      await Promise.all([
        fires('WeirDown', ports.rest),
        fires('WeirGatewayJobUnreachable', ports.gateway),
        until('requests fail', requestsFail, { everyMs: 20 }),
      ])
      await startJob()
      await ends('WeirDown', ports.rest)
      await ends('WeirGatewayJobUnreachable', ports.gateway)
      await ends('WeirGatewayErrors', ports.gateway)
    })
  },
)
