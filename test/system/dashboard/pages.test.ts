import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { needs } from '../../run/needs.ts'
import { LONGEST_BLOCK_MS, until } from '../../run/until.ts'
import { CHROMIUM } from '../../services/chromium.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { sharedBrowser } from '../../services/lending/browser.ts'
import { type CommandProcess, REPOSITORY, weir } from '../cli/command-process.ts'
import { seriousViolations } from './axe.ts'
import { cutTexts } from './cut-texts.ts'
import { PAGES, type ShownJobs } from './page-table.ts'
import { SeverableProxy } from './severable-proxy.ts'

/** Folder of the screenshots, which stay there to be looked at. The short part makes none: no test reads them. */
const SCREENSHOTS = campaignSize<string | undefined>(
  undefined,
  join(tmpdir(), 'weir-dashboard-screenshots'),
)
/** Time for everything to happen on a loaded machine, ms. */
const PATIENT = 60_000

/** Size of the window, and colours that the system asks for. */
interface Look {
  readonly viewport: { readonly width: number; readonly height: number }
  readonly colorScheme: 'light' | 'dark'
}

const LOOKS: Readonly<Record<string, Look>> = {
  light: { viewport: { width: 1400, height: 850 }, colorScheme: 'light' },
  dark: { viewport: { width: 1400, height: 850 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
}

/** The pages that are shown: in the short part every second one, by the seed. The tests of single actions show others. */
const SHOWN = Object.keys(PAGES).filter((_, n) => campaignSize(n % 2 === commitSeed() % 2, true))

/** The looks of a page: in the short part one of them, from page to page another one, and from seed to seed. */
function looksOf(name: string): readonly string[] {
  const all = Object.keys(LOOKS)
  const first = Object.keys(PAGES).indexOf(name) + Math.floor(commitSeed() / 2)
  return [0, 1, 2]
    .slice(0, campaignSize(1, all.length, 2))
    .map((n) => all[(first + n) % all.length]!)
}

/** Tabs that every job has, here with checkpoints. */
const TABS = ['Graph', 'Checkpoints', 'Exceptions', 'Topics', 'Configuration', 'Log']
/** Tabs of a job that learns, of one that is back-pressured, and of one that fails and restarts. */
const TABS_OF = {
  learning: [...TABS, 'Learning', 'Models', 'Recommendations', 'State'],
  heldUp: TABS,
  failing: TABS,
} satisfies Partial<Record<keyof ShownJobs, readonly string[]>>

/** Those whose tabs are shown: the short part has one of the latter two, by the seed. */
const TABBED = Object.entries(TABS_OF).filter(([name], n) =>
  campaignSize(name === 'learning' || n % 2 === commitSeed() % 2, true),
)

let folder: string
let manager: CommandProcess
let url: string
let browser: Browser
/** One for all addresses: a page of its own has two processes of the browser, which compile everything again. */
let shared: Page
let jobs: ShownJobs

const read = async <T>(path: string): Promise<T> =>
  (await (await fetch(`${url}${path}`)).json()) as T

async function submit(...words: string[]): Promise<string> {
  const at = ['-m', url.slice('http://'.length), '--slots', '1']
  const submitted = await inProcess([...words, '-d', ...at])
  expect(submitted.code, submitted.stderr).toBe(0)
  return /JobID ([0-9a-f]{32})/.exec(submitted.stdout)![1]!
}

/** A model that doubles, and a second version that cannot be loaded. */
function writeModels(repository: string): void {
  const model = `
const spec = (name) => ({ name, datatype: 'FP32', shape: [-1] })
export default {
  signature: { inputs: [spec('x')], outputs: [spec('y')] },
  run: ([x]) => [{ ...x, name: 'y' }],
}
`
  for (const [version, text] of [model, 'no module'].entries()) {
    const at = join(repository, 'double', String(version + 1))
    mkdirSync(at, { recursive: true })
    writeFileSync(join(at, 'model.mjs'), text)
  }
  writeFileSync(
    join(repository, 'double', 'deployment.yaml'),
    'slo-ms: 100\nmax-batch: 8\nbatches: true\n',
  )
}

async function done(args: readonly string[], input?: string): Promise<void> {
  const { code, stderr } = await inProcess(args, input)
  expect(code, stderr).toBe(0)
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-dashboard-'))
  if (SCREENSHOTS !== undefined) mkdirSync(SCREENSHOTS, { recursive: true })
  const data = ['--data-dir', folder]
  const fixtures = join(REPOSITORY, 'test/fixtures')
  const often = ['-D', 'execution.checkpointing.interval=1s']
  const models = join(folder, 'models')
  mkdirSync(models)
  const modules = ['--modules', fixtures, '--modules', models]
  manager = weir(['jobmanager', ...data, '-D', 'rest.port=0', ...modules])
  execFileSync(process.execPath, ['scripts/build-dashboard.js'], {
    cwd: REPOSITORY,
    timeout: LONGEST_BLOCK_MS,
  })
  await done(['generate', 'als-model', '--users', '20', '--items', '20', ...data])
  // Version 1 is live in the registry; the second version waits for its promotion by a test.
  await done(['model', 'promote', '1', '--force', 'the first one', ...data])
  url = (await manager.printed(/REST interface on (http:\S+);/))[1]!
  writeFileSync(join(folder, 'titles.csv'), '1,The first film\n2,"Film, the second"\n')
  writeModels(models)
  for (const topic of ['clicks', 'rules']) {
    await done(['topic', 'create', topic, '--partitions', '1', ...data])
    await done(['topic', 'produce', topic, ...data], 'home\ndocs\nnews\n')
  }
  const [heldUp, failing, asking, rules, waiting, learning] = await Promise.all([
    submit('run', join(fixtures, 'held-up-job.ts'), ...often),
    submit('run', join(fixtures, 'failing-job.ts'), ...often),
    submit('run', join(fixtures, 'asking-job.ts'), '--repository', models, ...often),
    submit('run', join(fixtures, 'rules-job.ts'), ...often),
    submit('run', join(fixtures, 'waiting-job.ts'), ...often),
    submit('learn', 'als', '--titles', join(folder, 'titles.csv'), ...often),
  ])
  jobs = { heldUp, failing, learning, asking, rules, waiting }
  browser = await sharedBrowser()
  shared = await browser.newPage()
  const isReady = async (): Promise<boolean> =>
    (await read<{ kind?: string }>(`/weir/jobs/${learning}/learning`)).kind === 'ratings'
  await until('the job learns', isReady, { everyMs: 50 })
  const ratings = Array.from({ length: 200 }, (_, i) => {
    const user = 1 + (i % 20)
    return `${user};${user},${1 + ((i * 7) % 20)},${1 + (i % 5)}`
  })
  const produce = ['topic', 'produce', 'observations', '--key-separator', ';', ...data]
  await done(produce, `${ratings.join('\n')}\n`)
  await submit('run', 'histories', ...often)
  await done(['generate', 'als-model', '--users', '20', '--items', '20', ...data])
})

afterAll(async () => {
  await browser?.close()
  // Else its last checkpoint, behind all that its slow sink holds up, takes as long as all tests of a page.
  if (jobs !== undefined) await fetch(`${url}/jobs/${jobs.heldUp}?mode=cancel`, { method: 'PATCH' })
  manager?.signal('SIGINT')
  await manager?.ended
  rmSync(folder, { recursive: true, force: true })
})

/** Opens an address in a page, here the shared one, and collects every error of its console. */
async function open(
  hash: string,
  { viewport, colorScheme }: Look,
  check: (page: Page) => Promise<void>,
  { logs, page = shared }: { readonly logs?: RegExp | undefined; readonly page?: Page } = {},
) {
  // A load, not a step within the dashboard that runs.
  await page.goto('about:blank')
  page.removeAllListeners()
  page.setDefaultTimeout(PATIENT)
  await page.emulateMedia({ colorScheme })
  await page.setViewportSize(viewport)
  const errors: string[] = []
  page.on('console', (message) => {
    const isBad = message.type() === 'error' || message.type() === 'warning'
    if (isBad && logs?.test(message.text()) !== true) errors.push(message.text())
  })
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) errors.push(`a request to ${request.url()}`)
  })
  await page.goto(`${url}/${hash}`)
  await check(page)
  expect(errors).toEqual([])
}

describe('the dashboard', needs(existsSync(CHROMIUM), `no browser at ${CHROMIUM}`), () => {
  it.each(SHOWN)(
    'shows %s of running jobs in its looks, without errors, and accessible',
    async (name) => {
      const { at, shows, logs } = PAGES[name]!
      const hash = await at({ url, jobs })
      const looks = looksOf(name)
      // One window for all looks: its second load finds the code compiled.
      const check = async (page: Page): Promise<void> => {
        for (const [n, look] of looks.entries()) {
          const { viewport, colorScheme } = LOOKS[look]!
          if (n > 0) {
            await page.emulateMedia({ colorScheme })
            await page.setViewportSize(viewport)
            await page.reload()
          }
          await shows(page)
          if (SCREENSHOTS !== undefined) {
            const path = join(SCREENSHOTS, `${name}-${look}.png`)
            await page.screenshot({ path, fullPage: true })
          }
          expect(await seriousViolations(page), look).toEqual([])
          expect(await cutTexts(page), look).toEqual([])
          const width = await page.evaluate(() => document.documentElement.scrollWidth)
          expect(width, look).toBe(viewport.width)
        }
      }
      await open(hash, LOOKS[looks[0]!]!, check, { logs })
    },
  )

  it.each(TABBED)(
    'shows every tab of the job "%s", without errors, and accessible',
    async (name, least) => {
      const hash = `#/jobs/${jobs[name as keyof ShownJobs]}/exceptions`
      const check = async (page: Page): Promise<void> => {
        const tabs = page.getByRole('navigation', { name: 'Tabs of the job' })
        const titles = async (): Promise<string[]> =>
          (await tabs.getByRole('link').allInnerTexts()).map((text) => text.replace(/ \(.*/, ''))
        await expect.poll(titles, { timeout: PATIENT }).toEqual(expect.arrayContaining([...least]))
        for (const title of await titles()) {
          const tab = tabs.getByRole('link', { name: new RegExp(`^${title}`) })
          await tab.click()
          await tabs.locator('[aria-current=page]', { hasText: title }).waitFor()
          await page.getByText('Loading …').first().waitFor({ state: 'detached' })
          expect(await page.getByRole('alert').allInnerTexts(), title).toEqual([])
          expect(await seriousViolations(page), title).toEqual([])
        }
      }
      // A job that restarts again and again is asked for its states in between, too.
      const logs = name === 'failing' ? /status of (409|503)/ : undefined
      await open(hash, LOOKS['light']!, check, { logs })
    },
  )

  it('names the page and the job in the title of the window', async () => {
    await open(`#/jobs/${jobs.rules}/topics`, LOOKS['light']!, async (page) => {
      const title = async (): Promise<string> => await page.title()
      await expect.poll(title, { timeout: PATIENT }).toBe('rules: Topics - Weir')
      await page.getByRole('link', { name: 'Log', exact: true }).click()
      await expect.poll(title, { timeout: PATIENT }).toBe('rules: Log - Weir')
      await page.getByRole('link', { name: 'Jobs', exact: true }).click()
      await expect.poll(title, { timeout: PATIENT }).toBe('Jobs - Weir')
    })
  })

  it('transfers at most 300 kB for the first view', async () => {
    const weigh = async (page: Page): Promise<void> => {
      await PAGES['overview']!.shows(page)
      const bytes = await page.evaluate(() =>
        performance
          .getEntries()
          .reduce(
            (sum, entry) => sum + ((entry as PerformanceResourceTiming).transferSize ?? 0),
            0,
          ),
      )
      console.log(`first view of the dashboard: ${bytes} bytes transferred`)
      expect(bytes).toBeGreaterThan(10_000)
      expect(bytes).toBeLessThan(300_000)
    }
    // A browser that has nothing of the dashboard yet.
    const context = await browser.newContext()
    await open('#/', LOOKS['light']!, weigh, { page: await context.newPage() })
    await context.close()
  })

  it('promotes a version and rolls back, each after a question, and says why it does not', async () => {
    const look = LOOKS['light']!
    const promotion = async (page: Page): Promise<void> => {
      const answer = page.getByRole('main').getByRole('status')
      const dialog = page.getByRole('dialog')
      const confirm = async (action: string, reason?: string): Promise<void> => {
        await page.getByRole('button', { name: action }).click()
        if (reason !== undefined) await dialog.getByLabel(/Reason/).fill(reason)
        await dialog.getByRole('button', { name: action }).click()
      }
      await confirm('Promote version 2')
      await answer.getByText(/PROMOTION_REFUSED.* the data check has not been run/).waitFor()
      await confirm('Promote version 2', 'a test')
      await answer.getByText('Version 2 is live (forced)').waitFor()
      const learns = async (version: number): Promise<void> => {
        await page.getByRole('link', { name: 'Learning', exact: true }).click()
        const live = page.locator('.figure', {
          has: page.getByText('Live version', { exact: true }),
        })
        await live.getByText(String(version), { exact: true }).waitFor()
        await page.goBack()
      }
      await learns(2)
      await confirm('Roll back to 1')
      await answer.getByText('Version 1 is live (rolled back)').waitFor()
      await learns(1)
      await page.getByRole('region', { name: 'Differences of the versions 1 and 2' }).waitFor()
    }
    await open(`#/jobs/${jobs.learning}/models/2`, look, promotion, { logs: /status of 409/ })
  })

  it('gives a job another parallelism after a question, and says why it does not', async () => {
    const rescaling = async (page: Page): Promise<void> => {
      const answer = page.getByRole('main').getByRole('status')
      const dialog = page.getByRole('dialog')
      const number = dialog.getByLabel('Parallelism')
      const opened = async (): Promise<void> => {
        await page.getByRole('main').getByRole('button', { name: 'Rescale' }).click()
        await dialog.waitFor()
      }
      await page.getByText(/up for .*, parallelism 1/).waitFor()
      await opened()
      expect(await dialog.getByRole('button', { name: 'One less' }).isDisabled()).toBe(true)
      await number.fill('129')
      await dialog.getByRole('button', { name: 'Rescale' }).click()
      await answer.getByText(/INVALID_ARGUMENT.* has the max parallelism 128/).waitFor()
      await opened()
      await dialog.getByRole('button', { name: 'Keep 1' }).click()
      await opened()
      await dialog.getByRole('button', { name: 'One more' }).click()
      expect(await number.inputValue()).toBe('2')
      await dialog.getByRole('button', { name: 'Rescale' }).click()
      await answer.getByText('The job runs with parallelism 2.').waitFor()
      await page.getByText(/up for .*, parallelism 2/).waitFor()
    }
    const hash = `#/jobs/${jobs.asking}/graph`
    await open(hash, LOOKS['phone']!, rescaling, { logs: /status of (400|409|503)/ })
  })

  it('goes on by requests when the stream of events is cut, waits for a lost server, and is live again', async () => {
    await using proxy = await SeverableProxy.open(url)
    const context = await browser.newContext(LOOKS['light']!)
    const page = await context.newPage()
    page.setDefaultTimeout(PATIENT)
    const status = page.getByRole('status').first()
    const uptime = page.getByText(/up for/)
    const changes = async (): Promise<void> => {
      const before = await uptime.textContent()
      await uptime.filter({ hasNotText: before! }).waitFor()
    }
    try {
      await page.goto(`${proxy.url}/#/jobs/${jobs.heldUp}/graph`)
      await status.filter({ hasText: /^live$/ }).waitFor()
      await changes()
      proxy.let('all-but-events')
      await status.filter({ hasText: /^connected$/ }).waitFor()
      await changes()
      proxy.let('nothing')
      await status.filter({ hasText: 'connection lost' }).waitFor()
      proxy.let('everything')
      await status.filter({ hasText: /^live$/ }).waitFor()
      await changes()
    } finally {
      await context.close()
    }
  })

  it('closes an operator with Escape from the moment at which its drawer appears', async () => {
    await open(`#/jobs/${jobs.heldUp}/graph`, LOOKS['light']!, async (page) => {
      await page.getByRole('link', { name: /numbers/ }).focus()
      // An observer runs before the browser paints: no person presses a key earlier.
      await page.evaluate(() => {
        const pressed = new Promise<void>((resolve) => {
          new MutationObserver((_, observer) => {
            if (document.querySelector('.drawer') === null) return
            observer.disconnect()
            const press = new KeyboardEvent('keydown', { key: 'Escape', bubbles: true })
            document.activeElement!.dispatchEvent(press)
            resolve()
          }).observe(document.body, { childList: true, subtree: true })
        })
        Object.assign(globalThis, { pressed })
      })
      await page.keyboard.press('Enter')
      await page.evaluate(() => (globalThis as unknown as { pressed: Promise<void> }).pressed)
      await page.getByRole('complementary').waitFor({ state: 'detached' })
    })
  })

  it('is used with the keyboard: opens an operator, closes it, cancels a job after a question', async () => {
    await open(`#/jobs/${jobs.failing}/graph`, LOOKS['light']!, async (page) => {
      await page.getByRole('link', { name: /numbers/ }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('complementary').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('complementary').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Cancel the job' }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').getByRole('button', { name: 'Keep it running' }).focus()
      await page.keyboard.press('Shift+Tab')
      await page.keyboard.press('Enter')
      await page.getByText('canceled', { exact: true }).waitFor()
    })
  })
})
