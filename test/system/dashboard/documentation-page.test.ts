import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../run/needs.ts'
import { CHROMIUM } from '../../services/chromium.ts'
import { sharedBrowser } from '../../services/lending/browser.ts'
import { type CommandProcess, REPOSITORY, weir } from '../cli/command-process.ts'
import { violations } from './axe.ts'

/** Time for everything to happen on a loaded machine, ms. */
const PATIENT = 60_000
const METHODS = ['get', 'post', 'put', 'patch', 'delete']

let folder: string
let job: CommandProcess
let gateway: CommandProcess
let browser: Browser
const urls: Record<string, string> = {}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-documentation-'))
  const module = join(REPOSITORY, 'test/fixtures/held-up-job.ts')
  const rest = ['-D', 'rest.port=0', '--data-dir', folder]
  job = weir(['run', module, '--listen', '0', '--slots', '1', ...rest])
  urls['REST'] = (await job.printed(/REST interface on (http:\S+)/))[1]!
  const [, asked] = await job.printed(/serving queries on (\S+);/)
  gateway = weir(['gateway', '--job', asked!, '--listen', '0', '--json'])
  urls['the gateway'] = (await gateway.printed(/"url":"([^"]+)"/))[1]!
  browser = await sharedBrowser()
})

afterAll(async () => {
  await browser?.close()
  for (const process of [gateway, job]) {
    process?.signal('SIGKILL')
    await process?.ended
  }
  rmSync(folder, { recursive: true, force: true })
})

/** Opens the first operation of each method, ready to be tried. */
async function openOperations(page: Page): Promise<void> {
  await page.locator('.opblock').first().waitFor()
  for (const method of METHODS) {
    const operation = page.locator(`.opblock-${method}`).first()
    if ((await operation.count()) === 0) continue
    await operation.locator('.opblock-summary-control').click()
    await operation.locator('.try-out__btn').click()
    await operation.locator('.btn.execute').waitFor()
  }
  // The others are like these, and axe looks at each of them for a long time.
  await page.evaluate((methods) => {
    for (const method of methods) {
      const closed = document.querySelectorAll(`.opblock-${method}:not(.is-open)`)
      for (const operation of [...closed].slice(1)) operation.remove()
    }
  }, METHODS)
}

describe('the page to try routes', needs(existsSync(CHROMIUM), `no browser at ${CHROMIUM}`), () => {
  it.each(['REST', 'the gateway'])(
    'of %s is accessible, with its operations open',
    async (name) => {
      const page = await browser.newPage({ viewport: { width: 1400, height: 850 } })
      page.setDefaultTimeout(PATIENT)
      const errors: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error') errors.push(message.text())
      })
      await page.goto(`${urls[name]}/docs`)
      await openOperations(page)
      await expect.poll(() => violations(page), { timeout: PATIENT }).toEqual([])
      expect(errors).toEqual([])
      await page.close()
    },
  )
})
