import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium } from 'playwright-core'
import type { Benchmark } from '../harness/benchmark.ts'
import { scaled } from '../load/model-shape.ts'
import { median } from '../load/statistics.ts'

/** Debian's package. */
const CHROMIUM = '/usr/bin/chromium'
const BUILD = fileURLToPath(new URL('../../scripts/build-dashboard.js', import.meta.url))
const VISITS = 5

interface Visit {
  readonly seconds: number
  readonly bytes: number
}

/** `dashboard`: the first view of the dashboard of a running job, in a browser that has cached nothing. */
export const dashboardBenchmark: Benchmark = {
  name: 'dashboard',
  summary: 'first view of the dashboard of a running job in Chromium, cold cache',
  async run({ scale, say, workspace }) {
    if (!existsSync(CHROMIUM)) {
      say(
        `${CHROMIUM} is missing (Debian: apt-get install chromium): this benchmark measures nothing`,
      )
      return []
    }
    execFileSync(process.execPath, [BUILD], { stdio: 'ignore' })
    const shape = { users: scaled(20_000, scale), items: scaled(136_000, scale), factors: 100 }
    const served = await workspace.serve(shape)
    const url = `http://127.0.0.1:${await served.call('restPort')}`
    const overview = (await (await fetch(`${url}/jobs/overview`)).json()) as {
      readonly jobs: readonly { readonly name: string }[]
    }
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
    const visits: Visit[] = []
    try {
      for (let visit = 1; visit <= VISITS; visit++) {
        visits.push(await visitOf(browser, url, overview.jobs[0]!.name))
        const { seconds, bytes } = visits.at(-1)!
        say(`visit ${visit}: ${seconds.toFixed(2)} s, ${bytes} bytes`)
      }
    } finally {
      await browser.close()
    }
    const figure = { higher: false, details: { visits: VISITS } } as const
    return [
      {
        ...figure,
        name: 'dashboard-transferred',
        value: median(visits.map(({ bytes }) => bytes)) / 1000,
        unit: 'kB',
        target: 300,
      },
      {
        ...figure,
        name: 'dashboard-first-view',
        value: median(visits.map(({ seconds }) => seconds)),
        unit: 's',
        target: 1,
      },
    ]
  },
}

/** Opens the dashboard until it shows the job. Headers and bodies count as they come over the network. */
async function visitOf(browser: Browser, url: string, job: string): Promise<Visit> {
  const context = await browser.newContext()
  try {
    const page = await context.newPage()
    const network = await context.newCDPSession(page)
    let bytes = 0
    network.on('Network.responseReceived', ({ response }) => {
      bytes += response.encodedDataLength
    })
    network.on('Network.dataReceived', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await network.send('Network.enable')
    await network.send('Network.setCacheDisabled', { cacheDisabled: true })
    const started = performance.now()
    await page.goto(url, { waitUntil: 'commit' })
    await page.getByRole('link', { name: job }).first().waitFor()
    return { seconds: (performance.now() - started) / 1000, bytes }
  } finally {
    await context.close()
  }
}
