import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { DashboardServer } from '../../services/flink/dashboard-server.ts'
import { sharedBrowser } from '../../services/lending/browser.ts'
import { TestCluster } from './cluster-fixture.ts'

/** Screenshots of the pages; git ignores `.weir`. The short part makes none: no test reads them. */
const SCREENSHOTS = campaignSize<string | undefined>(
  undefined,
  resolve(import.meta.dirname, '../../../.weir/screenshots/flink-dashboard'),
)

let cluster: TestCluster
let dashboard: DashboardServer
let browser: Browser
/** One for all addresses: a page of its own has two processes of the browser, which compile everything again. */
let page: Page
let job: string
let vertex: string

beforeAll(async () => {
  if (SCREENSHOTS !== undefined) mkdirSync(SCREENSHOTS, { recursive: true })
  cluster = await TestCluster.start()
  dashboard = await DashboardServer.start(cluster.url)
  browser = await sharedBrowser()
  page = await browser.newPage({ viewport: { width: 1400, height: 900 } })
  job = await cluster.submit(
    ...['run', 'als-serving', '--slots', '2', '-D', 'execution.checkpointing.interval=1s'],
  )
  await cluster.reaches(job, 'RUNNING')
  const checkpoint = await cluster.ask('checkpoint', job)
  expect(checkpoint.code, checkpoint.stderr).toBe(0)
  const { vertices } = await cluster.read<{ vertices: { id: string; name: string }[] }>(
    `/jobs/${job}`,
  )
  vertex = vertices.at(-1)!.id
})

afterAll(async () => {
  await browser?.close()
  await dashboard?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

/** Loads an address of the dashboard; returns everything that goes wrong from now on. */
async function load(path: string): Promise<readonly string[]> {
  const problems: string[] = []
  // A load, not a step within the dashboard that runs.
  await page.goto('about:blank')
  page.removeAllListeners()
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`)
  })
  await page.goto(`${dashboard.url}/#${path}`)
  return problems
}

/** Makes a screenshot, to be looked at. */
async function keepPicture(name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) })
}

/** Path after `#`, and a text that the page shows. */
const PAGES: readonly (readonly [path: string, shows: RegExp])[] = [
  ['/overview', /Available Task Slots/],
  ['/job/running', /als-serving/],
  ['/job/completed', /Completed Job/],
  ['/job/running/JOB/overview', /ALS model/],
  ['/job/running/JOB/overview/VERTEX/detail', /Max Parallelism|ALS model/],
  ['/job/running/JOB/overview/VERTEX/subtasks', /RUNNING/],
  ['/job/running/JOB/overview/VERTEX/taskmanagers', /RUNNING/],
  ['/job/running/JOB/overview/VERTEX/watermarks', /No Watermark|Low Watermark/],
  ['/job/running/JOB/overview/VERTEX/accumulators', /Accumulators/],
  ['/job/running/JOB/overview/VERTEX/backpressure', /OK/],
  ['/job/running/JOB/overview/VERTEX/metrics', /Metrics/],
  ['/job/running/JOB/overview/VERTEX/flamegraph', /Flame ?Graph|Measurement/i],
  ['/job/running/JOB/dataskew', /Skew/],
  ['/job/running/JOB/timeline', /Timeline|TimeLine/],
  ['/job/running/JOB/exceptions', /Root Exception|No Root Exception/],
  ['/job/running/JOB/checkpoints', /Latest Completed Checkpoint/],
  ['/job/running/JOB/configuration', /Execution Mode|User Configuration/i],
  ['/task-manager', /slot-0/],
  ['/task-manager/SLOT/metrics', /Memory/],
  ['/task-manager/SLOT/logs', /serving\squeries/],
  ['/task-manager/SLOT/log-list', /JOB\.log/],
  ['/task-manager/SLOT/stdout', /serving\squeries/],
  ['/task-manager/SLOT/thread-dump', /samples/],
  ['/job-manager/metrics', /Memory|Heap/],
  ['/job-manager/config', /rest\.port/],
  ['/job-manager/logs', /REST\sinterface\son/],
  ['/job-manager/log', /jobmanager\.log/],
  ['/job-manager/stdout', /REST\sinterface\son/],
  ['/job-manager/thread-dump', /Thread Dump/],
]

/** The short part has every second page, by the seed. */
const SHOWN = PAGES.filter((_, n) => campaignSize(n % 2 === commitSeed() % 2, true))

describe('Flink 1.20’s web dashboard', () => {
  it.each(SHOWN)('shows %s of a running job without an error', async (path, shows) => {
    const place = path
      .replace('JOB', job)
      .replace('VERTEX', vertex)
      .replace('SLOT', `${job}-slot-0`)
    const problems = await load(place)
    const pattern = new RegExp(shows.source.replace('JOB', job), shows.flags)
    await page.getByText(pattern).locator('visible=true').first().waitFor({ timeout: 180_000 })
    await page.waitForLoadState('networkidle', { timeout: 10_000 }).catch(() => {})
    await keepPicture(path.slice(1).replaceAll('/', '-'))
    expect(problems).toEqual([])
  })

  it('shows each tab of the checkpoints', async () => {
    const problems = await load(`/job/running/${job}/checkpoints`)
    for (const [tab, shows] of [
      ['History', 'COMPLETED'],
      ['Summary', 'End to End Duration'],
      ['Configuration', 'Exactly Once'],
    ] as const) {
      await page.getByRole('tab', { name: tab }).last().click()
      await page.getByText(shows).locator('visible=true').first().waitFor({ timeout: 180_000 })
      await keepPicture(`checkpoints-${tab}`)
    }
    expect(problems).toEqual([])
  })
})
