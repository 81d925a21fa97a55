import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { needs } from '../../run/needs.ts'
import { until } from '../../run/until.ts'
import { freePorts } from '../../services/free-port.ts'
import { hasPromtool } from '../../services/promtool.ts'
import { CommandProcess, REPOSITORY, weir } from '../cli/command-process.ts'

/** The rules of `monitoring/alerts.yml`, with 20 seconds in the place of 15 minutes, and other times in this ratio. */
function fasterRules(): string {
  const MS_PER_MINUTE = 20_000 / 15
  const text = readFileSync(resolve(REPOSITORY, 'monitoring/alerts.yml'), 'utf8')
  return text
    .replaceAll(/\b(\d+)([mh])(?=\]|$)/gm, (_, count: string, unit: string) => {
      return `${Math.round(Number(count) * (unit === 'h' ? 60 : 1) * MS_PER_MINUTE)}ms`
    })
    .replace('_age_seconds > 900', '_age_seconds > 20')
}

interface Alert {
  readonly labels: { readonly alertname: string; readonly instance?: string }
  readonly state: 'pending' | 'firing'
}

const TOKENS_TRIED = 15

describe(
  'the alerts of a real Prometheus on real processes',
  needs(hasPromtool, 'no promtool here'),
  () => {
    let folder: string
    let ports: { rest: number; query: number; gateway: number; prometheus: number }
    let token: string
    let job: CommandProcess
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

    /** Names of the alerts that fire, of one port if it is given. */
    async function firing(port?: number): Promise<string[]> {
      const answer = await fetch(`http://127.0.0.1:${ports.prometheus}/api/v1/alerts`)
      const { data: found } = (await answer.json()) as { data: { alerts: Alert[] } }
      const of = found.alerts.filter(
        ({ state, labels }) =>
          state === 'firing' && (port === undefined || labels.instance === `127.0.0.1:${port}`),
      )
      return [...new Set(of.map(({ labels }) => labels.alertname))].sort()
    }

    const rhythm = { everyMs: 250 }
    const fires = (name: string, port?: number): Promise<true> =>
      until(`${name} fires`, async () => (await firing(port)).includes(name), rhythm)
    const ends = (name: string, port?: number): Promise<true> =>
      until(`${name} ends`, async () => !(await firing(port)).includes(name), rhythm)

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
      writeFileSync(join(folder, 'alerts.yml'), fasterRules())
      writeFileSync(
        join(folder, 'prometheus.yml'),
        JSON.stringify({
          global: {
            scrape_interval: '500ms',
            scrape_timeout: '500ms',
            evaluation_interval: '500ms',
          },
          rule_files: [join(folder, 'alerts.yml')],
          scrape_configs: [
            {
              job_name: 'weir',
              authorization: { credentials: token },
              static_configs: [{ targets: [`127.0.0.1:${rest}`, `127.0.0.1:${gateway}`] }],
            },
          ],
        }),
      )
      const server = new CommandProcess('prometheus', [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'tsdb')}`,
        `--web.listen-address=127.0.0.1:${prometheus}`,
      ])
      others.push(server)
      await server.printed(/Server is ready/)
    }, 120_000)

    afterAll(async () => {
      job.signal('SIGINT')
      for (const command of others) command.signal('SIGINT')
      await Promise.all([job, ...others].map((command) => command.ended))
      rmSync(folder, { recursive: true, force: true })
    }, 60_000)

    it('fires for tokens that are tried at each port, and ends', async () => {
      await until('both ports are scraped', async () => {
        const answer = await fetch(
          `http://127.0.0.1:${ports.prometheus}/api/v1/query?query=${encodeURIComponent('count(weir_refused_requests_total)')}`,
        )
        return (await answer.text()).includes('"4"')
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
      expect(await firing()).not.toContain('WeirDown')
      await kill()
      await fires('WeirDown', ports.rest)
      await fires('WeirGatewayJobUnreachable', ports.gateway)
      await startJob()
      await ends('WeirDown', ports.rest)
      await ends('WeirGatewayJobUnreachable', ports.gateway)
    }, 120_000)

    it('fires for a process that is started again and again, and ends', async () => {
      const isUp = async (): Promise<boolean> => {
        const answer = await fetch(
          `http://127.0.0.1:${ports.prometheus}/api/v1/query?query=${encodeURIComponent(`up{instance="127.0.0.1:${ports.rest}"}`)}`,
        )
        return (await answer.text()).includes('"1"')
      }
      for (let start = 0; start < 4; start++) {
        await kill()
        await until('it is seen to be down', async () => !(await isUp()))
        await startJob()
        await until('it is seen to be up', isUp)
      }
      await fires('WeirProcessRestarts', ports.rest)
      await ends('WeirProcessRestarts', ports.rest)
    }, 180_000)
  },
)
