import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { BUILT_MODULES_FLAG } from '../../run/setup/built-modules.ts'
import { until } from '../../run/until.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const MODULE = new URL('./relay.process.ts', import.meta.url)
const PROCESSES = 3
const HANDOVERS = 24
/** One of so many owners is killed, the others close the log. */
const KILL_ONE_OF = 4
const seed = commitSeed()

const children = new Set<ChildProcess>()
const directory = fs.mkdtempSync(join(tmpdir(), 'weir-relay-'))
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  fs.rmSync(directory, { recursive: true, force: true })
})

/** Names of acknowledged records, and how many acknowledgements there were. */
const acknowledged = new Set<string>()
const counts = { reports: 0, failures: 0 }
/** Processes that have reported since the last change of the owner. */
const reported = new Set<ChildProcess>()
const unexpected: string[] = []
let started = 0

function startWriter(): void {
  const name = `w${started++}`
  const arguments_ = [directory, name, `${seed + started}`]
  const child = fork(MODULE, arguments_, {
    execArgv: [BUILT_MODULES_FLAG],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  children.add(child)
  child.stderr!.on('data', (text) => unexpected.push(`${name}: ${text}`))
  child.on('exit', () => children.delete(child))
  child.on('message', (message: { from?: number; to: number }) => {
    if (message.from === undefined) {
      counts.failures += 1
      return
    }
    counts.reports += 1
    reported.add(child)
    for (let i = message.from; i < message.to; i++) acknowledged.add(`${name} ${i}`)
  })
}

/** The process that owns the log, and since which lock; undefined between two owners. */
interface Owner {
  readonly process: ChildProcess
  readonly lock: string
}

function owner(): Owner | undefined {
  const path = join(directory, '.lock')
  try {
    const { pid } = JSON.parse(fs.readFileSync(path, 'utf8'))
    const process = [...children].find((child) => child.pid === pid)
    const { ino, ctimeMs } = fs.statSync(path)
    return process === undefined ? undefined : { process, lock: `${ino} ${ctimeMs}` }
  } catch {
    return undefined
  }
}

/** Waits until the log has another owner, or the same one again, and each process writes to it again. */
async function nextOwner(before: Owner | undefined): Promise<Owner> {
  let found = owner()
  await until('the log has another owner', () => {
    found = owner()
    return found !== undefined && found.lock !== before?.lock
  })
  reported.clear()
  await until('each process writes', () => [...children].every((child) => reported.has(child)))
  return owner() ?? found!
}

async function recordsOf(): Promise<string[]> {
  await using topics = new LogTopics(directory)
  const records: string[] = []
  await scanTopic(topics, 't', (record) => {
    records.push(new TextDecoder().decode(record.value()!))
    return true
  })
  return records
}

it('a log keeps every acknowledged record once and in order while its owner ends again and again under load', async () => {
  const log = await EmbeddedLog.open(directory)
  await log.createTopic('t', { partitions: 1, segmentBytes: 64 * 1024 })
  await log.close()
  const killed = seededRandom(seed).below(KILL_ONE_OF)
  for (let i = 0; i < PROCESSES; i++) startWriter()
  let current = await nextOwner(undefined)
  let kills = 0
  for (let i = 0; i < HANDOVERS; i++) {
    if (i % KILL_ONE_OF === killed) {
      kills += 1
      current.process.kill('SIGKILL')
      await once(current.process, 'exit')
      startWriter()
    } else current.process.send('close')
    current = await nextOwner(current)
  }
  const ended = [...children].map((child) => once(child, 'exit'))
  for (const child of children) child.send('end')
  const codes = await Promise.all(ended)

  const records = await recordsOf()
  const figures = {
    seed,
    kills,
    ...counts,
    acknowledged: acknowledged.size,
    records: records.length,
  }
  process.stdout.write(`${JSON.stringify(figures)}\n`)
  expect(unexpected, `WEIR_SEED=${seed}`).toEqual([])
  expect(codes.map(([code]) => code)).toEqual(codes.map(() => 0))
  expect(new Set(records).size, 'a record came twice').toBe(records.length)
  // Kills are seen by the others: they lose calls of which it is unknown whether they were executed.
  expect(counts.failures).toBeGreaterThan(0)
  const stored = new Set(records)
  expect([...acknowledged].filter((record) => !stored.has(record))).toEqual([])
  expect(disorder(records)).toEqual([])
})

/** Records whose number is not above that of the record of the same writer before it. */
function disorder(records: readonly string[]): string[] {
  const last = new Map<string, number>()
  return records.filter((record) => {
    const [name, number] = record.split(' ') as [string, string]
    const isLater = Number(number) > (last.get(name) ?? -1)
    last.set(name, Number(number))
    return !isLater
  })
}
