import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * Global setup of every test project: a run fails on any Node.js warning, such as a leaked file handle or
 * a promise rejection that is handled too late. All processes and threads of the run inherit the variable
 * and append their warnings to one file, also those whose output a test captures.
 */
export function setup(): (() => void) | undefined {
  // Another project of the same run has made the file and checks it.
  if (process.env['NODE_REDIRECT_WARNINGS'] !== undefined) return undefined
  const file = join(mkdtempSync(join(tmpdir(), 'weir-warnings-')), 'warnings.txt')
  process.env['NODE_REDIRECT_WARNINGS'] = file
  return () => {
    delete process.env['NODE_REDIRECT_WARNINGS']
    const warnings = existsSync(file) ? readFileSync(file, 'utf8') : ''
    rmSync(dirname(file), { recursive: true })
    if (warnings === '') return
    throw new Error(
      `Node.js warned. NODE_OPTIONS=--trace-warnings adds the stack of each:\n${warnings}`,
    )
  }
}
