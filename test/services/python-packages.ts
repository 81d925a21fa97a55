import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { oneAtATime } from './one-at-a-time.ts'

const run = promisify(execFile)

/**
 * Installs Python packages from PyPI into a virtual environment below `.weir/services`, once, and returns
 * its interpreter. Undefined, with the reason printed, where Python or the registry is missing.
 */
export function pythonWith(...packages: readonly string[]): Promise<string | undefined> {
  const name = packages.join('-').replaceAll(/[^A-Za-z0-9.-]+/g, '-')
  const folder = resolve('.weir/services', `python-${name}`)
  return oneAtATime(`${folder}.lock`, () => installed(packages, folder))
}

async function installed(packages: readonly string[], folder: string): Promise<string | undefined> {
  const interpreter = join(folder, 'bin', 'python')
  const complete = join(folder, 'complete')
  if (existsSync(complete)) return interpreter
  try {
    rmSync(folder, { recursive: true, force: true })
    await run('python3', ['-m', 'venv', folder])
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]
    await run(interpreter, pip, { timeout: 200_000 })
    mkdirSync(complete)
    return interpreter
  } catch (error) {
    console.log(
      `skipped: ${packages.join(', ')} cannot be installed: ${String(error).slice(0, 300)}`,
    )
    return undefined
  }
}
