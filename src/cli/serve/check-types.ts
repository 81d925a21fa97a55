import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { WeirError } from '../../core/errors.ts'

/** What TypeScript checks: what Node runs when it strips the types. */
const FLAGS = [
  ...[
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--allowImportingTsExtensions',
    '--pretty',
    'false',
  ],
  ...['--target', 'esnext', '--module', 'nodenext', '--moduleResolution', 'nodenext'],
]
/** Most lines of TypeScript's report that the error shows. */
const MOST_LINES = 20
/** A report of a large job, in bytes. */
const MOST_BYTES = 16 * 1024 * 1024

interface Compiler {
  /** The folder whose `node_modules` has TypeScript. */
  readonly root: string
  /** Its command, a module for Node. */
  readonly command: string
  readonly flags: readonly string[]
}

/**
 * Checks the types of the module of a job, and of what it imports, with the TypeScript that is installed beside it
 * or in the current folder. Throws INVALID_ARGUMENT with TypeScript's report, UNSUPPORTED where none is installed.
 */
export async function checkTypes(path: string): Promise<void> {
  const file = resolve(path)
  const { root, command, flags } = compilerFor(file)
  const checked = /\.[cm]?jsx?$/.test(file) ? ['--allowJs', '--checkJs'] : []
  const args = [command, ...FLAGS, ...flags, ...checked, file]
  const report = await reportOf(args, root)
  if (report === undefined) return
  const lines = report.trim().split('\n')
  const more = lines.length > MOST_LINES ? [`... and ${lines.length - MOST_LINES} more lines`] : []
  const shown = [...lines.slice(0, MOST_LINES), ...more].join('\n')
  throw new WeirError('INVALID_ARGUMENT', `${path} has type errors:\n${shown}`)
}

function compilerFor(file: string): Compiler {
  const found = [dirname(file), process.cwd()].map(packageOf).find((one) => one !== undefined)
  if (found === undefined) {
    throw new WeirError(
      'UNSUPPORTED',
      `--check-types needs TypeScript, which is installed neither beside ${file} nor in the current folder: run "npm install --save-dev typescript @types/node", or leave the flag out`,
    )
  }
  const { bin, version } = JSON.parse(readFileSync(found, 'utf8')) as {
    readonly bin: { readonly tsc: string }
    readonly version: string
  }
  const root = resolve(dirname(found), '../..')
  const hasNode = existsSync(join(root, 'node_modules/@types/node'))
  // Since version 6 a file is refused beside a tsconfig.json; before, the flag is unknown.
  const isNew = Number.parseInt(version, 10) >= 6
  return {
    root,
    command: join(dirname(found), bin.tsc),
    flags: [...(hasNode ? ['--types', 'node'] : []), ...(isNew ? ['--ignoreConfig'] : [])],
  }
}

/** The `package.json` of the TypeScript that a module in a folder imports. */
function packageOf(folder: string): string | undefined {
  try {
    return createRequire(join(folder, 'module.js')).resolve('typescript/package.json')
  } catch {
    return undefined
  }
}

/** What TypeScript found; undefined where the types are right. */
function reportOf(args: readonly string[], cwd: string): Promise<string | undefined> {
  return new Promise((settle) => {
    execFile(process.execPath, args, { cwd, maxBuffer: MOST_BYTES }, (error, stdout, stderr) => {
      settle(error === null ? undefined : stdout.trim() || stderr.trim() || error.message)
    })
  })
}
