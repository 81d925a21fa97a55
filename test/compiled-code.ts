import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Global setup of system tests: all processes and threads of a run share the code that they compile. A job
 * process with two slots starts with about half of the processor time, and these tests start hundreds.
 */
export function setup(): (() => void) | undefined {
  // Another project of the same run has made the folder and removes it, or the user has one.
  if (process.env['NODE_COMPILE_CACHE'] !== undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'weir-compiled-'))
  process.env['NODE_COMPILE_CACHE'] = folder
  return () => {
    delete process.env['NODE_COMPILE_CACHE']
    rmSync(folder, { recursive: true, force: true })
  }
}
