import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { type CommandProcess, jsonLines, weir } from './command-process.ts'

let folder: string
let job: CommandProcess
let gateway: CommandProcess
let port: string
let url: string
const at = (name: string): string => join(folder, name)

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await weir(args).ended
  expect(code, stderr).toBe(0)
  return stdout
}

/** Runs what is not tested here in this process. */
async function done(...args: string[]): Promise<void> {
  const { code, stderr } = await inProcess(args)
  expect(code, stderr).toBe(0)
}

/** The levels that `weir load --json` prints. */
async function load(...args: string[]): Promise<Record<string, unknown>[]> {
  return jsonLines(await run('load', '--json', ...args))
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-load-'))
  const ratings = ['generate', 'ratings', '--users', '30', '--items', '20', '--ratings', '600']
  await done(...ratings, '--output', at('ratings.data'))
  const train = ['train', 'als', '--ratings', at('ratings.data'), '--factors', '4']
  await done(...train, '--iterations', '2', '--threads', '0', '--data-dir', at('data'))
  await done('topic', 'create', 'observations', '--partitions', '1', '--data-dir', at('data'))
  await done('topic', 'create', 'taken', '--partitions', '1', '--data-dir', at('data'))
  const serve = ['learn', 'als', '--data-dir', at('data'), '--port', '0', '--json']
  job = weir([...serve, '-D', 'rest.enabled=false'])
  port = (await job.printed(/"started","port":(\d+)/))[1]!
  await job.printed(/"event":"learning"/)
  const listen = ['gateway', '--listen', '127.0.0.1:0', '--port', port, '--json']
  gateway = weir([...listen, '--observations', 'taken', '--data-dir', at('data')])
  url = (await gateway.printed(/"url":"([^"]+)"/))[1]!
})

afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]()
  await job?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

describe('weir load', () => {
  it('measures each level of a job over the query protocol, from two threads', async () => {
    const range = ['--concurrency-range', '1:5:4', '--request-count', '200', '--threads', '2']
    const levels = await load('--port', port, ...range, '--csv', at('load.csv'))
    expect(levels).toMatchObject(
      [1, 5].map((level) => ({ level, sent: 200, answered: 200, failed: 0, cold: 0 })),
    )
    expect(readFileSync(at('load.csv'), 'utf8').trim().split('\n')).toHaveLength(3)
    const batches = ['--batch-size', '4', '--users', '60', '--items', '20']
    const [batch] = await load('--port', port, ...batches, '--request-count', '100')
    expect(batch).toMatchObject({ answered: 100, failed: 0 })
    // Half of the users are unknown.
    expect(batch!['cold']).toBeGreaterThan(50)
  })

  it('reads rows and lists, at Poisson times and at those of a trace', async () => {
    const poisson = ['--request-rate-range', '500', '--request-distribution', 'poisson']
    const rows = ['--operation', 'rows', ...poisson, '--request-count', '100']
    expect(await load('--port', port, ...rows)).toMatchObject([
      { load: 'rate', level: 500, sent: 100, answered: 100 },
    ])
    writeFileSync(at('trace'), '0,1\n20,2\n20,3\n')
    const trace = ['--operation', 'top-k', '--k', '3', '--trace', at('trace')]
    expect(await load('--port', port, ...trace)).toMatchObject([
      { load: 'trace', level: null, sent: 3, answered: 3 },
    ])
  })

  it('asks the gateway, and every observation that it counts is in the topic', async () => {
    const over = ['--protocol', 'http', '--url', url, '--concurrency-range', '4']
    expect(await load(...over, '--request-count', '100')).toMatchObject([
      { answered: 100, failed: 0, cold: 0 },
    ])
    const path = ['--path', '/v1/states/ALS_MODEL/{user}', '--input-data', at('keys')]
    writeFileSync(at('keys'), '1-U\n2-I\nnobody-U\n')
    const [mixed] = await load(...over, ...path, '--request-count', '30')
    expect(mixed).toMatchObject({ answered: 20, errors: { UNKNOWN_KEY: { count: 10 } } })
    const observe = ['--operation', 'observe', '--batch-size', '3', '--users', '9', '--items', '9']
    expect(await load(...over, ...observe, '--request-count', '20')).toMatchObject([
      { answered: 20, failed: 0 },
    ])
    const taken = await run('topic', 'consume', 'taken', '--data-dir', at('data'), '--json')
    // One request was sent before the first level, to see whether the gateway answers.
    expect(jsonLines(taken)).toHaveLength(3 * 21)
  })

  it('ends at once with the error when every request fails', async () => {
    const ids = ['--users', '9', '--items', '9']
    const unknown = await weir(['load', '--port', port, '--state', 'NOTHING', ...ids]).ended
    expect(unknown.code).toBe(1)
    expect(unknown.stderr).toContain('UNKNOWN_STATE')
    const refused = await weir(['load', '-i', 'http', '-u', 'http://127.0.0.1:1', ...ids]).ended
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('UNAVAILABLE: 127.0.0.1:1: connect ECONNREFUSED')
  })

  it('ends after Ctrl-C, with what was measured until then', async () => {
    const levels = ['--concurrency-range', '1:1000000:1', '--max-trials', '1']
    await using process = weir(['load', '--port', port, ...levels, '-p', '50', '--json'])
    await process.printed(/"level":2,/)
    process.signal('SIGINT')
    const { code, stdout } = await process.ended
    expect(code).toBe(130)
    for (const level of jsonLines(stdout)) expect(level).toMatchObject({ failed: 0 })
  })
})
