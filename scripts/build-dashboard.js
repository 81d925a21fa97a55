// Runs after `npm install` in a checkout (`prepare`): builds the dashboard into dashboard/dist. Plain
// JavaScript, because it also runs on Node 20. An install without development dependencies has no vite:
// then there is nothing to build.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const vite = await import('vite').catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
  console.error('build-dashboard: vite is not installed, so the dashboard is not built')
})
await vite?.build({ configFile: join(ROOT, 'dashboard/vite.config.ts'), logLevel: 'warn' })
