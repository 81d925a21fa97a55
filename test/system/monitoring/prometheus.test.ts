import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { inProcess } from '../../cli/command-here.ts'
import { needs } from '../../run/needs.ts'
import { freePorts } from '../../services/free-port.ts'
import { checkMetrics, hasPromtool } from '../../services/promtool.ts'
import { CommandProcess, REPOSITORY, weir } from '../cli/command-process.ts'

const exec = promisify(execFile)
const MONITORING = resolve(REPOSITORY, 'monitoring')
const RULES = join(MONITORING, 'alerts.yml')

interface Rule {
  readonly name: string
  readonly query: string
  readonly health: string
  readonly lastError?: string
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string
    readonly targets: readonly { readonly expr: string }[]
  }[]
}

const rules = (): { readonly alert: string; readonly expr: string }[] =>
  (
    parse(readFileSync(RULES, 'utf8')) as {
      groups: { rules: { alert: string; expr: string }[] }[]
    }
  ).groups.flatMap((group) => group.rules)

const dashboardQueries = (): { readonly title: string; readonly expr: string }[] =>
  (
    JSON.parse(readFileSync(join(MONITORING, 'dashboard.json'), 'utf8')) as Dashboard
  ).panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => ({ title, expr: expr.replaceAll('$job_name', '.*') })),
  )

/** Names of metrics in a PromQL expression. */
const namesIn = (expr: string): string[] => expr.match(/\b(weir|process)_[a-z0-9_]+/g) ?? []

describe(
  'a Prometheus that scrapes a job and its gateway',
  needs(hasPromtool, 'no promtool here'),
  () => {
    let folder: string
    const running: CommandProcess[] = []
    let restUrl: string
    let linearUrl: string
    let gatewayUrl: string
    let prometheusUrl: string

    async function start(command: CommandProcess, ready: RegExp): Promise<RegExpExecArray> {
      running.push(command)
      return await command.printed(ready)
    }

    const textOf = async (url: string): Promise<string> => {
      const answer = await fetch(`${url}/metrics`)
      expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
      return await answer.text()
    }

    const ask = async <T>(path: string): Promise<T> =>
      ((await (await fetch(`${prometheusUrl}/api/v1/${path}`)).json()) as { data: T }).data

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'weir-monitoring-'))
      const data = ['--data-dir', join(folder, 'data')]
      const [restPort, prometheusPort, linearPort] = await freePorts(3)
      linearUrl = `http://127.0.0.1:${linearPort}`
      restUrl = `http://127.0.0.1:${restPort}`
      prometheusUrl = `http://127.0.0.1:${prometheusPort}`
      const generated = await inProcess([
        ...['generate', 'als-model', '--users', '50', '--items', '20', ...data],
      ])
      expect(generated.code, generated.stderr).toBe(0)
      const created = await inProcess(['topic', 'create', 'observations', ...data])
      expect(created.code, created.stderr).toBe(0)
      const [, port] = await start(
        weir([
          ...['learn', 'als', '--json', '--port', '0', ...data],
          ...['-D', `rest.port=${restPort}`, '-D', 'execution.checkpointing.interval=1s'],
        ]),
        /"started","port":(\d+)/,
      )
      await running[0]!.printed(/"event":"learning"/)
      const [, gatewayPort] = await start(
        weir([
          ...['gateway', '--json', '--port', port!, '--listen', '127.0.0.1:0', '--threads', '2'],
          ...['--observations', 'observations', ...data],
        ]),
        /"started","port":(\d+)/,
      )
      gatewayUrl = `http://127.0.0.1:${gatewayPort}`
      await learnLinear(data)
      await traffic()
      const configuration = join(folder, 'prometheus.yml')
      writeFileSync(
        configuration,
        JSON.stringify({
          global: { scrape_interval: '1s', evaluation_interval: '1s' },
          rule_files: [RULES],
          scrape_configs: [
            {
              job_name: 'weir',
              static_configs: [{ targets: [restUrl.slice(7), gatewayUrl.slice(7)] }],
            },
          ],
        }),
      )
      await start(
        new CommandProcess('prometheus', [
          `--config.file=${configuration}`,
          `--storage.tsdb.path=${join(folder, 'tsdb')}`,
          `--web.listen-address=127.0.0.1:${prometheusPort}`,
        ]),
        /Server is ready/,
      )
    })

    /** A learner of a linear model, with examples: its error has metrics of its own. */
    async function learnLinear(data: readonly string[]): Promise<void> {
      const generated = await inProcess(['generate', 'svm-model', '--features', '20', ...data])
      expect(generated.code, generated.stderr).toBe(0)
      expect((await inProcess(['topic', 'create', 'examples', ...data])).code).toBe(0)
      const produced = ['topic', 'produce', 'examples', ...data]
      expect(await inProcess(produced, '+1 1:1 2:1\n-1 3:1\n')).toMatchObject({ code: 0 })
      const job = ['learn', 'svm', '--observations', 'examples', '--json', '--port', '0', ...data]
      const rest = ['-D', `rest.port=${new URL(linearUrl).port}`]
      await start(weir([...job, ...rest]), /"event":"learning"/)
    }

    /** Answers, an error of the query port, observations and inferences: every counter has a series. */
    async function traffic(): Promise<void> {
      const post = (path: string, body: object): Promise<Response> =>
        fetch(`${gatewayUrl}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      for (let user = 1; user <= 20; user++) {
        expect((await fetch(`${gatewayUrl}/v1/predict/${user}/1`)).status).toBe(200)
        const stored = await post('/v1/observe', { user: `${user}`, item: '1', rating: 4 })
        expect(stored.status, await stored.text()).toBeLessThan(300)
      }
      const tensor = (name: string) => ({ name, datatype: 'BYTES', shape: [1], data: ['1'] })
      const inferred = await post('/v2/models/ALS_MODEL/infer', {
        inputs: [tensor('user'), tensor('item')],
      })
      expect(inferred.status, await inferred.text()).toBe(200)
      const failed = await inProcess(['query', 'NO_SUCH_STATE', '1', '--port', await queryPort()])
      expect(failed.code).not.toBe(0)
    }

    /** Port of a query thread's job. */
    async function queryPort(): Promise<string> {
      const found = /"started","port":(\d+)/.exec(
        (await running[0]!.printed(/"started","port":(\d+)/))[0],
      )
      return found![1]!
    }

    afterAll(async () => {
      for (const command of running.reverse()) {
        command.signal('SIGINT')
        await command.ended
      }
      rmSync(folder, { recursive: true, force: true })
    })

    it('finds both ports up, and promtool finds nothing wrong with their metrics', async () => {
      await expect
        .poll(async () => await ask('query?query=sum(up)'), { interval: 500 })
        .toMatchObject({ result: [{ value: [expect.anything(), '2'] }] })
      for (const url of [restUrl, gatewayUrl]) {
        expect(await checkMetrics(await textOf(url))).toBe('')
      }
    })

    it('evaluates every alert rule without an error', async () => {
      const expected = rules()
        .map(({ alert }) => alert)
        .sort()
      await expect
        .poll(
          async () => {
            const { groups } = await ask<{ groups: { rules: Rule[] }[] }>('rules')
            const found = groups.flatMap((group) => group.rules)
            return found.map(({ name, health }) => [name, health]).sort()
          },
          { interval: 500 },
        )
        .toEqual(expected.map((name) => [name, 'ok']))
    })

    it('has every metric that a rule or the dashboard names', async () => {
      const needed = [...rules(), ...dashboardQueries()].flatMap(({ expr }) => namesIn(expr))
      expect(needed.length).toBeGreaterThan(20)
      const missing = async (): Promise<string[]> => {
        const urls = [restUrl, gatewayUrl, linearUrl]
        const text = (await Promise.all(urls.map(textOf))).join('')
        const scraped = new Set(text.match(/^\w+/gm))
        return [...new Set(needed)].filter((name) => !scraped.has(name))
      }
      await expect.poll(missing, { interval: 1000 }).toEqual([])
    })

    it('evaluates every query of the dashboard', async () => {
      for (const { title, expr } of dashboardQueries()) {
        const answer = await fetch(
          `${prometheusUrl}/api/v1/query?query=${encodeURIComponent(expr)}`,
        )
        expect(answer.status, `${title}: ${expr}: ${await answer.clone().text()}`).toBe(200)
      }
      const versions = await ask<{ result: { value: [number, string] }[] }>(
        'query?query=weir_gateway_live_version{model="ALS_MODEL"}',
      )
      expect(versions.result.map(({ value }) => value[1])).toEqual(['1'])
    })
  },
)

describe('the alert rules', needs(hasPromtool, 'no promtool here'), () => {
  it('are valid, and fire on what they are for and on nothing else', async () => {
    await exec('promtool', ['check', 'rules', RULES])
    await exec('promtool', ['test', 'rules', join(MONITORING, 'alerts.test.yml')])
  })

  it('are all tested: each one stays silent on a healthy job and fires on a sick one', () => {
    const [well, wrong] = (
      parse(readFileSync(join(MONITORING, 'alerts.test.yml'), 'utf8')) as {
        tests: [
          { alert_rule_test: { alertname: string }[] },
          { promql_expr_test: { exp_samples: { labels: string }[] }[] },
        ]
      }
    ).tests
    const names = rules().map(({ alert }) => alert)
    expect(well.alert_rule_test.map(({ alertname }) => alertname)).toEqual(names)
    const fired = wrong.promql_expr_test[0]!.exp_samples.map(
      ({ labels }) => /"(\w+)"/.exec(labels)![1],
    )
    expect(fired).toEqual(names)
  })
})
