import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'

const PORT = /"started","port":(\d+)/

let folder: string
const processes: CommandProcess[] = []

async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await inProcess(args)
  expect(code, stderr).toBe(0)
  return stdout
}

function start(...args: string[]): CommandProcess {
  const process = weir([...args, '--data-dir', folder, '--json'])
  processes.unshift(process)
  return process
}

/** A job with tags, and its port. */
async function serve(): Promise<readonly [job: CommandProcess, port: string]> {
  const job = start(
    'run',
    'als-serving',
    '--tags',
    'tags',
    '--port',
    '0',
    '-D',
    'rest.enabled=false',
  )
  const [, port] = await job.printed(PORT)
  return [job, port!]
}

/** Sends lines of tags. */
async function tag(...lines: string[]): Promise<void> {
  const produce = ['topic', 'produce', 'tags', '--key-column', '1', '--data-dir', folder]
  const { code, stderr } = await inProcess(produce, `${lines.join('\n')}\n`)
  expect(code, stderr).toBe(0)
}

/** The items that a list has for user u1, in any order. */
async function listed(port: string, ...flags: string[]): Promise<readonly string[]> {
  const { code, stdout } = await inProcess([
    'recommend',
    'u1',
    '--k',
    '20',
    '--job',
    port,
    '--json',
    ...flags,
  ])
  if (code !== 0) return []
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).item as string)
    .sort()
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-item-tags-'))
  const file = join(folder, 'ratings.csv')
  const lines = Array.from(
    { length: 120 },
    (_, i) => `u${i % 20},i${1 + ((i * 7) % 8)},${1 + (i % 5)}`,
  )
  writeFileSync(file, `${lines.join('\n')}\n`)
  const train = ['train', 'als', '--ratings', file, '--factors', '4', '--iterations', '2']
  await done(...train, '--threads', '0', '--data-dir', folder)
})

afterAll(async () => {
  for (const process of processes) await process[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

it('lists follow the tags of items: in the command, over HTTP, after changes and after a restart', async () => {
  const [first, port] = await serve()
  await tag('i1,DE', 'i2,DE;SOLD_OUT', 'i3,FR', 'i4,DE;FR')
  const inGermany = ['--any-of', 'DE']
  // The records of the items are in several partitions: all have come when each item is listed.
  await expect
    .poll(() => listed(port, ...inGermany, '--any-of', 'FR'))
    .toEqual(['i1', 'i2', 'i3', 'i4'])
  expect(await listed(port, ...inGermany)).toEqual(['i1', 'i2', 'i4'])
  expect(await listed(port, ...inGermany, '--none-of', 'SOLD_OUT')).toEqual(['i1', 'i4'])
  expect(await listed(port, '--none-of', 'DE')).toEqual(['i3', 'i5', 'i6', 'i7', 'i8'])
  const unknown = await inProcess(['recommend', 'u1', '--job', port, '--any-of', 'DEE'])
  expect(unknown.stderr).toContain('did you mean "DE"?')

  const gateway = start('gateway', '--listen', '127.0.0.1:0', '--port', port)
  const [, url] = await gateway.printed(/"url":"([^"]+)"/)
  const overHttp = async (path: string): Promise<[number, string]> => {
    const answer = await fetch(`${url}${path}`)
    return [answer.status, await answer.text()]
  }
  const idsOf = (csv: string): string[] =>
    csv
      .trim()
      .split('\n')
      .map((line) => line.split(',')[0]!)
      .sort()
  const [status, allowed] = await overHttp('/recommend/u1?anyOf=DE,FR&noneOf=SOLD_OUT')
  expect(status, allowed).toBe(200)
  expect(idsOf(allowed)).toEqual(['i1', 'i3', 'i4'])
  const [, boosted] = await overHttp('/recommend/u1?boost=FR:100,SOLD_OUT:0.01')
  const [, ranked] = await overHttp('/recommend/u1')
  const scores = (csv: string): ReadonlyMap<string, number> =>
    new Map(
      csv
        .trim()
        .split('\n')
        .map((line) => [line.split(',')[0]!, Number(line.split(',')[1])]),
    )
  const [before, after] = [scores(ranked), scores(boosted)]
  const isUp = (item: string): boolean => after.get(item)! > 2 * before.get(item)!
  expect([...after.keys()].filter(isUp).sort()).toEqual(['i3', 'i4'])
  expect(after.get('i2')).toBeLessThan(before.get('i2')! / 2)
  expect(after.get('i1')).toBeCloseTo(before.get('i1')!, 4)
  const boosts = ['--boost', 'FR:100', '--boost', 'SOLD_OUT:0.01']
  const list = await inProcess(['recommend', 'u1', '--job', port, ...boosts])
  expect(list.stdout.split(/\s+/)[0]).toBe(boosted.split(',')[0])
  for (const wrong of ['FR', 'FR:0', 'FR:2,FR:3']) {
    expect((await overHttp(`/recommend/u1?boost=${wrong}`))[0]).toBe(400)
  }
  const twice = ['--boost', 'FR:2', '--boost', 'FR:3']
  expect(await inProcess(['recommend', 'u1', '--job', port, ...twice])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the tag "FR" has two factors'),
  })
  const [, similar] = await overHttp('/similarity/i1?anyOf=DE')
  expect(idsOf(similar)).toEqual(['i2', 'i4'])
  const [missing, problem] = await overHttp('/recommend/u1?noneOf=NOTHING')
  expect([missing, JSON.parse(problem).code]).toEqual([404, 'UNKNOWN_TAG'])

  await tag('i1,DE;SOLD_OUT', 'i2,DE', 'i4,')
  await expect.poll(() => listed(port, ...inGermany)).toEqual(['i1', 'i2'])
  await first[Symbol.asyncDispose]()
  const [, later] = await serve()
  await expect.poll(() => listed(later, ...inGermany, '--none-of', 'SOLD_OUT')).toEqual(['i2'])
  await tag('i5,NEW')
  await expect.poll(() => listed(later, '--any-of', 'NEW')).toEqual(['i5'])
})

it('a job without tags says how to get them', async () => {
  // The job before it may have come to its first checkpoint, with its tags, or not.
  const over = ['--take-over', '--allow-non-restored-state']
  const job = start('run', 'als-serving', '--port', '0', ...over, '-D', 'rest.enabled=false')
  const [, port] = await job.printed(PORT)
  const answer = async (): Promise<string> =>
    (await inProcess(['recommend', 'u1', '--job', port!, '--any-of', 'DE'])).stderr
  await expect.poll(answer).toContain('start it with --tags TOPIC')
})
