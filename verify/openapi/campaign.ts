import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pythonWith } from '../../test/services/python-packages.ts'
import { serveGateway } from './served-gateway.ts'
import { serveJobManager } from './served-job-manager.ts'
import { type ServedPort, ServedProcesses } from './served-processes.ts'

/** Options of the campaign. */
export interface OpenApiOptions {
  readonly seed: number
  /** Most random cases of an operation, besides those at the bounds of each schema. */
  readonly cases: number
  readonly say: (line: string) => void
  /** Compares only one of so many parts of the paths, which one the seed says. @default 1 */
  readonly parts?: number
  /** Whose document is compared. @default 'gateway' */
  readonly port?: keyof typeof PORTS
}

/** What starts the port of each document. */
const PORTS = {
  gateway: serveGateway,
  jobmanager: serveJobManager,
} satisfies Record<string, (processes: ServedProcesses) => Promise<ServedPort>>

/** Result of the campaign. */
export interface OpenApiReport {
  readonly campaign: 'openapi'
  readonly seed: number
  readonly violations: readonly string[]
  /** The last lines of schemathesis: what it ran. */
  readonly summary: string
}

/** The release whose checks the ports pass. */
const PACKAGE = 'schemathesis==4.32.5'

/** Longest time of one request; a machine may be busy. */
const REQUEST_SECONDS = '60'

/** The interpreter that has schemathesis. Undefined, with the reason printed, where it cannot be installed. */
export async function pythonWithSchemathesis(): Promise<string | undefined> {
  return await pythonWith(PACKAGE)
}

/**
 * Lets schemathesis, from PyPI, compare a running port with its OpenAPI document: every check that it has. A
 * violation is anything that it finds.
 */
export async function runOpenApi(python: string, options: OpenApiOptions): Promise<OpenApiReport> {
  const { seed, cases, say, parts = 1, port = 'gateway' } = options
  const folder = mkdtempSync(join(tmpdir(), 'weir-openapi-'))
  try {
    await using processes = new ServedProcesses(folder)
    const { url, token, configuration } = await PORTS[port](processes)
    say(`the ${port} is at ${url}`)
    const file = join(folder, 'schemathesis.toml')
    writeFileSync(file, configuration)
    const authorization = `Bearer ${token}`
    const paths = await pathsOf(`${url}/openapi.json`, authorization)
    const part = parts === 1 ? [] : paths.filter((_, n) => n % parts === seed % parts)
    const { code, output } = await schemathesis(python, [
      ...['--config-file', file],
      ...['run', `${url}/openapi.json`, '--checks', 'all', '--no-color'],
      ...['--seed', String(seed), '--max-examples', String(cases), '--continue-on-failure'],
      ...[
        '--phases',
        cases < 20 ? 'examples,coverage,fuzzing' : 'examples,coverage,fuzzing,stateful',
      ],
      ...['--request-timeout', REQUEST_SECONDS, '--suppress-health-check', 'all'],
      ...['--generation-database', 'none', '--header', `Authorization: ${authorization}`],
      ...part.flatMap((path) => ['--include-path', path]),
    ])
    const violations = [...(code === 0 ? [] : [output]), ...processes.ended()]
    return { campaign: 'openapi', seed, violations, summary: output.trim().split('\n').at(-1)! }
  } finally {
    // The processes of jobs may still write their last lines.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 300 })
  }
}

async function pathsOf(url: string, authorization: string): Promise<readonly string[]> {
  const answer = await fetch(url, { headers: { authorization } })
  return Object.keys(((await answer.json()) as { readonly paths: object }).paths)
}

async function schemathesis(
  python: string,
  args: readonly string[],
): Promise<{ readonly code: number; readonly output: string }> {
  const all = ['-m', 'schemathesis.cli', ...args]
  return await new Promise((done) => {
    execFile(python, all, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : 1, output: `${stdout}\n${stderr}` })
    })
  })
}
