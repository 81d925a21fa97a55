import { chromium } from 'playwright-core'
import { CHROMIUM } from '../chromium.ts'
import type { Pooled } from './pool.ts'

/** A Chromium without a window. The contexts of a file end with its connection. */
export async function pooledBrowser(): Promise<Pooled> {
  const server = await chromium.launchServer({
    executablePath: CHROMIUM,
    args: ['--no-sandbox'],
    host: '127.0.0.1',
  })
  return {
    access: { endpoint: server.wsEndpoint() },
    clear: async () => undefined,
    stop: () => server.close(),
  }
}
