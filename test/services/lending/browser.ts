import { type Browser, chromium } from 'playwright-core'
import { lease } from './lease.ts'

/** A connection to the Chromium that test files share, each with contexts of its own. */
export async function sharedBrowser(): Promise<Browser> {
  const { access, giveBack } = await lease<{ readonly endpoint: string }>('browser')
  const browser = await chromium.connect(access.endpoint)
  browser.on('disconnected', giveBack)
  return browser
}
