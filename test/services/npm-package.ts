import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { oneAtATime } from './one-at-a-time.ts'

const run = promisify(execFile)

/**
 * Installs a package of npm in this version below `.weir/services`, once, without its scripts, and returns its folder.
 * Undefined, with the reason printed, where the registry does not have it.
 */
export function npmPackage(name: string, version: string): Promise<string | undefined> {
  const folder = resolve('.weir/services', `${name}-${version}`)
  return oneAtATime(`${folder}.lock`, () => installed(name, version, folder))
}

async function installed(
  name: string,
  version: string,
  folder: string,
): Promise<string | undefined> {
  const found = join(folder, 'node_modules', name)
  const complete = join(folder, 'complete')
  if (existsSync(complete)) return found
  try {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    await run('npm', ['install', '--prefix', folder, ...quiet, `${name}@${version}`], {
      timeout: 200_000,
    })
    mkdirSync(complete)
    return found
  } catch (error) {
    console.log(`skipped: ${name}@${version} cannot be installed: ${String(error).slice(0, 300)}`)
    return undefined
  }
}

/** The program of a Node of this version for this platform; undefined as `npmPackage`. */
export async function nodeOfVersion(version: string): Promise<string | undefined> {
  const folder = await npmPackage(`node-${process.platform}-${process.arch}`, version)
  return folder === undefined ? undefined : join(folder, 'bin', 'node')
}
