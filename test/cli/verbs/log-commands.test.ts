import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { recordedIo } from '../recorded-io.ts'

let root: string
let log: string
let segments: string[]

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'weir-log-'))
  log = join(root, 'log')
  await writeTopics(log, ['first', 'second'])
  const names = readdirSync(join(log, 'first/0')).filter((name) => name.endsWith('.log'))
  segments = names.sort().map((name) => join(log, 'first/0', name))
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

async function writeTopics(directory: string, topics: readonly string[]): Promise<void> {
  const opened = await EmbeddedLog.open(directory)
  for (const topic of topics) {
    await opened.createTopic(topic, { segmentBytes: 300 })
    const producer = opened.producer(topic)
    for (let i = 0; i < 12; i++) {
      producer.send(null, new TextEncoder().encode(`value ${i}`), 1)
      await producer.flush()
    }
  }
  await opened.close()
}

async function run(...words: string[]) {
  const { io, out, err } = recordedIo()
  const exitCode = await runCommandLine([...words, '--data-dir', root], io)
  return { exitCode, out, err: err.join('\n') }
}

function flip(file: string, at: number): void {
  const bytes = readFileSync(file)
  bytes[at]! ^= 1
  writeFileSync(file, bytes)
}

describe('weir log check', () => {
  it('lists every file of a whole log, with status 0', async () => {
    const { exitCode, out } = await run('log', 'check')
    expect(exitCode).toBe(0)
    for (const file of segments) expect(out).toContain(`whole    ${file}`)
    expect(out).toContain(`whole    ${join(log, 'second/topic.json')}`)
    expect(out.every((line) => line.startsWith('whole    '))).toBe(true)
    const one = await run('log', 'check', '--topic', 'second')
    expect(one.out.every((line) => line.includes('/second/'))).toBe(true)
  })

  it('names file, byte, offset and reason of a damage, with status 1, and changes nothing', async () => {
    flip(segments[1]!, 65)
    const before = readFileSync(segments[1]!)
    const offset = Number(before.readBigInt64BE(0))
    const { exitCode, out } = await run('log', 'check')
    expect(exitCode).toBe(1)
    expect(out.filter((line) => !line.startsWith('whole'))).toEqual([
      expect.stringMatching(
        new RegExp(
          `^damaged  ${segments[1]} at byte 0, offset ${offset}: no intact batch is here; \\d+ bytes follow$`,
        ),
      ),
    ])
    const json = (await run('log', 'check', '--json')).out.map((line) => JSON.parse(line))
    expect(json.filter(({ damage }) => damage !== undefined)).toMatchObject([
      {
        topic: 'first',
        partition: 0,
        file: segments[1],
        base: offset,
        damage: { position: 0, offset },
      },
    ])
    expect(readFileSync(segments[1]!)).toEqual(before)
  })

  it('checks and repairs the log of the model registry, too', async () => {
    const registry = join(root, 'registry')
    await writeTopics(registry, ['model-registry'])
    const [name] = readdirSync(join(registry, 'model-registry/0')).filter((one) => /log$/.test(one))
    const file = join(registry, 'model-registry/0', name!)
    flip(file, 65)
    const { exitCode, out } = await run('log', 'check')
    expect(exitCode).toBe(1)
    expect(out.filter((line) => line.startsWith('damaged'))).toEqual([
      expect.stringContaining(file),
    ])
    expect(out).toContain(`whole    ${segments[0]}`)
    const repaired = await run('log', 'repair', '--topic', 'model-registry', '--yes')
    expect(repaired).toMatchObject({ exitCode: 0, out: [expect.stringContaining(file)] })
    expect((await run('log', 'check')).exitCode).toBe(0)
  })

  it('refuses a folder that does not exist and a topic that does not exist', async () => {
    const missing = await run('log', 'check', '--topic', 'third')
    expect(missing).toMatchObject({ exitCode: 1, err: expect.stringContaining('UNKNOWN_TOPIC') })
    rmSync(log, { recursive: true })
    const nowhere = await run('log', 'check')
    expect(nowhere).toMatchObject({ exitCode: 1, err: expect.stringContaining('FILE_NOT_FOUND') })
  })
})

describe('weir log repair', () => {
  it('has nothing to do in a whole log, with status 0', async () => {
    expect(await run('log', 'repair')).toMatchObject({ exitCode: 0, out: [] })
    expect(await run('log', 'repair', '--yes')).toMatchObject({ exitCode: 0, out: [] })
  })

  it('shows what would be lost, and changes nothing without --yes', async () => {
    flip(segments[1]!, 65)
    const before = readFileSync(segments[1]!)
    const offset = Number(before.readBigInt64BE(0))
    const { exitCode, out, err } = await run('log', 'repair')
    expect(exitCode).toBe(1)
    expect(out).toEqual([
      `would repair ${segments[1]}; lost offsets: ${offset} to ${offset}; the damaged file is ${segments[1]}.damaged`,
    ])
    expect(err).toContain('nothing was changed; repeat with --yes to repair')
    expect(readFileSync(segments[1]!)).toEqual(before)
    expect(existsSync(`${segments[1]}.damaged`)).toBe(false)
  })

  it('repairs with --yes, keeps the damaged file, and the log is whole afterwards', async () => {
    flip(segments[1]!, 65)
    const before = readFileSync(segments[1]!)
    const { exitCode, out } = await run('log', 'repair', '--yes', '--json')
    expect(exitCode).toBe(0)
    const offset = Number(before.readBigInt64BE(0))
    expect(out.map((line) => JSON.parse(line))).toEqual([
      { file: segments[1], saved: `${segments[1]}.damaged`, lost: [[offset, offset + 1]] },
    ])
    expect(readFileSync(`${segments[1]}.damaged`)).toEqual(before)
    expect((await run('log', 'check')).exitCode).toBe(0)
  })

  it('says what to do about a file that it cannot repair, with status 1', async () => {
    rmSync(join(log, 'first/topic.json'))
    const { exitCode, out } = await run('log', 'repair', '--yes')
    expect(exitCode).toBe(1)
    expect(out).toEqual([
      expect.stringContaining(
        `cannot repair ${join(log, 'first/topic.json')}: restore it from a copy, or write {"version":1,"partitions":1,"cleanupPolicy":"delete"} into it`,
      ),
    ])
  })
})

describe('weir topic list', () => {
  it('goes on past a damaged topic, says which file it is, and ends with status 1', async () => {
    const file = join(log, 'first/topic.json')
    for (const damage of [() => truncateSync(file, 20), () => rmSync(file)]) {
      damage()
      const { exitCode, out, err } = await run('topic', 'list')
      expect(exitCode).toBe(1)
      expect(out).toEqual([
        expect.stringMatching(/^first +DAMAGED$/),
        expect.stringMatching(/^second +1 partition, delete, offsets 0\.\.12$/),
      ])
      expect(err).toContain(`MALFORMED_DATA: ${file} is damaged`)
      const json = (await run('topic', 'list', '--json')).out.map((line) => JSON.parse(line))
      expect(json).toMatchObject([{ topic: 'first', code: 'MALFORMED_DATA' }, { topic: 'second' }])
    }
  })
})

describe('weir topic consume', () => {
  const HOSTILE = 'x\n0:1  forged\x1b[2J'

  it('shows a record in one line that a terminal does not obey, and as it is with --raw', async () => {
    const opened = await EmbeddedLog.open(log)
    await opened.createTopic('hostile')
    const producer = opened.producer('hostile')
    const bytes = new TextEncoder().encode(HOSTILE)
    producer.send(bytes, bytes, 1)
    await producer.flush()
    await opened.close()
    const shown = 'x\\n0:1  forged\\x1b[2J'
    const consume = ['topic', 'consume', 'hostile']
    expect((await run(...consume)).out).toEqual([`0:0  ${shown}  ${shown}`])
    expect((await run(...consume, '--raw')).out).toEqual([`0:0  ${HOSTILE}  ${HOSTILE}`])
    expect(JSON.parse((await run(...consume, '--json')).out[0]!)).toMatchObject({ value: HOSTILE })
  })
})
