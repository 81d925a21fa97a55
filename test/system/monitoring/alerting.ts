import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { until } from '../../run/until.ts'
import { CommandProcess, REPOSITORY } from '../cli/command-process.ts'

/** Path of the rules that Weir ships. */
export const RULES = resolve(REPOSITORY, 'monitoring/alerts.yml')

const MS_PER_MINUTE = 20_000 / 15

/** What happened is forgotten after so many minutes at the latest: an hour would be more than a minute here. */
const MOST_MINUTES = 15

/** The rules with 20 seconds in the place of 15 minutes and of an hour, and all other times in this ratio. */
function fasterRules(): string {
  const ageLimit = (_: string, name: string, seconds: string): string =>
    `${name} > ${(Number(seconds) * MS_PER_MINUTE) / 60_000}`
  return readFileSync(RULES, 'utf8')
    .replaceAll(/\b(\d+)([mh])(?=\]|$)/gm, (_, count: string, unit: string) => {
      const minutes = Number(count) * (unit === 'h' ? 60 : 1)
      return `${Math.round(Math.min(minutes, MOST_MINUTES) * MS_PER_MINUTE)}ms`
    })
    .replaceAll(/(_(?:age|freshness)_seconds\)?) > (\d+)/g, ageLimit)
}

interface Alert {
  readonly labels: {
    readonly alertname: string
    readonly instance?: string
    readonly job_name?: string
  }
  readonly state: 'pending' | 'firing'
}

/** What an alert is of: the port of a process, or the name of a job. */
export type AlertOf = number | string

function isOf({ labels: { instance, job_name } }: Alert, of: AlertOf): boolean {
  return typeof of === 'number' ? instance === `127.0.0.1:${of}` : job_name === of
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

  /** Names of alerts that fire, of one port or job if it is given. */
  async firing(of?: AlertOf): Promise<string[]> {
    const answer = await fetch(`http://127.0.0.1:${this.port}/api/v1/alerts`)
    const { data } = (await answer.json()) as { data: { alerts: Alert[] } }
    const found = data.alerts.filter(
      (alert) => alert.state === 'firing' && (of === undefined || isOf(alert, of)),
    )
    return [...new Set(found.map(({ labels }) => labels.alertname))].sort()
  }

  /** Resolves when an alert fires. */
  fires(name: string, of?: AlertOf): Promise<true> {
    return until(`${name} fires`, async () => (await this.firing(of)).includes(name), RHYTHM)
  }

  /** Resolves when an alert does not fire. `timeoutMs`: where it may take longer than tests wait. */
  ends(name: string, of?: AlertOf, timeoutMs?: number): Promise<true> {
    const options = timeoutMs === undefined ? RHYTHM : { ...RHYTHM, timeoutMs }
    return until(`${name} ends`, async () => !(await this.firing(of)).includes(name), options)
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
