import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { until } from '../../run/until.ts'
import { CommandProcess, REPOSITORY } from '../cli/command-process.ts'

/** Path of the rules that Weir ships. */
export const RULES = resolve(REPOSITORY, 'monitoring/alerts.yml')

const MS_PER_MINUTE = 20_000 / 15

/** The rules with 20 seconds in the place of 15 minutes, and all other times in this ratio. */
function fasterRules(): string {
  const ageLimit = (_: string, name: string, seconds: string): string =>
    `${name} > ${(Number(seconds) * MS_PER_MINUTE) / 60_000}`
  return readFileSync(RULES, 'utf8')
    .replaceAll(/\b(\d+)([mh])(?=\]|$)/gm, (_, count: string, unit: string) => {
      return `${Math.round(Number(count) * (unit === 'h' ? 60 : 1) * MS_PER_MINUTE)}ms`
    })
    .replaceAll(/(_(?:age|freshness)_seconds\)?) > (\d+)/g, ageLimit)
}

interface Alert {
  readonly labels: { readonly alertname: string; readonly instance?: string }
  readonly state: 'pending' | 'firing'
}

/** Where a Prometheus looks. */
export interface AlertingOptions {
  /** Its folder. */
  readonly folder: string
  readonly port: number
  /** Ports of the processes that it scrapes. */
  readonly targets: readonly number[]
  /** Token that it shows. */
  readonly token?: string
}

const RHYTHM = { everyMs: 250 }

/** A real Prometheus with the shipped rules, in a faster time. */
export class Alerting {
  readonly server: CommandProcess
  private readonly port: number

  private constructor(server: CommandProcess, port: number) {
    this.server = server
    this.port = port
  }

  /** Starts a Prometheus; resolves when it is ready. */
  static async start({ folder, port, targets, token }: AlertingOptions): Promise<Alerting> {
    const rules = join(folder, 'alerts.yml')
    const configuration = join(folder, 'prometheus.yml')
    writeFileSync(rules, fasterRules())
    writeFileSync(
      configuration,
      JSON.stringify({
        global: { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '500ms' },
        rule_files: [rules],
        scrape_configs: [
          {
            job_name: 'weir',
            ...(token === undefined ? {} : { authorization: { credentials: token } }),
            static_configs: [{ targets: targets.map((target) => `127.0.0.1:${target}`) }],
          },
        ],
      }),
    )
    const server = new CommandProcess('prometheus', [
      `--config.file=${configuration}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ])
    await server.printed(/Server is ready/)
    return new Alerting(server, port)
  }

  /** Names of alerts that fire, of one port if it is given. */
  async firing(port?: number): Promise<string[]> {
    const answer = await fetch(`http://127.0.0.1:${this.port}/api/v1/alerts`)
    const { data } = (await answer.json()) as { data: { alerts: Alert[] } }
    const found = data.alerts.filter(
      ({ state, labels }) =>
        state === 'firing' && (port === undefined || labels.instance === `127.0.0.1:${port}`),
    )
    return [...new Set(found.map(({ labels }) => labels.alertname))].sort()
  }

  /** Resolves when an alert fires. */
  fires(name: string, port?: number): Promise<true> {
    return until(`${name} fires`, async () => (await this.firing(port)).includes(name), RHYTHM)
  }

  /** Resolves when an alert does not fire. `timeoutMs`: where it takes longer than tests wait. */
  ends(name: string, port?: number, timeoutMs?: number): Promise<true> {
    const options = timeoutMs === undefined ? RHYTHM : { ...RHYTHM, timeoutMs }
    return until(`${name} ends`, async () => !(await this.firing(port)).includes(name), options)
  }

  /** The value of an instant query as text: empty without a result. */
  async value(query: string): Promise<string> {
    const url = `http://127.0.0.1:${this.port}/api/v1/query?query=${encodeURIComponent(query)}`
    const { data } = (await (await fetch(url)).json()) as {
      data: { result: { value: [number, string] }[] }
    }
    return data.result[0]?.value[1] ?? ''
  }
}
