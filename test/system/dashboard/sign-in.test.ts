import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { needs } from '../../run/needs.ts'
import { CHROMIUM } from '../../services/chromium.ts'
import { sharedBrowser } from '../../services/lending/browser.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'

/** Time for everything to happen on a loaded machine, ms. */
const PATIENT = 60_000

let folder: string
let manager: CommandProcess
let browser: Browser
let url: string
let token: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-sign-in-'))
  const tokens = join(folder, 'tokens.json')
  const created = await weir(['token', 'create', '--role', 'read', '--tokens', tokens]).ended
  token = created.stdout.trim()
  const words = ['--tokens', tokens, '--data-dir', folder, '-D', 'rest.port=0']
  manager = weir(['jobmanager', ...words])
  url = (await manager.printed(/REST interface on (http:[^\s;]+)/))[1]!
  browser = await sharedBrowser()
})

afterAll(async () => {
  await browser?.close()
  manager?.signal('SIGKILL')
  await manager?.ended
  rmSync(folder, { recursive: true, force: true })
})

it(
  'the dashboard asks for a token where one is needed, takes no wrong one, and keeps the right one for its tab',
  needs(existsSync(CHROMIUM), `no browser at ${CHROMIUM}`),
  async () => {
    const context = await browser.newContext()
    context.setDefaultTimeout(PATIENT)
    const page = await context.newPage()
    await page.goto(url)
    const signIn = async (text: string): Promise<void> => {
      await page.getByLabel('Token').fill(text)
      await page.getByRole('button', { name: 'Continue' }).click()
    }
    await page.getByRole('heading', { name: 'Token needed' }).waitFor()
    expect(await page.getByLabel('Token').getAttribute('type')).toBe('password')
    const refused = page.waitForResponse((answer) => answer.status() === 401)
    await signIn('wrong')
    await refused
    await page.getByRole('heading', { name: 'Token needed' }).waitFor()
    await signIn(token)
    await page.getByRole('heading', { name: 'Token needed' }).waitFor({ state: 'detached' })
    await page.getByRole('navigation').first().waitFor()
    await page.reload()
    await page.getByRole('navigation').first().waitFor()
    expect(await page.getByRole('heading', { name: 'Token needed' }).count()).toBe(0)
    // Another tab is another session.
    const other = await context.newPage()
    await other.goto(url)
    await other.getByRole('heading', { name: 'Token needed' }).waitFor()
    await context.close()
  },
)
