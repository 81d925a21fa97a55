import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../run/needs.ts'
import { CHROMIUM } from '../../services/chromium.ts'
import { sharedBrowser } from '../../services/lending/browser.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'

/** Time for everything to happen on a loaded machine, ms. */
const PATIENT = 60_000

describe(
  'the pages to try routes',
  needs(existsSync(CHROMIUM), `no browser at ${CHROMIUM}`),
  () => {
    let folder: string
    let browser: Browser
    const processes: CommandProcess[] = []
    const urls: Record<string, string> = {}

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'weir-docs-page-'))
      const data = ['--data-dir', folder, '--json']
      const generated = await weir([
        'generate',
        'als-model',
        '--users',
        '9',
        '--items',
        '9',
        ...data,
      ]).ended
      expect(generated.code, generated.stderr).toBe(0)
      const job = weir(['run', 'als-serving', ...data, '--port', '0', '-D', 'rest.port=0'])
      processes.unshift(job)
      const port = (await job.printed(/"started","port":(\d+)/))[1]!
      urls['job'] = (await job.printed(/"event":"rest","url":"([^"]+)"/))[1]!
      await job.printed(/"event":"live"/)
      const gateway = weir(['gateway', '--listen', '127.0.0.1:0', '--port', port, ...data])
      processes.unshift(gateway)
      urls['gateway'] = (await gateway.printed(/"url":"([^"]+)"/))[1]!
      browser = await sharedBrowser()
    })

    afterAll(async () => {
      await browser?.close()
      for (const process of processes) await process[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    })

    it.each([
      ['gateway', 'GET /v1/states', 'ALS_MODEL'],
      ['job', 'GET /overview', 'jobs-running'],
    ])(
      'that of a %s shows its routes and runs %s, without errors and without other hosts',
      async (name, route, answer) => {
        const url = urls[name]!
        const page = await browser.newPage()
        page.setDefaultTimeout(PATIENT)
        const errors: string[] = []
        page.on('console', (message) => {
          if (['error', 'warning'].includes(message.type())) errors.push(message.text())
        })
        page.on('pageerror', (error) => errors.push(error.message))
        page.on('request', (request) => {
          const isOwn = request.url().startsWith(url) || request.url().startsWith('data:')
          if (!isOwn) errors.push(`a request to ${request.url()}`)
        })
        await page.goto(`${url}/docs`)
        const [method, path] = route.split(' ')
        const block = page
          .locator('.opblock', { has: page.locator(`[data-path="${path}"]`) })
          .filter({ hasText: method! })
        await block.locator('.opblock-summary-control').click()
        await block.getByRole('button', { name: 'Try it out' }).click()
        await block.getByRole('button', { name: 'Execute' }).click()
        await block.locator('.live-responses-table').getByText(answer).first().waitFor()
        expect(errors).toEqual([])
        await page.close()
      },
    )
  },
)
